//! Runs a graph through the oracle and through the whole path on the reference device and on two of them, on random data.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use weft_device::{
    BufferId, Device, DeviceError, Forward, Instance, Placement, ReferenceDevice, Region, Side, SplitDevice,
    Staging, Weight, link,
};
use weft_fuse::{Fusion, Options, fuse_with};
use weft_ir::{Graph, Op, Sizes, Switches, Tensor, Values, WeightRows, eval, hadamard};
use weft_kern::{Plan, Source};
use weft_quant::GgmlType;
use weft_random::Random;

/// Weights by name, in the file's format.
pub(crate) struct Weights(BTreeMap<String, (GgmlType, usize, Vec<u8>)>);

impl WeightRows for Weights {
    fn read_row(&self, name: &str, row: usize, out: &mut [f32]) -> Result<(), String> {
        let (ty, row_len, bytes) = self.0.get(name).ok_or("no such weight")?;
        assert_eq!(*row_len, out.len());
        let len = ty.row_bytes(*row_len as u64).ok_or("not whole blocks")? as usize;
        weft_quant::decode(*ty, &bytes[row * len..][..len], out).map_err(|e| e.to_string())
    }
}

pub(crate) const SIZES: Sizes = Sizes::of(5).rows(3).slots(32).pages(4).sequences(2);
pub(crate) const MAX: Sizes = Sizes::of(7).rows(4).slots(32).pages(5).sequences(3);

/// Runs `graph` both ways, some decisions set by hand, and compares all `f32` outputs to a relative L2 of `bound`. Two devices
/// that share its launches give the same bits as one. The oracle evaluates the graph after the rules.
pub(crate) fn check(graph: &Graph, seed: u64, bound: f64, switches: &Switches) {
    let mut random = Random::new(seed);
    let mut values = Values::new();
    let mut weights = Weights(BTreeMap::new());
    for node in graph.nodes() {
        let shape = node.ty.shape.eval(&SIZES);
        let count: usize = shape.iter().product();
        match &node.op {
            Op::Input { name } if node.ty.dtype == GgmlType::I32 => {
                values.insert(name.clone(), Tensor::i32(shape, index_input(name, count)));
            }
            Op::Input { name } | Op::State { name, .. } => {
                let data = (0..count).map(|_| random.signed()).collect();
                values.insert(name.clone(), Tensor::f32(shape, data));
            }
            Op::Weight { name } => {
                let data: Vec<f32> = (0..count).map(|_| random.signed()).collect();
                let ty = node.ty.dtype;
                let mut bytes = vec![0; ty.row_bytes(count as u64).unwrap() as usize];
                weft_quant::encode(ty, &data, &mut bytes).unwrap();
                weights.0.insert(name.clone(), (ty, *shape.last().unwrap(), bytes));
            }
            _ => {}
        }
    }
    let fusion =
        fuse_with(graph, &Options { max: MAX, switches: switches.clone(), ..Options::default() }).unwrap();
    let program = run_program(&fusion, &weights, &values, &mut ReferenceDevice::default(), &|_| None);
    for seed in 0..3 {
        let sides = sides(&fusion.plan, &mut Random::new(seed));
        // One side copies from and to memory of the host.
        let first = Box::new(Pieces::default());
        let second = Box::new(ReferenceDevice::default());
        let mut both = SplitDevice::new(first, second, "both".into(), "");
        let split = run_program(&fusion, &weights, &values, &mut both, &|name| sides.get(name).copied());
        let bits = |values: &[(String, Vec<f32>)]| -> Vec<Vec<u32>> {
            values.iter().map(|(_, values)| values.iter().map(|v| v.to_bits()).collect()).collect()
        };
        assert_eq!(bits(&split), bits(&program), "{}, on two sides: {sides:?}", graph.name());
    }
    eval(&fusion.graph, &SIZES, &weights, &mut values).unwrap();
    for (name, found) in program {
        let expected = values[&name].as_f32().unwrap();
        let (mut error, mut norm) = (0.0, 0.0);
        for (e, f) in expected.iter().zip(&found) {
            error += f64::from(e - f).powi(2);
            norm += f64::from(*e).powi(2);
        }
        assert!(expected.iter().chain(&found).all(|v| v.is_finite()), "{}: output {name}", graph.name());
        // Outputs that cancel to almost nothing are compared with the error of a value near 1.
        let relative = (error / norm.max(1e-2 * expected.len() as f64)).sqrt();
        assert!(relative <= bound, "{}: output {name} differs by {relative:e}", graph.name());
    }
}

/// A device that copies from memory of the host, at most 100 bytes at a time, and to it.
#[derive(Default)]
struct Pieces {
    inner: ReferenceDevice,
    room: Vec<u8>,
    /// What was fetched. It is not there before it is asked for.
    fetched: Vec<u8>,
    reserved: usize,
}

impl Forward for Pieces {
    fn inner(&self) -> &dyn Device {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.inner
    }

    fn staging(&mut self) -> Option<&mut dyn Staging> {
        Some(self)
    }
}

impl Staging for Pieces {
    fn room(&mut self, bytes: usize) -> Result<&mut [u8], DeviceError> {
        self.room = vec![0xff; bytes.min(100)];
        Ok(&mut self.room)
    }

    fn send(&mut self, buffer: BufferId, offset: usize, bytes: usize) -> Result<(), DeviceError> {
        self.inner.write(buffer, offset, &self.room[..bytes])
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), DeviceError> {
        self.reserved = self.reserved.max(bytes);
        Ok(())
    }

    fn fetch(&mut self, from: &[(BufferId, Range<usize>)]) -> Result<(), DeviceError> {
        self.fetched = vec![0xff; from.iter().map(|(_, bytes)| bytes.len()).sum()];
        assert!(self.fetched.len() <= self.reserved);
        self.inner.read_several(from, &mut self.fetched)
    }

    fn fetched(&mut self) -> Result<&[u8], DeviceError> {
        self.room = std::mem::take(&mut self.fetched);
        assert!(!self.room.is_empty(), "nothing is fetched");
        Ok(&self.room)
    }
}

/// Two sequences of three and two tokens, their pages out of order.
fn index_input(name: &str, count: usize) -> Vec<i32> {
    let values: &[i32] = match name {
        "tokens" => &[3, 1, 4, 1, 5],
        "pos" => &[9, 10, 11, 0, 1],
        "first" => &[0, 0, 0, 2, 2],
        "pages" => &[3, 1, 2, 0],
        "slots" => &[9, 10, 11, 16, 17],
        "out_rows" => &[4, 0, 2],
        "ends" => &[3, 5],
        "from" => &[2, -1],
        "to" => &[4, 0],
        "certain" => &[2, 2],
        "kept" => &[1, 0],
        "ids" => &[0, 2, 1, 0, 2, 2, 1, 2, 0, 1],
        "expert_ids" => &[0, 2, 1, 0, 2, 2, 1, 2, 0, 1, 1, 1, 0, 0, 2, 1, 2, 2, 0, 1],
        _ => panic!("no index input `{name}`"),
    };
    assert_eq!(values.len(), count, "{name}");
    values.to_vec()
}

/// A side for each weight and state: one for all that a launch uses.
fn sides(plan: &Plan, random: &mut Random) -> BTreeMap<String, Side> {
    let name = |buffer: &usize| match &plan.buffers[*buffer].source {
        Source::Weight(name) | Source::State { name, .. } => Some(name.clone()),
        _ => None,
    };
    let names = (0..plan.buffers.len()).filter_map(|buffer| name(&buffer));
    let mut sides: BTreeMap<String, Side> = names.map(|name| (name, Side::ALL[random.below(2)])).collect();
    loop {
        let before = sides.clone();
        for call in &plan.calls {
            let used: Vec<String> = call.args.iter().filter_map(name).collect();
            if let Some(side) = used.iter().map(|name| sides[name]).min() {
                sides.extend(used.into_iter().map(|name| (name, side)));
            }
        }
        if sides == before {
            return sides;
        }
    }
}

/// Runs a plan on a device, with each weight and state on its side.
fn run_program(
    fusion: &Fusion,
    weights: &Weights,
    values: &Values,
    device: &mut dyn Device,
    side: &dyn Fn(&str) -> Option<Side>,
) -> Vec<(String, Vec<f32>)> {
    fn place(device: &mut dyn Device, side: Option<Side>) {
        device.placement().into_iter().for_each(|placement: &mut dyn Placement| placement.place(side));
    }
    let (graph, plan) = (&fusion.graph, Arc::clone(&fusion.plan));
    let printed = plan.to_string();
    let parsed = weft_kern::parse_plan(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(parsed, *plan, "text form");

    let mut inputs = BTreeMap::new();
    let mut instance = Instance {
        plan,
        weights: BTreeMap::new(),
        states: BTreeMap::new(),
        columns: BTreeMap::new(),
        kept: BTreeMap::new(),
        beside: false,
    };
    for (name, id) in &fusion.parameters {
        assert_eq!(graph.node(*id).op, Op::Hadamard);
        let ty = &graph.node(*id).ty;
        let rows = ty.shape.last().unwrap();
        let bytes = hadamard(rows).into_iter().flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
        let weight = Weight { ty: ty.dtype, rows, row_len: rows, bytes: Arc::new(bytes), tiles: None };
        place(device, side(name));
        instance.weights.insert(name.clone(), device.pack(weight).unwrap());
        place(device, None);
    }
    for node in graph.nodes() {
        let room = node.ty.shape.count(&MAX).unwrap();
        match &node.op {
            Op::Input { name } => {
                let buffer = device.alloc(room * 4).unwrap();
                let tensor = &values[name];
                let bytes: Vec<u8> = match (tensor.as_f32(), tensor.as_i32()) {
                    (Some(v), _) => v.iter().flat_map(|v| v.to_le_bytes()).collect(),
                    (_, Some(v)) => v.iter().flat_map(|v| v.to_le_bytes()).collect(),
                    _ => unreachable!("a tensor is one of the two"),
                };
                device.write(buffer, 0, &bytes).unwrap();
                inputs.insert(name.clone(), Region { buffer, offset: 0, values: room });
            }
            Op::State { name, .. } => {
                let data = values[name].as_f32().unwrap();
                let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
                place(device, side(name));
                let buffer = device.alloc(bytes.len()).unwrap();
                place(device, None);
                device.write(buffer, 0, &bytes).unwrap();
                instance.states.insert(name.clone(), buffer);
            }
            Op::Weight { name } => {
                let (ty, row_len, bytes) = &weights.0[name];
                let (rows, bytes) = (node.ty.shape.count(&MAX).unwrap() / row_len, Arc::new(bytes.clone()));
                let weight = Weight { ty: *ty, rows, row_len: *row_len, bytes, tiles: None };
                place(device, side(name));
                instance.weights.insert(name.clone(), device.pack(weight).unwrap());
                place(device, None);
            }
            _ => {}
        }
    }
    let stored =
        |name: &str| graph.nodes().iter().any(|n| matches!(&n.op, Op::State { name: s, .. } if s == name));
    let names: Vec<&str> = graph.outputs().iter().map(|(n, _)| n.as_str()).filter(|n| !stored(n)).collect();
    let states = instance.states.clone();
    let linked = link(device, &[instance], &inputs, &names).unwrap();
    let program = device.compile(&linked.program).unwrap();
    device.replay(program, &SIZES).unwrap();
    let read = |buffer, offset, values: usize| -> Vec<f32> {
        let mut bytes = vec![0; values * 4];
        device.read(buffer, offset, &mut bytes).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    };
    let mut found: Vec<(String, Vec<f32>)> = Vec::new();
    for name in names {
        let (_, id) = graph.outputs().iter().find(|(n, _)| n == name).unwrap();
        let region = linked.results[name];
        let values = graph.node(*id).ty.shape.count(&SIZES).unwrap();
        found.push((name.to_string(), read(region.buffer, region.offset, values)));
    }
    for (name, buffer) in states {
        found.push((name.clone(), read(buffer, 0, values[&name].as_f32().unwrap().len())));
    }
    found
}

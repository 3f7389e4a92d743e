//! Graphs mean the same as plans: the float oracle against fused, linked and interpreted programs, on random data.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_device::{Device, Instance, ReferenceDevice, Region, Weight, link};
use weft_fuse::fuse;
use weft_ir::{AttendInputs, Builder, Dim, Graph, Op, RopeStyle, Sizes, Tensor, Values, WeightRows, eval};
use weft_quant::GgmlType;

/// A small generator of repeatable numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// Weights by name, in the file's format.
struct Weights(BTreeMap<String, (GgmlType, usize, Vec<u8>)>);

impl WeightRows for Weights {
    fn read_row(&self, name: &str, row: usize, out: &mut [f32]) -> Result<(), String> {
        let (ty, row_len, bytes) = self.0.get(name).ok_or("no such weight")?;
        assert_eq!(*row_len, out.len());
        let len = ty.row_bytes(*row_len as u64).ok_or("not whole blocks")? as usize;
        weft_quant::decode(*ty, &bytes[row * len..][..len], out).map_err(|e| e.to_string())
    }
}

const SIZES: Sizes = Sizes { tokens: 5, rows: 3, slots: 32, pages: 4 };
const MAX: Sizes = Sizes { tokens: 7, rows: 4, slots: 32, pages: 5 };

/// Runs `graph` both ways and compares all `f32` outputs to a relative L2 of `bound`.
fn check(graph: &Graph, seed: u64, bound: f64) {
    let mut random = Random(seed | 1);
    let mut values = Values::new();
    let mut weights = Weights(BTreeMap::new());
    for node in graph.nodes() {
        let shape = node.ty.shape.eval(&SIZES);
        let count: usize = shape.iter().product();
        match &node.op {
            Op::Input { name } if node.ty.dtype == GgmlType::I32 => {
                values.insert(name.clone(), Tensor::i32(shape, index_input(name, count)));
            }
            Op::Input { name } | Op::State { name } => {
                let data = (0..count).map(|_| random.float()).collect();
                values.insert(name.clone(), Tensor::f32(shape, data));
            }
            Op::Weight { name } => {
                let data: Vec<f32> = (0..count).map(|_| random.float()).collect();
                let ty = node.ty.dtype;
                let mut bytes = vec![0; ty.row_bytes(count as u64).unwrap() as usize];
                weft_quant::encode(ty, &data, &mut bytes).unwrap();
                weights.0.insert(name.clone(), (ty, *shape.last().unwrap(), bytes));
            }
            _ => {}
        }
    }
    let program = run_program(graph, &weights, &values);
    eval(graph, &SIZES, &weights, &mut values).unwrap();
    for (name, found) in program {
        let expected = values[&name].as_f32().unwrap();
        let (mut error, mut norm) = (0.0, 0.0);
        for (e, f) in expected.iter().zip(&found) {
            error += f64::from(e - f).powi(2);
            norm += f64::from(*e).powi(2);
        }
        let relative = (error / norm).sqrt();
        assert!(relative <= bound, "{}: output {name} differs by {relative:e}", graph.name());
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
        "ids" => &[0, 2, 1, 0, 2, 2, 1, 2, 0, 1],
        _ => panic!("no index input `{name}`"),
    };
    assert_eq!(values.len(), count, "{name}");
    values.to_vec()
}

fn run_program(graph: &Graph, weights: &Weights, values: &Values) -> Vec<(String, Vec<f32>)> {
    let plan = fuse(graph, &MAX).unwrap();
    let printed = plan.to_string();
    let parsed = weft_kern::parse_plan(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(parsed, plan, "text form");

    let mut device = ReferenceDevice::default();
    let mut inputs = BTreeMap::new();
    let mut instance =
        Instance { plan: Arc::new(plan), weights: BTreeMap::new(), states: BTreeMap::new() };
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
            Op::State { name } => {
                let data = values[name].as_f32().unwrap();
                let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
                let buffer = device.alloc(bytes.len()).unwrap();
                device.write(buffer, 0, &bytes).unwrap();
                instance.states.insert(name.clone(), buffer);
            }
            Op::Weight { name } => {
                let (ty, row_len, bytes) = &weights.0[name];
                let (rows, bytes) = (node.ty.shape.count(&MAX).unwrap() / row_len, Arc::new(bytes.clone()));
                let weight = Weight { ty: *ty, rows, row_len: *row_len, bytes };
                instance.weights.insert(name.clone(), device.pack(weight).unwrap());
            }
            _ => {}
        }
    }
    let stored = |name: &str| graph.nodes().iter().any(|n| matches!(&n.op, Op::State { name: s } if s == name));
    let names: Vec<&str> = graph.outputs().iter().map(|(n, _)| n.as_str()).filter(|n| !stored(n)).collect();
    let linked = link(&mut device, &[instance], &inputs, &names).unwrap();
    let program = device.compile(&linked.program).unwrap();
    device.replay(program, &SIZES).unwrap();
    names
        .iter()
        .map(|name| {
            let (_, id) = graph.outputs().iter().find(|(n, _)| n == name).unwrap();
            let mut bytes = vec![0; graph.node(*id).ty.shape.count(&SIZES).unwrap() * 4];
            device.read(linked.results[*name].buffer, linked.results[*name].offset, &mut bytes).unwrap();
            let floats = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            (name.to_string(), floats)
        })
        .collect()
}

/// The interpreter differs from the oracle by the rounding of single steps.
const EXACT: f64 = 2e-6;
/// Rounded activations: 8 bits in blocks of 32.
const ROUNDED: f64 = 1.5e-2;

fn f32_input(g: &mut Builder, name: &str, dims: &[usize]) -> weft_ir::NodeId {
    let dims: Vec<Dim> = std::iter::once(Dim::T).chain(dims.iter().map(|d| Dim::Const(*d))).collect();
    g.input(name, GgmlType::F32, weft_ir::Shape::new(dims))
}

fn rms_norm(g: &mut Builder, x: weft_ir::NodeId, w: weft_ir::NodeId, n: usize) -> weft_ir::NodeId {
    let square = g.mul(x, x);
    let sum = g.reduce_sum(square, 1);
    let inverse = g.scalar(1.0 / n as f32);
    let mean = g.mul(sum, inverse);
    let eps = g.scalar(1e-5);
    let mean = g.add(mean, eps);
    let scale = g.rsqrt(mean);
    let y = g.mul(x, scale);
    g.mul(y, w)
}

#[test]
fn a_norm_is_one_kernel_and_feeds_rounded_and_plain_matrices() {
    let mut g = Builder::new("norm_dot");
    let x = f32_input(&mut g, "x", &[96]);
    let w = g.weight("norm", GgmlType::F32, [Dim::Const(96)]);
    let n = rms_norm(&mut g, x, w, 96);
    let router = g.weight("router", GgmlType::F32, [Dim::Const(7), Dim::Const(96)]);
    let q = g.weight("q", GgmlType::Q8_0, [Dim::Const(33), Dim::Const(96)]);
    let (a, b) = (g.dot(n, router), g.dot(n, q));
    let b = g.silu(b);
    g.output("a", a);
    g.output("b", b);
    let graph = g.finish().unwrap();
    let plan = fuse(&graph, &MAX).unwrap();
    assert_eq!(plan.calls.len(), 3, "{plan}");
    check(&graph, 1, ROUNDED);
}

#[test]
fn softmax_is_one_kernel() {
    let mut g = Builder::new("softmax");
    let x = f32_input(&mut g, "x", &[50]);
    let top = g.reduce_max(x, 1);
    let shifted = g.sub(x, top);
    let e = g.exp(shifted);
    let sum = g.reduce_sum(e, 1);
    let y = g.div(e, sum);
    g.output("y", y);
    let graph = g.finish().unwrap();
    assert_eq!(fuse(&graph, &MAX).unwrap().calls.len(), 1);
    check(&graph, 2, EXACT);
}

#[test]
fn latent_attention_writes_its_cache_in_place() {
    for (seed, transposed) in [(3, false), (4, true)] {
        let mut g = Builder::new("mla");
        let (heads, nope, rope, latent, value) = (4, 32, 16, 64, 32);
        let q = f32_input(&mut g, "q", &[heads * (nope + rope)]);
        let kv = f32_input(&mut g, "kv_a", &[latent + rope]);
        let cos = f32_input(&mut g, "cos", &[rope / 2]);
        let sin = f32_input(&mut g, "sin", &[rope / 2]);
        let slots = g.input("slots", GgmlType::I32, [Dim::T]);
        let pos = g.input("pos", GgmlType::I32, [Dim::T]);
        let first = g.input("first", GgmlType::I32, [Dim::T]);
        let pages = g.input("pages", GgmlType::I32, [Dim::P]);
        let norm = g.weight("norm", GgmlType::F32, [Dim::Const(latent)]);
        let c = g.slice(kv, 1, 0, latent);
        let c = rms_norm(&mut g, c, norm, latent);
        let k_pe = g.slice(kv, 1, latent, rope);
        let k_pe = g.rope(k_pe, cos, sin, RopeStyle::Pairs);
        let row = g.concat(&[c, k_pe], 1);
        let state = g.state("kv", GgmlType::F32, [Dim::S, Dim::Const(latent + rope)]);
        let state = g.store(state, row, slots);
        let q = g.reshape(q, [Dim::T, heads.into(), (nope + rope).into()]);
        let q_nope = g.slice(q, 2, 0, nope);
        let q_pe = g.slice(q, 2, nope, rope);
        let q_pe = g.rope(q_pe, cos, sin, RopeStyle::Halves);
        let q_c = if transposed {
            let b = g.weight("kv_b", GgmlType::Q8_0, [Dim::Const(heads * (nope + value)), latent.into()]);
            let b = g.reshape(b, [heads.into(), (nope + value).into(), Dim::Const(latent)]);
            let b = g.slice(b, 1, 0, nope);
            g.head_dot_transposed(q_nope, b)
        } else {
            let b = g.weight("k_b", GgmlType::Q4_1, [Dim::Const(heads), latent.into(), nope.into()]);
            g.head_dot(q_nope, b)
        };
        let q = g.concat(&[q_c, q_pe], 2);
        let v = g.slice(state, 1, 0, latent);
        let y = g.attend(AttendInputs { q, k: state, v, pos, first, pages }, 0.3, 1, 8);
        let v_b = g.weight("v_b", GgmlType::F16, [Dim::Const(heads), value.into(), latent.into()]);
        let y = g.head_dot(y, v_b);
        let y = g.reshape(y, [Dim::T, Dim::Const(heads * value)]);
        let o = g.weight("o", GgmlType::Q5_0, [Dim::Const(40), Dim::Const(heads * value)]);
        let y = g.dot(y, o);
        g.output("y", y);
        g.output("kv", state);
        check(&g.finish().unwrap(), seed, ROUNDED);
    }
}

#[test]
fn experts_are_picked_weighted_and_summed() {
    let mut g = Builder::new("moe");
    let (hidden, inner, experts, used) = (64, 32, 3, 2);
    let x = f32_input(&mut g, "x", &[hidden]);
    let weights = f32_input(&mut g, "probs", &[experts]);
    let ids = g.topk(weights, used);
    let picked = g.take(weights, ids);
    let sum = g.reduce_sum(picked, 1);
    let picked = g.div(picked, sum);
    let gate_w = g.weight("gate", GgmlType::Q4_0, [Dim::Const(experts), inner.into(), hidden.into()]);
    let up_w = g.weight("up", GgmlType::Q4_0, [Dim::Const(experts), inner.into(), hidden.into()]);
    let down_w = g.weight("down", GgmlType::Q8_0, [Dim::Const(experts), hidden.into(), inner.into()]);
    let gate = g.select_dot(x, gate_w, ids);
    let gate = g.silu(gate);
    let up = g.select_dot(x, up_w, ids);
    let h = g.mul(gate, up);
    let y = g.select_dot(h, down_w, ids);
    let picked = g.reshape(picked, [Dim::T, used.into(), Dim::Const(1)]);
    let y = g.mul(y, picked);
    let y = g.reduce_sum(y, 1);
    let y = g.reshape(y, [Dim::T, Dim::Const(hidden)]);
    let y = g.add(y, x);
    g.output("x", y);
    check(&g.finish().unwrap(), 5, ROUNDED);
}

#[test]
fn embedding_rows_angles_and_picked_outputs() {
    let mut g = Builder::new("ends");
    let tokens = g.input("tokens", GgmlType::I32, [Dim::T]);
    let table = g.weight("table", GgmlType::Q4_0, [Dim::Const(6), Dim::Const(64)]);
    let x = g.rows(table, tokens);
    let pos = g.input("pos", GgmlType::I32, [Dim::T]);
    let pos = g.reshape(pos, [Dim::T, Dim::Const(1)]);
    let pos = g.cast(pos);
    let freqs = g.vector(&[1.0, 0.1, 0.01]);
    let angle = g.mul(pos, freqs);
    let (cos, sin) = (g.cos(angle), g.sin(angle));
    let out_rows = g.input("out_rows", GgmlType::I32, [Dim::R]);
    let y = g.rows(x, out_rows);
    for (name, id) in [("x", x), ("cos", cos), ("sin", sin), ("y", y)] {
        g.output(name, id);
    }
    check(&g.finish().unwrap(), 6, EXACT);
}

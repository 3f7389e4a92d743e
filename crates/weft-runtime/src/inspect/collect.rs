//! Collecting the inputs of products: for every weight, the sum of squares of each column of the activations that it is multiplied by.
//!
//! The layers are the model's own graphs with more outputs. They are compiled, linked and run like any others, a layer at a time, and the
//! additional outputs are read after each.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use weft_device::{Device, Instance, ProgramId, Region, link};
use weft_fuse::Options;
use weft_gguf::Gguf;
use weft_ir::{Builder, Graph, NodeId, Op, Sizes};
use weft_models::{ModelGraph, Segment};
use weft_pack::OnReport;

use crate::compile::{self, bind_states};
use crate::devices::machines::cost_model;
use crate::error::Error;
use crate::layout::{Optional, PAGE};
use crate::model::Model;
use crate::options::RuntimeOptions;
use crate::planned::Planned;
use crate::sizes::Room;
use crate::weights::products;
use crate::{fit, weights};

/// Sums over the activations that a weight was multiplied by.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InputSums {
    /// The values in a row of the weight.
    pub columns: usize,
    /// Σ x² of every column, for each matrix of a stack: `[matrices, columns]`.
    pub squares: Vec<f64>,
    /// The number of rows that were multiplied: one for all matrices, or if matrices are selected by index, one for each.
    pub counts: Vec<u64>,
}

/// A model that is run to collect the inputs of its products. It has all layers, but not the head.
pub struct Collector {
    model: Model,
    device: Box<dyn Device>,
    inputs: BTreeMap<String, Region>,
    parts: Vec<Part>,
    max: Sizes,
    context: usize,
    sums: BTreeMap<String, InputSums>,
    bytes: Vec<u8>,
}

/// A segment, as a program.
struct Part {
    program: ProgramId,
    taps: Vec<Tap>,
    /// Where the values of taps are.
    outputs: BTreeMap<String, Region>,
    /// The names of weights in the file.
    tensors: BTreeMap<String, String>,
}

/// An input of a product that is read.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Tap {
    /// The name of the weight in the graph.
    weight: String,
    /// The name of the output that holds the rows.
    rows: String,
    /// The values in a row.
    columns: usize,
    /// The number of rows for each token.
    each: usize,
    /// The matrices of the weight.
    stack: Stack,
}

/// How rows belong to the matrices of a weight.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Stack {
    /// There is one matrix.
    One,
    /// There is one for each head.
    Heads(usize),
    /// Indices select them: `used` for each token, in the output `ids`.
    Picked { matrices: usize, ids: String, used: usize },
}

impl Collector {
    /// Opens a model, and compiles it for the device of `options`. The most tokens of a text are the context of `options`.
    /// `report` receives the progress.
    ///
    /// # Errors
    /// If the file cannot be read, the model is not supported, an option is not valid for it, there is no such device, or
    /// it has too little memory; [`Error::Interrupted`] if `report` interrupts it.
    pub fn load(path: &Path, options: &RuntimeOptions, report: OnReport<'_>) -> Result<Collector, Error> {
        let model = Model::open_with(path, options)?;
        let device = options.device.open(options.threads, options.device_folder())?;
        Collector::new(model, device, options, report)
    }

    /// Compiles a model for a device that is already open. The device and threads of `options` are ignored.
    ///
    /// # Errors
    /// Those of [`load`](Collector::load).
    pub fn new(
        model: Model,
        mut device: Box<dyn Device>,
        options: &RuntimeOptions,
        report: OnReport<'_>,
    ) -> Result<Collector, Error> {
        let options = RuntimeOptions { sequences: 1, ..options.clone() };
        let trained = model.graph().config.context;
        let room = Room::new(&options, trained, &device.caps().hardware)?;
        let Room { context, max, states, .. } = room.for_model(&options, model.graph());
        // There is one sequence, whose state is updated in place.
        let (states, max) = (states.map(|_| 1), max.sequences(max.sequences.min(1)));
        let costs = cost_model(&device.caps().hardware, options.device_folder());
        let switches = options.decisions(&device.caps().hardware, model.gguf());
        let compile = Options { max, switches, costs, ..Options::default() };
        let (tapped, taps) = tapped(model.graph())?;
        let planned =
            Planned::new(&tapped, None, &compile, (context, None, (None, states)), vec![max.tokens])?;
        fit::check(&planned, &max, &*device)?;
        let inputs = compile::inputs(&mut *device, &max, None, Optional::default())?;
        let parts = parts(&mut *device, model.gguf(), &planned, &taps, (&max, &inputs), &options, report)?;
        let (sums, bytes) = (BTreeMap::new(), Vec::new());
        Ok(Collector { model, device, inputs, parts, max, context, sums, bytes })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The most tokens of a text.
    pub fn context(&self) -> usize {
        self.context
    }

    /// The sums collected so far, by the names of tensors in the file.
    pub fn sums(&self) -> &BTreeMap<String, InputSums> {
        &self.sums
    }

    /// Runs a text, and adds the inputs of its products to the sums. It does not depend on texts before it.
    ///
    /// # Errors
    /// If it exceeds the context, has an unknown token, or the device fails. The sums are then of no use.
    pub fn add(&mut self, tokens: &[u32]) -> Result<(), Error> {
        let (context, vocab) = (self.context, self.model.graph().config.vocab);
        if tokens.len() > context {
            return Err(Error::Context { len: 0, more: tokens.len(), context });
        }
        if let Some(token) = tokens.iter().find(|token| **token as usize >= vocab) {
            return Err(Error::Batch(format!("token {token} is not in the vocabulary of {vocab} tokens")));
        }
        let mut first = 0;
        for step in tokens.chunks(self.max.tokens) {
            self.step(first, step)?;
            first += step.len();
        }
        Ok(())
    }

    /// Computes tokens that follow the `first` ones of a text.
    fn step(&mut self, first: usize, tokens: &[u32]) -> Result<(), Error> {
        let positions = || (first as i32..).take(tokens.len()).collect::<Vec<i32>>();
        let pages = (first + tokens.len()).div_ceil(PAGE);
        for (name, values) in [
            ("tokens", tokens.iter().map(|token| *token as i32).collect()),
            ("pos", positions()),
            ("slots", positions()),
            ("first", vec![0; tokens.len()]),
            ("pages", (0..pages as i32).collect()),
            ("ends", vec![tokens.len() as i32]),
            ("from", vec![if first == 0 { -1 } else { 0 }]),
            ("to", vec![0]),
            ("certain", vec![tokens.len() as i32]),
            ("kept", vec![0]),
        ] {
            // Only models with states of whole sequences have the last five.
            let Some(region) = self.inputs.get(name) else { continue };
            let bytes: Vec<u8> = values.iter().flat_map(|value: &i32| value.to_le_bytes()).collect();
            self.device.write(region.buffer, region.offset, &bytes)?;
        }
        let Sizes { slots, sequences, .. } = self.max;
        let sizes = Sizes::of(tokens.len()).slots(slots).pages(pages).sequences(sequences);
        for part in &self.parts {
            self.device.replay(part.program, &sizes)?;
            for tap in &part.taps {
                let mut read = |name: &str, values: usize| -> Result<Vec<[u8; 4]>, Error> {
                    let region = part.outputs[name];
                    self.bytes.clear();
                    self.bytes.resize(4 * values, 0);
                    self.device.read(region.buffer, region.offset, &mut self.bytes)?;
                    Ok(self.bytes.as_chunks().0.to_vec())
                };
                let rows = read(&tap.rows, tokens.len() * tap.each * tap.columns)?;
                let ids = match &tap.stack {
                    Stack::Picked { ids, used, .. } => read(ids, tokens.len() * used)?,
                    _ => Vec::new(),
                };
                let Some(tensor) = part.tensors.get(&tap.weight) else { continue };
                let sums = self.sums.entry(tensor.clone()).or_default();
                tap.add(&rows, &ids, tokens.len(), sums)?;
            }
        }
        Ok(())
    }
}

impl Tap {
    /// Adds the rows of a step, and for matrices selected by index, the indices.
    fn add(
        &self,
        rows: &[[u8; 4]],
        ids: &[[u8; 4]],
        tokens: usize,
        sums: &mut InputSums,
    ) -> Result<(), Error> {
        let (matrices, counts) = match self.stack {
            Stack::One => (1, 1),
            Stack::Heads(heads) => (heads, 1),
            Stack::Picked { matrices, .. } => (matrices, matrices),
        };
        sums.columns = self.columns;
        sums.squares.resize(matrices * self.columns, 0.0);
        sums.counts.resize(counts, 0);
        let mut add = |matrix: usize, row: &[[u8; 4]]| {
            for (sum, x) in sums.squares[matrix * self.columns..].iter_mut().zip(row) {
                let x = f64::from(f32::from_le_bytes(*x));
                *sum += x * x;
            }
        };
        for (token, own) in rows.chunks_exact((self.each * self.columns).max(1)).enumerate() {
            let mut rows = own.chunks_exact(self.columns.max(1));
            match &self.stack {
                Stack::One => rows.for_each(|row| add(0, row)),
                // A single row serves all heads.
                Stack::Heads(heads) => (0..*heads).for_each(|head| {
                    let row = rows.next().unwrap_or(own);
                    add(head, row);
                }),
                Stack::Picked { matrices, used, .. } => {
                    for (i, id) in ids[token * used..][..*used].iter().enumerate() {
                        let id = i32::from_le_bytes(*id) as usize;
                        if id >= *matrices {
                            let why =
                                format!("`{}`: the router chose expert {id} of {matrices}", self.weight);
                            return Err(Error::Batch(why));
                        }
                        let row =
                            if self.each == *used { &own[i * self.columns..][..self.columns] } else { own };
                        add(id, row);
                        sums.counts[id] += 1;
                    }
                }
            }
        }
        match self.stack {
            Stack::One => sums.counts[0] += (tokens * self.each) as u64,
            Stack::Heads(_) => sums.counts[0] += tokens as u64,
            Stack::Picked { .. } => {}
        }
        if sums.squares.iter().all(|sum| sum.is_finite()) { Ok(()) } else { Err(Error::NotNumbers) }
    }
}

/// A model whose graphs also output what products multiply weights by, with the taps of each segment.
fn tapped(model: &ModelGraph) -> Result<(ModelGraph, BTreeMap<String, Vec<Tap>>), Error> {
    let mut known: Vec<(&Arc<Graph>, Arc<Graph>, Vec<Tap>)> = Vec::new();
    let mut taps = BTreeMap::new();
    let mut segments = Vec::with_capacity(model.segments.len());
    for segment in &model.segments {
        // The head is not run.
        if segment.layer.is_none() {
            segments.push(segment.clone());
            continue;
        }
        let at = known.iter().position(|(graph, ..)| Arc::ptr_eq(graph, &segment.graph));
        let at = match at {
            Some(at) => at,
            None => {
                let (graph, taps) = tap(&segment.graph)?;
                known.push((&segment.graph, Arc::new(graph), taps));
                known.len() - 1
            }
        };
        let (_, graph, own) = &known[at];
        taps.insert(segment.name.clone(), own.clone());
        segments.push(Segment { graph: Arc::clone(graph), ..segment.clone() });
    }
    Ok((ModelGraph { config: model.config.clone(), segments }, taps))
}

/// A graph that also outputs what products multiply weights by.
fn tap(graph: &Graph) -> Result<(Graph, Vec<Tap>), Error> {
    let mut taps: Vec<Tap> = Vec::new();
    let mut outputs: Vec<NodeId> = Vec::new();
    let name = |id: NodeId| format!("input.{}", id.index());
    for node in graph.nodes() {
        let [x, w] = match (&node.op, &node.inputs[..]) {
            (Op::Dot | Op::HeadDot { transposed: false } | Op::SelectDot | Op::SelectSum, [x, w, ..]) => {
                [*x, *w]
            }
            _ => continue,
        };
        let Some(weight) = rows_of_weight(graph, w) else { continue };
        let sizes = |id: NodeId| {
            let shape = &graph.node(id).ty.shape;
            let axes = shape.dims().iter().skip(1).map(|dim| dim.known()).collect::<Option<Vec<usize>>>();
            axes.unwrap_or_default()
        };
        let Some((columns, each)) =
            sizes(x).split_last().map(|(columns, rest)| (*columns, rest.iter().product()))
        else {
            continue;
        };
        let matrices = graph.node(w).ty.shape.dims().first().and_then(|dim| dim.known()).unwrap_or(0);
        let stack = match (&node.op, node.inputs.get(2)) {
            (Op::HeadDot { .. }, _) => Stack::Heads(matrices),
            (Op::SelectDot | Op::SelectSum, Some(ids)) => {
                outputs.push(*ids);
                Stack::Picked { matrices, ids: name(*ids), used: sizes(*ids).iter().product() }
            }
            _ => Stack::One,
        };
        let tap = Tap { weight: weight.into(), rows: name(x), columns, each, stack };
        // Several parts of a weight may have the same input.
        if !taps.contains(&tap) {
            taps.push(tap);
            outputs.push(x);
        }
    }
    outputs.sort_unstable();
    outputs.dedup();
    let mut builder = Builder::new(graph.name());
    let mut map: Vec<NodeId> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        let inputs = node.inputs.iter().map(|input| map[input.index()]).collect();
        map.push(builder.push(node.op.clone(), inputs, Some(node.ty.clone())));
    }
    graph.outputs().iter().for_each(|(name, id)| builder.output(name, map[id.index()]));
    outputs.iter().for_each(|id| builder.output(name(*id), map[id.index()]));
    let graph = builder.finish().map_err(|error| Error::Option(error.to_string()))?;
    Ok((graph, taps))
}

/// The name of the weight whose rows a node is, all of them or some.
fn rows_of_weight(graph: &Graph, id: NodeId) -> Option<&str> {
    let node = graph.node(id);
    match &node.op {
        Op::Weight { name } => Some(name),
        Op::Slice { axis: 0, .. } => match &graph.node(node.inputs[0]).op {
            Op::Weight { name } if node.ty.shape.dims().len() == 2 => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Loads the weights and states of all segments but the head, and compiles each.
fn parts(
    device: &mut dyn Device,
    gguf: &Gguf,
    planned: &Planned,
    taps: &BTreeMap<String, Vec<Tap>>,
    (max, inputs): (&Sizes, &BTreeMap<String, Region>),
    options: &RuntimeOptions,
    report: OnReport<'_>,
) -> Result<Vec<Part>, Error> {
    let Planned { segments, sections, fusions, .. } = planned;
    let tensors = weights::load(device, gguf, planned, options.cache.as_ref(), report)?;
    let mut states = BTreeMap::new();
    let mut instances = Vec::with_capacity(sections.body);
    for (i, (segment, fusion)) in segments.iter().zip(&fusions[0]).enumerate().take(sections.body) {
        let mut weights = tensors.of(segment);
        weights.extend(products::pack(device, fusion, &weights::multiplied(fusions, i))?);
        let states = bind_states(device, segment, max, &mut states)?;
        let columns = segment.columns.iter().cloned().collect();
        instances.push(Instance {
            plan: Arc::clone(&fusion.plan),
            weights,
            states,
            columns,
            kept: BTreeMap::new(),
            beside: false,
        });
    }
    let linked = link(device, &instances, inputs, &["x"])?;
    let mut parts = Vec::with_capacity(instances.len());
    for (part, segment) in linked.parts.iter().zip(segments) {
        parts.push(Part {
            program: device.compile(&linked.part(part))?,
            taps: taps.get(&segment.name).cloned().unwrap_or_default(),
            outputs: part.outputs.clone(),
            tensors: segment.weights.iter().cloned().collect(),
        });
    }
    Ok(parts)
}

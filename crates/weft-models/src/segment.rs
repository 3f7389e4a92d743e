//! Segments: graphs with the tensors and states that their parameters refer to. Their builder checks every tensor against
//! the file.

use std::sync::Arc;

use weft_gguf::{Adapter, Gguf, Selectable, TensorInfo};
use weft_ir::{Builder, Dim, Graph, NodeId, Op, Recurrence, Shape};
use weft_quant::GgmlType;

use crate::error::Error;
use crate::file::ModelFile;
use crate::options::BuildOptions;

/// The input with the number of each row's adapter in stacks of selectable ones, 0 for none: `i32[T, 1]`.
pub const ADAPTERS: &str = "adapters";
/// The input with the scale of each row's adapter, −0 for none: `f32[T, 1, 1]`.
pub const ADAPTER_SCALES: &str = "adapter_scales";

/// A part of a model that is one graph, such as a layer.
#[derive(Clone, Debug)]
pub struct Segment {
    /// `embed`, `layer 3`, `head`.
    pub name: String,
    /// The index of the layer, if the segment is one.
    pub layer: Option<usize>,
    /// The graph, shared by all segments that compute the same.
    pub graph: Arc<Graph>,
    /// For each weight, its name in the graph (`attn_norm`) and in the file (`blk.3.attn_norm.weight`).
    pub weights: Vec<(String, String)>,
    /// For each state, its name in the graph (`kv`) and in the model (`kv.3`).
    pub states: Vec<(String, String)>,
    /// For each input of which the graph reads columns: its name, and how many columns come before those that are this segment's. The
    /// graph reads the first columns.
    pub columns: Vec<(String, usize)>,
}

impl Segment {
    /// The most positions that a token sees, if all attention of the segment has a sliding window.
    pub fn window(&self) -> Option<usize> {
        let attention = self.graph.nodes().iter().filter_map(|node| match node.op {
            Op::Attend { window, .. } => Some(window),
            _ => None,
        });
        attention.collect::<Option<Vec<usize>>>()?.into_iter().max()
    }
}

/// Builds one segment. Weights are named as in the file, without `blk.N.`, and checked against the file.
pub(crate) struct SegmentBuilder<'a> {
    pub(crate) g: Builder,
    pub(crate) options: &'a BuildOptions,
    /// Tensors whose values became constants of the graph.
    pub(crate) constants: Vec<&'static str>,
    gguf: &'a Gguf,
    layer: Option<usize>,
    weights: Vec<(String, String)>,
    states: Vec<(String, String)>,
    columns: Vec<(String, usize)>,
}

impl<'a> SegmentBuilder<'a> {
    /// Starts a segment. `graph` is the name of its graph, `layer` the index of the layer whose tensors it uses.
    pub(crate) fn new(file: &ModelFile<'a>, graph: &str, layer: Option<usize>) -> SegmentBuilder<'a> {
        let ModelFile { gguf, options, .. } = *file;
        SegmentBuilder {
            g: Builder::new(graph),
            options,
            constants: Vec::new(),
            gguf,
            layer,
            weights: Vec::new(),
            states: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// Finishes the segment and names it.
    pub(crate) fn finish(self, name: String) -> Result<Segment, Error> {
        let graph = self.g.finish().map_err(|source| Error::Graph { file: file(self.gguf), source })?;
        let (layer, weights, states) = (self.layer, self.weights, self.states);
        Ok(Segment { name, layer, graph: Arc::new(graph), weights, states, columns: self.columns })
    }

    /// An input with one `i32` per token of the step.
    pub(crate) fn per_token(&mut self, name: &str) -> NodeId {
        self.g.input(name, GgmlType::I32, [Dim::T])
    }

    /// The pages of all sequences of the step.
    pub(crate) fn pages(&mut self) -> NodeId {
        self.g.input("pages", GgmlType::I32, [Dim::P])
    }

    /// The value `name`, `i32[T, most]`, of an earlier segment.
    pub(crate) fn lists(&mut self, name: &str, most: usize) -> NodeId {
        self.g.input(name, GgmlType::I32, [Dim::T, most.into()])
    }

    /// The hidden state, `f32[T, width]`, from the previous segment.
    pub(crate) fn hidden(&mut self, width: usize) -> NodeId {
        self.g.input("x", GgmlType::F32, [Dim::T, width.into()])
    }

    /// Returns an error unless `values` is a multiple of the block length of the KV cache's type.
    pub(crate) fn check_blocks(&self, values: usize) -> Result<(), Error> {
        let kv = self.options.kv;
        if values.is_multiple_of(kv.block_len()) {
            return Ok(());
        }
        Err(Error::StateBlocks { file: file(self.gguf), kv, values })
    }

    /// Stores `rows`, `f32[T, width]`, in this layer's state `name`, and returns the whole state.
    pub(crate) fn store(&mut self, name: &str, rows: NodeId, width: usize) -> NodeId {
        let state = self.stored(name, width);
        self.store_in(name, state, rows)
    }

    /// The same for a state that [chooses](BuildOptions::choices) something.
    pub(crate) fn store_choice(&mut self, name: &str, rows: NodeId, width: usize) -> NodeId {
        let state = self.stored_choice(name, width);
        self.store_in(name, state, rows)
    }

    fn store_in(&mut self, name: &str, state: NodeId, rows: NodeId) -> NodeId {
        let slots = self.per_token("slots");
        let stored = self.g.store(state, rows, slots);
        self.g.output(name, stored);
        stored
    }

    /// This layer's state `name`, which another segment stores.
    pub(crate) fn stored(&mut self, name: &str, width: usize) -> NodeId {
        self.stored_as(name, width, self.options.kv)
    }

    /// The same for a state that [chooses](BuildOptions::choices) something.
    pub(crate) fn stored_choice(&mut self, name: &str, width: usize) -> NodeId {
        self.stored_as(name, width, self.options.choices())
    }

    fn stored_as(&mut self, name: &str, width: usize, ty: GgmlType) -> NodeId {
        let own = self.state_name(name);
        self.states.push((name.to_string(), own));
        self.g.state(name, ty, [Dim::S, width.into()])
    }

    /// The state `name` of another layer, whose segment stores it.
    pub(crate) fn stored_by(&mut self, layer: usize, name: &str, width: usize) -> NodeId {
        let own = self.layer.replace(layer);
        let stored = self.stored(name, width);
        self.layer = own;
        stored
    }

    /// `len` columns from column `start` on of the value `name`, `f32[T, width]`, of an earlier segment. Segments that read
    /// other columns of it have the same graph.
    pub(crate) fn columns(&mut self, name: &str, width: usize, (start, len): (usize, usize)) -> NodeId {
        self.columns.push((name.to_string(), start));
        let all = self.g.input(name, GgmlType::F32, [Dim::T, width.into()]);
        self.g.slice(all, 1, 0, len)
    }

    /// Walks the rows of each sequence by a rule with these operands, from this layer's state `name` on.
    pub(crate) fn scan(&mut self, name: &str, rule: Recurrence, operands: &[NodeId]) -> NodeId {
        let own = self.state_name(name);
        self.states.push((name.to_string(), own));
        let layout = self.g.scan_state(rule, operands);
        // The scan says what is wrong with operands that do not fit.
        let width = layout.and_then(|layout| layout.values()).unwrap_or(0);
        let state = self.g.sequence_state(name, [Dim::S, width.into()]);
        let rows = self.g.scan_rows();
        self.g.scan(rule, operands, state, rows)
    }

    fn state_name(&self, name: &str) -> String {
        self.layer.map_or_else(|| name.to_string(), |layer| format!("{name}.{layer}"))
    }

    /// Calls `build` with tensors named as in the file, not as those of the layer.
    pub(crate) fn of_model<T>(&mut self, build: impl FnOnce(&mut SegmentBuilder<'a>) -> T) -> T {
        let layer = self.layer.take();
        let built = build(self);
        self.layer = layer;
        built
    }

    /// A matrix of the layer, or if it has none, one of the model.
    pub(crate) fn own_or_model(&mut self, own: &str, model: &str, shape: &[usize]) -> Result<NodeId, Error> {
        if self.has(own) { self.matrix(own, shape) } else { self.of_model(|s| s.matrix(model, shape)) }
    }

    /// Returns whether the file has this tensor.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.gguf.tensor(&self.tensor_name(name)).is_some()
    }

    /// A weight of any type that can be decoded. `shape` is outermost axis first.
    pub(crate) fn matrix(&mut self, name: &str, shape: &[usize]) -> Result<NodeId, Error> {
        let tensor = self.tensor(name, shape)?;
        if !tensor.ty.can_decode() {
            return Err(
                self.wrong_type(tensor, "this type is not supported; use the model in another quantisation")
            );
        }
        Ok(self.weight(name, tensor, shape))
    }

    /// A vector, such as a norm or a bias. Files store these as `f32`.
    pub(crate) fn vector(&mut self, name: &str, len: usize) -> Result<NodeId, Error> {
        let tensor = self.tensor(name, &[len])?;
        if tensor.ty != GgmlType::F32 {
            return Err(self.wrong_type(tensor, "vectors must be f32"));
        }
        Ok(self.weight(name, tensor, &[len]))
    }

    /// A matrix that is not multiplied by, such as the biases of experts. Files store these as `f32`.
    pub(crate) fn plain_matrix(&mut self, name: &str, shape: &[usize]) -> Result<NodeId, Error> {
        let tensor = self.tensor(name, shape)?;
        if tensor.ty != GgmlType::F32 {
            return Err(self.wrong_type(tensor, "biases must be f32"));
        }
        Ok(self.weight(name, tensor, shape))
    }

    /// A matrix or vector of `f32` that some writers give axes of size 1, such as the weights of a short
    /// convolution.
    pub(crate) fn squeezed(&mut self, name: &str, shape: &[usize]) -> Result<NodeId, Error> {
        let tensor_name = self.tensor_name(name);
        let expected: Vec<u64> = shape.iter().rev().map(|n| *n as u64).collect();
        let Some(tensor) = self.gguf.tensor(&tensor_name) else {
            return Err(Error::MissingTensor { file: file(self.gguf), tensor: tensor_name, expected });
        };
        let longer = |shape: &[u64]| shape.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
        if longer(&tensor.shape) != longer(&expected) {
            let found = tensor.shape.clone();
            return Err(Error::Shape { file: file(self.gguf), tensor: tensor_name, expected, found });
        }
        if tensor.ty != GgmlType::F32 {
            return Err(self.wrong_type(tensor, "it must be f32"));
        }
        Ok(self.weight(name, tensor, shape))
    }

    /// `x` times a factor.
    pub(crate) fn scaled(&mut self, x: NodeId, factor: f32) -> NodeId {
        if factor == 1.0 {
            return x;
        }
        let factor = self.g.scalar(factor);
        self.g.mul(x, factor)
    }

    /// Adds a bias to `x`, if the file has it.
    pub(crate) fn add_bias(&mut self, x: NodeId, name: &str, len: usize) -> Result<NodeId, Error> {
        if !self.has(name) {
            return Ok(x);
        }
        let bias = self.vector(name, len)?;
        Ok(self.g.add(x, bias))
    }

    /// Adds what adapters add to `y`, the product of `x` with a `matrix` from `from` to `to` values: `f · x·Aᵀ·Bᵀ` each. The
    /// model's matrix is not changed, so it stays in the precision of its file.
    pub(crate) fn add_adapters(
        &mut self,
        mut y: NodeId,
        x: NodeId,
        matrix: &str,
        (from, to): (usize, usize),
    ) -> Result<NodeId, Error> {
        for (index, adapter) in self.gguf.adapters().iter().enumerate() {
            let [a, b] = ['a', 'b'].map(|which| Adapter::tensor_name(matrix, which, index));
            let Some(tensor) = self.gguf.tensor(&self.tensor_name(&a)) else { continue };
            let rank = tensor.shape.get(1).map_or(1, |rank| *rank as usize);
            let a = self.matrix(&a, &[rank, from])?;
            let b = self.matrix(&b, &[to, rank])?;
            let low = self.g.dot(x, a);
            let added = self.g.dot(low, b);
            let factor = self.g.scalar(adapter.factor(rank));
            let added = self.g.mul(added, factor);
            y = self.g.add(y, added);
        }
        self.add_selected(y, x, matrix, (from, to))
    }

    /// Adds what the adapter that each row has chosen adds to `y`. Nothing changes where there is none, not even a sign: the product by
    /// matrix 0 of a stack is 0, its scale −0, and `y − 0` is `y`.
    fn add_selected(
        &mut self,
        y: NodeId,
        x: NodeId,
        matrix: &str,
        (from, to): (usize, usize),
    ) -> Result<NodeId, Error> {
        let [a, b, factors] = ["a", "b", "factors"].map(|which| Selectable::tensor_name(matrix, which));
        let shape = self.gguf.tensor(&self.tensor_name(&a)).map(|tensor| &tensor.shape[..]);
        // Predictions change no reply, so the layer that makes them needs no adapter.
        let predicts = self.has("nextn.eh_proj.weight");
        let Some([_, rank, count]) = shape.filter(|_| !predicts) else { return Ok(y) };
        let (rank, count) = (*rank as usize, *count as usize);
        let a = self.matrix(&a, &[count, rank, from])?;
        let b = self.matrix(&b, &[count, to, rank])?;
        let factors = self.plain_matrix(&factors, &[count, 1])?;
        let g = &mut self.g;
        let ids = g.input(ADAPTERS, GgmlType::I32, [Dim::T, 1.into()]);
        let scales = g.input(ADAPTER_SCALES, GgmlType::F32, [Dim::T, 1.into(), 1.into()]);
        let low = g.select_range(x, a, ids, 1);
        let added = g.select_range(low, b, ids, 1);
        let factors = g.rows(factors, ids);
        let added = g.mul(added, factors);
        let added = g.mul(added, scales);
        let added = g.reshape(added, [Dim::T, to.into()]);
        Ok(g.add(y, added))
    }

    fn weight(&mut self, name: &str, tensor: &TensorInfo, shape: &[usize]) -> NodeId {
        let own = name.strip_suffix(".weight").unwrap_or(name);
        self.weights.push((own.to_string(), tensor.name.clone()));
        let shape: Vec<Dim> = shape.iter().map(|n| Dim::Const(*n)).collect();
        self.g.weight(own, tensor.ty, Shape::new(shape))
    }

    /// Looks up a tensor and checks its shape (outermost axis first).
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<&'a TensorInfo, Error> {
        let name = self.tensor_name(name);
        let expected: Vec<u64> = shape.iter().rev().map(|n| *n as u64).collect();
        let Some(tensor) = self.gguf.tensor(&name) else {
            return Err(Error::MissingTensor { file: file(self.gguf), tensor: name, expected });
        };
        if significant(&tensor.shape) != significant(&expected) {
            let found = tensor.shape.clone();
            return Err(Error::Shape { file: file(self.gguf), tensor: name, expected, found });
        }
        Ok(tensor)
    }

    fn tensor_name(&self, name: &str) -> String {
        self.layer.map_or_else(|| name.to_string(), |layer| format!("blk.{layer}.{name}"))
    }

    fn wrong_type(&self, tensor: &TensorInfo, expected: &'static str) -> Error {
        Error::TensorType { file: file(self.gguf), tensor: tensor.name.clone(), found: tensor.ty, expected }
    }
}

fn file(gguf: &Gguf) -> String {
    gguf.metadata().file().to_string()
}

/// A shape in GGML's order, without outer axes of size 1, which some writers drop.
fn significant(shape: &[u64]) -> &[u64] {
    &shape[..shape.iter().rposition(|n| *n != 1).map_or(0, |last| last + 1)]
}

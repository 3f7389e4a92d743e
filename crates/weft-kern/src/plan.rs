//! The plan: the kernels of one graph, in order, and the buffers between them.

use weft_ir::{F32, Shape, Sizes};

use crate::kernel::{Format, Kernel};

/// A buffer's index in [`Plan::buffers`].
pub type BufferId = usize;

/// Where a buffer comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// A graph's input, by name.
    Input(String),
    /// A graph's output, by name.
    Output(String),
    /// A parameter of the model, by its name in the graph.
    Weight(String),
    /// A KV state, by its name in the graph.
    State(String),
    /// These values, part of the plan.
    Constant(Vec<F32>),
    /// Between kernels: this many bytes into the arena.
    Arena(usize),
}

/// A buffer of a plan.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Buffer {
    /// Whose it is.
    pub source: Source,
    /// How values are stored.
    pub format: Format,
    /// How many there are; the last axis is contiguous.
    pub shape: Shape,
}

impl Buffer {
    /// Values it has room for under `sizes`.
    pub fn values(&self, sizes: &Sizes) -> Option<usize> {
        self.shape.count(sizes)
    }

    /// Bytes it takes under `sizes`, or `None` on overflow.
    pub fn bytes(&self, sizes: &Sizes) -> Option<usize> {
        self.format.bytes(self.values(sizes)?)
    }
}

/// A kernel with its arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    /// Index in [`Plan::kernels`].
    pub kernel: usize,
    /// A buffer for each of the kernel's parameters.
    pub args: Vec<BufferId>,
}

/// The kernels of one graph.
///
/// Weights, states, inputs and outputs are parameters, so one plan serves every layer of its shape. Kernels that are equal but for their
/// arguments are one kernel with several calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The graph's name.
    pub name: String,
    /// The largest sizes it may be run with; the arena is laid out for them.
    pub max: Sizes,
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The distinct kernels.
    pub kernels: Vec<Kernel>,
    /// What is run, in order.
    pub calls: Vec<Call>,
    /// Bytes of the arena.
    pub arena: usize,
}

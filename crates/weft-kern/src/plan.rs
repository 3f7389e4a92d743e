//! The plan: the kernels of one graph, in order, and the buffers between them.

use std::collections::BTreeSet;

use weft_ir::{F32, Shape, Sizes, StateKind};

use crate::kernel::Kernel;
use crate::program::Format;

/// A buffer's index in [`Plan::buffers`].
pub type BufferId = usize;

/// The contents of a buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// A graph's input, by name.
    Input(String),
    /// A graph's output, by name.
    Output(String),
    /// A parameter of the model, by its name in the graph.
    Weight(String),
    /// A state.
    State {
        /// Its name in the graph.
        name: String,
        /// The meaning of a row.
        kind: StateKind,
    },
    /// These values, part of the plan.
    Constant(Vec<F32>),
    /// Values between kernels, at this offset of the arena in bytes.
    Arena(usize),
}

/// A buffer of a plan.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Buffer {
    /// Its contents.
    pub source: Source,
    /// How values are stored.
    pub format: Format,
    /// Its size; the last axis is contiguous.
    pub shape: Shape,
}

impl Buffer {
    /// The number of values it has room for under `sizes`.
    pub fn values(&self, sizes: &Sizes) -> Option<usize> {
        self.shape.count(sizes)
    }

    /// Its size in bytes under `sizes`, or `None` on overflow.
    pub fn bytes(&self, sizes: &Sizes) -> Option<usize> {
        self.format.bytes(self.values(sizes)?)
    }
}

/// A kernel with its arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    /// Index in [`Plan::kernels`].
    pub kernel: usize,
    /// The buffer of each of the kernel's parameters.
    pub args: Vec<BufferId>,
}

/// The kernels of one graph.
/// Weights, states, inputs and outputs are parameters, so one plan serves every layer of its shape. Kernels that differ only in
/// their arguments are one kernel with several calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The graph's name.
    pub name: String,
    /// The largest sizes of a step; the arena is laid out for them.
    pub max: Sizes,
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The distinct kernels.
    pub kernels: Vec<Kernel>,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// The size of the arena in bytes.
    pub arena: usize,
}

impl Plan {
    /// The weights that are multiplied row by row, by their names in the graph: those that a device may want to pack. Weights
    /// that are only looked up by rows, multiplied transposed or read as values are not among them.
    pub fn multiplied_weights(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        for Call { kernel, args } in &self.calls {
            let products = self.kernels[*kernel].parts.iter().flat_map(|part| part.products());
            for product in products.filter(|product| !product.transposed) {
                if let Source::Weight(name) = &self.buffers[args[product.w.param]].source {
                    names.insert(name.as_str());
                }
            }
        }
        names
    }

    /// The weights that some kernel reads by rows, or uses in any other way than [multiplying by them](Kernel::only_multiplies_by), by
    /// their names in the graph.
    pub fn weights_read_by_rows(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        for Call { kernel, args } in &self.calls {
            for (param, buffer) in args.iter().enumerate() {
                let Source::Weight(name) = &self.buffers[*buffer].source else { continue };
                if !self.kernels[*kernel].only_multiplies_by(param) {
                    names.insert(name.as_str());
                }
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use crate::parse_plan;

    #[test]
    fn multiplied_weights_are_those_read_row_by_row() {
        let plan = "plan uses T=4 R=1 S=64 P=2 arena=0 {
b0 = input x : f32[T, 64]
b1 = weight down : f32[32, 64]
b2 = weight up : f32[64, 32]
b3 = weight norm : f32[32]
b4 = output y : f32[T, 32]
b5 = weight gate : f32[32, 64]
b6 = output z : f32[T, 32]
kernel dot {
  p0 read f32
  p1 read f32
  p2 read f32
  p3 write f32
  rows [T] cols 32
  dot x=p0[0; 64; 1] w=p1 count=1 n=32 k=64 first=0 stride=0 pick=only transposed=false
  v0 = acc 0
  v1 = load 32 p2[0; 0; 1]
  v2 = mul v0 v1
  v3 = store v2 p3[0; 32; 1]
}
kernel turned {
  p0 read f32
  p1 read f32
  p2 write f32
  rows [T] cols 32
  dot x=p0[0; 64; 1] w=p1 count=1 n=64 k=32 first=0 stride=0 pick=only transposed=true
  v0 = acc 0
  v1 = store v0 p2[0; 32; 1]
}
call dot b0 b1 b3 b4
call dot b0 b5 b3 b6
call turned b0 b2 b6
}
";
        let plan = parse_plan(plan).unwrap();
        assert_eq!(plan.multiplied_weights().into_iter().collect::<Vec<_>>(), ["down", "gate"]);
        // Weights of f32 have no tiles, so all are read by rows.
        assert_eq!(
            plan.weights_read_by_rows().into_iter().collect::<Vec<_>>(),
            ["down", "gate", "norm", "up"]
        );
    }
}

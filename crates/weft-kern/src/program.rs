//! The row program: what a kernel runs on each row, the parameters that it reads and writes, and the views through
//! which it does.

use weft_ir::{Binary, F32, Reduce, RopeStyle, Unary};
use weft_quant::GgmlType;

/// How a buffer's values are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// A GGML type: `f32` and `i32` for values, any type for weights, those of [`weft_ir::STATE_TYPES`] for states.
    Ggml(GgmlType),
    /// Rounded activations, see [`crate::q8`].
    Q8,
}

impl Format {
    /// Plain 32-bit floats.
    pub const F32: Format = Format::Ggml(GgmlType::F32);
    /// Indices.
    pub const I32: Format = Format::Ggml(GgmlType::I32);

    /// Returns the size of a buffer of `values` values in bytes; `None` if that overflows or is not a whole number of blocks.
    pub fn bytes(self, values: usize) -> Option<usize> {
        match self {
            Format::Ggml(ty) => usize::try_from(ty.row_bytes(values as u64)?).ok(),
            Format::Q8 if values.is_multiple_of(crate::q8::BLOCK) => crate::q8::buffer_bytes(values),
            Format::Q8 => None,
        }
    }
}

/// Whether a kernel reads or writes a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Only read.
    Read,
    /// Only written.
    Write,
    /// Read, and written in place: a state of whole sequences.
    ReadWrite,
}

impl Access {
    /// Whether it is read.
    pub const fn reads(self) -> bool {
        matches!(self, Access::Read | Access::ReadWrite)
    }

    /// Whether it is written.
    pub const fn writes(self) -> bool {
        matches!(self, Access::Write | Access::ReadWrite)
    }
}

/// A buffer that a kernel works on. A call binds it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Param {
    /// Whether it is read or written.
    pub access: Access,
    /// How its values are stored.
    pub format: Format,
}

/// A parameter's index in [`Kernel::params`](crate::Kernel::params).
pub type ParamId = usize;

/// A value's index: that of the instruction in [`Part::body`](crate::Part::body) that computes it.
pub type ValueId = usize;

/// The layout of a row's values in a parameter, counted in values.
///
/// Value `c` of row `(r0, r1, …)` is at `offset + Σ ri·strides[i] + c·step`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct View {
    /// The parameter.
    pub param: ParamId,
    /// The offset of the first value.
    pub offset: usize,
    /// The distance between rows, for each axis of [`Part::rows`](crate::Part::rows) (in a prologue: of its first axis).
    pub strides: Vec<usize>,
    /// The distance between columns; 0 repeats one value.
    pub step: usize,
}

/// A row selected by index: adds `index · stride` to the offset of a view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Indexed {
    /// The index, from an `i32` parameter; its step is 0.
    pub index: View,
    /// The distance between two rows of the indexed parameter, in values.
    pub stride: usize,
}

/// One instruction of a row program, run for each row. Values are vectors of a known length, or scalars (length 1).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Instr {
    /// A scalar.
    Const(F32),
    /// `len` values from memory; `i32` and narrower floats are converted, quantised rows decoded.
    Load {
        /// Where they are read.
        view: View,
        /// The row, if it is selected by index.
        indexed: Option<Indexed>,
        /// The number of values, at most [`Part::cols`](crate::Part::cols).
        len: usize,
    },
    /// Result number `.0` of the anchor, with a value for each column.
    Acc(usize),
    /// The indices of the `k` largest values, as whole numbers: the largest first; among equals, the lower index first. NaN
    /// comes before everything, so that it is not lost.
    TopK {
        /// The values.
        x: ValueId,
        /// The number of indices.
        k: usize,
    },
    /// `from[ids[i]]` for each `i`. A device refuses values that are not indices of `from`.
    Take {
        /// The values to select from.
        from: ValueId,
        /// The indices, which are whole numbers.
        ids: ValueId,
    },
    /// Elementwise.
    Unary(Unary, ValueId),
    /// Elementwise; a scalar operand is repeated.
    Binary(Binary, ValueId, ValueId),
    /// Reduces all values of a vector to a scalar.
    Reduce(Reduce, ValueId),
    /// Rotates the pairs of a row.
    Rope {
        /// How values are paired.
        style: RopeStyle,
        /// The row.
        x: ValueId,
        /// The cosines, half as many as values.
        cos: ValueId,
        /// The sines, half as many as values.
        sin: ValueId,
    },
    /// Writes a value, converted to the parameter's format. It has no value itself.
    Store {
        /// The value.
        value: ValueId,
        /// Where it is written.
        view: View,
        /// The row, if it is selected by index.
        indexed: Option<Indexed>,
    },
}

/// A row program that computes an operand of the products, instead of another kernel before them.
///
/// Its rows are the first axis of the part's rows (a single row if the part has no axes). It reads memory but does not write it,
/// because a device may run it any number of times, such as once per worker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Prologue {
    /// The program.
    pub body: Vec<Instr>,
    /// The value that is multiplied.
    pub value: ValueId,
}

impl Prologue {
    /// The length of each value.
    pub fn lens(&self) -> Vec<usize> {
        lens(&self.body, 0)
    }
}

impl Instr {
    /// The values it reads.
    pub fn operands(&self) -> impl Iterator<Item = ValueId> + use<> {
        let all = match self {
            Instr::Const(_) | Instr::Load { .. } | Instr::Acc(_) => [None; 3],
            Instr::Unary(_, x)
            | Instr::Reduce(_, x)
            | Instr::TopK { x, .. }
            | Instr::Store { value: x, .. } => [Some(*x), None, None],
            Instr::Binary(_, a, b) | Instr::Take { from: a, ids: b } => [Some(*a), Some(*b), None],
            Instr::Rope { x, cos, sin, .. } => [Some(*x), Some(*cos), Some(*sin)],
        };
        all.into_iter().flatten()
    }

    /// The view through which it reads or writes memory, and the index of its row.
    pub fn view(&self) -> Option<(&View, Option<&Indexed>)> {
        match self {
            Instr::Load { view, indexed, .. } | Instr::Store { view, indexed, .. } => {
                Some((view, indexed.as_ref()))
            }
            _ => None,
        }
    }
}

/// The lengths of a row program's values, given that an anchor's results are `cols` long.
pub(crate) fn lens(body: &[Instr], cols: usize) -> Vec<usize> {
    let mut lens: Vec<usize> = Vec::with_capacity(body.len());
    for instr in body {
        let of = |v: ValueId| lens.get(v).copied().unwrap_or(0);
        lens.push(match instr {
            Instr::Const(_) | Instr::Reduce(..) => 1,
            Instr::Load { len, .. } => *len,
            Instr::Acc(_) => cols,
            Instr::TopK { k, .. } => *k,
            Instr::Take { ids, .. } => of(*ids),
            Instr::Unary(_, x) | Instr::Rope { x, .. } => of(*x),
            Instr::Binary(_, a, b) => of(*a).max(of(*b)),
            Instr::Store { .. } => 0,
        });
    }
    lens
}

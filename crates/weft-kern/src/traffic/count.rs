//! Counts the bytes that views touch, for anchors and row programs.

use weft_ir::{Dim, Sizes};

use crate::program::{Access, Format, Indexed, Instr, Param, ParamId, View};
use crate::q8;

/// How much of the KV cache the tokens of a step attend to, which sizes do not say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Rows of the cache, each counted once.
    pub rows: u64,
    /// Rows that each token sees, summed over the tokens.
    pub pairs: u64,
}

impl Seen {
    /// One sequence of `tokens` new tokens after `depth` others. Each sees those before it and itself.
    pub fn causal(depth: u64, tokens: u64) -> Seen {
        Seen { rows: depth + tokens, pairs: depth * tokens + tokens * (tokens + 1) / 2 }
    }

    /// At most what `tokens` tokens see that attend to the last `window` positions only.
    pub(crate) fn within(self, window: usize, tokens: u64) -> Seen {
        let most = tokens.saturating_mul(window as u64);
        Seen { rows: self.rows.min(most), pairs: self.pairs.min(most) }
    }
}

/// A product, an attention, or a part without either. A part's row program belongs to its first operation, and so does its
/// prologue, unless an earlier part has the same one: then it runs once for both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The index of its part in the kernel.
    pub part: usize,
    /// `dot`, `head_dot`, `select_dot`, `select_sum`, `attend`, `indexer`, `scan`, `reduce` or `map`.
    pub anchor: &'static str,
    /// The weight that it multiplies by, which comes first in `touches`.
    pub weight: Option<ParamId>,
    /// The memory that it reads and writes, including its row programs.
    pub touches: Vec<Touch>,
    /// Multiply-adds of the product or the attention.
    pub multiplications: u64,
    /// Whether they are of `f32`, or of whatever a device uses in attention, rather than of 8-bit integers. (The CPU's attention
    /// uses 16-bit integers, which are twice as fast as `f32`.)
    pub floats: bool,
    /// Whether its anchor reads a state.
    pub reads_state: bool,
    /// Values that instructions of the row program compute.
    pub values: u64,
    /// Values that instructions of the prologue compute. Every worker computes them again.
    pub prologue_values: u64,
}

/// An access to a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The parameter.
    pub param: ParamId,
    /// Whether it is read or written.
    pub access: Access,
    /// Bytes of distinct values. Where rows select matrices by index, they count as if no two selected the same, but as no more matrices
    /// than there are.
    pub bytes: u64,
}

/// Counts the operations of a part.
pub(crate) struct Counter<'a> {
    pub(crate) params: &'a [Param],
    /// The axes of the row program being counted.
    pub(super) rows: &'a [Dim],
    pub(crate) sizes: &'a Sizes,
    pub(super) part: usize,
}

impl Counter<'_> {
    /// An operation that touches nothing yet.
    pub(crate) fn operation(&self, anchor: &'static str) -> Operation {
        Operation {
            part: self.part,
            anchor,
            weight: None,
            touches: Vec::new(),
            multiplications: 0,
            floats: true,
            reads_state: false,
            values: 0,
            prologue_values: 0,
        }
    }

    /// The number of the part's rows in this step.
    pub(crate) fn count(&self) -> u64 {
        self.rows.iter().map(|dim| dim.eval(self.sizes) as u64).product()
    }

    pub(super) fn row_values(&self, lens: &[usize]) -> u64 {
        self.count() * lens.iter().map(|len| *len as u64).sum::<u64>()
    }

    /// Adds the accesses of a row program.
    pub(super) fn program(&self, body: &[Instr], lens: &[usize], touches: &mut Vec<Touch>) {
        body.iter().for_each(|instr| self.instr(instr, lens, touches));
    }

    fn instr(&self, instr: &Instr, lens: &[usize], touches: &mut Vec<Touch>) {
        let (len, access) = match instr {
            Instr::Load { len, .. } => (*len, Access::Read),
            Instr::Store { value, .. } => (lens[*value], Access::Write),
            _ => return,
        };
        let Some((view, indexed)) = instr.view() else { return };
        touches.push(self.touch(view, indexed, len, access));
        if let Some(Indexed { index, .. }) = indexed {
            touches.push(self.touch(index, None, 1, Access::Read));
        }
    }

    /// The distinct values of a view of `len` columns. Axes without a stride repeat them.
    pub(crate) fn touch(&self, view: &View, indexed: Option<&Indexed>, len: usize, access: Access) -> Touch {
        let moves = |axis: usize| {
            let along = |view: &View| view.strides.get(axis).is_some_and(|stride| *stride > 0);
            along(view) || indexed.is_some_and(|indexed| along(&indexed.index))
        };
        let axes = self.rows.iter().enumerate();
        let rows: u64 =
            axes.map(|(axis, dim)| if moves(axis) { dim.eval(self.sizes) as u64 } else { 1 }).product();
        let none = self.rows.iter().any(|dim| dim.eval(self.sizes) == 0);
        let columns = if view.step > 0 { len as u64 } else { 1 };
        self.values(view.param, access, if none { 0 } else { rows * columns })
    }

    /// An access to `values` values of a parameter.
    pub(crate) fn values(&self, param: ParamId, access: Access, values: u64) -> Touch {
        let bytes = match self.params[param].format {
            Format::Ggml(ty) => (values * ty.block_bytes() as u64).div_ceil(ty.block_len() as u64),
            Format::Q8 => q8::buffer_bytes(values as usize).unwrap_or(0) as u64,
        };
        Touch { param, access, bytes }
    }
}

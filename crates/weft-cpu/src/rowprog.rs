//! Row programs, prepared: each value has a place, each instruction its operands.
//!
//! A program runs over a block of columns of a row at a time (over the whole row if columns depend on each other),
//! so that the vectors between its instructions stay in the first-level cache. Vectors live in a few slots of the
//! thread's scratch memory, reused as soon as their last reader is done; contiguous `f32` operands are read where
//! they are.

mod run;

use weft_kern::{Binary, Format, Instr, Kernel, Reduce, RopeStyle, Unary, ValueId};

use crate::convert;
use crate::rows::{RowPick, RowView};

pub(crate) use run::{Registers, RunRows};

/// Columns of a block, if columns are computed apart.
pub(crate) const BLOCK: usize = 512;

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a slot, a value for each column.
    Vector(usize),
    /// In a slot, one value.
    Scalar(usize),
    /// What the anchor computed.
    Acc,
    /// A vector in an argument, read in place.
    Memory(RowView),
    /// Nowhere: a store.
    Nowhere,
}

/// What an instruction does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Const(f32),
    Load { from: RowView, pick: Option<RowPick> },
    Take { from: RowView, of: usize, ids: RowView },
    Unary(Unary, Place),
    Binary(Binary, Place, Place),
    Reduce(Reduce, Place),
    Rope { style: RopeStyle, x: Place, cos: Place, sin: Place },
    Store { value: Place, view: RowView, pick: Option<RowPick> },
}

/// An instruction with its operands.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    op: Op,
    /// Where the result goes.
    to: Place,
    /// Length of the vectors it works on, over all columns.
    len: usize,
}

/// A prepared row program.
#[derive(Debug, Clone)]
pub(crate) struct RowProgram {
    steps: Vec<Step>,
    /// Columns computed at a time.
    block: usize,
    /// Columns may be cut at multiples of this; it is all of them if they depend on each other.
    pub(crate) unit: usize,
    /// Slots it needs, and how many values one must have room for.
    pub(crate) slots: (usize, usize),
}

impl RowProgram {
    /// Prepares a verified kernel's program; `apart` tells whether stores allow columns to be computed apart.
    ///
    /// # Errors
    /// A sentence, if it loads a type that has no decoder.
    pub(crate) fn new(kernel: &Kernel, apart: bool) -> Result<RowProgram, String> {
        let mut places = Places::new(kernel);
        let mut steps = Vec::with_capacity(kernel.body.len());
        // Quantised rows are cut between their blocks; rounded ones are written in blocks of 32.
        let mut unit = 32;
        for (i, instr) in kernel.body.iter().enumerate() {
            if let Instr::Load { view, .. } = instr {
                match kernel.params[view.param].format {
                    Format::Ggml(ty) if convert::can_decode(ty) => unit = unit.max(ty.block_len()),
                    format => return Err(format!("v{i} loads {format:?}, which this device cannot decode")),
                }
            }
            steps.extend(places.step(i, instr));
            places.release(i);
        }
        let tiled = apart && kernel.columns_independent() && unit < kernel.cols;
        let block = if tiled { BLOCK } else { kernel.cols };
        let width = places.lens.iter().copied().max().unwrap_or(0).min(block);
        Ok(RowProgram {
            steps,
            block,
            unit: if tiled { unit } else { kernel.cols },
            slots: (places.slots, width),
        })
    }
}

/// Gives values their places, in order.
struct Places<'a> {
    kernel: &'a Kernel,
    lens: Vec<usize>,
    /// The last instruction that reads each value.
    last_use: Vec<usize>,
    places: Vec<Place>,
    free: Vec<usize>,
    slots: usize,
}

impl<'a> Places<'a> {
    fn new(kernel: &'a Kernel) -> Places<'a> {
        let mut last_use: Vec<usize> = (0..kernel.body.len()).collect();
        for (i, instr) in kernel.body.iter().enumerate() {
            operands(instr).for_each(|v| last_use[v] = i);
        }
        Places { kernel, lens: kernel.lens(), last_use, places: Vec::new(), free: Vec::new(), slots: 0 }
    }

    /// Chooses the place of value `i`, and says what to do to get it there, if anything.
    fn step(&mut self, i: usize, instr: &Instr) -> Option<Step> {
        let at = |v: &ValueId| self.places[*v];
        let mut len = self.lens[i];
        let op = match instr {
            Instr::Acc => {
                self.places.push(Place::Acc);
                return None;
            }
            Instr::Load { view, indexed: None, len }
                if *len > 1 && view.step == 1 && self.kernel.params[view.param].format == Format::F32 =>
            {
                self.places.push(Place::Memory(RowView::new(view)));
                return None;
            }
            Instr::Const(value) => Op::Const(value.0),
            Instr::Load { view, indexed, .. } => {
                Op::Load { from: RowView::new(view), pick: indexed.as_ref().map(RowPick::new) }
            }
            Instr::Take { from, of, ids, .. } => {
                Op::Take { from: RowView::new(from), of: *of, ids: RowView::new(ids) }
            }
            Instr::Unary(op, x) => Op::Unary(*op, at(x)),
            Instr::Binary(op, a, b) => Op::Binary(*op, at(a), at(b)),
            Instr::Reduce(op, x) => {
                len = self.lens[*x];
                Op::Reduce(*op, at(x))
            }
            Instr::Rope { style, x, cos, sin } => {
                Op::Rope { style: *style, x: at(x), cos: at(cos), sin: at(sin) }
            }
            Instr::Store { value, view, indexed } => {
                len = self.lens[*value];
                let pick = indexed.as_ref().map(RowPick::new);
                Op::Store { value: at(value), view: RowView::new(view), pick }
            }
        };
        let to = match op {
            Op::Store { .. } => Place::Nowhere,
            // In a kernel of one column everything is one value.
            _ if self.lens[i] == 1 => Place::Scalar(self.slot()),
            _ => Place::Vector(self.slot()),
        };
        self.places.push(to);
        Some(Step { op, to, len })
    }

    fn slot(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }

    /// Frees the slots of the values that nothing reads after instruction `i`.
    fn release(&mut self, i: usize) {
        for (v, last) in self.last_use[..=i].iter().enumerate() {
            if let Place::Vector(slot) | Place::Scalar(slot) = self.places[v]
                && *last == i
            {
                self.free.push(slot);
            }
        }
    }
}

/// The values an instruction reads.
fn operands(instr: &Instr) -> impl Iterator<Item = ValueId> {
    let all = match instr {
        Instr::Const(_) | Instr::Load { .. } | Instr::Take { .. } | Instr::Acc => [None; 3],
        Instr::Unary(_, x) | Instr::Reduce(_, x) | Instr::Store { value: x, .. } => [Some(*x), None, None],
        Instr::Binary(_, a, b) => [Some(*a), Some(*b), None],
        Instr::Rope { x, cos, sin, .. } => [Some(*x), Some(*cos), Some(*sin)],
    };
    all.into_iter().flatten()
}

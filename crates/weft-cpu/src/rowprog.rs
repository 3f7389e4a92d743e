//! Prepared row programs: each value has a place, each instruction its operands.
//!
//! A program runs over one block of columns of a row at a time (over the whole row if columns depend on each other),
//! so that the vectors between its instructions stay in the first-level cache. Vectors are kept in a few slots of the
//! thread's scratch memory, reused as soon as their last reader is done; contiguous `f32` operands are read in place.

mod run;

use weft_kern::{Binary, Format, Instr, Param, Part, Prologue, Reduce, RopeStyle, Unary, ValueId};

use crate::convert;
use crate::cost;
use crate::rows::{RowPick, RowView};

pub(crate) use run::{Acc, Registers, RunRows};

/// Columns of a block, if columns are computed separately.
pub(crate) const BLOCK: usize = 512;

/// The most values that the largest can be selected from: indices are `f32`, which is exact up to here.
const MAX_SELECT: usize = 1 << 24;

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a slot, a vector.
    Vector(usize),
    /// In a slot, one value.
    Scalar(usize),
    /// A result of the anchor, by its number.
    Acc(usize),
    /// A vector in an argument, read in place.
    Memory(RowView),
    /// Nowhere: a store.
    Nowhere,
}

/// A value that an instruction reads or computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Value {
    place: Place,
    /// Its length over all columns.
    len: usize,
}

/// The operation of an instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Const(f32),
    Load { from: RowView, pick: Option<RowPick> },
    TopK(Value),
    Take { from: Value, ids: Value },
    Unary(Unary, Value),
    Binary(Binary, Value, Value),
    Reduce(Reduce, Value),
    Rope { style: RopeStyle, x: Value, cos: Value, sin: Value },
    Store { value: Value, view: RowView, pick: Option<RowPick> },
}

/// An instruction with its operands, and where the result goes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    op: Op,
    to: Value,
}

/// A prepared row program.
#[derive(Debug, Clone)]
pub(crate) struct RowProgram {
    steps: Vec<Step>,
    /// Columns computed at a time; unbounded if a row is computed as a whole.
    block: usize,
    /// Columns may be divided at multiples of this; all columns if they depend on each other.
    pub(crate) unit: usize,
    /// The value of a prologue.
    result: Option<Value>,
    /// The number of slots it needs, and the values of one slot.
    pub(crate) slots: (usize, usize),
    /// The cost of a row, see [`cost`].
    pub(crate) cost: u64,
}

impl RowProgram {
    /// Prepares the program of a verified part; `apart` is whether stores allow columns to be computed separately.
    ///
    /// # Errors
    /// A sentence, if it loads a type that has no decoder.
    pub(crate) fn new(params: &[Param], part: &Part, apart: bool) -> Result<RowProgram, String> {
        let mut program = RowProgram::prepare(params, &part.body, part.lens(), None)?;
        // Quantised rows are divided between blocks; rounded rows are written in blocks of 32.
        let blocks = part.body.iter().map(|instr| match instr {
            Instr::Load { view, .. } => match params[view.param].format {
                Format::Ggml(ty) => ty.block_len(),
                Format::Q8 => 1,
            },
            _ => 1,
        });
        let unit = blocks.max().unwrap_or(1).max(32);
        let tiled = apart && part.columns_independent() && unit < part.cols;
        if tiled {
            program.block = BLOCK;
            program.slots.1 = program.slots.1.min(BLOCK);
        }
        program.unit = if tiled { unit } else { part.cols };
        Ok(program)
    }

    /// Prepares a verified prologue.
    ///
    /// # Errors
    /// A sentence, if it loads a type that has no decoder, or stores.
    pub(crate) fn of_prologue(params: &[Param], prologue: &Prologue) -> Result<RowProgram, String> {
        if let Some(i) = prologue.body.iter().position(|instr| matches!(instr, Instr::Store { .. })) {
            return Err(format!("v{i} of the prologue stores"));
        }
        RowProgram::prepare(params, &prologue.body, prologue.lens(), Some(prologue.value))
            .map_err(|why| format!("in the prologue, {why}"))
    }

    /// Prepares a program that runs over whole rows; it keeps value `result`.
    fn prepare(
        params: &[Param],
        body: &[Instr],
        lens: Vec<usize>,
        result: Option<ValueId>,
    ) -> Result<RowProgram, String> {
        let mut places = Places::new(params, body, lens, result);
        let mut steps = Vec::with_capacity(body.len());
        for (i, instr) in body.iter().enumerate() {
            match instr {
                Instr::Load { view, .. } => match params[view.param].format {
                    Format::Ggml(ty) if convert::can_decode(ty) => {}
                    format => return Err(format!("v{i} loads {format:?}, which this device cannot decode")),
                },
                Instr::TopK { x, .. } if places.lens[*x] > MAX_SELECT => {
                    return Err(format!(
                        "v{i} selects from {} values, more than {MAX_SELECT}",
                        places.lens[*x]
                    ));
                }
                _ => {}
            }
            steps.extend(places.step(i, instr));
            places.release(i);
        }
        let result = match result {
            Some(value) => Some(*places.values.get(value).ok_or_else(|| format!("there is no v{value}"))?),
            None => None,
        };
        let width = places.lens.iter().copied().max().unwrap_or(0);
        let cost = steps.iter().map(Step::cost).fold(1, u64::saturating_add);
        Ok(RowProgram { steps, block: usize::MAX, unit: 1, result, slots: (places.slots, width), cost })
    }

    /// Values in the result of a prologue.
    pub(crate) fn result_len(&self) -> usize {
        self.result.map_or(0, |value| value.len)
    }
}

impl Step {
    /// The cost for a row.
    fn cost(&self) -> u64 {
        let (len, value) = match self.op {
            Op::Unary(op, x) => (x.len, cost::unary(op)),
            Op::TopK(x) => (x.len, cost::SELECT),
            Op::Reduce(_, x) => (x.len, cost::VALUE),
            Op::Store { value, .. } => (value.len, cost::VALUE),
            _ => (self.to.len, cost::VALUE),
        };
        cost::START.saturating_add((len as u64).saturating_mul(value))
    }
}

/// Assigns values their places, in order.
struct Places<'a> {
    params: &'a [Param],
    lens: Vec<usize>,
    /// The last instruction that reads each value.
    last_use: Vec<usize>,
    values: Vec<Value>,
    free: Vec<usize>,
    slots: usize,
}

impl<'a> Places<'a> {
    fn new(params: &'a [Param], body: &[Instr], lens: Vec<usize>, result: Option<ValueId>) -> Places<'a> {
        let mut last_use: Vec<usize> = (0..body.len()).collect();
        for (i, instr) in body.iter().enumerate() {
            instr.operands().for_each(|v| last_use[v] = i);
        }
        if let Some(last) = result.and_then(|v| last_use.get_mut(v)) {
            *last = usize::MAX;
        }
        Places { params, lens, last_use, values: Vec::new(), free: Vec::new(), slots: 0 }
    }

    /// Chooses the place of value `i`. Returns the operation that computes it, if there is one.
    fn step(&mut self, i: usize, instr: &Instr) -> Option<Step> {
        let of = |v: &ValueId| self.values[*v];
        let len = self.lens[i];
        let op = match instr {
            Instr::Acc(result) => {
                self.values.push(Value { place: Place::Acc(*result), len });
                return None;
            }
            Instr::Load { view, indexed: None, len }
                if *len > 1 && view.step == 1 && self.params[view.param].format == Format::F32 =>
            {
                self.values.push(Value { place: Place::Memory(RowView::new(view)), len: *len });
                return None;
            }
            Instr::Const(value) => Op::Const(value.0),
            Instr::Load { view, indexed, .. } => {
                Op::Load { from: RowView::new(view), pick: indexed.as_ref().map(RowPick::new) }
            }
            Instr::TopK { x, .. } => Op::TopK(of(x)),
            Instr::Take { from, ids } => Op::Take { from: of(from), ids: of(ids) },
            Instr::Unary(op, x) => Op::Unary(*op, of(x)),
            Instr::Binary(op, a, b) => Op::Binary(*op, of(a), of(b)),
            Instr::Reduce(op, x) => Op::Reduce(*op, of(x)),
            Instr::Rope { style, x, cos, sin } => {
                Op::Rope { style: *style, x: of(x), cos: of(cos), sin: of(sin) }
            }
            Instr::Store { value, view, indexed } => {
                let pick = indexed.as_ref().map(RowPick::new);
                Op::Store { value: of(value), view: RowView::new(view), pick }
            }
        };
        let place = match op {
            Op::Store { .. } => Place::Nowhere,
            // In a part with one column every vector is one value.
            _ if len == 1 => Place::Scalar(self.slot()),
            _ => Place::Vector(self.slot()),
        };
        let to = Value { place, len };
        self.values.push(to);
        Some(Step { op, to })
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
            if let Place::Vector(slot) | Place::Scalar(slot) = self.values[v].place
                && *last == i
            {
                self.free.push(slot);
            }
        }
    }
}

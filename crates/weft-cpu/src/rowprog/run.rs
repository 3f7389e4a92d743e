//! Runs row programs.

use std::mem;
use std::ops::Range;

use weft_kern::Format;

use super::{Op, Place, RowProgram, Step, Value};
use crate::convert::{Decode, store};
use crate::isa::{Simd, Work};
use crate::math;
use crate::memory::Arg;
use crate::rows::{Coords, Fault, RowPick, RowView, Space};

/// One thread's values between instructions. All vectors have the same length.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    pub(crate) slots: Vec<Vec<f32>>,
    /// Where a result is computed before it is moved into its slot.
    pub(crate) spare: Vec<f32>,
}

/// An anchor's results for some columns of some rows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acc<'a> {
    pub(crate) values: &'a [f32],
    /// Values between two rows.
    pub(crate) stride: usize,
    /// Values between two results.
    pub(crate) apart: usize,
}

/// Runs a program over columns of some rows.
pub(crate) struct RunRows<'a, R> {
    pub(crate) program: &'a RowProgram,
    pub(crate) args: &'a [Arg],
    pub(crate) space: &'a Space,
    /// The rows.
    pub(crate) rows: R,
    /// The columns, from a multiple of the program's unit on.
    pub(crate) cols: Range<usize>,
    /// The anchor's results for these rows and columns.
    pub(crate) acc: Acc<'a>,
    pub(crate) registers: &'a mut Registers,
}

impl<R: Iterator<Item = usize>> Work for RunRows<'_, R> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Result<(), Fault> {
        let RunRows { program, args, space, rows, cols, acc, registers } = self;
        let whole = program.block == usize::MAX;
        for (i, row) in rows.enumerate() {
            let coords = space.coords(row);
            for start in cols.clone().step_by(program.block) {
                let len = if whole { usize::MAX } else { program.block.min(cols.end - start) };
                let acc_at = i * acc.stride + start - cols.start;
                let results = Acc { values: acc.values.get(acc_at..).unwrap_or(&[]), ..acc };
                for step in &program.steps {
                    let values = Values { args, coords: &coords, start, len, acc: results, slots: &[] };
                    values.step(simd, step, registers)?;
                }
            }
        }
        Ok(())
    }
}

impl RowProgram {
    /// The value of a prologue that has just run for this row.
    pub(crate) fn result<'a>(
        &self,
        args: &'a [Arg],
        coords: &'a Coords,
        registers: &'a Registers,
    ) -> Result<&'a [f32], Fault> {
        let slots = &registers.slots;
        Values { args, coords, start: 0, len: usize::MAX, acc: Acc::default(), slots }
            .get(&self.result.ok_or(Fault)?)
    }
}

/// The operands of a program's instructions, for some columns of a row.
struct Values<'a> {
    args: &'a [Arg],
    coords: &'a Coords,
    /// The first column, and the most columns: vectors of a program that runs over whole rows have any length.
    start: usize,
    len: usize,
    /// From the first column on.
    acc: Acc<'a>,
    slots: &'a [Vec<f32>],
}

impl<'a> Values<'a> {
    /// Runs one instruction.
    #[inline(always)]
    fn step<S: Simd>(self, simd: S, step: &Step, registers: &mut Registers) -> Result<(), Fault> {
        let Registers { slots, spare } = registers;
        let values = Values { slots, ..self };
        let out = match step.to.place {
            Place::Scalar(_) | Place::Vector(_) => &mut spare[..step.to.len.min(values.len)],
            _ => &mut [],
        };
        match step.op {
            Op::Const(value) => out[0] = value,
            Op::Load { from, pick } => {
                // A scalar is the same for every column.
                let start = if matches!(step.to.place, Place::Scalar(_)) { 0 } else { values.start };
                values.load(simd, values.at(&from, pick)? + start * from.step, &from, out)?;
            }
            Op::TopK(x) => math::largest(values.get(&x)?, out),
            Op::Take { from, ids } => take(values.get(&from)?, values.get(&ids)?, out)?,
            Op::Unary(op, x) => math::unary(op, out, values.get(&x)?),
            Op::Binary(op, a, b) => math::binary(op, out, values.get(&a)?, values.get(&b)?),
            Op::Reduce(op, x) => out[0] = math::reduce(op, values.get(&x)?),
            Op::Rope { style, x, cos, sin } => {
                math::rope(style, out, values.get(&x)?, values.get(&cos)?, values.get(&sin)?);
            }
            Op::Store { value, view, pick } => {
                let at = values.at(&view, pick)? + values.start * view.step;
                store(simd, &values.args[view.param], at, view.step, values.get(&value)?)?;
            }
        }
        if let Place::Scalar(slot) | Place::Vector(slot) = step.to.place {
            mem::swap(spare, &mut slots[slot]);
        }
        Ok(())
    }

    /// The current columns of a value, or one value if it is a scalar.
    #[inline(always)]
    fn get(&self, value: &Value) -> Result<&'a [f32], Fault> {
        let len = value.len.min(self.len);
        match value.place {
            Place::Vector(slot) | Place::Scalar(slot) => Ok(&self.slots[slot][..len]),
            Place::Acc(result) => {
                self.acc.values.get(result * self.acc.apart..).and_then(|acc| acc.get(..len)).ok_or(Fault)
            }
            Place::Memory(view) => {
                self.args[view.param].f32s(view.at(self.coords) + self.start, len).ok_or(Fault)
            }
            Place::Nowhere => Err(Fault),
        }
    }

    /// The position of a view's row.
    #[inline(always)]
    fn at(&self, view: &RowView, pick: Option<RowPick>) -> Result<usize, Fault> {
        let entry = pick.map_or(Ok(0), |pick| pick.offset(self.args, self.coords, view.param))?;
        Ok(view.at(self.coords) + entry)
    }

    #[inline(always)]
    fn load<S: Simd>(&self, simd: S, at: usize, from: &RowView, out: &mut [f32]) -> Result<(), Fault> {
        let arg = &self.args[from.param];
        let Format::Ggml(ty) = arg.format() else { return Err(Fault) };
        if from.step == 1 {
            let bytes = arg.blocks(at, out.len()).ok_or(Fault)?;
            simd.arch().dispatch(Decode { ty, bytes, out });
            return Ok(());
        }
        for (i, out) in out.iter_mut().enumerate() {
            let bytes = arg.blocks(at + i * from.step, 1).ok_or(Fault)?;
            simd.arch().dispatch(Decode { ty, bytes, out: std::slice::from_mut(out) });
        }
        Ok(())
    }
}

/// `out[i] = from[ids[i]]`.
fn take(from: &[f32], ids: &[f32], out: &mut [f32]) -> Result<(), Fault> {
    for (out, id) in out.iter_mut().zip(ids) {
        // The cast saturates, and turns NaN into 0: only whole numbers survive the round trip.
        let index = *id as usize;
        *out = *from.get(index).filter(|_| index as f32 == *id).ok_or(Fault)?;
    }
    Ok(())
}

//! Running a row program.

use std::mem;
use std::ops::Range;

use weft_kern::Format;

use super::{Op, Place, RowProgram, Step};
use crate::convert::{Decode, store};
use crate::isa::{Simd, Work};
use crate::math;
use crate::memory::Arg;
use crate::rows::{Coords, Fault, RowPick, RowView, Space};

/// Values between instructions, one thread's. All vectors are equally long.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    pub(crate) slots: Vec<Vec<f32>>,
    /// Where a result is computed, before it takes its slot.
    pub(crate) spare: Vec<f32>,
}

/// Runs a program over columns of some rows.
pub(crate) struct RunRows<'a, R> {
    pub(crate) program: &'a RowProgram,
    pub(crate) args: &'a [Arg],
    pub(crate) space: &'a Space,
    /// Which rows.
    pub(crate) rows: R,
    /// Which columns, from a multiple of the program's unit on.
    pub(crate) cols: Range<usize>,
    /// What the anchor computed for these columns, a row every `acc_stride` values; empty without an anchor.
    pub(crate) acc: &'a [f32],
    pub(crate) acc_stride: usize,
    pub(crate) registers: &'a mut Registers,
}

impl<R: Iterator<Item = usize>> Work for RunRows<'_, R> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Result<(), Fault> {
        for (i, row) in self.rows.enumerate() {
            let coords = self.space.coords(row);
            for start in self.cols.clone().step_by(self.program.block) {
                let len = self.program.block.min(self.cols.end - start);
                let acc_at = i * self.acc_stride + start - self.cols.start;
                let acc = self.acc.get(acc_at..).unwrap_or(&[]);
                for step in &self.program.steps {
                    let values = Values { args: self.args, coords: &coords, start, acc, slots: &[] };
                    values.step(simd, step, len, self.registers)?;
                }
            }
        }
        Ok(())
    }
}

/// What the instructions of a program read, for some columns of a row.
struct Values<'a> {
    args: &'a [Arg],
    coords: &'a Coords,
    /// The first column.
    start: usize,
    /// From the first column on.
    acc: &'a [f32],
    slots: &'a [Vec<f32>],
}

impl Values<'_> {
    /// Runs one instruction over at most `len` columns: a vector shorter than the row is not cut, because its
    /// program is not.
    #[inline(always)]
    fn step<S: Simd>(self, simd: S, step: &Step, len: usize, registers: &mut Registers) -> Result<(), Fault> {
        let Registers { slots, spare } = registers;
        let values = Values { slots, ..self };
        let len = step.len.min(len);
        let out = match step.to {
            Place::Scalar(_) => &mut spare[..1],
            Place::Vector(_) => &mut spare[..len],
            _ => &mut [],
        };
        match step.op {
            Op::Const(value) => out[0] = value,
            Op::Load { from, pick } => {
                // A scalar is the same for every column.
                let start = if matches!(step.to, Place::Scalar(_)) { 0 } else { values.start };
                values.load(simd, values.at(&from, pick)? + start * from.step, &from, out)?;
            }
            Op::Take { from, of, ids } => values.take(&from, of, &ids, out)?,
            Op::Unary(op, x) => math::unary(op, out, values.get(&x, len)?),
            Op::Binary(op, a, b) => math::binary(op, out, values.get(&a, len)?, values.get(&b, len)?),
            Op::Reduce(op, x) => out[0] = math::reduce(op, values.get(&x, len)?),
            Op::Rope { style, x, cos, sin } => {
                let (cos, sin) = (values.get(&cos, len / 2)?, values.get(&sin, len / 2)?);
                math::rope(style, out, values.get(&x, len)?, cos, sin);
            }
            Op::Store { value, view, pick } => {
                let at = values.at(&view, pick)? + values.start * view.step;
                store(&values.args[view.param], at, view.step, values.get(&value, len)?)?;
            }
        }
        if let Place::Scalar(slot) | Place::Vector(slot) = step.to {
            mem::swap(spare, &mut slots[slot]);
        }
        Ok(())
    }

    /// A value: of `len` columns, or one if it is a scalar.
    #[inline(always)]
    fn get(&self, place: &Place, len: usize) -> Result<&[f32], Fault> {
        match place {
            Place::Vector(slot) => Ok(&self.slots[*slot][..len]),
            Place::Scalar(slot) => Ok(&self.slots[*slot][..1]),
            Place::Acc => self.acc.get(..len).ok_or(Fault),
            Place::Memory(view) => {
                self.args[view.param].f32s(view.at(self.coords) + self.start, len).ok_or(Fault)
            }
            Place::Nowhere => Err(Fault),
        }
    }

    /// Where a view's row begins.
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

    #[inline(always)]
    fn take(&self, from: &RowView, of: usize, ids: &RowView, out: &mut [f32]) -> Result<(), Fault> {
        let (values, first) = (&self.args[from.param], from.at(self.coords));
        let (numbers, first_id) = (&self.args[ids.param], ids.at(self.coords));
        for (i, out) in out.iter_mut().enumerate() {
            let id = numbers.i32s(first_id + (self.start + i) * ids.step, 1).ok_or(Fault)?[0];
            let id = usize::try_from(id).ok().filter(|id| *id < of).ok_or(Fault)?;
            *out = values.f32s(first + id * from.step, 1).ok_or(Fault)?[0];
        }
        Ok(())
    }
}

//! What one thread has to run a kernel with: what is the same for all of them, and its own scratch memory.

use std::ops::Range;

use crate::dot::Panel;
use crate::isa::Arch;
use crate::memory::Arg;
use crate::rowprog::{Registers, RowProgram, RunRows};
use crate::rows::{Fault, Share, Space};

/// A kernel in one step, as one thread sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thread<'a> {
    pub(crate) arch: Arch,
    pub(crate) args: &'a [Arg],
    pub(crate) space: Space,
    pub(crate) cols: usize,
    pub(crate) program: &'a RowProgram,
    /// Which thread this is, of how many.
    pub(crate) index: usize,
    pub(crate) threads: usize,
}

impl Thread<'_> {
    /// This thread's part of work that costs `total`.
    pub(crate) fn share(&self, total: u64) -> Share {
        Share::new(total, self.index, self.threads)
    }

    /// Runs the row program over columns of rows for which the anchor has computed `acc`, a row every `acc_stride`
    /// values.
    pub(crate) fn finish(
        &self,
        rows: impl Iterator<Item = usize>,
        cols: Range<usize>,
        (acc, acc_stride): (&[f32], usize),
        registers: &mut Registers,
    ) -> Result<(), Fault> {
        let Thread { args, ref space, program, .. } = *self;
        self.arch.dispatch(RunRows { program, args, space, rows, cols, acc, acc_stride, registers })
    }
}

/// Memory that a thread needs between the arguments of a kernel, allocated when programs are compiled.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) registers: Registers,
    /// What an anchor has computed.
    pub(crate) acc: Vec<f32>,
    /// Weight rows as `f32`.
    pub(crate) floats: Vec<f32>,
    /// Weight rows as integers.
    pub(crate) panel: Box<Panel>,
    /// Row numbers, in an order an anchor likes.
    pub(crate) rows: Vec<usize>,
    /// Where each group of these begins.
    pub(crate) starts: Vec<usize>,
    /// A number for each row.
    pub(crate) numbers: Vec<usize>,
    /// The largest values of a row, with their indices.
    pub(crate) best: Vec<(f32, usize)>,
    /// The largest score and the sum of some heads.
    pub(crate) softmax: Vec<(f32, f32)>,
    /// Queries of some heads.
    pub(crate) queries: Vec<f32>,
    /// A block of keys, and one of values.
    pub(crate) keys: Vec<f32>,
    pub(crate) values: Vec<f32>,
}

/// How much scratch memory a kernel needs: lengths of the parts of [`Scratch`].
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Needs {
    /// Slots, and values in one.
    pub(crate) slots: (usize, usize),
    pub(crate) acc: usize,
    pub(crate) floats: usize,
    pub(crate) rows: usize,
    pub(crate) starts: usize,
    pub(crate) best: usize,
    pub(crate) softmax: usize,
    pub(crate) queries: usize,
    pub(crate) keys: usize,
    pub(crate) values: usize,
}

impl Needs {
    /// What is enough for both.
    pub(crate) fn max(self, other: Needs) -> Needs {
        Needs {
            slots: (self.slots.0.max(other.slots.0), self.slots.1.max(other.slots.1)),
            acc: self.acc.max(other.acc),
            floats: self.floats.max(other.floats),
            rows: self.rows.max(other.rows),
            starts: self.starts.max(other.starts),
            best: self.best.max(other.best),
            softmax: self.softmax.max(other.softmax),
            queries: self.queries.max(other.queries),
            keys: self.keys.max(other.keys),
            values: self.values.max(other.values),
        }
    }

    /// Bytes of scratch memory for one thread, about.
    pub(crate) fn bytes(&self) -> usize {
        let (slots, width) = self.slots;
        let floats = [self.acc, self.floats, self.queries, self.keys, self.values];
        let floats =
            floats.iter().fold(slots.saturating_add(1).saturating_mul(width), |n, f| n.saturating_add(*f));
        let numbers = self
            .rows
            .saturating_mul(2)
            .saturating_add(self.starts)
            .saturating_add(2 * self.best + self.softmax);
        floats.saturating_mul(4).saturating_add(numbers.saturating_mul(8))
    }
}

impl Scratch {
    /// Makes room; `None` if there is no memory for it.
    pub(crate) fn grow(&mut self, needs: &Needs) -> Option<()> {
        let (slots, width) = needs.slots;
        let Registers { slots: all, spare } = &mut self.registers;
        let width = width.max(spare.len());
        grow(all, slots)?;
        all.iter_mut().chain([spare]).try_for_each(|slot| grow(slot, width))?;
        grow(&mut self.acc, needs.acc)?;
        grow(&mut self.floats, needs.floats)?;
        grow(&mut self.rows, needs.rows)?;
        grow(&mut self.numbers, needs.rows)?;
        grow(&mut self.starts, needs.starts)?;
        grow(&mut self.best, needs.best)?;
        grow(&mut self.softmax, needs.softmax)?;
        grow(&mut self.queries, needs.queries)?;
        grow(&mut self.keys, needs.keys)?;
        grow(&mut self.values, needs.values)
    }
}

/// Makes a vector at least `len` long.
fn grow<T: Default>(vector: &mut Vec<T>, len: usize) -> Option<()> {
    vector.try_reserve_exact(len.saturating_sub(vector.len())).ok()?;
    if vector.len() < len {
        vector.resize_with(len, T::default);
    }
    Some(())
}

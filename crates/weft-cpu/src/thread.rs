//! One thread's view of a part of a kernel in a step. The thread's memory is in [`crate::scratch`].

use std::ops::Range;

use crate::isa::Arch;
use crate::memory::Arg;
use crate::rowprog::{Acc, Registers, RowProgram, RunRows};
use crate::rows::{Fault, Space};
use crate::share::{Fraction, Share};

/// One thread's view of a part of a kernel in a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thread<'a> {
    pub(crate) arch: Arch,
    pub(crate) args: &'a [Arg],
    pub(crate) space: Space,
    pub(crate) cols: usize,
    pub(crate) program: &'a RowProgram,
    /// The stretch that this thread does now.
    pub(crate) own: Fraction,
    /// Whether this thread has just done another stretch of this part: its scratch memory is still valid.
    pub(crate) again: bool,
    /// The index of this thread among those that work on the launch.
    pub(crate) index: usize,
    pub(crate) threads: usize,
    /// Whether the part this thread has just done has the same prologue: its rows are still valid.
    pub(crate) keep_prologue: bool,
}

impl Thread<'_> {
    /// This thread's stretch of the part, whose cost is `total`.
    pub(crate) fn share(&self, total: u64) -> Share {
        self.own.share(total)
    }

    /// Runs the row program over columns of rows for which the anchor has computed `acc`.
    pub(crate) fn finish(
        &self,
        rows: impl Iterator<Item = usize>,
        cols: Range<usize>,
        acc: Acc<'_>,
        registers: &mut Registers,
    ) -> Result<(), Fault> {
        let Thread { args, ref space, program, .. } = *self;
        self.arch.dispatch(RunRows { program, args, space, rows, cols, acc, registers })
    }
}

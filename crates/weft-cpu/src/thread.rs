//! A part of a kernel as one thread sees it in a step. Its memory is in [`crate::scratch`].

use std::ops::Range;

use crate::isa::Arch;
use crate::memory::Arg;
use crate::rowprog::{Acc, Registers, RowProgram, RunRows};
use crate::rows::{Fault, Space};
use crate::share::{Fraction, Share};

/// A part of a kernel in one step, as one thread sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thread<'a> {
    pub(crate) arch: Arch,
    pub(crate) args: &'a [Arg],
    pub(crate) space: Space,
    pub(crate) cols: usize,
    pub(crate) program: &'a RowProgram,
    /// What of it this thread does now.
    pub(crate) own: Fraction,
    /// This thread has just done another stretch of this part: what it found out and laid out is still there.
    pub(crate) again: bool,
    /// Which thread this is, of those that work on the launch.
    pub(crate) index: usize,
    pub(crate) threads: usize,
    /// The part that this thread has just done has the same prologue: what it made is still there.
    pub(crate) keep_prologue: bool,
}

impl Thread<'_> {
    /// What this thread does of the part, whose work costs `total`.
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

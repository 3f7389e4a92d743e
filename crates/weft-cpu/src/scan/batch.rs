//! Rows of a head that are taken at once.

use std::ops::Range;

use crate::memory::Arg;
use crate::rows::{Coords, Fault, RowView};
use crate::thread::Thread;

/// Rows whose results are kept for the row program.
pub(super) const BATCH: usize = 16;

/// Rows of a head that are taken at once, at most [`BATCH`].
pub(super) struct Rows<'a> {
    pub(super) cx: &'a Thread<'a>,
    pub(super) head: usize,
    pub(super) tokens: Range<usize>,
    /// Where the head's state is read before the first of them, and the kept rows that it is then taken over, if these are the
    /// sequence's first rows in the step.
    pub(super) begin: Option<(Begin, &'a [f32])>,
    /// Where it is written, if the last of the sequence's certain rows is among them.
    pub(super) end: Option<End>,
    /// The rows of the sequence that are kept, where the head's first one is written, and its number of values.
    pub(super) kept: (Range<usize>, usize, usize),
    pub(super) states: &'a Arg,
}

/// The state that a sequence begins with.
#[derive(Clone, Copy)]
pub(super) enum Begin {
    /// Zeros.
    Zero,
    /// The values from here.
    At(usize),
}

/// Where a state is written.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// The number of rows of the batch after which it is.
    pub(super) after: usize,
    /// The place of its first value.
    pub(super) at: usize,
    /// Whether no further batch needs it.
    pub(super) is_last: bool,
}

impl Rows<'_> {
    /// Reads the state, if these are the first rows. Returns the kept rows that it is to be taken over.
    pub(super) fn begin(&self, state: &mut [f32]) -> Result<&[f32], Fault> {
        let Some((begin, kept)) = self.begin else { return Ok(&[]) };
        match begin {
            Begin::Zero => state.fill(0.0),
            Begin::At(at) => self.states.read_state(at, state).ok_or(Fault)?,
        }
        Ok(kept)
    }

    /// Writes the state, if it is that after so many of the rows.
    pub(super) fn end(&self, after: usize, state: &[f32]) -> Result<(), Fault> {
        match self.end {
            Some(end) if end.after == after => self.states.write_state(end.at, state).ok_or(Fault),
            _ => Ok(()),
        }
    }

    /// Keeps the operands of a token, if its row is one of those that are kept.
    pub(super) fn keep(&self, token: usize, operands: &[f32]) -> Result<(), Fault> {
        let (rows, at, len) = &self.kept;
        if !rows.contains(&token) {
            return Ok(());
        }
        self.states.write_state(at + (token - rows.start) * len, operands).ok_or(Fault)
    }

    /// Reads an operand's values of a token, for this head or the one that it shares.
    #[inline(always)]
    pub(super) fn read(
        &self,
        view: &RowView,
        token: usize,
        head: usize,
        out: &mut [f32],
    ) -> Result<(), Fault> {
        let coords: Coords = [token, head, 0, 0];
        let (arg, at) = (&self.cx.args[view.param], view.at(&coords));
        if view.step == 1 || out.len() == 1 {
            out.copy_from_slice(arg.f32s(at, out.len()).ok_or(Fault)?);
        } else {
            for (i, out) in out.iter_mut().enumerate() {
                *out = arg.f32s(at + i * view.step, 1).ok_or(Fault)?[0];
            }
        }
        Ok(())
    }
}

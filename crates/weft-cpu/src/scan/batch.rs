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
    /// Where the head's state is read before the first of them, if these are the sequence's first rows in the step.
    pub(super) begin: Option<Begin>,
    /// Where it is written after the last of them, if these are the sequence's last rows in the step.
    pub(super) end: Option<usize>,
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

impl Rows<'_> {
    /// Reads the state, if these are the first rows.
    pub(super) fn begin(&self, state: &mut [f32]) -> Result<(), Fault> {
        match self.begin {
            None => {}
            Some(Begin::Zero) => state.fill(0.0),
            Some(Begin::At(at)) => self.states.read_state(at, state).ok_or(Fault)?,
        }
        Ok(())
    }

    /// Writes the state, if these are the last rows.
    pub(super) fn end(&self, state: &[f32]) -> Result<(), Fault> {
        self.end.map_or(Ok(()), |at| self.states.write_state(at, state).ok_or(Fault))
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

//! The questions that each anchor answers about itself.

use std::fmt;

use crate::program::{Param, ParamId};
use crate::traffic::{Counter, Operation, Seen};
use crate::verify::Context;

/// The questions that each anchor answers about itself.
pub(super) trait Room {
    /// The number of its results, which [`Instr::Acc`](crate::Instr::Acc) reads.
    fn results(&self) -> usize;

    /// Every parameter that it reads, some of them twice.
    fn params(&self) -> Vec<ParamId>;

    /// The parameters of [`params`](Room::params), to be renumbered.
    fn params_mut(&mut self) -> Vec<&mut ParamId>;

    /// The parameters among them that are states.
    fn states(&self) -> Vec<ParamId> {
        Vec::new()
    }

    /// Returns whether it reads the value of the prologue.
    fn reads_prologue(&self) -> bool {
        false
    }

    /// Returns whether it reads the values of a parameter, rather than multiplying by its tiles.
    fn reads_values(&self, param: ParamId, params: &[Param]) -> bool {
        let _ = params;
        self.params().contains(&param)
    }

    /// Returns whether a row depends on the rows before it in its sequence.
    fn walks_sequences(&self) -> bool {
        false
    }

    /// Returns whether it makes or reads a list of the positions to attend to.
    fn uses_lists(&self) -> bool {
        false
    }

    /// Returns whether workers can divide a row whose columns depend on each other.
    fn divides_rows(&self) -> bool {
        false
    }

    /// The most positions that a token reads from states in a step whose sequences have `pages` pages together.
    fn most_positions(&self, pages: usize) -> usize {
        let _ = pages;
        0
    }

    /// Checks its own rules, and that it stays within its arguments.
    fn verify(&self, cx: &Context<'_>) -> Result<(), String>;

    /// Its operations, without those of row programs.
    fn operations(&self, counter: &Counter<'_>, cols: usize, seen: &Seen) -> Vec<Operation>;

    /// The name of a kernel with such a part.
    fn label(&self, params: &[Param], cols: usize) -> String;

    /// Writes its lines of the text form.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

//! `map` and `reduce`: a row program alone. They differ in what the program has, which devices use to divide the work.

use std::fmt;

use super::room::Room;
use crate::program::{Param, ParamId};
use crate::traffic::{Counter, Operation, Seen};
use crate::verify::Context;

/// A row program of elementwise instructions and movement.
pub(super) const MAP: Rows = Rows { name: "map" };

/// A row program with reductions or selections.
pub(super) const REDUCE: Rows = Rows { name: "reduce" };

/// A part without results before its row program.
pub(super) struct Rows {
    /// Its word in the text form.
    pub(super) name: &'static str,
}

impl Room for Rows {
    fn results(&self) -> usize {
        0
    }

    fn params(&self) -> Vec<ParamId> {
        Vec::new()
    }

    fn params_mut(&mut self) -> Vec<&mut ParamId> {
        Vec::new()
    }

    fn verify(&self, _: &Context<'_>) -> Result<(), String> {
        Ok(())
    }

    fn operations(&self, counter: &Counter<'_>, _: usize, _: &Seen) -> Vec<Operation> {
        vec![counter.operation(self.name)]
    }

    fn label(&self, _: &[Param], cols: usize) -> String {
        format!("{}_{cols}", self.name)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.name)
    }
}

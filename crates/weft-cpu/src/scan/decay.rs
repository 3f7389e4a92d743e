//! A running sum that forgets.

use super::batch::Rows;
use crate::rows::{Fault, RowView};

/// `s ← decay · s + x`; the result is `s`.
#[derive(Debug)]
pub(super) struct Decay {
    pub(super) x: RowView,
    pub(super) decay: RowView,
    pub(super) cols: usize,
}

impl Decay {
    /// Takes the state over rows, and writes their results.
    pub(super) fn run(&self, rows: &Rows<'_>, state: &mut [f32], results: &mut [f32]) -> Result<(), Fault> {
        rows.begin(state)?;
        for (token, result) in rows.tokens.clone().zip(results.chunks_exact_mut(self.cols)) {
            let mut decay = [0.0];
            rows.read(&self.decay, token, rows.head, &mut decay)?;
            rows.read(&self.x, token, rows.head, result)?;
            for (state, result) in state.iter_mut().zip(result) {
                *state = decay[0] * *state + *result;
                *result = *state;
            }
        }
        rows.end(state)
    }
}

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
    /// Updates the state with each row, and writes the rows' results.
    pub(super) fn run(
        &self,
        rows: &Rows<'_>,
        state: &mut [f32],
        staged: &mut [f32],
        results: &mut [f32],
    ) -> Result<(), Fault> {
        for row in rows.begin(state)?.chunks_exact(self.cols + 1) {
            let (x, decay) = row.split_at(self.cols);
            state.iter_mut().zip(x).for_each(|(state, x)| *state = decay[0] * *state + x);
        }
        for (i, result) in results.chunks_exact_mut(self.cols).enumerate().take(rows.tokens.len()) {
            let token = rows.tokens.start + i;
            let row = &mut staged[..self.cols + 1];
            let (x, decay) = row.split_at_mut(self.cols);
            rows.read(&self.decay, token, rows.head, decay)?;
            rows.read(&self.x, token, rows.head, x)?;
            for ((state, result), x) in state.iter_mut().zip(result).zip(x) {
                *state = decay[0] * *state + *x;
                *result = *state;
            }
            rows.end(i + 1, state)?;
            rows.keep(token, row)?;
        }
        Ok(())
    }
}

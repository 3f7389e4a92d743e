//! A short causal convolution of each column.

use super::batch::{BATCH, Rows};
use crate::isa::{Simd, Work};
use crate::rows::{Fault, RowView};

/// `y[t] = Σ_j w[j] · x[t − (taps − 1) + j]`, added in the order of j. The state is the last `taps − 1` rows.
#[derive(Debug)]
pub(super) struct Convolution {
    pub(super) x: RowView,
    /// The weights: those of a column lie together.
    pub(super) w: usize,
    pub(super) taps: usize,
    pub(super) cols: usize,
}

impl Convolution {
    /// The weights, those of all columns for each place; the rows of the state, and those of a batch.
    pub(super) fn staged(&self) -> usize {
        self.cols.saturating_mul(2 * self.taps - 1 + BATCH)
    }

    /// Updates the state with each row, and writes the rows' results.
    pub(super) fn run(
        &self,
        rows: &Rows<'_>,
        state: &mut [f32],
        staged: &mut [f32],
        results: &mut [f32],
    ) -> Result<(), Fault> {
        let Convolution { cols, taps, .. } = *self;
        // The last rows of the state and of those that were kept.
        let kept = rows.begin(state)?;
        let (len, passed) = (state.len(), kept.len().min(state.len()));
        if passed > 0 {
            state.copy_within(passed.., 0);
            state[len - passed..].copy_from_slice(&kept[kept.len() - passed..]);
        }
        let (weights, x) = staged.split_at_mut(taps * cols);
        let own = rows.cx.args[self.w].f32s(rows.head * cols * taps, cols * taps).ok_or(Fault)?;
        for (i, own) in own.chunks_exact(taps).enumerate() {
            own.iter().enumerate().for_each(|(j, w)| weights[j * cols + i] = *w);
        }
        let (before, new) = x.split_at_mut(state.len());
        before.copy_from_slice(state);
        for (token, x) in rows.tokens.clone().zip(new.chunks_exact_mut(cols)) {
            rows.read(&self.x, token, rows.head, x)?;
            rows.keep(token, x)?;
        }
        let tokens = rows.tokens.len();
        rows.cx.arch.dispatch(Sums { x, weights, cols, results: &mut results[..tokens * cols] });
        let after = |rows: usize| &x[rows * cols..][..len];
        state.copy_from_slice(after(tokens));
        rows.end.map_or(Ok(()), |end| rows.end(end.after, after(end.after)))
    }
}

/// The sums of rows: each of as many rows as there are weights of a column.
struct Sums<'a> {
    x: &'a [f32],
    weights: &'a [f32],
    cols: usize,
    results: &'a mut [f32],
}

impl Work for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Sums { x, weights, cols, results } = self;
        for (t, result) in results.chunks_exact_mut(cols).enumerate() {
            for (j, weights) in weights.chunks_exact(cols).enumerate() {
                let terms = x[(t + j) * cols..].iter().zip(weights);
                if j == 0 {
                    result.iter_mut().zip(terms).for_each(|(sum, (x, w))| *sum = w * x);
                } else {
                    result.iter_mut().zip(terms).for_each(|(sum, (x, w))| *sum += w * x);
                }
            }
        }
    }
}

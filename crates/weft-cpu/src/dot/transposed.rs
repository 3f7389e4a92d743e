//! The transpose of a weight times floats.
//!
//! The order of an output's terms is that of the weight's rows: from 0, `x[j] · w[j][c]` is added for each row `j`,
//! both operations rounded; quantised weights are decoded to `f32`.

use super::chunk::Chunk;
use crate::convert::Decode;
use crate::isa::{Simd, Work};
use crate::math;
use crate::rows::Fault;

/// Weight rows that are decoded and added together.
pub(super) const ROWS: usize = 4;

/// Multiplies a chunk.
pub(super) struct Transposed<'a> {
    pub(super) chunk: Chunk<'a>,
    /// Room for the columns of [`ROWS`] weight rows.
    pub(super) floats: &'a mut [f32],
}

impl Work for Transposed<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Result<(), Fault> {
        let Chunk { x, entries, weight, ty, n, k, row: matrix_row, cols, acc, stride, .. } = self.chunk;
        let width = cols.len();
        for entry in entries {
            acc[entry.slot * stride..][..width].fill(0.0);
        }
        for first in (0..n).step_by(ROWS) {
            let rows = ROWS.min(n - first);
            for (row, out) in (first..first + rows).zip(self.floats.chunks_exact_mut(width)) {
                let bytes = weight.blocks((matrix_row + row) * k + cols.start, width).ok_or(Fault)?;
                simd.arch().dispatch(Decode { ty, bytes, out });
            }
            let weights = std::array::from_fn::<_, ROWS, _>(|row| &self.floats[row * width..][..width]);
            for entry in entries {
                let x = x.f32s(entry.x_at + first, rows).ok_or(Fault)?;
                let acc = &mut acc[entry.slot * stride..][..width];
                match x.first_chunk::<ROWS>() {
                    Some(x) => math::add_scaled(acc, *x, weights),
                    None => x.iter().zip(weights).for_each(|(x, w)| math::add_scaled(acc, [*x], [w])),
                }
            }
        }
        Ok(())
    }
}

//! Float weights times floats.
//!
//! The order of an output's terms is that of [`math::dots`]: products are added up in 16 lanes, which are then
//! folded.

use super::chunk::Chunk;
use crate::convert::Decode;
use crate::isa::{Simd, Work};
use crate::math;
use crate::rows::Fault;

/// Weight rows that are decoded and multiplied together.
pub(super) const ROWS: usize = 4;

/// Multiplies a chunk.
pub(super) struct Float<'a> {
    pub(super) chunk: Chunk<'a>,
    /// Room for [`ROWS`] weight rows.
    pub(super) floats: &'a mut [f32],
}

impl Work for Float<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Result<(), Fault> {
        let Chunk { x, entries, weight, ty, k, row, cols, acc, stride, .. } = self.chunk;
        for (tile, first) in cols.clone().step_by(ROWS).enumerate() {
            let rows = ROWS.min(cols.end - first);
            for (n, out) in (first..first + rows).zip(self.floats.chunks_exact_mut(k)) {
                let bytes = weight.blocks((row + n) * k, k).ok_or(Fault)?;
                simd.arch().dispatch(Decode { ty, bytes, out });
            }
            // If there are fewer rows, the others are computed from stale values and not used.
            let weights = std::array::from_fn::<_, ROWS, _>(|i| &self.floats[i * k..][..k]);
            for entry in entries {
                let x = x.f32s(entry.x_at, k).ok_or(Fault)?;
                let sums = math::dots(x, weights);
                acc[entry.slot * stride + tile * ROWS..][..rows].copy_from_slice(&sums[..rows]);
            }
        }
        Ok(())
    }
}

//! `indexer.units`: the choice of the positions that a token attends to, whose scores matrix units compute (CUDA's `mma.m16n8k16`).
//!
//! It is [`indexer.lanes`](crate::forms::indexer::lanes) but for the scores. Heads are the rows of a product, so that a single token fills
//! it, and steps of all sizes add up in the same order. It takes keys of up to 256 halves, in whole steps of 32. Prompts of a GLM-5.2 at
//! 32,768 positions are 1.76 times as fast on an H200 (`bench/runs/2026-11-30-indexer-units.md`).

pub(crate) mod scores;

use weft_kern::{Format, Indexer, Kernel, Part};
use weft_quant::GgmlType;

use crate::forms::attend::units::UNIT;
use crate::forms::checks::{self, Candidate};
use crate::forms::indexer::chunk;
use crate::forms::questions::Questions;
use crate::forms::words::form;
use crate::gpu::Gpu;
use crate::split::{PLAIN, Split, WARP, number};

/// The values that a warp multiplies after a load of keys, and the lanes that share those of a position.
pub(crate) const STEP: u32 = 32;
pub(crate) const SHARES: u32 = 4;

/// The most values of a key. With more, the queries of sixteen heads would take more than 16 KiB of workgroup memory.
const MOST_VALUES: usize = 256;

/// Whether matrix units can score positions.
pub(crate) fn suits(kernel: &Kernel, indexer: &Indexer, gpu: &Gpu) -> bool {
    let Indexer { q, k, k_len, pool, .. } = indexer;
    let whole = [k.offset, k.row_stride].iter().all(|n| n.is_multiple_of(UNIT as usize));
    gpu.features.matrix_halves
        && gpu.features.quads
        && gpu.subgroup == Some(WARP)
        && kernel.params[k.param].format == Format::Ggml(GgmlType::F16)
        && kernel.params[q.param].format == Format::Ggml(GgmlType::F32)
        && *pool > 0
        && whole
        && k_len.is_multiple_of(STEP as usize)
        && *k_len <= MOST_VALUES
}

form! {
    /// The choice of positions to attend to, by scores of matrix units.
    IndexerUnits "indexer.units"
    numbers {
        /// Groups of eight positions that a warp scores at a time.
        upcast,
        /// Positions of a chunk, which all warps score at once.
        chunk,
    }
    flags {
        /// Whether each chunk has its own workgroup, and a second shader chooses.
        spread,
        /// Whether a shader between these lists candidates, if a token sees many positions.
        narrow,
    }
}

impl Questions for IndexerUnits {
    fn suits(&self, part: &Part) -> bool {
        part.indexer().is_some()
    }

    fn new(split: &Split) -> IndexerUnits {
        let Split { upcast, chunk, spread, narrow, .. } = *split;
        IndexerUnits { upcast, chunk, spread, narrow }
    }

    fn split(&self, part: &Part) -> Split {
        let IndexerUnits { upcast, chunk, spread, narrow } = *self;
        let width = number(part.cols);
        Split { width, reduce: SHARES, upcast, chunk, spread, narrow, matrix: true, ..PLAIN }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        checks::variables(1, self.upcast)?;
        if !of.part.indexer().is_some_and(|indexer| suits(of.kernel, indexer, of.gpu)) {
            return Err("scores that matrix units cannot compute".into());
        }
        if !of.lanes.is_multiple_of(WARP) {
            return Err(format!("{} lanes are not whole warps", of.lanes));
        }
        chunk::check(of, &self.split(of.part))
    }

    fn neighbours(&self, part: &Part, _rows: usize) -> Vec<Split> {
        chunk::neighbours(&self.split(part))
    }
}

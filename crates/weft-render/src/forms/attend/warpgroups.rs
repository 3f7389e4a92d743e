//! `attend.warpgroups`: attention of prompts by warpgroups, four warps each that multiply 64 rows together (Hopper's `wgmma`).
//!
//! A workgroup has two warpgroups and a tile of 64 rows. Both hold all rows; each scores half of a chunk's positions and has half of the
//! columns of the values:
//!
//! ```text
//!                 positions 0..32      positions 32..64       columns 0..n/2         columns n/2..n
//! warpgroup 0     scores, weights                             sums of values
//! warpgroup 1                          scores, weights                               sums of values
//!
//! workgroup memory: queries (64 rows) │ keys of this chunk │ keys of the next, arriving │ weights (64 × 64 halves)
//!
//! 1  both       wait for this chunk's keys; begin to copy the next chunk's
//! 2  each       scores of its positions: queries × keys, in registers
//! 3  each       largest score of each row, exchanged; weights to workgroup memory as halves
//! 4  both       a barrier: each needs the other's weights
//! 5  each       sums of its columns: rescaled, then weights × values, which are the keys' block turned
//! ```
//!
//! If there are more tiles than multiprocessors, workgroups share them evenly ([`shares`]): each has the same number of chunks, and one
//! that ends within a tile passes its sums to the next.
//!
//! On an H100, prompts of 512 tokens of GLM-4.7-Flash at a depth of 4,096 lose 18.8 % without it (`attention.warpgroups=off` in
//! `bench/runs/2026-11-25-cuda-warpgroups.md`). It takes halves, keys of whole blocks of 64 values, and no window or lists; `attend.units`
//! takes the others.

pub(crate) mod shares;
pub(crate) mod write;

use weft_kern::Part;
use weft_shader::warpgroup;

use crate::forms::attend::units;
use crate::forms::checks::Candidate;
use crate::forms::questions::Questions;
use crate::forms::steps;
use crate::forms::words::form;
use crate::split::{PLAIN, Split, number};

/// Rows of a tile.
pub(crate) const ROWS: u32 = warpgroup::ROWS;

form! {
    /// Attention by warpgroups.
    AttendWarpgroups "attend.warpgroups"
    numbers {
        /// Warps that add up a score; a power of two.
        reduce,
        /// Positions of a chunk.
        chunk,
    }
    flags {
        /// Whether the rows of a tile are tokens, for one head.
        apart,
    }
}

impl Questions for AttendWarpgroups {
    fn suits(&self, part: &Part) -> bool {
        part.attention().is_some()
    }

    fn new(split: &Split) -> AttendWarpgroups {
        AttendWarpgroups { reduce: split.reduce, chunk: split.chunk, apart: split.along_first }
    }

    fn split(&self, part: &Part) -> Split {
        let AttendWarpgroups { reduce, chunk, apart } = *self;
        let width = number(part.cols);
        Split { rows: ROWS, along_first: apart, width, reduce, chunk, matrix: true, ..PLAIN }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        units::check(of, &self.split(of.part))
    }

    /// The same on matrix units of single warps.
    fn smaller(&self, part: &Part) -> Option<Split> {
        Some(Split { rows: ROWS / 2, ..self.split(part) })
    }

    fn neighbours(&self, part: &Part, rows: usize) -> Vec<Split> {
        steps::of_tiles(rows, &self.split(part))
    }

    fn rounds_queries(&self) -> bool {
        true
    }
}

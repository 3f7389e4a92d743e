//! Blocks of rows as the leaf that multiplies packed weights reads them.
//!
//! Rows are taken in blocks of up to eight, or six where there are fewer registers, that meet a tile of weights together. A block holds, 32
//! columns at a time, the quants of its rows one after another, and so their scales, the sums that minima are multiplied with, and the
//! integers that products begin from: with weights stored as unsigned numbers, `Σ (u − offset)·x = Σ u·x − offset · Σ x`.

use weft_quant::packed::COLUMNS;

use crate::isa::Simd;

/// A row of x and the matrix it is multiplied by.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Entry {
    pub(super) matrix: usize,
    /// Where the row begins.
    pub(super) x_at: usize,
    /// Which of a chunk's vectors the result is.
    pub(super) slot: usize,
}

/// Blocks, one after another. All parts are indexed by 32 values: those of a block that begins at `b` are `b + column / 32 · rows + row`.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) quants: Vec<[i8; COLUMNS]>,
    pub(crate) scales: Vec<f32>,
    /// For each half of 32 columns; if a group has 32, what belongs to the whole is in the first.
    pub(crate) sums: Vec<[f32; 2]>,
    pub(crate) starts: Vec<[i32; 2]>,
}

/// A block of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) quants: &'a [[i8; COLUMNS]],
    pub(super) scales: &'a [f32],
    pub(super) sums: &'a [[f32; 2]],
    pub(super) starts: &'a [[i32; 2]],
}

/// How many of so many rows are in the next block: as many as there are registers for the sums of.
pub(super) fn block_rows<S: Simd>(rows: usize) -> usize {
    match rows {
        8.. if S::WIDE => 8,
        6 | 7 => 6,
        9.. if !S::WIDE => 6,
        4.. => 4,
        2.. => 2,
        _ => rows,
    }
}

impl Blocks {
    /// The block at `base` of `count` rows of `groups` times 32 values.
    #[inline(always)]
    pub(super) fn block(&self, base: usize, count: usize, groups: usize) -> Option<Block<'_>> {
        let range = base..base + count * groups;
        Some(Block {
            quants: self.quants.get(range.clone())?,
            scales: self.scales.get(range.clone())?,
            sums: self.sums.get(range.clone())?,
            starts: self.starts.get(range)?,
        })
    }
}

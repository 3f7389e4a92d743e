//! Blocks of rows in the layout that the leaf for packed weights reads.
//!
//! Up to six rows form a block that is multiplied with a tile of weights together, or up to sixteen where a unit multiplies
//! tiles. For every 32 columns, a block holds the quants of its rows one after another, and likewise their scales, the sums for
//! minima, and the integers that products start from: with weights stored as unsigned numbers,
//! `Σ (u − offset)·x = Σ u·x − offset · Σ x`.

use crate::isa::{Arch, Quants, Simd, TILE};

/// A row of x and the matrix it is multiplied by.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Entry {
    pub(super) matrix: usize,
    /// The row's first value.
    pub(super) x_at: usize,
    /// The index of the result among the chunk's vectors.
    pub(super) slot: usize,
}

/// Blocks, one after another. All parts are indexed by groups of 32 values: for a block at `b`, index `b + column / 32 · rows + row`.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) quants: Vec<Quants>,
    pub(crate) scales: Vec<f32>,
    /// For each half of 32 columns, if the format has minima; if a group has 32, the first half holds the sum of the whole group.
    pub(crate) sums: Vec<[f32; 2]>,
    pub(crate) starts: Vec<[i32; 2]>,
}

/// A block of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) quants: &'a [Quants],
    pub(super) scales: &'a [f32],
    pub(super) sums: &'a [[f32; 2]],
    pub(super) starts: &'a [[i32; 2]],
}

/// The most rows of a block that vectors multiply.
const MOST: usize = 6;

/// The fewest rows for which a matrix is multiplied by a tile unit. With fewer, vectors were measured to be as fast.
const LEAST: usize = 13;

/// The most rows left over from blocks of [`TILE`] for which vectors are faster than the unit, which takes as long for one row as
/// for eight.
const REST: usize = 4;

/// Groups of 32 values that must follow the last block: a tile is sixteen rows, however many the block has.
pub(super) const SPARE: usize = TILE - 1;

/// How many of these rows, which are multiplied by one matrix, a tile unit multiplies, if there is one: the first ones, in blocks
/// of [`TILE`] and perhaps a shorter one. Vectors multiply the others.
#[inline]
pub(super) fn tiled_rows(arch: Arch, rows: usize) -> usize {
    match rows % TILE {
        _ if !arch.has_tiles() || rows < LEAST => 0,
        rest @ ..=REST => rows - rest,
        _ => rows,
    }
}

/// The number of rows in the next block of these `rows` for vectors: at most as many as there are registers for their sums. With many
/// registers, blocks are equally long, because short ones use a tile's numbers less often.
#[inline(always)]
pub(super) fn block_rows<S: Simd>(rows: usize) -> usize {
    match rows {
        _ if S::WIDE => rows.div_ceil(row_blocks::<S>(rows).max(1)),
        MOST.. => MOST,
        4.. => 4,
        2.. => 2,
        _ => rows,
    }
}

/// The number of blocks of these rows.
#[inline(always)]
pub(super) fn row_blocks<S: Simd>(rows: usize) -> usize {
    if S::WIDE {
        return rows.div_ceil(MOST);
    }
    let rest = rows % MOST;
    rows / MOST + rest / 4 + rest % 4 / 2 + rest % 2
}

impl Blocks {
    /// The block at `base` of `count` rows of `groups` times 32 values, and the `spare` groups after it.
    #[inline(always)]
    pub(super) fn block(&self, base: usize, count: usize, groups: usize, spare: usize) -> Option<Block<'_>> {
        let range = base..base + count * groups + spare;
        Some(Block {
            quants: self.quants.get(range.clone())?,
            scales: self.scales.get(range.clone())?,
            sums: self.sums.get(range.clone())?,
            starts: self.starts.get(range)?,
        })
    }
}

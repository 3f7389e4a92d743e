//! The work of a `Dot`'s leaf: some columns of rows that are multiplied by one matrix.

use std::ops::Range;

use weft_kern::{Param, Product};
use weft_quant::GgmlType;
use weft_quant::packed::ROWS;

use super::blocks::Entry;
use crate::made::Factor;
use crate::memory::Arg;

/// Rows that are multiplied by one matrix, and some of its columns.
pub(super) struct Chunk<'a> {
    pub(super) x: Factor<'a>,
    pub(super) entries: &'a [Entry],
    pub(super) weight: &'a Arg,
    pub(super) ty: GgmlType,
    /// Rows of the matrix, and their length.
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) order: Order,
    /// The weight's row at which the matrix begins.
    pub(super) row: usize,
    /// That at which the matrix begins whose same columns are multiplied next, if it is known.
    pub(super) next_row: Option<usize>,
    pub(super) cols: Range<usize>,
    /// Where the results go: vectors of `stride` values, in which the columns fit.
    pub(super) acc: &'a mut [f32],
    pub(super) stride: usize,
}

/// The order in which blocks of packed weights are added up, see [`packed`](super::packed).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    /// The blocks of a share, at least 1.
    pub(super) each: usize,
    /// Whether some shares have no blocks, and are 0.
    pub(super) some_empty: bool,
}

impl Order {
    /// The order of a verified product: that of its plan if other devices have experts too. One share, where the CPU has all experts, is 2
    /// to 5 % faster in prompts, and 2 to 3 % in replies (`bench/runs/2026-11-30-experts-streamed.md`).
    pub(super) fn of(product: &Product, params: &[Param]) -> Order {
        match product.shares(params).filter(|_| product.w.from.is_some()) {
            Some(shares) => Order { each: shares.each.max(1), some_empty: shares.count < shares.all },
            None => Order { each: usize::MAX, some_empty: false },
        }
    }
}

impl Chunk<'_> {
    /// Which rows of a tile belong to the chunk's columns, and the first of these among the columns.
    #[inline(always)]
    pub(super) fn lanes(&self, tile: usize) -> (Range<usize>, usize) {
        let (from, to) = (self.row + self.cols.start, self.row + self.cols.end);
        let rows = from.max(tile * ROWS)..to.min((tile + 1) * ROWS);
        (rows.start - tile * ROWS..rows.end - tile * ROWS, rows.start - from)
    }

    /// The chunk of some of its rows.
    pub(super) fn part<'a>(&'a mut self, entries: &'a [Entry]) -> Chunk<'a> {
        Chunk { entries, cols: self.cols.clone(), acc: &mut *self.acc, ..*self }
    }
}

//! `dot.few_rows`: products of rows that select their matrices by index, in steps in which few rows select the same one. Lanes multiply
//! them, because matrix units would multiply sixteen rows.
//!
//! Rows are sorted as for [`dot.units`](crate::forms::DotUnits), in smaller tiles. Each lane holds a part of the matrix in registers, as in
//! steps of a few tokens, and multiplies all rows of the tile by it. Products other than the weighted sum are on matrix units. It is for
//! steps of 9 to 64 tokens on CUDA: on an H100, 32 replies at once lose 9.6 % without it (`products.picked=off` in
//! `bench/runs/2026-11-27-cuda-picked.md`).

pub(crate) mod write;

use weft_kern::{Kernel, Part, Pick, Product, Sizes};

use crate::forms::checks::{Candidate, rounds};
use crate::forms::dot::units::DotUnits;
use crate::forms::questions::Questions;
use crate::forms::words::form;
use crate::gpu::Gpu;
use crate::schedule::picks::Picks;
use crate::schedule::registers::registers;
use crate::split::Split;

/// The most rows of a tile. It is even, because lanes multiply two rows at a time; a lane has a sum of each product for each row.
const MOST_ROWS: u32 = 8;

/// The most rows that select a matrix, on average: with more, lanes gain nothing.
const FEW_ROWS: usize = 4;

/// The most tokens of a step in which lanes multiply.
const MOST_TOKENS: usize = 64;

/// The most words of a block of all columns of a lane. A lane has at least two such blocks in registers or in flight; with sums and
/// unpacked values, two workgroups of 256 lanes fit on a multiprocessor.
const MOST_WORDS: usize = 32;

/// Columns per lane, the best first: a load has one word of each of four columns.
const COLUMNS: [u32; 3] = [4, 2, 1];

/// Values of a block, and the columns of a tile of a weight.
const BLOCK: usize = 32;
const TILE: u32 = 16;

form! {
    /// Products on matrix units, with sorted rows multiplied by lanes.
    DotFewRows "dot.few_rows"
    numbers {
        /// Rows of a tile that lanes multiply; even.
        tile,
        /// Rows per workgroup of the products other than weighted sums, on matrix units.
        rows,
        /// Their columns per workgroup.
        width,
        /// Lanes that compute a sum together; a power of two.
        reduce,
        /// Tiles of 16 columns of a warp.
        upcast,
    }
    flags {}
}

impl Questions for DotFewRows {
    fn suits(&self, part: &Part) -> bool {
        !part.products().is_empty()
    }

    fn new(split: &Split) -> DotFewRows {
        let Split { rows, width, reduce, upcast, picked: tile, .. } = *split;
        DotFewRows { tile, rows, width, reduce, upcast }
    }

    fn split(&self, part: &Part) -> Split {
        Split { picked: self.tile, ..self.units().split(part) }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        if tile_by_lanes(of.kernel, of.part, (of.lanes, of.gpu), self.split(of.part)).is_none() {
            return Err(format!("lanes do not multiply these rows in tiles of {}", self.tile));
        }
        self.units().check(of)
    }

    fn smaller(&self, part: &Part) -> Option<Split> {
        let picked = if self.tile >= 8 { self.tile / 2 } else { 0 };
        Some(Split { picked, ..self.split(part) })
    }

    fn neighbours(&self, part: &Part, _rows: usize) -> Vec<Split> {
        let from = self.split(part);
        [0, from.picked / 2, from.picked * 2].map(|picked| Split { picked, ..from }).into()
    }

    fn sorts(&self) -> bool {
        true
    }
}

impl DotFewRows {
    /// The form of the products on matrix units alone.
    fn units(&self) -> DotUnits {
        let DotFewRows { rows, width, reduce, upcast, .. } = *self;
        DotUnits { rows, width, reduce, upcast, apart: false }
    }
}

/// The numbers of a part on matrix units, with sorted rows multiplied by lanes if that suits the step.
pub(crate) fn by_lanes(
    kernel: &Kernel,
    part: &Part,
    max: &Sizes,
    (lanes, gpu): (u32, &Gpu),
    split: Split,
) -> Split {
    let Some(picks) = Picks::of(part) else { return split };
    let own = picked(part, picks).count() as u32;
    let split_by_lanes = Split { picked: MOST_ROWS / own.next_power_of_two(), ..split };
    let rows: usize = part.rows.iter().map(|d| d.eval(max)).product();
    let suits = max.tokens <= MOST_TOKENS
        && rows * picks.terms.unwrap_or(1) <= FEW_ROWS * picks.count
        && tile_by_lanes(kernel, part, (lanes, gpu), split_by_lanes).is_some();
    if suits { split_by_lanes } else { split }
}

/// The products of sorted rows. Weighted sums are multiplied separately.
fn picked<'a>(part: &'a Part, picks: Picks<'_>) -> impl Iterator<Item = &'a Product> {
    let sums = picks.terms.is_some();
    part.products().iter().filter(move |product| !sums || matches!(product.w.pick, Pick::Sum(_)))
}

/// The numbers of tiles of sorted rows that lanes multiply, if they do and can.
pub(crate) fn tile_by_lanes(
    kernel: &Kernel,
    part: &Part,
    (lanes, gpu): (u32, &Gpu),
    split: Split,
) -> Option<Split> {
    let rows = 1..=MOST_ROWS;
    if !rows.contains(&split.picked)
        || !split.picked.is_multiple_of(2)
        || !gpu.features.picked_by_lanes
        || !gpu.features.quads
    {
        return None;
    }
    let picks = Picks::of(part)?;
    let even = |product: &Product| (product.w.k / BLOCK).is_multiple_of(split.reduce as usize);
    if !picked(part, picks).all(even) {
        return None;
    }
    let block = picked(part, picks).map(|product| registers(kernel, product, gpu)).max()?;
    COLUMNS.into_iter().find_map(|upcast| {
        let width = split.across(lanes) * upcast;
        let whole = (part.cols as u32).is_multiple_of(width)
            && width.is_multiple_of(TILE)
            && (!rounds(kernel, part) || (width as usize).is_multiple_of(BLOCK))
            && (part.cols == width as usize || part.columns_independent());
        let fits = block * upcast as usize <= MOST_WORDS;
        (whole && fits).then_some(Split { rows: split.picked, along_first: false, width, upcast, ..split })
    })
}

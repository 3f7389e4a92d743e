//! `dot.units`: products of many rows on matrix units for signed bytes (CUDA's `mma.m16n8k32`).
//!
//! A warp multiplies tiles of 16 rows and 16 columns. Weights are unpacked to bytes in workgroup memory, in stages that are copied ahead.
//! Another shader first sorts rows that select their matrices by matrix. It is for steps of more than 8 tokens on GPUs of compute
//! capability 8.0 and later: with it and attention on matrix units, prompts of GLM-4.7-Flash on an H200 went from 3,302 to 13,700 tokens/s
//! (`bench/runs/2026-11-22-cuda-prompts.md`), and with workgroups of 128 rows dense products went from 76 to 90 TMAC/s
//! (`bench/runs/2026-11-29-cuda-dense.md`).
//!
//! It takes quantised weights whose rows and columns are whole tiles; `dot.lanes` takes all others.

pub(crate) mod choose;
pub(crate) mod write;

use weft_kern::{Factor, Format, Kernel, Part, Pick, Product};
use weft_quant::packed::{COLUMNS, Layout, ROWS};

use crate::forms::checks::{self, Candidate};
use crate::forms::questions::Questions;
use crate::forms::steps;
use crate::forms::words::form;
use crate::split::{MATRIX_COLUMNS, MATRIX_ROWS, PLAIN, Split, WARP, shares};

/// The most sums per lane.
const MOST_SUMS: u32 = 128;

form! {
    /// Products on matrix units.
    DotUnits "dot.units"
    numbers {
        /// Rows per workgroup: a multiple of 16.
        rows,
        /// Columns per workgroup.
        width,
        /// Shares of a sum that are added up apart; a power of two.
        reduce,
        /// Tiles of 16 columns per warp.
        upcast,
    }
    flags {
        /// Whether rows are neighbours along the first axis (tokens, for one head) and not consecutive.
        apart,
    }
}

impl Questions for DotUnits {
    fn suits(&self, part: &Part) -> bool {
        !part.products().is_empty()
    }

    fn new(split: &Split) -> DotUnits {
        let Split { rows, along_first: apart, width, reduce, upcast, .. } = *split;
        DotUnits { rows, width, reduce, upcast, apart }
    }

    fn split(&self, _part: &Part) -> Split {
        let DotUnits { rows, width, reduce, upcast, apart } = *self;
        Split { rows, along_first: apart, width, reduce, upcast, matrix: true, ..PLAIN }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        let (part, lanes) = (of.part, of.lanes);
        let split = self.split(part);
        checks::variables(1, self.upcast)?;
        checks::columns(part, self.width)?;
        let Warps { across, down, deep } = warps(&split, self.width, lanes);
        let whole = self.width == across * MATRIX_COLUMNS * self.upcast
            && (part.cols as u32).is_multiple_of(MATRIX_COLUMNS);
        let all = lanes == across * down * deep * WARP;
        if !of.gpu.features.matrix || !whole || !all || !self.rows.is_multiple_of(MATRIX_ROWS * down) {
            return Err(format!(
                "the {lanes} lanes do not make up whole warps of {MATRIX_ROWS} rows and {MATRIX_COLUMNS} columns"
            ));
        }
        let groups = self.rows / (MATRIX_ROWS * down);
        let sums = groups.saturating_mul(8 * self.upcast).saturating_mul(part.products().len() as u32);
        if sums > MOST_SUMS {
            return Err(format!("a lane has {sums} sums, and can have {MOST_SUMS}"));
        }
        let even =
            |product: &Product| shares_of(product, self.reduce).is_some_and(|n| n.is_multiple_of(deep));
        if !part.products().iter().all(even) {
            return Err(format!("{deep} warps do not have the same number of whole shares"));
        }
        if !suits(of.kernel, part, self.apart || part.rows.len() < 2) {
            return Err(
                "rows with matrices of their own, or weights that matrix units do not multiply".into()
            );
        }
        Ok(())
    }

    fn smaller(&self, part: &Part) -> Option<Split> {
        let split = self.split(part);
        Some(match self.rows {
            // Matrix units take sixteen rows. A smaller variant is by lanes.
            ..=MATRIX_ROWS => Split { rows: 1, along_first: false, upcast: 1, matrix: false, ..split },
            rows => Split { rows: rows / 2, ..split },
        })
    }

    fn neighbours(&self, part: &Part, rows: usize) -> Vec<Split> {
        steps::of_product(part, rows, &self.split(part))
    }

    fn sorts(&self) -> bool {
        true
    }
}

/// The division of a workgroup's products among its warps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Warps {
    /// Warps with different columns.
    pub(crate) across: u32,
    /// Warps with different rows.
    pub(crate) down: u32,
    /// Warps with different shares of the same sums.
    pub(crate) deep: u32,
}

/// Divides a block of this width among the warps. Warps that columns do not need divide the rows, at least sixteen each, and then the sums.
pub(crate) fn warps(split: &Split, width: u32, lanes: u32) -> Warps {
    let across = (width / (MATRIX_COLUMNS * split.upcast)).max(1);
    let left = (lanes / WARP / across).max(1);
    let down = left.min(split.rows / MATRIX_ROWS).max(1);
    Warps { across, down, deep: left / down }
}

/// The shares of a product's sums, if all have the same number of blocks.
pub(crate) fn shares_of(product: &Product, reduce: u32) -> Option<u32> {
    let blocks = product.w.k / COLUMNS;
    shares(u32::try_from(blocks).ok()?, reduce).1
}

/// Whether matrix units can multiply by the weights of a part. Rows share matrices `along` the first axis, or select all of them by the
/// same indices, by which they can be sorted.
pub(crate) fn suits(kernel: &Kernel, part: &Part, along: bool) -> bool {
    let products = part.products();
    let axis = products.iter().any(|product| matches!(product.w.pick, Pick::Axis(_)));
    let mut picked = products.iter().filter_map(|product| match &product.w.pick {
        Pick::Ids(ids) => Some((ids, product.w.count, false)),
        Pick::Sum(sum) => Some((&sum.ids, product.w.count, true)),
        Pick::Only | Pick::Axis(_) => None,
    });
    let alike = match picked.next() {
        None => true,
        // No other product may use the indices of a weighted sum.
        Some((_, _, true)) => picked.next().is_none() && !axis,
        Some(first) => picked.all(|other| other == first) && !axis,
    };
    alike && !products.is_empty() && products.iter().all(|product| suits_weight(kernel, product, along))
}

/// Whether matrix units can multiply by this weight: quantised, in whole tiles.
fn suits_weight(kernel: &Kernel, product: &Product, along: bool) -> bool {
    let shared = match product.w.pick {
        Pick::Axis(axis) => axis > 0 && along,
        Pick::Only | Pick::Ids(_) | Pick::Sum(_) => true,
    };
    let m = &product.w;
    let whole = |n: usize| n.is_multiple_of(ROWS);
    let tiles = matches!(kernel.params[product.w.param].format, Format::Ggml(ty) if Layout::of(ty).is_some());
    let shared = shared && whole(m.first) && whole(m.n) && (m.count == 1 || whole(m.stride));
    shared
        && tiles
        && !product.transposed
        && product.rounds(&kernel.params)
        && matches!(product.x, Factor::View(_))
}

//! `dot.panels`: products of many rows from panels in workgroup memory, by lanes, or by cooperative matrices of bytes where the GPU has
//! them.
//!
//! A lane has 4 rows and some columns of each product, so that it uses each value it loads from workgroup memory several times, and weights
//! are unpacked once for all rows of a workgroup. Rows that select their matrices are first sorted by matrix. It is for steps of more than
//! 64 tokens on large GPUs through Vulkan: on an H100, prompts of GLM-4.7-Flash lose 15.1 % without it (`bench/runs/2026-11-25-vulkan.md`).
//!
//! It takes quantised weights whose rows and columns are whole tiles; `dot.lanes` takes all others.

pub(crate) mod choose;
pub(crate) mod write;

use weft_kern::{Part, Product};
use weft_quant::packed::COLUMNS;

use crate::forms::checks::{self, Candidate, MOST_SUMS};
use crate::forms::dot::units;
use crate::forms::questions::Questions;
use crate::forms::steps;
use crate::forms::words::form;
use crate::split::{PANEL_COLUMNS, PANEL_ROWS, PLAIN, Split};

form! {
    /// Products from panels in workgroup memory.
    DotPanels "dot.panels"
    numbers {
        /// Rows per workgroup.
        rows,
        /// Columns per workgroup.
        width,
        /// Shares of a sum that are added up separately; a power of two.
        reduce,
        /// Columns per lane of each product.
        upcast,
    }
    flags {
        /// Whether rows are neighbours along the first axis (tokens, for one head) and not consecutive.
        apart,
    }
}

impl Questions for DotPanels {
    fn suits(&self, part: &Part) -> bool {
        !part.products().is_empty()
    }

    fn new(split: &Split) -> DotPanels {
        let Split { rows, along_first: apart, width, reduce, upcast, .. } = *split;
        DotPanels { rows, width, reduce, upcast, apart }
    }

    fn split(&self, _part: &Part) -> Split {
        let DotPanels { rows, width, reduce, upcast, apart } = *self;
        Split { rows, along_first: apart, width, reduce, upcast, panels: true, ..PLAIN }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        let DotPanels { rows, width, upcast, reduce, apart } = *self;
        let (part, lanes, gpu) = (of.part, of.lanes, of.gpu);
        checks::variables(rows, upcast)?;
        checks::columns(part, width)?;
        let across = width / upcast;
        let whole = width.is_multiple_of(upcast) && upcast.is_multiple_of(PANEL_COLUMNS);
        let cols = part.cols as u32;
        let even = cols.is_multiple_of(width) && (cols == width || part.columns_independent());
        // Some row programs round whole blocks.
        let blocks = width.is_multiple_of(COLUMNS as u32);
        // Neighbouring lanes have the same columns and different rows.
        let pairs = rows.is_multiple_of(2 * PANEL_ROWS) && rows * across == PANEL_ROWS * lanes;
        if !gpu.features.panels || !gpu.features.quads || !whole || !even || !blocks || !pairs {
            return Err(format!("the {lanes} lanes do not have {PANEL_ROWS} rows and {upcast} columns each"));
        }
        let sums = PANEL_ROWS.saturating_mul(upcast).saturating_mul(part.products().len() as u32);
        if sums > MOST_SUMS {
            return Err(format!("a lane has {sums} sums, and can have {MOST_SUMS}"));
        }
        let shares = |product: &Product| (product.w.k / COLUMNS).is_multiple_of(reduce as usize);
        if !part.products().iter().all(shares) {
            return Err(format!("{reduce} shares do not have the same number of blocks"));
        }
        if !units::suits(of.kernel, part, apart || part.rows.len() < 2) {
            return Err("rows with matrices of their own, or weights that have no panels".into());
        }
        Ok(())
    }

    /// Products by lanes, without panels.
    fn smaller(&self, part: &Part) -> Option<Split> {
        Some(Split { rows: 1, along_first: false, upcast: 1, panels: false, ..self.split(part) })
    }

    fn neighbours(&self, part: &Part, rows: usize) -> Vec<Split> {
        steps::of_product(part, rows, &self.split(part))
    }

    fn sorts(&self) -> bool {
        true
    }
}

//! `dot.lanes`: products by lanes. Each group of lanes has its own columns. It takes any sizes.
//!
//! It is for short steps, whose time is that of memory: lanes load all their weights before they do anything else, and each weight is
//! loaded once. In longer steps it is for weights that no matrix unit multiplies, and for widths that no tile divides. `docs/cuda.md`
//! describes the order of a kernel's work, and `bench/runs/2026-11-23-cuda-fifth.md` has its times on an H200.

pub(crate) mod write;

use weft_kern::{Factor, Part, Pick};

use crate::forms::checks::{self, Candidate};
use crate::forms::questions::Questions;
use crate::forms::steps;
use crate::forms::words::form;
use crate::split::{PLAIN, Split};

form! {
    /// Products by lanes.
    DotLanes "dot.lanes"
    numbers {
        /// Rows per workgroup.
        rows,
        /// Columns per workgroup.
        width,
        /// Lanes that compute a sum together (split-K within a workgroup); a power of two.
        reduce,
        /// Columns per lane at a time.
        upcast,
    }
    flags {
        /// Whether rows are neighbours along the first axis (tokens, for one head) and not consecutive.
        apart,
    }
}

impl Questions for DotLanes {
    fn suits(&self, part: &Part) -> bool {
        !part.products().is_empty()
    }

    fn new(split: &Split) -> DotLanes {
        let Split { rows, along_first: apart, width, reduce, upcast, .. } = *split;
        DotLanes { rows, width, reduce, upcast, apart }
    }

    fn split(&self, _part: &Part) -> Split {
        let DotLanes { rows, width, reduce, upcast, apart } = *self;
        Split { rows, along_first: apart, width, reduce, upcast, ..PLAIN }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        checks::variables(self.rows, self.upcast)?;
        checks::columns(of.part, self.width)?;
        passes(of, &self.split(of.part))?;
        checks::stores(of.kernel, of.part, self.width)?;
        rows_share(of.part, self.rows, self.apart)
    }

    fn smaller(&self, part: &Part) -> Option<Split> {
        smaller(part, &self.split(part))
    }

    fn neighbours(&self, part: &Part, rows: usize) -> Vec<Split> {
        steps::of_product(part, rows, &self.split(part))
    }
}

/// Checks that lanes pass over a workgroup's columns evenly.
///
/// # Errors
/// If some lanes would have none in the last pass.
pub(crate) fn passes(of: &Candidate<'_>, split: &Split) -> Result<(), String> {
    let (width, pass) = (u64::from(split.width), u64::from(split.across(of.lanes)) * u64::from(split.upcast));
    let whole = checks::is_whole(of.part, split.width);
    match !whole && !width.is_multiple_of(pass) && width > pass {
        true => Err(format!("{width} columns are not a multiple of the {pass} that lanes compute at a time")),
        false => Ok(()),
    }
}

/// Checks that the rows of a workgroup have the same matrix.
///
/// # Errors
/// If they do not.
pub(crate) fn rows_share(part: &Part, rows: u32, apart: bool) -> Result<(), String> {
    for product in part.products() {
        let shared = match product.w.pick {
            Pick::Only => true,
            // All rows of a tile have the same matrix.
            Pick::Axis(axis) => axis > 0 && (apart || part.rows.len() < 2),
            Pick::Ids(_) | Pick::Sum(_) => false,
        };
        if rows > 1 && !shared {
            return Err(format!("{rows} rows do not share a matrix"));
        }
        if rows > 1 && product.x == Factor::Prologue && part.rows.is_empty() {
            return Err("there is one row".into());
        }
    }
    Ok(())
}

/// A variant with fewer rows, or with fewer columns if there is one row.
pub(crate) fn smaller(part: &Part, split: &Split) -> Option<Split> {
    match split {
        Split { rows: 2.., .. } => Some(Split { rows: split.rows / 2, ..*split }),
        Split { width, .. } if part.columns_independent() && *width > 32 && width.is_multiple_of(64) => {
            Some(Split { width: width / 2, ..*split })
        }
        _ => None,
    }
}

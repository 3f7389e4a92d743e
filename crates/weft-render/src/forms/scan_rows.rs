//! `scan`: a recurrence over the rows of each sequence, with its state in registers. It takes any sizes.
//!
//! A workgroup walks the sequences that begin in its rows, several rows at a time. With `apart`, which long steps have, each workgroup
//! walks for some of the columns, and a second shader runs the row programs of all rows at once. There is no other form for scans.
//! `bench/runs/2026-11-28-hybrids-cuda.md` has its share of a hybrid's time on an H200.

pub(crate) mod choose;
pub(crate) mod write;

use weft_kern::Part;

use crate::forms::checks::{self, Candidate};
use crate::forms::questions::Questions;
use crate::forms::steps;
use crate::forms::words::form;
use crate::split::{PLAIN, Split};

form! {
    /// A recurrence over the rows of sequences.
    ScanRows "scan"
    numbers {
        /// Rows per workgroup, which walks the sequences that begin in them.
        rows,
        /// Columns per workgroup.
        width,
        /// Lanes that share a sum; a power of two.
        reduce,
        /// Rows per step of the walk.
        upcast,
    }
    flags {
        /// Whether a second shader runs the row programs.
        apart,
    }
}

impl Questions for ScanRows {
    fn suits(&self, part: &Part) -> bool {
        part.scan().is_some()
    }

    fn new(split: &Split) -> ScanRows {
        let Split { rows, width, reduce, upcast, spread, .. } = *split;
        ScanRows { rows, width, reduce, upcast, apart: spread }
    }

    fn split(&self, _part: &Part) -> Split {
        let ScanRows { rows, width, reduce, upcast, apart } = *self;
        Split {
            rows,
            along_first: apart,
            width,
            reduce,
            upcast,
            chunk: u32::from(apart),
            spread: apart,
            ..PLAIN
        }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        checks::variables(1, self.upcast)?;
        let Some(scan) = of.part.scan() else { return Ok(()) };
        choose::check(of.part, scan, &self.split(of.part), (of.lanes, of.gpu))
    }

    /// A variant with fewer rows at once, or with a smaller tile if there is one: a smaller tile alone takes as much memory.
    fn smaller(&self, part: &Part) -> Option<Split> {
        let split = self.split(part);
        match self {
            ScanRows { upcast: 2.., .. } => Some(Split { upcast: self.upcast / 2, ..split }),
            ScanRows { rows: 2.., .. } => Some(Split { rows: self.rows / 2, ..split }),
            _ => None,
        }
    }

    fn neighbours(&self, part: &Part, rows: usize) -> Vec<Split> {
        let from = self.split(part);
        [steps::of_rows(part, rows, &from), steps::of_width(part, &from)].concat()
    }
}

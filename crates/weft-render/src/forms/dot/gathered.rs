//! `dot.gathered`: products whose row program needs whole rows, spread over several workgroups. The last workgroup of a tile of rows, which
//! a counter identifies, runs the row program. It takes any number of columns.
//!
//! It is for routers, whose weights are floats of some hundred KiB, on GPUs whose workgroups see the stores that others of the launch made
//! before they counted themselves (CUDA). On an H200 a reply of 8 layers went from 2,446 to 2,541 tokens/s
//! (`bench/runs/2026-11-22-cuda-decode.md`).

pub(crate) mod router;
pub(crate) mod write;

use weft_kern::Part;

use crate::forms::checks::{self, Candidate};
use crate::forms::dot::lanes;
use crate::forms::dot::lanes::DotLanes;
use crate::forms::questions::Questions;
use crate::forms::steps;
use crate::forms::words::form;
use crate::split::{Split, number};

form! {
    /// Products whose last workgroup runs the row program.
    DotGathered "dot.gathered"
    numbers {
        /// Rows per workgroup.
        rows,
        /// Columns per workgroup.
        width,
        /// Lanes that compute a sum together; a power of two.
        reduce,
        /// Columns per lane at a time.
        upcast,
    }
    flags {
        /// Whether rows are neighbours along the first axis and not consecutive.
        apart,
    }
}

impl Questions for DotGathered {
    fn suits(&self, part: &Part) -> bool {
        !part.products().is_empty()
    }

    fn new(split: &Split) -> DotGathered {
        let Split { rows, along_first: apart, width, reduce, upcast, .. } = *split;
        DotGathered { rows, width, reduce, upcast, apart }
    }

    fn split(&self, part: &Part) -> Split {
        let DotGathered { rows, width, reduce, upcast, apart } = *self;
        Split { spread: true, ..DotLanes { rows, width, reduce, upcast, apart }.split(part) }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        checks::variables(self.rows, self.upcast)?;
        if !of.gpu.features.gathers || of.part.columns_independent() {
            return Err(
                "only products of whole rows can be gathered, where workgroups see what others stored".into(),
            );
        }
        lanes::passes(of, &self.split(of.part))?;
        lanes::rows_share(of.part, self.rows, self.apart)
    }

    fn smaller(&self, part: &Part) -> Option<Split> {
        lanes::smaller(part, &self.split(part))
    }

    fn neighbours(&self, part: &Part, rows: usize) -> Vec<Split> {
        steps::of_product(part, rows, &self.split(part))
    }
}

impl DotGathered {
    /// The same products with all columns in one workgroup, which needs no counter. This changes no bit.
    pub(crate) fn by_one(&self, part: &Part) -> DotLanes {
        let DotGathered { rows, reduce, apart, .. } = *self;
        DotLanes { rows, width: number(part.cols), reduce, upcast: 1, apart }
    }
}

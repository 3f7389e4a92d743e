//! `plain`: rows and columns without a product, one lane for each column. It takes any sizes.
//!
//! It is for elementwise kernels, norms, softmax and selections from short rows. Lanes of a workgroup reduce a row together; short rows are
//! taken several at a time. The only other form for such parts is [`select.blocks`](super::SelectBlocks).

pub(crate) mod write;

use weft_kern::{Anchor, Part};

use crate::forms::checks::{self, Candidate};
use crate::forms::questions::Questions;
use crate::forms::steps;
use crate::forms::words::form;
use crate::split::{PLAIN, Split};

form! {
    /// Rows and columns without a product.
    Plain "plain"
    numbers {
        /// Rows per workgroup.
        rows,
        /// Columns per workgroup.
        width,
    }
    flags {
        /// Whether rows are neighbours along the first axis (tokens, for one head) and not consecutive.
        apart,
    }
}

impl Questions for Plain {
    fn suits(&self, part: &Part) -> bool {
        matches!(part.anchor, Anchor::Map | Anchor::Reduce)
    }

    fn new(split: &Split) -> Plain {
        Plain { rows: split.rows, width: split.width, apart: split.along_first }
    }

    fn split(&self, _part: &Part) -> Split {
        Split { rows: self.rows, along_first: self.apart, width: self.width, ..PLAIN }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        checks::columns(of.part, self.width)?;
        checks::stores(of.kernel, of.part, self.width)
    }

    fn smaller(&self, part: &Part) -> Option<Split> {
        (self.rows > 1).then(|| Plain { rows: self.rows / 2, ..*self }.split(part))
    }

    fn neighbours(&self, part: &Part, rows: usize) -> Vec<Split> {
        let from = self.split(part);
        [steps::of_rows(part, rows, &from), steps::of_width(part, &from)].concat()
    }
}

//! `plain`: rows and columns without a product, one lane for each column. It takes any sizes.
//!
//! It is for elementwise kernels, norms, softmax and selections from short rows. Lanes of a workgroup reduce a row together; short rows are
//! taken several at a time. The only other form for such parts is [`select.blocks`](super::SelectBlocks).

pub(crate) mod write;

use weft_kern::Part;

use crate::forms::checks::{self, Of};
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

impl Plain {
    pub(crate) fn new(split: &Split) -> Plain {
        Plain { rows: split.rows, width: split.width, apart: split.along_first }
    }

    pub(crate) fn split(&self, _part: &Part) -> Split {
        Split { rows: self.rows, along_first: self.apart, width: self.width, ..PLAIN }
    }

    pub(crate) fn check(&self, of: &Of<'_>) -> Result<(), String> {
        checks::columns(of.part, self.width)?;
        checks::stores(of.kernel, of.part, self.width)
    }

    pub(crate) fn smaller(&self, part: &Part) -> Option<Split> {
        (self.rows > 1).then(|| Plain { rows: self.rows / 2, ..*self }.split(part))
    }
}

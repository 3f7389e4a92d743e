//! The questions that every form answers in its own file. Its text is written in a file of its own, which lies above lowering.

use weft_kern::Part;

use crate::forms::checks::Candidate;
use crate::forms::words::Text;
use crate::split::Split;

/// The answers of a form with its parameters.
pub(crate) trait Questions: Text {
    /// Whether it is for parts with this anchor. Sizes are left to [`check`](Questions::check).
    fn suits(&self, part: &Part) -> bool;

    /// Its parameters from the numbers that lowering reads.
    fn new(split: &Split) -> Self
    where
        Self: Sized;

    /// Its parameters as the numbers that lowering reads.
    fn split(&self, part: &Part) -> Split;

    /// Checks that it is legal. Workgroup memory is counted later, when the kernel is lowered.
    ///
    /// # Errors
    /// The rule that is broken.
    fn check(&self, of: &Candidate<'_>) -> Result<(), String>;

    /// The numbers of a variant with less workgroup memory, if there is one. It changes no bit.
    fn smaller(&self, _part: &Part) -> Option<Split> {
        None
    }

    /// The tuner's neighbours in steps of `rows` rows: one number halved, doubled or flipped. Some may not be legal.
    fn neighbours(&self, _part: &Part, _rows: usize) -> Vec<Split> {
        Vec::new()
    }

    /// Whether queries are rounded to halves before they are multiplied by keys.
    fn rounds_queries(&self) -> bool {
        false
    }

    /// Whether rows that select their matrices by index are sorted by matrix.
    fn sorts(&self) -> bool {
        false
    }
}

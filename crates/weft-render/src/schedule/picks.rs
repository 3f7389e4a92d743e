//! The indices by which the rows of a part select their matrices.

use weft_kern::{Part, Pick, View};

/// The indices by which the rows of a part select their matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picks<'p> {
    pub(crate) ids: &'p View,
    /// The number of matrices whose products are added up, if there are several. Each is a row of its own while rows are sorted.
    pub(crate) terms: Option<usize>,
    /// The number of matrices.
    pub(crate) count: usize,
}

impl<'p> Picks<'p> {
    /// The indices of a part's rows, if these select matrices by index.
    pub(crate) fn of(part: &'p Part) -> Option<Picks<'p>> {
        part.products().iter().find_map(|product| match &product.w.pick {
            Pick::Ids(ids) => Some(Picks { ids, terms: None, count: product.w.count }),
            Pick::Sum(sum) => Some(Picks { ids: &sum.ids, terms: Some(sum.terms), count: product.w.count }),
            Pick::Only | Pick::Axis(_) => None,
        })
    }
}

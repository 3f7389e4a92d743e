//! How the rows of a part pick their matrices by index.

use weft_kern::{Part, Pick, View};

/// How the rows of a part pick their matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picks<'p> {
    pub(crate) ids: &'p View,
    /// If products of several matrices are added up, how many; each is a row of its own while rows are sorted.
    pub(crate) terms: Option<usize>,
    /// The number of matrices.
    pub(crate) count: usize,
}

impl<'p> Picks<'p> {
    /// How a part's rows pick matrices by index, if they do.
    pub(crate) fn of(part: &'p Part) -> Option<Picks<'p>> {
        part.products().iter().find_map(|product| match &product.w.pick {
            Pick::Ids(ids) => Some(Picks { ids, terms: None, count: product.w.count }),
            Pick::Sum(sum) => Some(Picks { ids: &sum.ids, terms: Some(sum.terms), count: product.w.count }),
            Pick::Only | Pick::Axis(_) => None,
        })
    }
}

//! The rows of a kernel, one by one.

use weft_ir::{Dim, Sizes};

/// All index tuples of a row space.
pub(super) struct RowSpace {
    axes: Vec<usize>,
}

impl RowSpace {
    pub(super) fn new(rows: &[Dim], sizes: &Sizes) -> RowSpace {
        RowSpace { axes: rows.iter().map(|d| d.eval(sizes)).collect() }
    }

    /// The tuples, last axis fastest.
    pub(super) fn iter(&self) -> impl Iterator<Item = Vec<usize>> {
        (0..self.axes.iter().product::<usize>()).map(|mut flat| {
            let mut row = vec![0; self.axes.len()];
            for (r, n) in row.iter_mut().zip(&self.axes).rev() {
                *r = flat % n;
                flat /= n;
            }
            row
        })
    }
}

//! The rows of a part.

use weft_ir::{Dim, Sizes};

/// Iterates over all index tuples of a row space, the last axis fastest.
pub fn rows(space: &[Dim], sizes: &Sizes) -> impl Iterator<Item = Vec<usize>> + use<> {
    let axes: Vec<usize> = space.iter().map(|axis| axis.eval(sizes)).collect();
    (0..axes.iter().product::<usize>()).map(move |mut flat| {
        let mut row = vec![0; axes.len()];
        for (r, n) in row.iter_mut().zip(&axes).rev() {
            *r = flat % n;
            flat /= n;
        }
        row
    })
}

//! Where the values of a row are.

use super::buffer::Buffer;
use crate::program::{Indexed, View};

/// The first index that a row loads or stores: where its view begins, plus the offset of a row picked by index.
///
/// # Errors
/// A sentence, if the index is out of range.
pub fn place(
    args: &[Buffer<'_>],
    view: &View,
    indexed: Option<&Indexed>,
    row: &[usize],
) -> Result<usize, String> {
    let picked = match indexed {
        None => 0,
        Some(i) => index(args, &i.index, row, 0, args[view.param].len() / i.stride)? * i.stride,
    };
    Ok(base(view, row) + picked)
}

/// The first index of a view's row.
pub(crate) fn base(view: &View, row: &[usize]) -> usize {
    view.offset + view.strides.iter().zip(row).map(|(s, r)| s * r).sum::<usize>()
}

/// The index that a view of indices holds for a row, checked against `bound`.
pub(crate) fn index(
    args: &[Buffer<'_>],
    view: &View,
    row: &[usize],
    c: usize,
    bound: usize,
) -> Result<usize, String> {
    let value = args[view.param].int(base(view, row) + c * view.step);
    usize::try_from(value)
        .ok()
        .filter(|i| *i < bound)
        .ok_or_else(|| format!("index {value} is out of range: there are {bound}"))
}

//! The tuner's steps from a form's numbers. None changes a bit, or anything outside the part.

use weft_kern::Part;

use crate::split::Split;

/// Columns of a rounded block.
const BLOCK: u32 = 32;

/// Twice and half of a number.
pub(crate) fn steps(n: u32) -> impl Iterator<Item = u32> {
    [n.saturating_mul(2), n / 2].into_iter().filter(|n| *n > 0)
}

/// Twice and half of the rows, and rows along the other axis. `all` is the number of rows of a step.
pub(crate) fn of_rows(part: &Part, all: usize, from: &Split) -> Vec<Split> {
    let several = part.rows.len() > 1;
    let mut found = Vec::new();
    for rows in steps(from.rows).filter(|rows| *rows as usize <= all.next_power_of_two()) {
        found.push(Split { rows, along_first: from.along_first && rows > 1, ..*from });
        if rows > 1 && several {
            found.push(Split { rows, along_first: !from.along_first, ..*from });
        }
    }
    if from.rows > 1 && several {
        found.push(Split { along_first: !from.along_first, ..*from });
    }
    found
}

/// Twice and half of the rows of a tile of attention, and the other choice of spreading chunks.
pub(crate) fn of_tiles(all: usize, from: &Split) -> Vec<Split> {
    let rows = steps(from.rows).filter(|rows| *rows as usize <= all.next_power_of_two());
    let rows = rows.map(|rows| Split { rows, along_first: from.along_first && rows > 1, ..*from });
    rows.chain([Split { spread: !from.spread, ..*from }]).collect()
}

/// Twice and half of the columns of a workgroup, if they can be split.
pub(crate) fn of_width(part: &Part, from: &Split) -> Vec<Split> {
    let widths = steps(from.width).filter(|_| part.columns_independent());
    widths.map(|width| Split { width: at_most_all(part, width), ..*from }).collect()
}

/// Twice and half of the columns of a lane, with the same lanes or with the same columns.
pub(crate) fn of_upcast(part: &Part, from: &Split) -> Vec<Split> {
    let both = |upcast: u32| {
        let width = scaled(part, from.width, upcast, from.upcast);
        [Split { upcast, ..*from }, Split { upcast, width, ..*from }]
    };
    steps(from.upcast).flat_map(both).collect()
}

/// All steps of a product.
pub(crate) fn of_product(part: &Part, all: usize, from: &Split) -> Vec<Split> {
    [of_rows(part, all, from), of_width(part, from), of_upcast(part, from)].concat()
}

/// A width times `times / by`, if columns can be split: whole blocks, and at most all columns.
pub(crate) fn scaled(part: &Part, width: u32, times: u32, by: u32) -> u32 {
    if !part.columns_independent() {
        return width;
    }
    let scaled = u64::from(width) * u64::from(times) / u64::from(by.max(1));
    let scaled = u32::try_from(scaled).unwrap_or(u32::MAX).max(2);
    at_most_all(part, if width.is_multiple_of(BLOCK) { scaled.max(BLOCK) } else { scaled })
}

fn at_most_all(part: &Part, width: u32) -> u32 {
    width.min(u32::try_from(part.cols).unwrap_or(u32::MAX))
}

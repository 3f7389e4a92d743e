//! The schedule of a shader that combines the results of another shader's workgroups.

use weft_kern::{Anchor, Part};

use crate::split::Split;

/// Columns per workgroup that combines chunks.
const JOINED: u32 = 64;

/// The numbers of a part in its second shader: fewer columns per workgroup if these can be split, because its workgroups do little.
pub(crate) fn joining(part: &Part, split: &Split, quads: bool) -> Split {
    let cols = u32::try_from(part.cols).unwrap_or(u32::MAX);
    if quads && part.columns_independent() && part.cols.is_multiple_of(JOINED as usize) {
        return Split { rows: 1, along_first: false, width: JOINED, ..*split };
    }
    match &part.anchor {
        Anchor::Attend(_) => *split,
        Anchor::Scan(_) => Split { rows: 1, along_first: false, width: cols, ..*split },
        _ => Split { width: cols, ..*split },
    }
}

//! The schedule of a shader that joins what the workgroups of another have computed.

use weft_kern::{Anchor, Part};

use crate::schedule::Split;

/// Columns of a workgroup that joins chunks.
const JOINED: u32 = 64;

/// How the second shader of a part with this schedule is split: more finely where columns can be,
/// since its workgroups do little.
pub(crate) fn joining(part: &Part, split: &Split, quads: bool) -> Split {
    if quads && part.columns_independent() && part.cols.is_multiple_of(JOINED as usize) {
        return Split { rows: 1, width: JOINED, ..*split };
    }
    match &part.anchor {
        Anchor::Attend(_) => *split,
        _ => Split { width: u32::try_from(part.cols).unwrap_or(u32::MAX), ..*split },
    }
}

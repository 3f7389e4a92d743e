//! Selections of the largest values of long rows, and their schedule.

use weft_kern::{Anchor, Instr, Part, ValueId};

use crate::schedule::Split;

/// Rows that are longer are cut into blocks, which are spread over workgroups.
const LONG_ROW: usize = 512;

/// Most values that are selected from a long row: the blocks that may have them are in registers.
const MOST_SELECTED: usize = 256;

/// Columns of a block, and of a workgroup that looks for the largest of each of its blocks.
const BLOCK: u32 = 64;
const WIDTH: u32 = 1024;

/// The value that a part selects from and how many it selects, if that is a long row and a workgroup
/// can do everything else with it.
pub(crate) fn selection(part: &Part) -> Option<(ValueId, usize)> {
    let lens = part.lens();
    let mut selections = part.body.iter().filter_map(|instr| match instr {
        Instr::TopK { x, k } => Some((*x, *k)),
        _ => None,
    });
    let (x, k) = selections.next()?;
    let simple = part.body.iter().all(|instr| !matches!(instr, Instr::Reduce(..) | Instr::Rope { .. }));
    let alone = simple && selections.next().is_none() && part.anchor == Anchor::Reduce;
    (alone && part.prologue.is_none() && lens[x] > LONG_ROW && k <= MOST_SELECTED).then_some((x, k))
}

/// The schedule of such a part.
pub(crate) fn split(part: &Part) -> Option<Split> {
    selection(part)?;
    // The last workgroup may have columns beyond the row: its last block is a whole one, too.
    let whole = part.cols.next_multiple_of(BLOCK as usize);
    Some(Split {
        rows: 1,
        along_first: false,
        width: WIDTH.min(u32::try_from(whole).unwrap_or(u32::MAX)),
        reduce: 1,
        upcast: 1,
        chunk: BLOCK,
        spread: true,
        matrix: false,
        panels: false,
        picked: 0,
    })
}

/// Whether a split fits such a part.
///
/// # Errors
/// The rule that is broken.
pub(crate) fn check(part: &Part, split: &Split) -> Result<(), String> {
    let Split { rows, width, chunk, spread, .. } = *split;
    let is_block = chunk.is_power_of_two() && (16..=BLOCK).contains(&chunk);
    if rows != 1 || !spread || !is_block || !width.is_multiple_of(chunk) {
        let (_, k) = selection(part).unwrap_or_default();
        return Err(format!(
            "`{split}`: the {k} largest of a long row need one row, spread in chunks of 16, 32 or {BLOCK} columns, and a width of whole chunks"
        ));
    }
    Ok(())
}

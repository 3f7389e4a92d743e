//! `select.blocks`: the largest values of long rows. Workgroups find the largest value of each block of columns. A second shader, with one
//! workgroup for each row, selects from the blocks with the largest values.
//!
//! It is for the candidates of the next token, the 64 likeliest of some hundred thousand: the host then reads 512 bytes instead of all
//! logits (`docs/cuda.md`). It takes rows of any length, because the last block may have columns beyond a row. [`plain`](super::Plain) does
//! the same in one workgroup, for short rows and other programs.

pub(crate) mod tops;
pub(crate) mod write;

use weft_kern::{Anchor, Instr, Part, ValueId};

use crate::forms::checks::Candidate;
use crate::forms::questions::Questions;
use crate::forms::words::form;
use crate::split::{PLAIN, Split};

form! {
    /// The largest values of long rows.
    SelectBlocks "select.blocks"
    numbers {
        /// Columns per workgroup of the first shader.
        width,
        /// Columns of a block; a power of two.
        chunk,
    }
    flags {}
}

/// The longest row that is not cut into blocks.
const LONG_ROW: usize = 512;

/// The most values that are selected from a long row. The blocks that may have them are in registers.
const MOST_SELECTED: usize = 256;

/// Columns per block, and columns per workgroup of the first shader.
const BLOCK: u32 = 64;
const WIDTH: u32 = 1024;

/// The value that a part selects from and the number of selected values, if the row is long and one workgroup can run the rest of the
/// program.
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

/// The numbers of such a part.
pub(crate) fn split(part: &Part) -> Option<Split> {
    selection(part)?;
    // The last workgroup may have columns beyond the row, because its last block is also whole.
    let whole = part.cols.next_multiple_of(BLOCK as usize);
    let width = WIDTH.min(u32::try_from(whole).unwrap_or(u32::MAX));
    Some(Split { width, chunk: BLOCK, spread: true, ..PLAIN })
}

impl Questions for SelectBlocks {
    fn suits(&self, part: &Part) -> bool {
        part.anchor == Anchor::Reduce
    }

    fn new(split: &Split) -> SelectBlocks {
        SelectBlocks { width: split.width, chunk: split.chunk }
    }

    fn split(&self, _part: &Part) -> Split {
        Split { width: self.width, chunk: self.chunk, spread: true, ..PLAIN }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        let Some((_, k)) = selection(of.part) else {
            return Err("only the largest of long rows are selected in blocks".into());
        };
        let is_block = self.chunk.is_power_of_two() && (16..=BLOCK).contains(&self.chunk);
        if !is_block || !self.width.is_multiple_of(self.chunk) {
            return Err(format!(
                "the {k} largest of a long row need chunks of 16, 32 or {BLOCK} columns, and a width of whole chunks"
            ));
        }
        Ok(())
    }

    /// There is no smaller variant: its memory depends on the number of selected values, and on lanes.
    fn smaller(&self, _part: &Part) -> Option<Split> {
        None
    }
}

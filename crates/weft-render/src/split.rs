//! The division of a part's rows and columns among workgroups and lanes: numbers that all forms share, and that lowering reads.
//!
//! Within a workgroup, lanes work in parallel *across* columns, each on several columns at a time (*upcast*), and several lanes *reduce*
//! one sum together (split-K within a workgroup). Inner loops are always unrolled by a block of 32 columns of a weight, and vectors are
//! 32-bit words. [`Form`](crate::Form) defines the meaning of the numbers for a part.

use weft_kern::Shares;

/// Lanes of a warp.
pub(crate) const WARP: u32 = 32;

/// Rows of activations that matrix units multiply at once.
pub(crate) const MATRIX_ROWS: u32 = 16;

/// Columns of a tile.
pub(crate) const MATRIX_COLUMNS: u32 = 16;

/// Rows per lane that multiplies from panels.
pub(crate) const PANEL_ROWS: u32 = 4;

/// Columns that it loads together. It has a multiple of them.
pub(crate) const PANEL_COLUMNS: u32 = 4;

/// The most words of weights that all lanes of a workgroup load ahead. Each takes a register.
pub(crate) const EARLY_REGISTERS: u32 = 40 << 10;

/// The numbers of a form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Split {
    /// Rows per workgroup.
    pub(crate) rows: u32,
    /// Whether these rows are neighbours along the first axis (tokens, for one head) rather than
    /// consecutive.
    pub(crate) along_first: bool,
    /// Columns per workgroup.
    pub(crate) width: u32,
    /// Lanes that compute a sum together (the split-K factor within a workgroup); a power of two.
    pub(crate) reduce: u32,
    /// Columns per lane at a time; in attention, positions that a lane scores at a time.
    pub(crate) upcast: u32,
    /// In attention, the positions per chunk, whose results are combined later; in selections from long rows, the columns per block;
    /// otherwise 0.
    pub(crate) chunk: u32,
    /// Whether several workgroups compute partial results, with which another shader or the last of them continues.
    pub(crate) spread: bool,
    /// Whether matrix units compute the part.
    pub(crate) matrix: bool,
    /// Whether lanes compute products from panels in workgroup memory.
    pub(crate) panels: bool,
    /// The rows per tile of sorted rows, if lanes multiply these; otherwise 0.
    pub(crate) picked: u32,
    /// Whether several workgroups drop positions that an indexer cannot choose, before one workgroup chooses.
    pub(crate) narrow: bool,
}

/// One row, one lane per column.
pub(crate) const PLAIN: Split = Split {
    rows: 1,
    along_first: false,
    width: 1,
    reduce: 1,
    upcast: 1,
    chunk: 0,
    spread: false,
    matrix: false,
    panels: false,
    picked: 0,
    narrow: false,
};

impl Split {
    /// The number of lanes across columns.
    pub(crate) const fn across(&self, lanes: u32) -> u32 {
        lanes / self.reduce
    }
}

/// The largest power of two that is at most `n`; 1 for 0.
pub(crate) fn below(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

/// A number as a word; saturates.
pub(crate) fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The division of a weight's row of blocks among `reduce` lanes ([`Shares`]): the blocks of each, and the number of lanes with blocks if
/// all of these have so many. Then the last lanes may have none. Otherwise some have fewer.
pub(crate) fn shares(blocks: u32, reduce: u32) -> (u32, Option<u32>) {
    let shares = Shares::of(blocks as usize, reduce as usize);
    (number(shares.each), shares.are_equal(blocks as usize).then(|| number(shares.count)))
}

//! Operations of a warpgroup: four warps whose matrix units multiply together, with operands that they read from workgroup
//! memory by themselves (Hopper's `wgmma`).
//!
//! Operands lie in *blocks* of 64 halves a row. A row of a block is 128 bytes, and rows follow each other; unit `u` of 16 bytes
//! of row `r` is at unit `u ^ (r % 8)` of that row ([`swizzled`]), so that neither eight rows nor eight units share banks. A
//! block begins at a multiple of 1024 bytes. An operand is named by the unit of workgroup memory at which it begins.

use crate::expr::Expr;

/// Lanes of a warpgroup.
pub const WARPGROUP: u32 = 128;

/// Rows that a warpgroup multiplies.
pub const ROWS: u32 = 64;

/// The depth of a product.
pub const DEPTH: u32 = 16;

/// Columns of a block.
pub const COLUMNS: u32 = 64;

/// Sums of a lane for so many columns: lane `4 · g + t` of warp `v` has, for each eight of them, those of columns `2 · t` and
/// `2 · t + 1`, of row `16 · v + g` and then of row `16 · v + g + 8`.
pub const fn sums(columns: u32) -> usize {
    columns as usize / 2
}

/// Units of 16 bytes in a row of a block.
pub const ROW_UNITS: u32 = 8;

/// Words of a unit.
pub const UNIT_WORDS: u32 = 4;

/// A multiple of so many words begins a block.
pub const BLOCK_ALIGN: u32 = 256;

/// An operation. All lanes of a warpgroup must get to each of them.
#[allow(missing_docs, reason = "the sentence of a variant names its fields")]
#[derive(Clone, PartialEq, Debug)]
pub enum Warpgroup {
    /// Names the number of the lane's warpgroup.
    Number(String),
    /// Names sums. They are undefined at first, to save an instruction.
    Declare(Vec<String>),
    /// What the lane has stored or copied to workgroup memory is visible to products after the next barrier.
    Publish,
    /// Products may begin: all earlier uses of their sums and of the lanes' operands are done.
    Begin,
    /// Begins to multiply 64 rows of 16 halves by 64 columns or 32, and to add the products to the lane's sums for these, or to 0.
    Multiply { sums: Vec<Expr>, left: Left, right: Expr, fresh: bool },
    /// Ends a group of products.
    End,
    /// Waits until all but the last so many groups of products have been computed.
    Wait(u32),
    /// Sums that have been waited for, or whose earlier uses must be done.
    Hold(Vec<Expr>),
}

/// The rows of a product, which says also how its columns lie.
#[derive(Clone, PartialEq, Debug)]
pub enum Left {
    /// In a block. So are the columns, each a row of a block.
    Shared(Expr),
    /// The lane's words, as [`Stmt::MatrixHalves`](crate::stmt::Stmt::MatrixHalves) has them. The columns are those of a
    /// block: neighbours are beside each other.
    Lanes(Box<[Expr; 4]>),
}

impl Warpgroup {
    /// All expressions, in the order in which they are printed.
    pub fn operands(&self) -> impl Iterator<Item = &Expr> {
        let (sums, left, right): (&[Expr], &[Expr], Option<&Expr>) = match self {
            Warpgroup::Multiply { sums, left, right, .. } => match left {
                Left::Shared(left) => (sums, std::slice::from_ref(left), Some(right)),
                Left::Lanes(left) => (sums, &left[..], Some(right)),
            },
            Warpgroup::Hold(sums) => (sums, &[], None),
            _ => (&[], &[], None),
        };
        sums.iter().chain(left).chain(right)
    }
}

/// The word of a unit of a row, within its block.
pub fn swizzled(row: &Expr, unit: &Expr) -> Expr {
    row * (ROW_UNITS * UNIT_WORDS) + (unit ^ (row % ROW_UNITS)) * UNIT_WORDS
}

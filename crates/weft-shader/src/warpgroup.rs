//! Operations of a warpgroup: four warps whose matrix units multiply together, and read their operands from workgroup memory (Hopper's
//! `wgmma`).
//!
//! Operands are stored in *blocks* of 64 halves a row. A row of a block is 128 bytes, and rows follow each other. Unit `u` of 16 bytes of
//! row `r` is at unit `u ^ (r % 8)` of that row ([`swizzled`]), so that neither eight rows nor eight units share banks. A block begins at a
//! multiple of 1024 bytes. An operand is given by its first unit of workgroup memory.

use crate::expr::Expr;

/// Lanes of a warpgroup.
pub const WARPGROUP: u32 = 128;

/// Rows that a warpgroup multiplies.
pub const ROWS: u32 = 64;

/// The depth of a product.
pub const DEPTH: u32 = 16;

/// Columns of a block.
pub const COLUMNS: u32 = 64;

/// Sums per lane for this many columns: lane `4 · g + t` of warp `v` has, for each eight of them, those of columns `2 · t` and `2 · t + 1`,
/// of row `16 · v + g` and then of row `16 · v + g + 8`.
pub const fn sums(columns: u32) -> usize {
    columns as usize / 2
}

/// Units of 16 bytes in a row of a block.
pub const ROW_UNITS: u32 = 8;

/// Words of a unit.
pub const UNIT_WORDS: u32 = 4;

/// The alignment of blocks in words.
pub const BLOCK_ALIGN: u32 = 256;

/// An operation. All lanes of a warpgroup must execute it.
#[allow(missing_docs, reason = "the sentence of a variant names its fields")]
#[derive(Clone, PartialEq, Debug)]
pub enum Warpgroup {
    /// Names the number of the lane's warpgroup.
    Number(String),
    /// Names sums, which are undefined at first to save an instruction.
    Declare(Vec<String>),
    /// Makes the lane's stores and copies to workgroup memory visible to products after the next barrier.
    Publish,
    /// Begins a group of products. All earlier uses of their sums and of the lanes' operands must be done.
    Begin,
    /// Begins to multiply 64 rows of 16 halves by 64 or 32 columns, and to add the products to the lane's sums, or to 0.
    Multiply { sums: Vec<Expr>, left: Left, right: Expr, fresh: bool },
    /// Ends a group of products.
    End,
    /// Waits until all but this many of the last groups of products have been computed.
    Wait(u32),
    /// Keeps compilers from moving uses of these sums across this point: uses before a group of products, or reads after the wait for it.
    Hold(Vec<Expr>),
}

/// The rows of a product. They also decide the layout of its columns.
#[derive(Clone, PartialEq, Debug)]
pub enum Left {
    /// Rows in a block. The columns are rows of another block.
    Shared(Expr),
    /// Rows in the lanes' words, in the layout of [`Stmt::MatrixHalves`](crate::stmt::Stmt::MatrixHalves). The columns are those of a
    /// block: neighbouring columns are neighbours in memory.
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

//! Operations on cooperative matrices: 16 × 16 values that a warp holds together, in a layout that only the driver knows (Vulkan's
//! `VK_KHR_cooperative_matrix`).
//!
//! Halves are loaded from an array of halves in workgroup memory, and their sums are stored to an array of floats there. Languages have no
//! view of either as words, so both are outside the pool. Offsets among halves are counted in *fours*, the elements of that array.
//!
//! Signed bytes, factors and sums of bytes are words of the pool. WGSL has no matrices of bytes, and no element-wise products: its texts
//! call intrinsics by name, which a compiler replaces (`weft-wgpu/src/spirv.rs`).

use crate::expr::Expr;

/// Rows, columns, and depth of a product.
pub const SIDE: u32 = 16;

/// Halves of an element of the array.
pub const FOUR: u32 = 4;

/// An operation. All lanes of a warp must execute it with the same operands.
#[allow(missing_docs, reason = "the sentence of a variant names its fields")]
#[derive(Clone, PartialEq, Debug)]
pub enum Cooperative {
    /// Stores four words of two halves each, from an even number of fours on, which is named. Only this operation has operands of a single
    /// lane.
    StoreHalves { at: Expr, words: [Expr; 4] },
    /// Declares sums, all of them 0.
    Sums(String),
    /// Loads halves that lie `stride` fours apart, an even number.
    Load { into: String, operand: Operand, at: Expr, stride: u32 },
    /// Adds the products of rows and columns to sums.
    Multiply { sums: String, rows: String, columns: String },
    /// Stores sums row by row, `stride` floats apart, a multiple of four.
    Store { sums: String, at: Expr, stride: u32 },
    /// Waits for all lanes of the warp, and makes their stores to workgroup memory visible to each other. naga restricts this barrier to
    /// the memory of subgroups, so it depends on drivers, which keep a store before a load that may be of the same place.
    SubgroupBarrier,
    /// Loads 16 rows or columns of 32 signed bytes each, which begin `stride` words apart, a multiple of four, from a multiple of four
    /// on.
    LoadBytes { into: String, operand: Operand, at: Expr, stride: u32 },
    /// Names the sums of the products of bytes, as floats: these are exact.
    MultiplyBytes { into: String, rows: String, columns: String },
    /// Names a matrix of the same float for each value of a row, or of a column, from sixteen words, the first one a multiple of four.
    LoadFactors { into: String, operand: Operand, at: Expr },
    /// Declares sums with the values of those named.
    SumsFrom { name: String, from: String },
    /// Sets sums to those named.
    SetSums { sums: String, from: String },
    /// Adds other sums element by element.
    AddSums { sums: String, more: String },
    /// Adds products to sums element by element, each rounded once: of the first factor by the second, or by the rounded product of the
    /// second and the third.
    AddProducts { sums: String, factors: Vec<String> },
    /// Multiplies sums by the first factors, rounds, and adds the products of others by the second factors, element by element and each
    /// rounded once.
    Rescale { sums: String, by: String, more: String, factor: String },
    /// Stores sums in the pool row by row, `stride` words apart, from a word on; both are multiples of four.
    StoreSums { sums: String, at: Expr, stride: u32 },
}

/// The layout of a loaded matrix in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// Rows, whose values are neighbours.
    Rows,
    /// Columns, whose values are neighbours.
    Columns,
    /// Columns, of which neighbouring columns are neighbours in memory.
    ColumnsBeside,
}

impl Cooperative {
    /// All expressions, in the order in which they are printed.
    pub fn operands(&self) -> impl Iterator<Item = &Expr> {
        let (at, words): (Option<&Expr>, &[Expr]) = match self {
            Cooperative::StoreHalves { at, words } => (Some(at), words),
            Cooperative::Load { at, .. }
            | Cooperative::Store { at, .. }
            | Cooperative::LoadBytes { at, .. }
            | Cooperative::LoadFactors { at, .. }
            | Cooperative::StoreSums { at, .. } => (Some(at), &[]),
            Cooperative::Sums(_)
            | Cooperative::Multiply { .. }
            | Cooperative::SubgroupBarrier
            | Cooperative::MultiplyBytes { .. }
            | Cooperative::SumsFrom { .. }
            | Cooperative::SetSums { .. }
            | Cooperative::AddSums { .. }
            | Cooperative::AddProducts { .. }
            | Cooperative::Rescale { .. } => (None, &[]),
        };
        at.into_iter().chain(words)
    }
}

impl Cooperative {
    /// Whether WGSL cannot express it.
    pub const fn needs_spirv(&self) -> bool {
        matches!(self, Cooperative::MultiplyBytes { .. } | Cooperative::LoadFactors { .. })
    }
}

/// The sizes of both arrays.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Arrays {
    /// Fours of halves.
    pub fours: u32,
    /// Floats.
    pub floats: u32,
}

impl Arrays {
    /// Their bytes.
    pub const fn bytes(self) -> u32 {
        self.fours.saturating_mul(2 * FOUR).saturating_add(self.floats.saturating_mul(4))
    }

    /// Arrays that are large enough for either.
    pub fn max(self, other: Arrays) -> Arrays {
        Arrays { fours: self.fours.max(other.fours), floats: self.floats.max(other.floats) }
    }
}

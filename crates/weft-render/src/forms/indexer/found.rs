//! The scores of a chunk, as lanes have them.

use weft_shader::expr::Expr;

/// The scores of a chunk.
pub(super) struct Found {
    /// Whether the lane stores its scores, which other lanes have, too.
    pub(super) stores: Expr,
    /// Masks of the numbers of a subgroup's lanes with other scores.
    pub(super) masks: Vec<u32>,
    pub(super) scored: Vec<Scored>,
}

/// A score that a lane has.
pub(super) struct Scored {
    /// The position's place in the chunk.
    pub(super) place: Expr,
    pub(super) score: Expr,
}

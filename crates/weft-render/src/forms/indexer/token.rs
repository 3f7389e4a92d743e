//! A token of an indexer, and the positions that it sees.

use weft_kern::{Attend, Indexer};
use weft_shader::expr::Expr;

use crate::lower::attend::context::Context;
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::Split;

/// A token of an indexer.
pub(super) struct Token<'a> {
    pub(super) indexer: &'a Indexer,
    /// The attention whose scores are those of the heads.
    pub(super) attend: &'a Attend,
    /// The positions that the token sees, or pools, and the number of positions.
    pub(super) context: Context,
    pub(super) positions: Expr,
    pub(super) split: &'a Split,
    /// The token's number.
    pub(super) row: Expr,
    /// The number of chosen positions, or pools.
    pub(super) most: u32,
    /// The positions of a list, and of a pool.
    pub(super) cols: u32,
    pub(super) pool: u32,
}

impl<'a> Token<'a> {
    /// The token of a workgroup.
    pub(super) fn new(
        w: &mut Writer<'_>,
        (indexer, attend, split): (&'a Indexer, &'a Attend, &'a Split),
        place: &Place,
    ) -> Result<Token<'a>, Why> {
        let axes = place.row_to_read(&mut w.code, &0u32.into()).axes;
        let [row] = &axes[..] else { return Err(Why::Form("chooses for rows that are not tokens".into())) };
        let (cols, pool) = (place.cols(), word(indexer.pool)?);
        let (context, positions) = Context::of_pools(w, attend, row, (split.chunk, pool))?;
        let most = (cols + 1).saturating_sub(pool) / pool;
        Ok(Token { indexer, attend, context, positions, split, row: row.clone(), most, cols, pool })
    }

    /// Whether it sees more positions than are chosen, or more pools.
    pub(super) fn is_scored(&self) -> Expr {
        self.context.seen.greater(self.most)
    }
}

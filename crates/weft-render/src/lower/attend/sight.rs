//! Which positions a token sees, and where they lie.

use weft_kern::{Attend, Sym};

use crate::code::expr::Expr;
use crate::lower::space;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// Less than any score, and a number.
pub(crate) const LOWEST: f32 = -3.0e38;

/// Words that a chunk comes to for a head of so many columns: those, the sum of the weights, and the largest score that both are relative to.
pub(crate) const fn chunk_words(cols: u32) -> u32 {
    cols.saturating_add(2)
}

/// The token of a workgroup and what it sees.
pub(crate) struct Sight {
    /// Positions it sees, and how many a chunk has.
    pub(crate) seen: Expr,
    pub(crate) chunk: u32,
    /// Where its pages begin, the last page and the last row that there is: what lies beyond is clamped.
    pub(crate) pages_at: Expr,
    pub(crate) last_page: Expr,
    pub(crate) last_row: Expr,
}

impl Sight {
    pub(crate) fn new(w: &mut Writer<'_>, attend: &Attend, token: &Expr, chunk: u32) -> Result<Sight, Why> {
        let page = word(attend.page)?;
        // As many as the step uses, which are no more than there are.
        let pages = w.values(attend.pages).min(space::size(Sym::Pages));
        let last_page = w.code.set("last_page", pages.max(1u32) - 1u32);
        let last = w.code.set("last_position", &last_page * page + (page - 1));
        let position = w.param_word(attend.pos, token.clone());
        // All lanes know it to be the same, so that they may meet at barriers in loops over it.
        let position = w.code.agree("position", position);
        let seen = w.code.set("seen", position.min(last) + 1u32);
        let mut rows = Vec::new();
        for cached in [&attend.k, &attend.v] {
            rows.push(w.values(cached.param) / word(cached.row_stride)?);
        }
        let both = rows.remove(0).min(rows.remove(0));
        let last_row = w.code.set("last_row", both.max(1u32) - 1u32);
        let from = w.param_word(attend.first, token.clone());
        let pages_at = w.code.set("pages_at", from);
        Ok(Sight { seen, chunk, pages_at, last_page, last_row })
    }

    /// Where a chunk that begins here ends.
    pub(crate) fn end(&self, w: &mut Writer<'_>, start: &Expr) -> Expr {
        w.code.set("chunk_end", (start + self.chunk).min(&self.seen))
    }
}

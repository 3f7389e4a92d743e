//! The positions that a token attends to, and where they are in memory.

use weft_kern::{Attend, Sym};

use crate::code::expr::Expr;
use crate::lower::space;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// Less than any score, and finite.
pub(crate) const LOWEST: f32 = -3.0e38;

/// Words of a chunk's result for a head: its columns, the sum of the weights, and the largest
/// score, which both are relative to.
pub(crate) const fn chunk_words(cols: u32) -> u32 {
    cols.saturating_add(2)
}

/// The workgroup's token, and the positions it attends to.
pub(crate) struct Context {
    /// The number of positions it attends to, and of a chunk.
    pub(crate) seen: Expr,
    pub(crate) chunk: u32,
    /// Where its pages begin, and the last page and row there are: indices beyond are clamped.
    pub(crate) pages_at: Expr,
    pub(crate) last_page: Expr,
    pub(crate) last_row: Expr,
}

impl Context {
    pub(crate) fn new(w: &mut Writer<'_>, attend: &Attend, token: &Expr, chunk: u32) -> Result<Context, Why> {
        let page = word(attend.page)?;
        // The pages that the step uses, clamped to those that exist.
        let pages = w.values(attend.pages).min(space::size(Sym::Pages));
        let last_page = w.code.set("last_page", pages.max(1u32) - 1u32);
        let last = w.code.set("last_position", &last_page * page + (page - 1));
        let position = w.param_word(attend.pos, token.clone());
        // Uniform, so that lanes may meet at barriers in loops over it.
        let position = w.code.uniform("position", position);
        let seen = w.code.set("seen", position.min(last) + 1u32);
        let mut rows = Vec::new();
        for cached in [&attend.k, &attend.v] {
            rows.push(w.values(cached.param) / word(cached.row_stride)?);
        }
        let both = rows.remove(0).min(rows.remove(0));
        let last_row = w.code.set("last_row", both.max(1u32) - 1u32);
        let from = w.param_word(attend.first, token.clone());
        let pages_at = w.code.set("pages_at", from);
        Ok(Context { seen, chunk, pages_at, last_page, last_row })
    }

    /// Where the chunk that begins at `start` ends.
    pub(crate) fn end(&self, w: &mut Writer<'_>, start: &Expr) -> Expr {
        w.code.set("chunk_end", (start + self.chunk).min(&self.seen))
    }
}

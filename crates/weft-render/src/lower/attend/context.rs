//! The positions that a token attends to, and their places in memory.

use weft_kern::{Attend, List, Sym};
use weft_shader::expr::Expr;
use weft_shader::grid::size;

use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// Less than any score. It is finite, even times log₂ e, because compilers compute `exp` from that, and with fast math, which wgpu leaves
/// on for Metal, they may assume that there are no infinities.
pub(crate) const LOWEST: f32 = -2.0e38;

const _: () = assert!((LOWEST * std::f32::consts::LOG2_E).is_finite());

/// Words of a chunk's result for a head: its columns, the sum of weights, and the largest score, to which both are relative. Results begin
/// at a multiple of four words.
pub(crate) const fn chunk_words(cols: u32) -> u32 {
    match cols.saturating_add(2).checked_next_multiple_of(4) {
        Some(words) => words,
        None => u32::MAX,
    }
}

/// The extent of the state, to which indices are clamped.
#[derive(Clone)]
pub(crate) struct Bounds {
    /// Positions per page.
    page: u32,
    /// The last page, position and row.
    last_page: Expr,
    last_position: Expr,
    last_row: Expr,
    /// The most positions that a token sees, if there is a window.
    window: Option<u32>,
    /// The most positions of a list, if there are lists.
    listed: Option<u32>,
    /// The positions of a pool of that list; without a list, of the pools that are seen instead of positions.
    pool: u32,
}

impl Bounds {
    pub(crate) fn new(w: &mut Writer<'_>, attend: &Attend) -> Result<Bounds, Why> {
        let page = word(attend.page)?;
        // The pages that the step uses, clamped to those that exist.
        let pages = w.values(attend.pages).min(size(Sym::Pages));
        let last_page = w.code.set("last_page", pages.max(1u32) - 1u32);
        // The room for chunks is limited to the most positions of a sequence.
        let last_page_of_one = match attend.most_pages {
            Some(most) => last_page.clone().min(word(most)?.max(1) - 1),
            None => last_page.clone(),
        };
        let last_position = w.code.set("last_position", last_page_of_one * page + (page - 1));
        let mut rows = Vec::new();
        for cached in [&attend.k, &attend.v] {
            rows.push(w.values(cached.param) / word(cached.row_stride)?);
        }
        let both = rows.remove(0).min(rows.remove(0));
        let last_row = w.code.set("last_row", both.max(1u32) - 1u32);
        let window = attend.window.map(word).transpose()?;
        let listed = attend.list.map(|list| word(list.most)).transpose()?;
        let pool = attend.list.map_or(Ok(1), |list| word(list.pool))?;
        Ok(Bounds { page, last_page, last_position, last_row, window, listed, pool })
    }

    /// The end, exclusive, of the positions that a token at this position sees. Those of a list count from 0 on.
    pub(crate) fn seen(&self, position: Expr) -> Expr {
        let seen = position.min(&self.last_position) + 1u32;
        match (self.listed, self.pool) {
            (Some(most), 1) => seen.min(most),
            // With pools, the rest of a list has what is behind the last whole pool.
            (Some(most), pool) => {
                let whole = Expr::U32(most + 1 - pool);
                seen.clone().unless(&seen.greater(most), whole + &seen % pool)
            }
            (None, _) => seen,
        }
    }

    /// The number of positions up to this one, where last rows are those of pools of so many.
    fn seen_in_pools(&self, position: Expr, pool: u32) -> Expr {
        position.min((&self.last_position + 1u32) * pool - 1u32) + 1u32
    }

    /// The first position that a token sees, if there is a window; `seen` is the end of its positions.
    pub(crate) fn begin(&self, w: &mut Writer<'_>, seen: &Expr) -> Option<Expr> {
        let window = self.window?;
        Some(w.code.set("begin", seen.clone().max(window) - window))
    }

    /// Entry `p` of a token's list.
    pub(crate) fn listed(&self, w: &mut Writer<'_>, list: List, token: &Expr, p: &Expr) -> Expr {
        let position = w.param_word(list.param, token * self.listed.unwrap_or(0) + p);
        w.code.set("listed", position)
    }

    /// The row of the state that holds position `p` of a sequence whose pages begin at `pages_at`.
    pub(crate) fn row(&self, w: &mut Writer<'_>, attend: &Attend, pages_at: &Expr, p: &Expr) -> Expr {
        let at = (pages_at + p / self.page).min(&self.last_page);
        let page_number = w.param_word(attend.pages, at);
        (page_number * self.page + p % self.page).min(&self.last_row)
    }
}

/// The number of chunks of `chunk` positions that overlap `begin` to `seen`.
pub(crate) fn chunks(chunk: u32, seen: &Expr, begin: Option<&Expr>) -> Expr {
    let all = (seen + (chunk - 1)) / chunk;
    match begin {
        None => all,
        Some(begin) => all - begin / chunk,
    }
}

/// The first position of chunk `number` among those that the token sees.
pub(crate) fn start_of(chunk: u32, number: &Expr, begin: Option<&Expr>) -> Expr {
    match begin {
        None => number * chunk,
        Some(begin) => (number + begin / chunk) * chunk,
    }
}

/// A head's result before any chunk: its largest score and its sum of weights. An additional score of the softmax has a weight of 1 there,
/// and no value.
pub(crate) fn initial(
    w: &mut Writer<'_>,
    attend: &Attend,
    head: impl FnOnce(&mut Writer<'_>) -> Expr,
) -> Result<(Expr, f32), Why> {
    match attend.sinks {
        None => Ok((Expr::F32(LOWEST), 0.0)),
        Some(sinks) => {
            let head = head(w);
            let sink = w.load(sinks, &head)?;
            Ok((w.code.set("sink", sink), 1.0))
        }
    }
}

/// Whether positions and pages may be read before the previous launch has ended.
pub(crate) fn knows_positions(w: &Writer<'_>, attend: &Attend) -> bool {
    w.waits && [attend.pos, attend.first, attend.pages].iter().all(|param| w.is_stable(*param))
}

/// The workgroup's token, and the positions it attends to.
pub(crate) struct Context {
    /// The end, exclusive, of the positions that it sees, and the first one if there is a window.
    pub(crate) seen: Expr,
    pub(crate) begin: Option<Expr>,
    /// The positions of a chunk.
    pub(crate) chunk: u32,
    /// The beginning of its pages.
    pub(crate) pages_at: Expr,
    token: Expr,
    pub(crate) bounds: Bounds,
}

impl Context {
    pub(crate) fn new(w: &mut Writer<'_>, attend: &Attend, token: &Expr, chunk: u32) -> Result<Context, Why> {
        Ok(Context::of_pools(w, attend, token, (chunk, 1))?.0)
    }

    /// The same, where the rows of attention are those of pools of `pool` positions, and so are all of these numbers. Also returns the
    /// number of positions that the token sees.
    pub(crate) fn of_pools(
        w: &mut Writer<'_>,
        attend: &Attend,
        token: &Expr,
        (chunk, pool): (u32, u32),
    ) -> Result<(Context, Expr), Why> {
        let bounds = Bounds::new(w, attend)?;
        let position = w.param_word(attend.pos, token.clone());
        // It is uniform, because loops over it have barriers.
        let position = w.code.uniform("position", position);
        let (seen, positions) = match pool {
            1 => {
                let seen = w.code.set("seen", bounds.seen(position));
                (seen.clone(), seen)
            }
            _ => {
                let positions = w.code.set("positions", bounds.seen_in_pools(position, pool));
                (w.code.set("seen", &positions / pool), positions)
            }
        };
        let begin = bounds.begin(w, &seen);
        let from = w.param_word(attend.first, token.clone());
        let pages_at = w.code.set("pages_at", from);
        Ok((Context { seen, begin, chunk, pages_at, token: token.clone(), bounds }, positions))
    }

    /// The row of the state that holds its position number `p`: that position itself, or the one that its list has there.
    pub(crate) fn row(&self, w: &mut Writer<'_>, attend: &Attend, p: &Expr) -> Expr {
        let p = match attend.list {
            None => p.clone(),
            Some(list) => self.bounds.listed(w, list, &self.token, p),
        };
        self.bounds.row(w, attend, &self.pages_at, &p)
    }

    /// The number of chunks in which it sees a position.
    pub(crate) fn chunks(&self, w: &mut Writer<'_>) -> Expr {
        let chunks = chunks(self.chunk, &self.seen, self.begin.as_ref());
        w.code.set("chunks", chunks)
    }

    /// The first position of chunk `chunk` among them.
    pub(crate) fn start_of(&self, chunk: &Expr) -> Expr {
        start_of(self.chunk, chunk, self.begin.as_ref())
    }

    /// The end of the chunk that begins at `start`.
    pub(crate) fn end(&self, w: &mut Writer<'_>, start: &Expr) -> Expr {
        w.code.set("chunk_end", (start + self.chunk).min(&self.seen))
    }
}

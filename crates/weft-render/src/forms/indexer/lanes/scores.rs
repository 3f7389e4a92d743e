//! Scores the positions of a chunk, all heads one after another.
//!
//! Some neighbouring lanes share the values of a position's key, and have several positions at a time. For a group of heads they add up
//! their shares of the products, and exchange these. A position's score is `Σ_h w_h · max(q_h · k, 0)`, each product rounded and then
//! added, in the order of heads. So it depends on the token and the position alone.

use weft_shader::expr::{Expr, Fun};

use crate::forms::attend::lanes::state::State;
use crate::forms::indexer::chunk::divisor;
use crate::forms::indexer::found::{Found, Scored};
use crate::forms::indexer::token::Token;
use crate::lower::reduce::{self, Fold};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// The most heads whose products a lane adds up at a time, and the most where no fewer divide their number.
const MOST_HEADS: u32 = 8;
const MOST_ODD_HEADS: u32 = 16;

/// The most words of workgroup memory for queries.
const MOST_QUERIES: u32 = 4096;

/// Scores by lanes: the division of heads, and offsets in workgroup memory.
pub(in crate::forms::indexer) struct Lanes {
    keys: State,
    k_len: u32,
    heads: u32,
    /// Heads whose queries are in workgroup memory, and those whose products a lane adds up at a time.
    staged: u32,
    group: u32,
    /// Offsets of the queries, and of the weights of all heads.
    queries: u32,
    weights: u32,
}

/// A position that a lane scores.
struct Position {
    /// Its place in the chunk.
    place: Expr,
    /// The beginning of its key.
    row: Expr,
    /// Its score so far.
    score: Expr,
}

impl Lanes {
    pub(in crate::forms::indexer) fn new(w: &mut Writer<'_>, token: &Token<'_>) -> Result<Lanes, Why> {
        let (heads, k_len) = (word(token.indexer.heads)?, word(token.indexer.k_len)?);
        let keys = State::new(w, &token.attend.k, &0u32.into(), (k_len, false))?;
        let group = match divisor(heads, MOST_HEADS) {
            1 => divisor(heads, MOST_ODD_HEADS),
            several => several,
        };
        let weights = w.pool.alloc(heads);
        // The choice needs the other half.
        let room = MOST_QUERIES.min(w.pool.left(u32::MAX) / 2);
        let staged = group * divisor(heads / group, (room / k_len.saturating_mul(group).max(1)).max(1));
        let queries = w.pool.alloc(staged.saturating_mul(k_len));
        Ok(Lanes { keys, k_len, heads, staged, group, queries, weights })
    }

    /// Frees its workgroup memory.
    pub(in crate::forms::indexer) fn free(&self, w: &mut Writer<'_>) {
        w.pool.free_from(self.weights);
    }

    /// Loads what all chunks need: the weights, and the queries if there is room for all. Ends with a barrier.
    pub(in crate::forms::indexer) fn begin(&self, w: &mut Writer<'_>, token: &Token<'_>) -> Result<(), Why> {
        let view = &token.indexer.w;
        let base = w.base(view, std::slice::from_ref(&token.row))?;
        let base = w.code.set("weights_of", base);
        w.share(self.heads, |w, h| {
            let weight = w.load(view.param, &(&base + &h * word(view.step)?))?;
            w.code.store_shared(h + self.weights, weight.bits());
            Ok(())
        })?;
        if self.staged == self.heads {
            self.stage(w, token, &0u32.into())?;
        }
        w.code.barrier();
        Ok(())
    }

    /// Copies the queries of some heads to workgroup memory.
    fn stage(&self, w: &mut Writer<'_>, token: &Token<'_>, first: &Expr) -> Result<(), Why> {
        let (view, stride) = (&token.indexer.q, word(token.indexer.q_stride)?);
        let base = w.base(view, std::slice::from_ref(&token.row))?;
        let base = w.code.set("queries_of", base + first * stride);
        w.share(self.staged * self.k_len, |w, item| {
            let (h, c) = (&item / self.k_len, &item % self.k_len);
            let value = w.load(view.param, &(&base + h * stride + c))?;
            w.code.store_shared(item + self.queries, value.bits());
            Ok(())
        })
    }

    /// Scores the positions of the chunk from `start` to `end`.
    pub(in crate::forms::indexer) fn chunk(
        &self,
        w: &mut Writer<'_>,
        token: &Token<'_>,
        (start, end): (&Expr, &Expr),
    ) -> Result<Found, Why> {
        let (reduce, upcast) = (token.split.reduce, token.split.upcast);
        let across = token.split.across(w.code.lanes);
        let share = w.code.set("share", Expr::Lane % reduce);
        let mut positions = Vec::new();
        for u in 0..upcast {
            let place = w.code.set("b", Expr::Lane / reduce + u * across);
            // Positions beyond the end are scored as the last one, and not stored.
            let p = w.code.set("p", (start + &place).min(end - 1u32));
            let row = token.context.row(w, token.attend, &p);
            let row = self.keys.row(row)?;
            let row = w.code.set("row", row);
            positions.push(Position { place, row, score: w.code.var("total", 0.0f32) });
        }
        w.count_or_once("first_head", (0u32.into(), self.heads.into(), self.staged), |w, first| {
            if self.staged < self.heads {
                // Other lanes may still be reading the queries of earlier heads.
                w.code.barrier();
                self.stage(w, token, &first)?;
                w.code.barrier();
            }
            w.count_or_once("h", (0u32.into(), self.staged.into(), self.group), |w, h| {
                self.add(w, &positions, (&share, reduce), (&first, &h))
            })
        })?;
        let scored = positions.into_iter().map(|Position { place, score, .. }| Scored { place, score });
        let masks = (reduce.ilog2()..w.subgroup.max(reduce).ilog2()).map(|bit| 1 << bit).collect();
        Ok(Found { stores: share.equal(0u32), masks, scored: scored.collect() })
    }

    /// Adds the weighted scores of a group of heads, which begins at `h` among those in workgroup memory.
    fn add(
        &self,
        w: &mut Writer<'_>,
        positions: &[Position],
        (share, reduce): (&Expr, u32),
        (first, h): (&Expr, &Expr),
    ) -> Result<(), Why> {
        let per = self.keys.per();
        let pieces = self.k_len / per;
        let sums: Vec<Vec<Expr>> = (0..self.group)
            .map(|_| positions.iter().map(|_| w.code.var("score", 0.0f32)).collect())
            .collect();
        let query = w.code.set("query", h * self.k_len + self.queries);
        let multiply = |w: &mut Writer<'_>, c: Expr| {
            let mut loaded = Vec::new();
            for position in positions {
                let key = self.keys.load(w, &position.row, &c)?;
                let key: Vec<Expr> = key.into_iter().map(|value| w.code.set("key", value)).collect();
                loaded.push(key);
            }
            let from = w.code.set("from_query", &query + &c * per);
            for (g, sums) in (0..).zip(&sums) {
                let words = w.shared_words("q", &(&from + g * self.k_len), per);
                for (part, q) in words.into_iter().enumerate() {
                    let q = w.code.set("q", q.float());
                    for (sum, key) in sums.iter().zip(&loaded) {
                        w.code.add_product(sum, key[part].clone(), q.clone());
                    }
                }
            }
            Ok(())
        };
        match pieces == reduce {
            true => multiply(w, share.clone())?,
            false => w.count("c", (share.clone(), pieces.into(), reduce), multiply)?,
        }
        for (g, sums) in (0..).zip(sums) {
            let weight = w.load_shared(first + h + (self.weights + g));
            let weight = w.code.set("weight", weight);
            for (sum, position) in reduce::subgroups_of(w, Fold::Sum, sums, reduce).into_iter().zip(positions)
            {
                let positive = Expr::call(Fun::Max, [sum, 0.0f32.into()]);
                w.code.assign(&position.score, &position.score + weight.times(positive));
            }
        }
        Ok(())
    }
}

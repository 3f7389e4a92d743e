//! Attention of many heads of a token on GPUs without matrix units, where one workgroup visits all chunks. Each cached row is loaded once
//! for all heads. The order of every sum is that of [`Walk`](crate::forms::attend::lanes::walk::Walk), and so are the bits.
//!
//! The layout differs. Half of the lanes score one half of the heads, each for twice as many positions, so that each loaded query value
//! serves more positions. Neighbouring lanes read neighbouring words of a query. The weights of a position are neighbours for all heads.
//! Each of the two teams holds the combined results of half of the heads, in registers.

use weft_kern::{Attend, Part};
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::attend::lanes::block::{self, Scored};
use crate::forms::attend::lanes::heads;
use crate::forms::attend::lanes::state::State;
use crate::forms::attend::lanes::walk::{self, Across};
use crate::lower::attend::context::{Context, LOWEST, initial};
use crate::lower::attend::join::{head, inverse, scaled, together};
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::Split;

/// Words per load, and values per piece of a key.
const FOUR: u32 = 4;
const EIGHT: u32 = 8;

/// A workgroup's heads, the division of its work among lanes, and offsets in workgroup memory.
pub(crate) struct Tile<'a> {
    attend: &'a Attend,
    keys: &'a State,
    values: &'a State,
    k_len: u32,
    heads: u32,
    cols: u32,
    /// Positions of a block, which is a chunk, and lanes that share a score.
    block: u32,
    share: u32,
    across: Across,
    /// Words per position of weights.
    stride: u32,
    /// Offsets of the queries, which the results overwrite, of the state rows, the weights, the largest scores, and both teams' sums of
    /// weights.
    query: u32,
    rows: u32,
    weights: u32,
    tops: u32,
    totals: u32,
    /// The offset of the scores, and later of one team's partial results for the other team's heads.
    passed: u32,
}

/// A lane's combined results of the chunks so far: for half of the heads, the largest score, the sum of weights and its columns.
pub(crate) struct Joined {
    heads: Vec<(Expr, Expr, Vec<Expr>)>,
}

impl<'a> Tile<'a> {
    /// `None` if this shape is not supported.
    pub(crate) fn new(
        w: &mut Writer<'_>,
        (part, attend): (&Part, &'a Attend),
        place: &Place,
        split: &Split,
        (keys, values): (&'a State, &'a State),
    ) -> Result<Option<Tile<'a>>, Why> {
        let formats = [attend.q.param, attend.k.param, attend.v.param].map(|param| w.format(param));
        if !w.tiles || !heads::suits(attend, formats, part.cols, split, (w.code.lanes, w.subgroup)) {
            return Ok(None);
        }
        let (heads, k_len, cols) = (place.tile(), word(attend.k_len)?, place.cols());
        let block = split.chunk;
        let across = Across::new(w.code.lanes, cols, values.per(), block);
        let stride = heads.next_multiple_of(FOUR);
        let [query, passed, rows, weights, tops, totals] =
            [heads * k_len, heads * cols.max(block), block, block * stride, heads, across.teams * heads]
                .map(|n| w.pool.alloc(n));
        let share = split.reduce;
        Ok(Some(Tile {
            attend,
            keys,
            values,
            k_len,
            heads,
            cols,
            block,
            share,
            across,
            stride,
            query,
            rows,
            weights,
            tops,
            totals,
            passed,
        }))
    }

    /// Heads per team, and heads that half of the lanes score.
    fn half(&self) -> u32 {
        self.heads / 2
    }

    /// Stores the queries in workgroup memory: for each lane that shares a score the lower four values of a piece, and then the upper four.
    /// Lanes see them after the next barrier.
    pub(crate) fn queries(&self, w: &mut Writer<'_>, place: &Place) -> Result<(), Why> {
        let (query, fours, share) = (&self.attend.q, self.k_len / FOUR, self.share);
        let slot = w.slot(query.param);
        w.share(self.heads * fours, |w, item| {
            let (h, four) = (w.code.set("h", &item / fours), w.code.set("four", item % fours));
            let row = place.row_to_read(&mut w.code, &h).axes;
            let at = w.start(query.param) + (w.base(query, &row)? + &four * FOUR);
            let values = w.code.four("x", Expr::Four(Some(slot), at.into()));
            let piece = w.code.set("piece", &four / 2u32);
            let to = (&piece / share) * (EIGHT * share) + (four % 2u32) * (FOUR * share);
            let to = h * self.k_len + to + (piece % share) * FOUR + self.query;
            w.code.push(Stmt::StoreFour(to, values));
            Ok(())
        })
    }

    /// An empty result.
    pub(crate) fn joined(&self, w: &mut Writer<'_>, place: &Place) -> Result<Joined, Why> {
        let team = self.team(w);
        let heads = (0..self.half()).map(|j| {
            let row = w.code.set("own_head", &team * self.half() + j);
            let (top, total) = initial(w, self.attend, |w| head(w, place, &row))?;
            let sums = (0..self.own()).map(|_| w.code.var("joined", 0.0f32)).collect();
            Ok((w.code.var("joined_top", top), w.code.var("joined_total", total), sums))
        });
        Ok(Joined { heads: heads.collect::<Result<_, Why>>()? })
    }

    fn team(&self, w: &mut Writer<'_>) -> Expr {
        w.code.set("team", Expr::Lane / self.across.columns)
    }

    /// Values per lane and head.
    fn own(&self) -> u32 {
        self.across.times * self.values.per()
    }

    /// Visits the chunk that begins at `start`, and combines its results with earlier ones.
    pub(crate) fn chunk(
        &self,
        w: &mut Writer<'_>,
        context: &Context,
        start: &Expr,
        joined: &Joined,
    ) -> Result<(), Why> {
        let end = context.end(w, start);
        let first = match &context.begin {
            None => start.clone(),
            Some(begin) => w.code.set("first_start", start.clone().max(begin)),
        };
        block::find_rows(w, (self.attend, context), (&first, &end), (self.block, self.rows))?;
        w.code.barrier();
        self.scores(w, &first, &end)?;
        w.code.barrier();
        walk::seek(w, (self.heads, self.block), self.passed, self.tops)?;
        w.code.barrier();
        w.share(self.heads * self.block, |w, item| {
            let (h, b) = (w.code.set("h", &item / self.block), w.code.set("b", &item % self.block));
            let top = self.top(w, &h);
            let score = w.load_shared(item + self.passed);
            let weight = Expr::call(Fun::Exp, [score - top]);
            w.code.store_shared(b * self.stride + h + self.weights, weight.bits());
            Ok(())
        })?;
        w.code.barrier();
        let here = w.code.set("here", (&end - &first).min(self.block));
        self.totals(w, &here)?;
        let sums = self.sums(w, &here)?;
        self.pass_on(w, &sums);
        w.code.barrier();
        self.join(w, &sums, joined);
        Ok(())
    }

    /// A head's largest score in the chunk.
    fn top(&self, w: &mut Writer<'_>, h: &Expr) -> Expr {
        let found = w.load_shared(h + self.tops);
        w.code.set("top", Expr::F32(LOWEST).max(found))
    }

    /// Computes the scores of the block's positions.
    fn scores(&self, w: &mut Writer<'_>, start: &Expr, end: &Expr) -> Result<(), Why> {
        let (block, heads) = (self.block, self.half());
        let beside = w.code.lanes / self.share / 2;
        let positions = block / beside;
        let share = w.code.set("share", Expr::Lane % self.share);
        let own = w.code.set("own_position", Expr::Lane / self.share % beside);
        let first_head = w.code.set("first_head", Expr::Lane / (self.share * beside) * heads);
        let scored = Scored::new(w, self.keys, (&own, beside, positions), (heads, self.rows))?;
        let queries = w.code.set("queries", &first_head * self.k_len + &share * FOUR + self.query);
        let (pieces, once) = (self.k_len / EIGHT, self.share * EIGHT);
        let ahead = walk::even_ahead(pieces / self.share, true, positions);
        w.count_or_once("c", (0u32.into(), (pieces / self.share).into(), ahead), |w, first| {
            let mut loaded = Vec::new();
            for a in 0..ahead {
                let c = w.code.set("c", (&first + a) * self.share + &share);
                loaded.push(scored.load(w, &c)?);
            }
            for (a, keys) in loaded.into_iter().enumerate() {
                let keys = block::named(w, "key", keys);
                let query = w.code.set("query_at", &queries + (&first + a as u32) * once);
                for h in 0..heads {
                    let parts = [0, FOUR * self.share].into_iter().flat_map(|part| {
                        w.code.four("q", Expr::Four(None, (&query + (h * self.k_len + part)).into()))
                    });
                    let parts: Vec<Expr> = parts.map(Expr::float).collect();
                    for (part, q) in parts.iter().enumerate() {
                        scored.add_products(w, h, q, (part, &keys));
                    }
                }
            }
            Ok(())
        })?;
        let stored = w.code.set("to", &first_head * block + self.passed);
        let to = |b: &Expr, h: u32| &stored + b + h * block;
        scored.store(w, (&share, self.share, self.attend.scale.0), (start, end), to)
    }

    /// Adds up each team's weights for each head.
    fn totals(&self, w: &mut Writer<'_>, here: &Expr) -> Result<(), Why> {
        let Across { teams, ahead, .. } = self.across;
        w.share(teams * self.heads, |w, item| {
            let (team, h) = (w.code.set("of_team", &item / self.heads), w.code.set("h", &item % self.heads));
            let total = w.code.var("total", 0.0f32);
            w.count("b", (team * ahead, here.clone(), teams * ahead), |w, b| {
                let from = w.code.set("from_weight", b * self.stride + &h + self.weights);
                for a in 0..ahead {
                    let weight = w.load_shared(&from + a * self.stride);
                    w.code.assign(&total, &total + weight);
                }
                Ok(())
            })?;
            w.code.store_shared(item + self.totals, total.bits());
            Ok(())
        })
    }

    /// Adds up the weighted values of the team's positions.
    fn sums(&self, w: &mut Writer<'_>, here: &Expr) -> Result<Vec<Vec<Expr>>, Why> {
        let (values, Across { columns, times, teams, ahead }) = (self.values, self.across);
        let sums: Vec<Vec<Expr>> =
            (0..self.heads).map(|_| (0..self.own()).map(|_| w.code.var("y", 0.0f32)).collect()).collect();
        let column = w.code.set("column", Expr::Lane % columns);
        let team = self.team(w);
        let items: Vec<Expr> = (0..times).map(|time| w.code.set("item", &column + time * columns)).collect();
        w.count("b", (team * ahead, here.clone(), teams * ahead), |w, b| {
            let loaded = block::load_values(w, values, (&b, self.rows, ahead), &items)?;
            let from = w.code.set("from_weight", b * self.stride + self.weights);
            for (a, loaded) in loaded.into_iter().enumerate() {
                let loaded: Vec<Expr> =
                    loaded.into_iter().flatten().map(|v| w.code.set("value", v)).collect();
                let weights = w.shared_words("weight", &(&from + a as u32 * self.stride), self.stride);
                for (sums, weight) in sums.iter().zip(weights) {
                    let weight = weight.float();
                    for (sum, value) in sums.iter().zip(&loaded) {
                        w.code.add_product(sum, weight.clone(), value.clone());
                    }
                }
            }
            Ok(())
        })?;
        Ok(sums)
    }

    /// Stores a team's sums of the other team's heads.
    fn pass_on(&self, w: &mut Writer<'_>, sums: &[Vec<Expr>]) {
        let (half, columns) = (self.half() as usize, self.across.columns);
        let team = self.team(w);
        let second = team.equal(1u32);
        let column = Expr::Lane % columns;
        let to = (Expr::U32(1) - team) * (self.half() * self.own() * columns) + column + self.passed;
        let to = w.code.set("to", to);
        for j in 0..half {
            for (i, (lower, upper)) in sums[j].iter().zip(&sums[half + j]).enumerate() {
                let at = (j as u32 * self.own() + i as u32) * columns;
                let other = upper.clone().unless(&second, lower.clone());
                w.code.store_shared(&to + at, other.bits());
            }
        }
    }

    /// Combines the chunk's results with earlier ones.
    fn join(&self, w: &mut Writer<'_>, sums: &[Vec<Expr>], joined: &Joined) {
        let (half, columns) = (self.half() as usize, self.across.columns);
        let team = self.team(w);
        let second = team.equal(1u32);
        let from = &team * (self.half() * self.own() * columns) + Expr::Lane % columns + self.passed;
        let from = w.code.set("from_other", from);
        let first_head = w.code.set("first_head", team * self.half());
        for (j, (top, total, all)) in joined.heads.iter().enumerate() {
            let h = w.code.set("h", &first_head + j as u32);
            let its_top = self.top(w, &h);
            let first = w.load_shared(&h + self.totals);
            let its_total = first + w.load_shared(h + (self.totals + self.heads));
            let by = scaled(w, top.clone(), its_top);
            w.code.assign(total, together(total.clone(), its_total, &by));
            w.code.assign(top, by.top.clone());
            for (i, sum) in all.iter().enumerate() {
                let own = sums[j][i].clone().unless(&second, sums[half + j][i].clone());
                let other = w.load_shared(&from + (j as u32 * self.own() + i as u32) * columns);
                w.code.assign(sum, together(sum.clone(), own + other, &by));
            }
        }
    }

    /// Divides by the sums of weights. Returns the offset of the result, and frees all other workgroup memory.
    pub(crate) fn finish(&self, w: &mut Writer<'_>, joined: &Joined) -> u32 {
        // Results overwrite queries and exchanged sums, which other lanes may still be reading.
        w.code.barrier();
        w.pool.free_from(self.query + self.heads * self.cols);
        let (per, columns) = (self.values.per(), self.across.columns);
        let team = self.team(w);
        let to = team * (self.half() * self.cols) + Expr::Lane % columns * per + self.query;
        let to = w.code.set("to", to);
        for (j, (_, total, sums)) in joined.heads.iter().enumerate() {
            let inverse = inverse(w, total.clone());
            for (i, sum) in sums.iter().enumerate() {
                let (time, part) = (i as u32 / per, i as u32 % per);
                let at = j as u32 * self.cols + time * columns * per + part;
                w.code.store_shared(&to + at, (sum * &inverse).bits());
            }
        }
        w.code.barrier();
        self.query
    }
}

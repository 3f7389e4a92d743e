//! Visits a chunk of positions in blocks: several lanes share each score, and then each lane computes some columns of the values.

use weft_kern::Attend;
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::attend::lanes::block::{self, Scored};
use crate::forms::attend::lanes::state::State;
use crate::lower::attend::context::{Context, LOWEST, chunk_words};
use crate::lower::quads;
use crate::lower::reduce::{self, Fold};
use crate::lower::space::Place;
use crate::lower::writer::{WARP, Writer};
use crate::refused::{Why, word};
use crate::split::Split;

/// The most lanes that search for a head's largest score.
const SEEKERS: u32 = 16;

/// The fewest for which an exchange within a subgroup pays.
const LEAST_SEEKERS: u32 = 8;

/// Most rounds of lanes across the columns.
const ITEMS: u32 = 2;

/// Most loads of a lane in flight at once.
const AHEAD: u32 = 24;

/// The division of work among lanes, and offsets in workgroup memory.
pub(crate) struct Walk<'a> {
    attend: &'a Attend,
    keys: &'a State,
    values: &'a State,
    k_len: u32,
    /// Heads.
    heads: u32,
    /// Columns of a head's result.
    cols: u32,
    /// Positions of a block, and lanes that share a score.
    block: u32,
    share: u32,
    upcast: u32,
    across: Across,
    /// Offsets in workgroup memory: of the queries, the state rows of a block, the teams' partial results, which become the chunk's, the
    /// scores, and the largest of some of them.
    query: u32,
    rows: u32,
    parts: u32,
    scores: u32,
    tops: u32,
}

/// The division of the columns of a block's values among lanes.
#[derive(Clone, Copy)]
pub(crate) struct Across {
    /// The lanes across columns, the rounds that they take, and the number of teams that divide the positions.
    pub(crate) columns: u32,
    pub(crate) times: u32,
    pub(crate) teams: u32,
    /// Neighbouring positions of a team, whose values are loaded together.
    pub(crate) ahead: u32,
}

impl Across {
    /// The division among lanes that load `per` of `cols` columns at once, for a block of this many positions.
    pub(crate) fn new(lanes: u32, cols: u32, per: u32, block: u32) -> Across {
        let items = cols / per;
        // A lane has several items where there are many, so that each value it reads from workgroup memory serves all of them.
        let each = if per < 8 { ITEMS } else { 1 };
        let columns = items.div_ceil(each).next_power_of_two().min(lanes);
        let teams = (lanes / columns).min(block);
        let times = items.div_ceil(columns);
        let ahead = even_ahead(block / teams, block.is_multiple_of(teams), times);
        Across { columns, times, teams, ahead }
    }
}

/// A lane's variables for each head.
struct Accumulators {
    /// The largest score so far, and the sum of the weights.
    tops: Vec<Expr>,
    totals: Vec<Expr>,
    /// For each head, each round and each of the values loaded together.
    values: Vec<Vec<Vec<Expr>>>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        w: &mut Writer<'_>,
        attend: &'a Attend,
        place: &Place,
        split: &Split,
        (keys, values): (&'a State, &'a State),
    ) -> Result<Walk<'a>, Why> {
        let (lanes, heads, k_len, cols) = (w.code.lanes, place.tile(), word(attend.k_len)?, place.cols());
        let (share, upcast) = (split.reduce, split.upcast);
        let block = split.across(lanes) * upcast;
        let across = Across::new(lanes, cols, values.per(), block);
        let [query, rows, scores, tops] =
            [heads * k_len, block, heads * block, heads * SEEKERS].map(|n| w.pool.alloc(n));
        let (sums, ends) = (heads.saturating_mul(lanes * upcast), across.teams * heads * chunk_words(cols));
        let parts = w.pool.alloc(sums.max(ends));
        let room = (query, rows, parts, scores, tops);
        let (query, rows, parts, scores, tops) = room;
        Ok(Walk {
            attend,
            keys,
            values,
            k_len,
            heads,
            cols,
            block,
            share,
            upcast,
            across,
            query,
            rows,
            parts,
            scores,
            tops,
        })
    }

    /// Stores the queries in workgroup memory. Lanes see them after the next barrier.
    pub(crate) fn queries(&self, w: &mut Writer<'_>, place: &Place) -> Result<(), Why> {
        let (attend, k_len) = (self.attend, self.k_len);
        let fours = |n: &usize| n.is_multiple_of(4);
        let aligned = fours(&attend.k_len) && fours(&attend.q.offset) && attend.q.strides.iter().all(fours);
        if w.quads && aligned && attend.q.step == 1 {
            let slot = w.slot(attend.q.param);
            return quads::copy(w, self.heads * k_len, slot, self.query, |w, item| {
                let row = place.row_to_read(&mut w.code, &(&item / k_len)).axes;
                let at = w.base(&attend.q, &row)? + item % k_len;
                Ok(w.start(attend.q.param) + at)
            });
        }
        w.share(self.heads * k_len, |w, item| {
            let (h, c) = (&item / k_len, &item % k_len);
            let row = place.row_to_read(&mut w.code, &h).axes;
            let at = w.base(&attend.q, &row)? + c * word(attend.q.step)?;
            let value = w.load(attend.q.param, &at)?;
            w.code.store_shared(item + self.query, value.bits());
            Ok(())
        })
    }

    /// Visits the chunk that begins at `start`, and stores its results in workgroup memory. Ends
    /// with a barrier.
    pub(crate) fn chunk(&self, w: &mut Writer<'_>, context: &Context, start: &Expr) -> Result<(), Why> {
        let end = context.end(w, start);
        let accumulators = self.accumulators(w);
        w.code.barrier();
        // Every block has at least one position that the token sees.
        let first = match &context.begin {
            None => start.clone(),
            Some(begin) => w.code.set("first_start", start.clone().max(begin)),
        };
        w.count("start", (first, end.clone(), self.block), |w, start| {
            block::find_rows(w, (self.attend, context), (&start, &end), (self.block, self.rows))?;
            w.code.barrier();
            self.scores(w, &start, &end)?;
            self.weigh(w, &accumulators)?;
            self.values(w, &accumulators, &start, &end)?;
            // The next block overwrites this memory.
            w.code.barrier();
            Ok(())
        })?;
        self.keep_ends(w, &accumulators)
    }

    fn accumulators(&self, w: &mut Writer<'_>) -> Accumulators {
        let heads = 0..self.heads;
        Accumulators {
            tops: heads.clone().map(|_| w.code.var("top", LOWEST)).collect(),
            totals: heads.clone().map(|_| w.code.var("total", 0.0f32)).collect(),
            values: heads
                .map(|_| {
                    let each = |w: &mut Writer<'_>| {
                        (0..self.values.per()).map(|_| w.code.var("y", 0.0f32)).collect()
                    };
                    (0..self.across.times).map(|_| each(w)).collect()
                })
                .collect(),
        }
    }

    /// Computes the scores of a block's positions.
    fn scores(&self, w: &mut Writer<'_>, start: &Expr, end: &Expr) -> Result<(), Why> {
        let (heads, block) = (self.heads, self.block);
        let (share, first) = (Expr::Lane % self.share, Expr::Lane / self.share);
        let share = w.code.set("share", share);
        let positions = (&first, w.code.lanes / self.share, self.upcast);
        let scored = Scored::new(w, self.keys, positions, (heads, self.rows))?;
        self.multiply_keys(w, &scored, &share)?;
        if w.quads && self.share <= w.subgroup {
            let to = |b: &Expr, h: u32| b + (self.scores + h * block);
            scored.store(w, (&share, self.share, self.attend.scale.0), (start, end), to)?;
            w.code.barrier();
            return Ok(());
        }
        for (b, sums) in scored.sums() {
            for (h, sum) in (0..).zip(sums) {
                let to = (&share * heads + h) * block + b + self.parts;
                w.code.store_shared(to, sum.clone().bits());
            }
        }
        w.code.barrier();
        let apart = heads * block;
        w.share(apart, |w, item| {
            let score = reduce::folded(w, Fold::Sum, &(&item + self.parts), self.share, apart);
            let exists = (start + &item % block).less(end);
            let score = Expr::F32(LOWEST).unless(&exists, score * self.attend.scale.0);
            w.code.store_shared(item + self.scores, score.bits());
            Ok(())
        })?;
        w.code.barrier();
        Ok(())
    }

    /// Adds up the lane's share of the products of queries and keys.
    fn multiply_keys(&self, w: &mut Writer<'_>, scored: &Scored<'_>, share: &Expr) -> Result<(), Why> {
        let per = self.keys.per();
        let pieces = self.k_len / per;
        let ahead = even_ahead(pieces / self.share, pieces.is_multiple_of(self.share), self.upcast);
        w.count("c", (share.clone(), pieces.into(), self.share * ahead), |w, first| {
            let mut loaded = Vec::new();
            for a in 0..ahead {
                let c = w.code.set("c", &first + a * self.share);
                let keys = scored.load(w, &c)?;
                loaded.push((c, keys));
            }
            if pieces.is_multiple_of(self.share * ahead) {
                w.hold_loads();
            }
            for (c, keys) in loaded {
                let keys = block::named(w, "key", keys);
                for h in 0..self.heads {
                    let eight = per == 8 && (h * self.k_len).is_multiple_of(4);
                    let query = &c * per + (self.query + h * self.k_len);
                    let many = if eight { w.shared_words("q", &query, per) } else { Vec::new() };
                    for part in 0..per {
                        let q = match many.get(part as usize) {
                            Some(q) => q.clone().float(),
                            None => {
                                let q = w.load_shared(&query + part);
                                w.code.set("q", q)
                            }
                        };
                        scored.add_products(w, h, &q, (part as usize, &keys));
                    }
                }
            }
            Ok(())
        })
    }

    /// Turns scores into weights, relative to the largest score so far.
    fn weigh(&self, w: &mut Writer<'_>, accumulators: &Accumulators) -> Result<(), Why> {
        let (heads, block) = (self.heads, self.block);
        let kept = seek(w, (heads, block), self.scores, self.tops)?;
        w.code.barrier();
        for h in 0..heads {
            let of = h as usize;
            let from = Expr::U32(self.tops + h * kept);
            let block_top = reduce::folded(w, Fold::Max, &from, kept, 1);
            let top = w.code.set("new_top", accumulators.tops[of].clone().max(block_top));
            let shrink = Expr::call(Fun::Exp, [&accumulators.tops[of] - &top]);
            let shrink = w.code.set("shrink", shrink);
            w.code.assign(&accumulators.tops[of], top.clone());
            let scaled = [&accumulators.totals[of]].into_iter();
            for sum in scaled.chain(accumulators.values[of].iter().flatten()) {
                w.code.assign(sum, sum * &shrink);
            }
            w.share(block, |w, b| {
                let score = w.load_shared(&b + (self.scores + h * block));
                let weight = Expr::call(Fun::Exp, [score - &top]);
                w.code.store_shared(b + (self.scores + h * block), weight.bits());
                Ok(())
            })?;
        }
        w.code.barrier();
        Ok(())
    }

    /// Adds the block's weighted values.
    fn values(
        &self,
        w: &mut Writer<'_>,
        accumulators: &Accumulators,
        start: &Expr,
        end: &Expr,
    ) -> Result<(), Why> {
        let (values, Across { columns, times, teams, ahead }) = (self.values, self.across);
        let column = w.code.set("column", Expr::Lane % columns);
        let team = w.code.set("team", Expr::Lane / columns);
        let last = self.cols / values.per() - 1;
        let items: Vec<Expr> =
            (0..times).map(|time| w.code.set("item", (&column + time * columns).min(last))).collect();
        let here = w.code.set("here", (end - start).min(self.block));
        // Idle teams have no position.
        let range = (&team * ahead, here, teams * ahead);
        w.count("b", range, |w, b| {
            let loaded = block::load_values(w, values, (&b, self.rows, ahead), &items)?;
            // Lanes of a warp have the same positions.
            if columns.is_multiple_of(WARP) {
                w.hold_loads();
            }
            for (a, loaded) in loaded.into_iter().enumerate() {
                let loaded = block::named(w, "value", loaded);
                for h in 0..self.heads {
                    let weight = w.load_shared(&b + (self.scores + h * self.block + a as u32));
                    let weight = w.code.set("weight", weight);
                    let total = &accumulators.totals[h as usize];
                    w.code.assign(total, total + &weight);
                    let sums = accumulators.values[h as usize].iter().flatten();
                    for (sum, value) in sums.zip(loaded.iter().flatten()) {
                        w.code.add_product(sum, weight.clone(), value.clone());
                    }
                }
            }
            Ok(())
        })
    }

    /// Stores each team's results of the chunk: the columns, the sum of weights and the largest score of each head.
    fn keep_ends(&self, w: &mut Writer<'_>, accumulators: &Accumulators) -> Result<(), Why> {
        let (heads, cols, per) = (self.heads, self.cols, self.values.per());
        let Across { columns, teams, .. } = self.across;
        let column = w.code.set("column", Expr::Lane % columns);
        let team = w.code.set("team", Expr::Lane / columns);
        let works = if teams * columns < w.code.lanes { team.less(teams) } else { Expr::True };
        w.when(works, |w| {
            for h in 0..heads {
                let of = h as usize;
                let at = w.code.set("at", (&team * heads + h) * chunk_words(cols) + self.parts);
                // All lanes of a team have the same sum of weights, and all teams the same largest
                // score.
                w.code.store_shared(&at + cols, accumulators.totals[of].clone().bits());
                w.code.store_shared(&at + (cols + 1), accumulators.tops[of].clone().bits());
                for (time, sums) in accumulators.values[of].iter().enumerate() {
                    let item = w.code.set("item", &column + time as u32 * columns);
                    w.when(item.less(cols / per), |w| {
                        for (part, sum) in sums.iter().enumerate() {
                            w.code.store_shared(&at + &item * per + part as u32, sum.clone().bits());
                        }
                        Ok(())
                    })?;
                }
            }
            Ok(())
        })?;
        w.code.barrier();
        Ok(())
    }

    /// The sum of one word of a head's result over all teams.
    fn over_teams(&self, w: &mut Writer<'_>, h: &Expr, at: &Expr) -> Expr {
        let words = chunk_words(self.cols);
        let from = w.code.set("from_team", h * words + at + self.parts);
        reduce::folded(w, Fold::Sum, &from, self.across.teams, self.heads * words)
    }

    /// The chunk's weighted values in a column.
    pub(crate) fn sum(&self, w: &mut Writer<'_>, h: &Expr, column: &Expr) -> Expr {
        self.over_teams(w, h, column)
    }

    /// The chunk's sum of weights.
    pub(crate) fn total(&self, w: &mut Writer<'_>, h: &Expr) -> Expr {
        self.over_teams(w, h, &Expr::U32(self.cols))
    }

    /// The chunk's largest score.
    pub(crate) fn top(&self, w: &mut Writer<'_>, h: &Expr) -> Expr {
        let top = w.load_shared(h * chunk_words(self.cols) + (self.parts + self.cols + 1));
        w.code.set("its_top", top)
    }

    /// Stores the chunk's results in the scratch slot, for the second shader.
    pub(crate) fn store_results(
        &self,
        w: &mut Writer<'_>,
        place: &Place,
        chunk: &Expr,
        (slot, first): (usize, u32),
    ) -> Result<(), Why> {
        let (heads, cols) = (self.heads, self.cols);
        let words = chunk_words(cols);
        w.share(heads * cols, |w, item| {
            let (h, column) = (w.code.set("h", &item / cols), w.code.set("column", item % cols));
            let row = place.chunk_row(chunk, &h, heads);
            let sum = self.sum(w, &h, &column);
            w.code.push(Stmt::Store(slot, row * words + column + first, sum.bits()));
            Ok(())
        })?;
        w.share(heads, |w, h| {
            let to = w.code.set("to", place.chunk_row(chunk, &h, heads) * words + (first + cols));
            let (total, top) = (self.total(w, &h), self.top(w, &h));
            w.code.push(Stmt::Store(slot, to.clone(), total.bits()));
            w.code.push(Stmt::Store(slot, to + 1u32, top.bits()));
            Ok(())
        })
    }
}

/// Finds the largest score of each head in a block. Stores the candidates of a head from `tops` on, and returns how many there are. All
/// lanes must get here.
pub(crate) fn seek(
    w: &mut Writer<'_>,
    (heads, block): (u32, u32),
    scores: u32,
    tops: u32,
) -> Result<u32, Why> {
    let found = |w: &mut Writer<'_>, item: &Expr, seekers: u32| {
        let (h, s) = (item / seekers, item % seekers);
        let from = w.code.set("from_score", h * block + s + scores);
        reduce::folded(w, Fold::Max, &from, block / seekers, seekers)
    };
    let seekers = SEEKERS.min(block);
    // Other GPUs keep the texts that were measured on them.
    if !w.quads || w.pool.grows || w.subgroup < LEAST_SEEKERS.min(block) {
        w.share(heads * seekers, |w, item| {
            let top = found(w, &item, seekers);
            w.code.store_shared(item + tops, top.bits());
            Ok(())
        })?;
        return Ok(seekers);
    }
    // Lanes exchange their candidates.
    let seekers = seekers.min(w.subgroup);
    let (all, lanes) = (heads * seekers, w.code.lanes);
    w.count_or_once("time", (0u32.into(), all.div_ceil(lanes).into(), 1), |w, time| {
        let item = w.code.set("item", time * lanes + Expr::Lane);
        let exists = if all.is_multiple_of(lanes) { Expr::True } else { item.less(all) };
        // Lanes without a head repeat the last one's search, because all lanes take part in the exchange.
        let item = w.code.set("of_item", item.min(all - 1));
        let top = found(w, &item, seekers);
        let top = reduce::subgroups(w, Fold::Max, top, seekers);
        w.when(exists.both(&(&item % seekers).equal(0u32)), |w| {
            w.code.store_shared(item / seekers + tops, top.bits());
            Ok(())
        })
    })?;
    Ok(1)
}

/// The number of `pieces` to load before the first is used: a divisor of their number, bounded by the loads in flight, `loads` for each
/// piece; 1 unless `even`.
pub(crate) fn even_ahead(pieces: u32, even: bool, loads: u32) -> u32 {
    if !even {
        return 1;
    }
    let most = (AHEAD / loads.max(1)).clamp(1, 16);
    (1..=most).rev().find(|n| pieces.is_multiple_of(*n)).unwrap_or(1)
}

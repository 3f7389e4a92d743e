//! Attention, by online softmax: a workgroup has some heads of one token that share their keys, and walks over the positions in blocks. For each block
//! several lanes share a score, then each lane has some columns of the values. Blocks begin at fixed positions, so that nothing but the
//! sequence decides in what order a sum is made.

use weft_kern::{Attend, Cached, Format};
use weft_quant::GgmlType;

use crate::render::Why;
use crate::render::expr::{Expr, Fun};
use crate::render::reduce::{self, Fold};
use crate::render::space::Place;
use crate::render::writer::{Writer, word};
use crate::schedule::Split;

/// Less than any score, and a number.
const LOWEST: f32 = -3.0e38;

/// Lanes that look for the largest score of a head, at most.
const SEEKERS: u32 = 16;

/// Positions whose values are loaded before the first is used.
const AHEAD: u32 = 4;

/// Bytes far beyond any workgroup's memory: up to here places are counted without overflow.
const MOST_KEPT: u64 = 1 << 20;

/// Keys or values of a state: in words that hold one value or two.
struct State {
    cached: Cached,
    pairs: Option<GgmlType>,
    /// Where the head's values begin in a row.
    head: Expr,
}

impl State {
    fn new(w: &Writer<'_>, cached: &Cached, group: &Expr, len: u32) -> Result<State, Why> {
        let even = [cached.offset, cached.row_stride, cached.head_stride, len as usize];
        let pairs = match w.format(cached.param) {
            Format::Ggml(ty @ (GgmlType::F16 | GgmlType::BF16)) => {
                even.iter().all(|n| n.is_multiple_of(2)).then_some(ty)
            }
            _ => None,
        };
        let head = group * word(cached.head_stride)? + word(cached.offset)?;
        Ok(State { cached: *cached, pairs, head })
    }

    /// Values that are loaded together.
    fn per(&self) -> u32 {
        if self.pairs.is_some() { 2 } else { 1 }
    }

    /// Where a row's values for the head begin.
    fn row(&self, row: Expr) -> Result<Expr, Why> {
        Ok(row * word(self.cached.row_stride)? + &self.head)
    }

    /// The values `item · per ..` of a row that begins at `row`.
    fn load(&self, w: &mut Writer<'_>, row: &Expr, item: &Expr) -> Result<Vec<Expr>, Why> {
        match self.pairs {
            Some(ty) => Ok(w.load_pair(self.cached.param, ty, row / 2u32 + item).into()),
            None => {
                let value = w.load(self.cached.param, &(row + item))?;
                Ok(vec![w.code.set("value", value)])
            }
        }
    }
}

/// Where things are kept, and how the lanes are shared out.
struct Walk<'a> {
    attend: &'a Attend,
    /// Heads.
    heads: u32,
    /// Columns of a head's result.
    cols: u32,
    /// Positions of a block, and lanes that share a score.
    block: u32,
    share: u32,
    upcast: u32,
    /// Lanes side by side across columns, the times they are used, and their teams that share out the positions.
    columns: u32,
    times: u32,
    teams: u32,
    /// Where is kept: the queries, the block's rows of the state, the lanes' parts of sums, the scores, and the largest of some of them.
    query: u32,
    rows: u32,
    parts: u32,
    scores: u32,
    tops: u32,
}

/// Writes attention; where its result is kept, in rows of a head's columns.
pub(crate) fn attend(w: &mut Writer<'_>, attend: &Attend, place: &Place, split: &Split) -> Result<u32, Why> {
    let (lanes, heads, k_len, cols) = (w.code.lanes, place.tile(), word(attend.k_len)?, place.cols());
    // Queries and results of all heads are kept.
    let kept = u64::from(heads) * (u64::from(k_len) + 2 * u64::from(cols) + 1) * 4;
    if kept > MOST_KEPT {
        return Err(Why::Form(format!("keeps {kept} bytes for {heads} heads")));
    }
    let first = place.row_to_read(&mut w.code, &Expr::U32(0)).axes;
    let [token, head] = &first[..] else {
        return Err(Why::Form("attends, and its rows are not tokens × heads".into()));
    };
    let group = w.code.set("group_of", head / word(attend.heads / attend.kv_heads)?);
    let keys = State::new(w, &attend.k, &group, k_len)?;
    let values = State::new(w, &attend.v, &group, cols)?;

    let (share, upcast) = (split.reduce, split.upcast);
    let block = split.across(lanes) * upcast;
    let items = cols / values.per();
    let columns = items.next_power_of_two().min(lanes);
    let teams = (lanes / columns).min(block);
    let [query, rows, scores, tops] =
        [heads * k_len, block, heads * block, heads * SEEKERS].map(|n| w.pool.room(n));
    let (sums, ends) = (heads.saturating_mul(lanes * upcast), teams * heads * (cols + 1));
    let parts = w.pool.room(sums.max(ends));
    let times = items.div_ceil(columns);
    let walk = Walk {
        attend,
        heads,
        cols,
        block,
        share,
        upcast,
        columns,
        times,
        teams,
        query,
        rows,
        parts,
        scores,
        tops,
    };

    w.share(heads * k_len, |w, item| {
        let (h, c) = (&item / k_len, &item % k_len);
        let row = place.row_to_read(&mut w.code, &h).axes;
        let at = w.base(&attend.q, &row)? + c * word(attend.q.step)?;
        let value = w.load(attend.q.param, &at)?;
        w.code.keep(item + query, value.bits());
        Ok(())
    })?;
    let page = word(attend.page)?;
    let pages = w.values(attend.pages);
    let last_page = w.code.set("last_page", pages.max(1u32) - 1u32);
    let last = w.code.set("last_position", &last_page * page + (page - 1));
    let position = w.param_word(attend.pos, token.clone());
    let position = w.code.agree("position", position);
    let seen = w.code.set("seen", position.min(last) + 1u32);
    let state_rows = |w: &mut Writer<'_>, c: &Cached| Ok::<_, Why>(w.values(c.param) / word(c.row_stride)?);
    let both = state_rows(w, &attend.k)?.min(state_rows(w, &attend.v)?);
    let last_row = w.code.set("last_row", both.max(1u32) - 1u32);
    let from = w.param_word(attend.first, token.clone());
    let from = w.code.set("pages_at", from);

    let accumulators = walk.accumulators(w, values.per());
    w.code.barrier();
    w.count("start", (0u32.into(), seen.clone(), block), |w, start| {
        w.share(block, |w, b| {
            // Positions that are not there are read as the last, and weigh nothing.
            let p = w.code.set("p", (&start + &b).min(&seen - 1u32));
            let at = (&from + &p / page).min(&last_page);
            let page_number = w.param_word(attend.pages, at);
            let row = (page_number * page + p % page).min(&last_row);
            w.code.keep(b + rows, row);
            Ok(())
        })?;
        w.code.barrier();
        walk.scores(w, &keys, k_len, &start, &seen)?;
        walk.weigh(w, &accumulators)?;
        walk.values(w, &values, &accumulators, &start, &seen)?;
        // The next block uses the same memory.
        w.code.barrier();
        Ok(())
    })?;
    walk.finish(w, &accumulators, values.per())
}

/// What a lane has for each head.
struct Accumulators {
    /// The largest score so far, and the sum of the weights.
    tops: Vec<Expr>,
    totals: Vec<Expr>,
    /// For each head, each time and each value loaded together.
    values: Vec<Vec<Vec<Expr>>>,
}

impl Walk<'_> {
    fn accumulators(&self, w: &mut Writer<'_>, per: u32) -> Accumulators {
        let heads = 0..self.heads;
        Accumulators {
            tops: heads.clone().map(|_| w.code.var("top", LOWEST)).collect(),
            totals: heads.clone().map(|_| w.code.var("total", 0.0f32)).collect(),
            values: heads
                .map(|_| {
                    let each = |w: &mut Writer<'_>| (0..per).map(|_| w.code.var("y", 0.0f32)).collect();
                    (0..self.times).map(|_| each(w)).collect()
                })
                .collect(),
        }
    }

    /// Keeps the scores of a block's positions.
    fn scores(
        &self,
        w: &mut Writer<'_>,
        keys: &State,
        k_len: u32,
        start: &Expr,
        seen: &Expr,
    ) -> Result<(), Why> {
        let (heads, block) = (self.heads, self.block);
        let (share, first) = (Expr::Lane % self.share, Expr::Lane / self.share);
        let share = w.code.set("share", share);
        let (mut positions, mut rows) = (Vec::new(), Vec::new());
        for u in 0..self.upcast {
            let b = w.code.set("b", &first + u * (w.code.lanes / self.share));
            let row = keys.row(Expr::Shared((&b + self.rows).into()))?;
            rows.push(w.code.set("row", row));
            positions.push(b);
        }
        let sums: Vec<Vec<Expr>> =
            (0..self.upcast).map(|_| (0..heads).map(|_| w.code.var("score", 0.0f32)).collect()).collect();
        let per = keys.per();
        w.count("c", (share.clone(), (k_len / per).into(), self.share), |w, c| {
            let loaded: Vec<Vec<Expr>> =
                rows.iter().map(|row| keys.load(w, row, &c)).collect::<Result<_, _>>()?;
            let loaded: Vec<Vec<Expr>> = loaded
                .into_iter()
                .map(|each| each.into_iter().map(|v| w.code.set("key", v)).collect())
                .collect();
            for h in 0..heads {
                for part in 0..per {
                    let q = w.kept(&c * per + (self.query + h * k_len + part));
                    let q = w.code.set("q", q);
                    for (key, sums) in loaded.iter().zip(&sums) {
                        w.code.add_product(&sums[h as usize], key[part as usize].clone(), q.clone());
                    }
                }
            }
            Ok(())
        })?;
        for (b, sums) in positions.iter().zip(&sums) {
            for (h, sum) in sums.iter().enumerate() {
                let to = (&share * heads + h as u32) * block + b + self.parts;
                w.code.keep(to, sum.clone().bits());
            }
        }
        w.code.barrier();
        let apart = heads * block;
        w.share(apart, |w, item| {
            let score = reduce::folded(w, Fold::Sum, &(&item + self.parts), self.share, apart);
            let exists = (start + &item % block).less(seen);
            let score = Expr::F32(LOWEST).unless(&exists, score * self.attend.scale.0);
            w.code.keep(item + self.scores, score.bits());
            Ok(())
        })?;
        w.code.barrier();
        Ok(())
    }

    /// Turns scores into weights, relative to the largest score so far.
    fn weigh(&self, w: &mut Writer<'_>, accumulators: &Accumulators) -> Result<(), Why> {
        let (heads, block) = (self.heads, self.block);
        let seekers = SEEKERS.min(block);
        w.share(heads * seekers, |w, item| {
            let (h, s) = (&item / seekers, &item % seekers);
            let from = w.code.set("from_score", h * block + s + self.scores);
            let top = reduce::folded(w, Fold::Max, &from, block / seekers, seekers);
            w.code.keep(item + self.tops, top.bits());
            Ok(())
        })?;
        w.code.barrier();
        for h in 0..heads {
            let of = h as usize;
            let from = Expr::U32(self.tops + h * seekers);
            let block_top = reduce::folded(w, Fold::Max, &from, seekers, 1);
            let top = w.code.set("new_top", accumulators.tops[of].clone().max(block_top));
            let shrink = Expr::call(Fun::Exp, [&accumulators.tops[of] - &top]);
            let shrink = w.code.set("shrink", shrink);
            w.code.assign(&accumulators.tops[of], top.clone());
            let scaled = [&accumulators.totals[of]].into_iter();
            for sum in scaled.chain(accumulators.values[of].iter().flatten()) {
                w.code.assign(sum, sum * &shrink);
            }
            w.share(block, |w, b| {
                let score = w.kept(&b + (self.scores + h * block));
                let weight = Expr::call(Fun::Exp, [score - &top]);
                w.code.keep(b + (self.scores + h * block), weight.bits());
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
        values: &State,
        accumulators: &Accumulators,
        start: &Expr,
        seen: &Expr,
    ) -> Result<(), Why> {
        let column = w.code.set("column", Expr::Lane % self.columns);
        let team = w.code.set("team", Expr::Lane / self.columns);
        let last = self.cols / values.per() - 1;
        let items: Vec<Expr> = (0..self.times)
            .map(|time| w.code.set("item", (&column + time * self.columns).min(last)))
            .collect();
        let ahead = AHEAD.min(self.block / self.teams).max(1);
        let here = w.code.set("here", (seen - start).min(self.block));
        // A team beyond those that work has no position.
        let range = (&team * ahead, here, self.teams * ahead);
        w.count("b", range, |w, b| {
            let mut loaded = Vec::new();
            for a in 0..ahead {
                let row = values.row(Expr::Shared((&b + (self.rows + a)).into()))?;
                let row = w.code.set("row", row);
                let each = items.iter().map(|item| values.load(w, &row, item));
                loaded.push(each.collect::<Result<Vec<_>, _>>()?);
            }
            for (a, loaded) in loaded.into_iter().enumerate() {
                let loaded: Vec<Vec<Expr>> = loaded
                    .into_iter()
                    .map(|each| each.into_iter().map(|v| w.code.set("value", v)).collect())
                    .collect();
                for h in 0..self.heads {
                    let weight = w.kept(&b + (self.scores + h * self.block + a as u32));
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

    /// Adds up what the teams have, over the sum of the weights.
    fn finish(&self, w: &mut Writer<'_>, accumulators: &Accumulators, per: u32) -> Result<u32, Why> {
        let (heads, cols, row) = (self.heads, self.cols, self.cols + 1);
        let column = w.code.set("column", Expr::Lane % self.columns);
        let team = w.code.set("team", Expr::Lane / self.columns);
        let ends = self.parts;
        w.when(
            if self.teams * self.columns < w.code.lanes { team.less(self.teams) } else { Expr::True },
            |w| {
                for h in 0..heads {
                    let of = h as usize;
                    let at = w.code.set("at", (&team * heads + h) * row + ends);
                    // Every lane of a team has the same sum of weights.
                    w.code.keep(&at + cols, accumulators.totals[of].clone().bits());
                    for (time, sums) in accumulators.values[of].iter().enumerate() {
                        let item = w.code.set("item", &column + time as u32 * self.columns);
                        w.when(item.less(cols / per), |w| {
                            for (part, sum) in sums.iter().enumerate() {
                                w.code.keep(&at + &item * per + part as u32, sum.clone().bits());
                            }
                            Ok(())
                        })?;
                    }
                }
                Ok(())
            },
        )?;
        w.code.barrier();
        let results = w.pool.room(heads * cols);
        w.share(heads * cols, |w, item| {
            let h = w.code.set("h", &item / cols);
            let from = w.code.set("from_team", &h * row + ends);
            let apart = heads * row;
            let sum = reduce::folded(w, Fold::Sum, &(&from + &item % cols), self.teams, apart);
            let total = reduce::folded(w, Fold::Sum, &(from + cols), self.teams, apart);
            w.code.keep(item + results, (sum / total).bits());
            Ok(())
        })?;
        w.code.barrier();
        Ok(results)
    }
}

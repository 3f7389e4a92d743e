//! Attention on matrix units, in flash-attention form.
//!
//! A tile's rows (tokens × heads) share a key head. A chunk of the state is staged in workgroup memory once, for all rows,
//! and for keys and values where these are the same. Units multiply halves and add up floats: queries and weights are
//! therefore split into a half and what it leaves, which is another half, and each product is the sum of two.
//!
//! What units compute for a row depends on that row alone, and chunks begin at fixed positions. So the bits are the same for
//! a row by itself and among others, and whether one workgroup visits all chunks or each has its own.

use weft_kern::{Attend, Cached, Part};

use crate::code::expr::{Expr, Fun};
use crate::code::stmt::Stmt;
use crate::lower::attend::context::{Bounds, LOWEST, chunk_words};
use crate::lower::attend::join::{Scaled, scaled, together};
use crate::lower::attend::members::{self, Members};
use crate::lower::reduce::{self, Fold};
use crate::lower::space::Place;
use crate::lower::writer::{WARP, Writer};
use crate::refused::{Why, word};
use crate::schedule::attention::{SEEKERS, STEP, Tile, UNIT, UNIT_WORDS};
use crate::schedule::{MATRIX_ROWS, Split};

/// Columns that units multiply at once, of which operands are loaded two at a time.
const HALF: u32 = 8;
const PAIR: u32 = 2 * HALF;

/// Pairs of columns of values that a warp has sums for at once.
const AT_ONCE: u32 = 2;

/// Most loads of the state that a lane has in flight.
const AHEAD: u32 = 18;

/// The weight of an old result that stays as it is.
const STAYS: f32 = -1.0;

/// Attention of a tile.
struct Units<'a> {
    attend: &'a Attend,
    place: &'a Place,
    tile: Tile,
    warps: u32,
    bounds: Bounds,
    /// The lane's warp, its place `4 · g + t` within it, and the row and word of the matrices that it loads: of rows, or
    /// of columns.
    warp: Expr,
    g: Expr,
    t: Expr,
    row: Expr,
    word: Expr,
    /// Where things are in workgroup memory. For each row: the factor of its scores, its largest score, the sum of its
    /// weights, and the weights of an old and a new result.
    keys: u32,
    values: u32,
    queries: u32,
    scores: u32,
    weights: u32,
    positions: u32,
    factors: u32,
    tops: u32,
    totals: u32,
    old: u32,
    new: u32,
}

/// Sums of a lane for a pair of columns: by half, by group of rows, and the lane's four.
type Sums = [Vec<[Expr; 4]>; 2];

/// Writes the attention of a tile. Returns where its result is in workgroup memory. With `chunks`, computes one chunk and
/// stores its results in this slot from this word on instead.
pub(super) fn write(
    w: &mut Writer<'_>,
    (part, attend): (&Part, &Attend),
    place: &Place,
    split: &Split,
    chunks: Option<(usize, u32)>,
) -> Result<Option<u32>, Why> {
    let units = Units::new(w, part, attend, place, split)?;
    match (chunks, &place.chunk) {
        (Some(scratch), Some(chunk)) => {
            let token = members::token(w, place, &Expr::U32(0));
            let position = w.param_word(attend.pos, token.clone());
            let seen = w.code.set("seen", units.bounds.seen(position));
            let start = w.code.set("chunk_start", chunk * split.chunk);
            w.when(start.less(&seen), |w| {
                let pages_at = w.param_word(attend.first, token);
                let pages_at = w.code.set("pages_at", pages_at);
                units.queries(w)?;
                units.scores(w, &pages_at, &start, &seen)?;
                units.weigh(w, &start, |_, _| seen.clone(), None)?;
                units.store_chunk(w, chunk, scratch)
            })?;
            Ok(None)
        }
        _ => units.whole(w).map(Some),
    }
}

impl<'a> Units<'a> {
    fn new(
        w: &mut Writer<'_>,
        part: &Part,
        attend: &'a Attend,
        place: &'a Place,
        split: &Split,
    ) -> Result<Units<'a>, Why> {
        let tile = Tile::new(part, attend, split);
        let bounds = Bounds::new(w, attend)?;
        let keys = w.pool.room(tile.staged_words());
        let [queries, scores, weights] =
            [tile.query_words(), tile.score_words(), tile.weight_words()].map(|n| w.pool.room(n));
        let positions = w.pool.room(tile.chunk);
        let [factors, tops, totals, old, new] = [tile.rows; 5].map(|n| w.pool.room(n));
        let own = w.code.set("own_lane", Expr::Lane % WARP);
        Ok(Units {
            attend,
            place,
            tile,
            warps: w.code.lanes / WARP,
            bounds,
            warp: w.code.set("own_warp", Expr::Lane / WARP),
            g: w.code.set("g", &own / 4u32),
            t: w.code.set("t", &own % 4u32),
            row: w.code.set("matrix_row", &own % MATRIX_ROWS),
            word: w.code.set("matrix_word", (own / MATRIX_ROWS) * UNIT_WORDS),
            keys,
            values: if tile.latent { keys } else { keys + tile.chunk * tile.key_stride() },
            queries,
            scores,
            weights,
            positions,
            factors,
            tops,
            totals,
            old,
            new,
        })
    }

    /// Groups of rows that units multiply.
    fn groups(&self) -> u32 {
        self.tile.rows / MATRIX_ROWS
    }

    /// Visits all chunks of all runs. Returns where the result is.
    fn whole(&self, w: &mut Writer<'_>) -> Result<u32, Why> {
        let Tile { rows, cols, chunk, .. } = self.tile;
        let members = Members::new(w, self.attend, self.place, &self.bounds, rows)?;
        self.queries(w)?;
        w.share(rows, |w, row| {
            w.code.store_shared(&row + self.totals, 0u32.into());
            w.code.store_shared(row + self.tops, Expr::F32(LOWEST).bits());
            Ok(())
        })?;
        let sums: Vec<Sums> = (0..self.pairs()).map(|_| self.sums(w)).collect();
        w.code.barrier();
        let visit = |w: &mut Writer<'_>, run: &Expr| {
            let (most, pages_at) = (members.most_seen(w, run), members.pages_at(w, run));
            w.count("chunk_start", (0u32.into(), most.clone(), chunk), |w, start| {
                self.scores(w, &pages_at, &start, &most)?;
                let is_in = |row: &Expr| members.is_in(row, run);
                self.weigh(w, &start, |w, row| members.seen(w, row), Some(&is_in))?;
                self.values(w, |w, pair, chunk| self.join(w, &sums[pair as usize], chunk))
            })
        };
        match members.runs() {
            1 => visit(w, &Expr::U32(0))?,
            runs => w.count("run", (0u32.into(), runs.into(), 1), |w, run| visit(w, &run))?,
        }
        w.code.barrier();
        // The result takes the place of the keys.
        let result = self.keys;
        for (pair, sums) in sums.iter().enumerate() {
            self.each(w, pair as u32, sums, |w, row, column, sum| {
                let value = sum / w.load_shared(row + self.totals);
                w.code.store_shared(row * cols + column + result, value.bits());
                Ok(())
            })?;
        }
        w.code.barrier();
        Ok(result)
    }

    /// Stores the queries in workgroup memory: of each value a half, and what it leaves. They are scaled by a power of two,
    /// so that halves can hold them. Lanes see them after the next barrier.
    fn queries(&self, w: &mut Writer<'_>) -> Result<(), Why> {
        let Tile { rows, steps, .. } = self.tile;
        let (query, stride) = (&self.attend.q, self.tile.key_stride());
        let (fours, padded) = (word(self.attend.k_len)? / 4, steps * STEP / 4);
        let low = rows * stride;
        w.share(rows * SEEKERS, |w, item| {
            let (row, s) = (w.code.set("row", &item / SEEKERS), w.code.set("s", item % SEEKERS));
            let axes = members::axes(w, self.place, &row);
            let base = w.base(query, &axes)?;
            let base = w.start(query.param) + base;
            let base = w.code.set("query", base);
            let slot = w.slot(query.param);
            let largest = w.code.var("largest", 0u32);
            let mut loaded = Vec::new();
            for i in 0..padded.div_ceil(SEEKERS) {
                let four = w.code.set("four", &s + i * SEEKERS);
                let all = (i + 1) * SEEKERS <= fours;
                let at = if all { four.clone() } else { four.clone().min(fours - 1) };
                let from = Expr::Four(Some(slot), (&base + at * 4u32).into());
                let values = w.code.four("q", from).map(|q| match all {
                    true => q,
                    false => Expr::U32(0).unless(&four.less(fours), q),
                });
                let values = values.map(|q| w.code.set("q", q));
                for q in &values {
                    w.code.assign(&largest, largest.clone().max(q & 0x7fff_ffffu32));
                }
                loaded.push((four, values));
            }
            let largest = reduce::subgroups(w, Fold::Max, largest, SEEKERS);
            // Its exponent, and the power of two that brings it to 1.
            let exponent = (largest & 0x7f80_0000u32).max(1u32 << 23).min(253u32 << 23);
            let exponent = w.code.set("exponent", exponent);
            let shrink = w.code.set("shrink", (Expr::U32(254 << 23) - &exponent).float());
            for (four, values) in loaded {
                let values = values.map(|q| w.code.set("x", q.float() * &shrink));
                let at = w.code.set("to", &row * stride + &four * 2u32 + self.queries);
                let exists = if padded.is_multiple_of(SEEKERS) { Expr::True } else { four.less(padded) };
                w.when(exists, |w| {
                    for (i, two) in values.chunks(2).enumerate() {
                        let [high, rest] = split(w, [two[0].clone(), two[1].clone()]);
                        w.code.store_shared(&at + i as u32, high);
                        w.code.store_shared(&at + (low + i as u32), rest);
                    }
                    Ok(())
                })?;
            }
            w.when(s.equal(0u32), |w| {
                let factor = exponent.float() * self.attend.scale.0;
                w.code.store_shared(row + self.factors, factor.bits());
                Ok(())
            })
        })
    }

    /// Computes the scores of the chunk that begins at `start`, of which `end` positions and those before exist. Ends with a barrier.
    fn scores(&self, w: &mut Writer<'_>, pages_at: &Expr, start: &Expr, end: &Expr) -> Result<(), Why> {
        w.share(self.tile.chunk, |w, b| {
            // Positions beyond the end are read as the last one, and get no weight.
            let p = w.code.set("p", (start + &b).min(end - 1u32));
            let row = self.bounds.row(w, self.attend, pages_at, &p);
            w.code.store_shared(b + self.positions, row);
            Ok(())
        })?;
        w.code.barrier();
        let Tile { key_units, steps, cols, .. } = self.tile;
        let padded = steps * (STEP / UNIT);
        self.stage(w, &self.attend.k, (key_units, padded), (self.keys, self.tile.key_stride()))?;
        if !self.tile.latent {
            let units = cols / UNIT;
            self.stage(w, &self.attend.v, (units, units), (self.values, self.tile.value_stride()))?;
        }
        w.code.barrier();
        self.multiply_keys(w)?;
        w.code.barrier();
        Ok(())
    }

    /// Copies a chunk's rows of `units` to workgroup memory, padded with zeros.
    fn stage(
        &self,
        w: &mut Writer<'_>,
        cached: &Cached,
        (units, padded): (u32, u32),
        (to, stride): (u32, u32),
    ) -> Result<(), Why> {
        let (lanes, all) = (w.code.lanes, self.tile.chunk * padded);
        let times = all.div_ceil(lanes);
        let ahead = (1..=AHEAD).rev().find(|n| times.is_multiple_of(*n)).unwrap_or(1);
        let axes = members::axes(w, self.place, &Expr::U32(0));
        let head = axes.get(1).cloned().unwrap_or(Expr::U32(0));
        let group = head / word(self.attend.heads / self.attend.kv_heads.max(1))?;
        let head = group * word(cached.head_stride / 2)? + word(cached.offset / 2)?;
        let from = w.start(cached.param) + head;
        let from = w.code.set("from", from);
        let (slot, row_words) = (w.slot(cached.param), word(cached.row_stride / 2)?);
        let whole = all.is_multiple_of(lanes);
        w.count_or_once("time", (0u32.into(), times.into(), ahead), |w, time| {
            let mut loaded = Vec::new();
            for a in 0..ahead {
                let item = w.code.set("item", (&time + a) * lanes + Expr::Lane);
                let read = if whole { item.clone() } else { w.code.set("item", item.clone().min(all - 1)) };
                let b = w.code.set("b", &read / padded);
                let unit = w.code.set("unit", &read % padded);
                let row = Expr::Shared((&b + self.positions).into());
                let at = if units == padded { unit.clone() } else { unit.clone().min(units - 1) };
                let at = w.code.set("unit_at", &from + row * row_words + at * UNIT_WORDS);
                let words = w.code.four("words", Expr::Four(Some(slot), at.into()));
                let words = match units == padded {
                    true => words,
                    false => words.map(|word| Expr::U32(0).unless(&unit.less(units), word)),
                };
                loaded.push((item, b * stride + unit * UNIT_WORDS + to, words));
            }
            for (item, at, words) in loaded {
                let exists = if whole { Expr::True } else { item.less(all) };
                w.when(exists, |w| {
                    w.code.push(Stmt::StoreFour(at, words));
                    Ok(())
                })?;
            }
            Ok(())
        })
    }

    /// Multiplies queries by keys. Warps share positions, and the values of each score.
    fn multiply_keys(&self, w: &mut Writer<'_>) -> Result<(), Why> {
        let Tile { rows, chunk, reduce, steps, .. } = self.tile;
        let (stride, each) = (self.tile.key_stride(), steps / reduce);
        let across = (self.warps / reduce).min(chunk / PAIR);
        let rest = self.warps / (reduce * across);
        let down = if self.groups().is_multiple_of(rest) { rest } else { 1 };
        let (pairs, groups) = (chunk / PAIR / across, self.groups() / down);
        let works = if reduce * across * down < self.warps {
            self.warp.less(reduce * across * down)
        } else {
            Expr::True
        };
        w.when(works, |w| {
            let share = w.code.set("share", &self.warp % reduce);
            let first = w.code.set("first_position", (&self.warp / reduce % across) * (pairs * PAIR));
            let first_row =
                w.code.set("first_row", (&self.warp / (reduce * across)) * (groups * MATRIX_ROWS));
            let sums: Vec<Vec<[Expr; 4]>> =
                (0..groups).map(|_| (0..2 * pairs).map(|_| self.zeros(w)).collect()).collect();
            let step = w.code.set("first_step", &share * (each * STEP / 2));
            // Of columns, words come before rows.
            let column = (&self.word / UNIT_WORDS) * HALF + &self.row % HALF;
            let beside = (&self.row / HALF) * UNIT_WORDS;
            let key = w.code.set("key_at", (&first + column) * stride + beside + &step + self.keys);
            let query = (&first_row + &self.row) * stride + &self.word + step + self.queries;
            let query = w.code.set("query_at", query);
            w.count_or_once("step", (0u32.into(), each.into(), 1), |w, step| {
                let depth = w.code.set("depth", step * (STEP / 2));
                let keys: Vec<[Expr; 4]> = (0..pairs)
                    .map(|pair| w.code.matrices("key", &key + &depth + pair * PAIR * stride, false))
                    .collect();
                for part in 0..2 {
                    for (group, sums) in sums.iter().enumerate() {
                        let offset = part * rows * stride + group as u32 * MATRIX_ROWS * stride;
                        let left = w.code.matrices("q", &query + &depth + offset, false);
                        for (n, sums) in sums.iter().enumerate() {
                            multiply(w, sums, &left, &keys[n / 2], n % 2);
                        }
                    }
                }
                Ok(())
            })?;
            for (group, sums) in sums.iter().enumerate() {
                for (n, sums) in sums.iter().enumerate() {
                    for (i, sum) in sums.iter().enumerate() {
                        let [below, beside] = [i as u32 / 2 * HALF, i as u32 % 2];
                        let row = &share * rows + &first_row + &self.g + (group as u32 * MATRIX_ROWS + below);
                        let position = &first + &self.t * 2u32 + (n as u32 * HALF + beside);
                        let to = row * self.tile.score_stride() + position + self.scores;
                        w.code.store_shared(to, sum.clone().bits());
                    }
                }
            }
            Ok(())
        })
    }

    /// Turns scores into weights, relative to the largest of the chunk. With `is_in`, joins sums of weights for the rows of
    /// a run, and says how to join their results. Ends with a barrier.
    fn weigh(
        &self,
        w: &mut Writer<'_>,
        start: &Expr,
        seen: impl Fn(&mut Writer<'_>, &Expr) -> Expr,
        is_in: Option<&dyn Fn(&Expr) -> Expr>,
    ) -> Result<(), Why> {
        let Tile { rows, chunk, reduce, .. } = self.tile;
        let (stride, low) = (self.tile.weight_stride(), rows * self.tile.weight_stride());
        w.share(rows * SEEKERS, |w, item| {
            let (row, s) = (w.code.set("row", &item / SEEKERS), w.code.set("s", item % SEEKERS));
            let seen = seen(w, &row);
            let factor = w.load_shared(&row + self.factors);
            let factor = w.code.set("factor", factor);
            let from = w.code.set("from_score", &row * self.tile.score_stride() + &s * 2u32 + self.scores);
            let mut scores = Vec::new();
            for i in 0..chunk / (2 * SEEKERS) {
                for beside in 0..2 {
                    let at = i * 2 * SEEKERS + beside;
                    let mut sum = w.load_shared(&from + at);
                    for share in 1..reduce {
                        sum = sum + w.load_shared(&from + (at + share * rows * self.tile.score_stride()));
                    }
                    let exists = (start + &s * 2u32 + at).less(&seen);
                    let score = Expr::F32(LOWEST).unless(&exists, sum * &factor);
                    scores.push(w.code.set("score", score));
                }
            }
            let top = scores.iter().cloned().reduce(|a, b| a.max(b)).unwrap_or(Expr::F32(LOWEST));
            let top = reduce::subgroups(w, Fold::Max, top, SEEKERS);
            let total = w.code.var("total", 0.0f32);
            for (i, two) in scores.chunks(2).enumerate() {
                let weights = [0, 1].map(|beside| {
                    let weight = Expr::call(Fun::Exp, [&two[beside] - &top]);
                    let weight = w.code.set("weight", weight);
                    w.code.assign(&total, &total + &weight);
                    weight
                });
                let [high, rest] = split(w, weights);
                let to = &row * stride + &s + (self.weights + i as u32 * SEEKERS);
                let to = w.code.set("to", to);
                w.code.store_shared(to.clone(), high);
                w.code.store_shared(to + low, rest);
            }
            let total = reduce::subgroups(w, Fold::Sum, total, SEEKERS);
            w.when(s.equal(0u32), |w| {
                let Some(is_in) = is_in else {
                    w.code.store_shared(&row + self.tops, top.bits());
                    w.code.store_shared(row + self.totals, total.bits());
                    return Ok(());
                };
                // Other rows stay as they are.
                let joins = w.code.set("joins", is_in(&row).both(&start.less(&seen)));
                let [before, old_total] = [self.tops, self.totals].map(|at| w.load_shared(&row + at));
                let before = w.code.set("old_top", before);
                let old_total = w.code.set("old_total", old_total);
                let by = scaled(w, before.clone(), top);
                let total = together(old_total.clone(), total, &by);
                w.code.store_shared(&row + self.totals, old_total.unless(&joins, total).bits());
                w.code.store_shared(&row + self.tops, before.unless(&joins, by.top).bits());
                w.code.store_shared(&row + self.old, Expr::F32(STAYS).unless(&joins, by.old).bits());
                w.code.store_shared(row + self.new, by.new.bits());
                Ok(())
            })
        })?;
        w.code.barrier();
        Ok(())
    }

    /// Pairs of columns of values that a warp has.
    fn pairs(&self) -> u32 {
        (self.tile.cols / PAIR).div_ceil(self.warps)
    }

    /// The number of a warp's pair, and whether it exists.
    fn pair(&self, w: &mut Writer<'_>, pair: u32) -> (Expr, Expr) {
        let all = self.tile.cols / PAIR;
        let index = w.code.set("pair", &self.warp * self.pairs() + pair);
        let exists = if all.is_multiple_of(self.pairs() * self.warps) { Expr::True } else { index.less(all) };
        (index, exists)
    }

    fn zeros(&self, w: &mut Writer<'_>) -> [Expr; 4] {
        [(); 4].map(|()| w.code.var("sum", 0.0f32))
    }

    fn sums(&self, w: &mut Writer<'_>) -> Sums {
        [(); 2].map(|()| (0..self.groups()).map(|_| self.zeros(w)).collect())
    }

    /// Multiplies the chunk's weights by its values, and hands over the sums of each of the warp's pairs of columns.
    fn values(
        &self,
        w: &mut Writer<'_>,
        mut done: impl FnMut(&mut Writer<'_>, u32, &Sums) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let Tile { rows, chunk, cols, .. } = self.tile;
        let (stride, value_stride) = (self.tile.weight_stride(), self.tile.value_stride());
        let pairs: Vec<u32> = (0..self.pairs()).collect();
        for some in pairs.chunks(AT_ONCE as usize) {
            let sums: Vec<Sums> = some.iter().map(|_| self.sums(w)).collect();
            let weight = w.code.set("weight_at", &self.row * stride + &self.word + self.weights);
            let columns: Vec<Expr> = some
                .iter()
                .map(|pair| {
                    let (pair, exists) = self.pair(w, *pair);
                    let pair = if exists == Expr::True { pair } else { pair.min(cols / PAIR - 1) };
                    let at = &self.row * value_stride + &self.word + pair * (PAIR / 2) + self.values;
                    w.code.set("value_at", at)
                })
                .collect();
            w.count_or_once("step", (0u32.into(), (chunk / STEP).into(), 1), |w, step| {
                let (depth, down) = (&step * (STEP / 2), &step * (STEP * value_stride));
                let (depth, down) = (w.code.set("depth", depth), w.code.set("down", down));
                let right: Vec<[Expr; 4]> =
                    columns.iter().map(|at| w.code.matrices("value", at + &down, true)).collect();
                for part in 0..2 {
                    for group in 0..self.groups() {
                        let offset = part * rows * stride + group * MATRIX_ROWS * stride;
                        let left = w.code.matrices("weight", &weight + &depth + offset, false);
                        for (sums, right) in sums.iter().zip(&right) {
                            for (half, sums) in sums.iter().enumerate() {
                                multiply(w, &sums[group as usize], &left, right, half);
                            }
                        }
                    }
                }
                Ok(())
            })?;
            for (pair, sums) in some.iter().zip(&sums) {
                done(w, *pair, sums)?;
            }
        }
        Ok(())
    }

    /// Joins the chunk's sums of a pair of columns to those before.
    fn join(&self, w: &mut Writer<'_>, sums: &Sums, chunk: &Sums) -> Result<(), Why> {
        for group in 0..self.groups() {
            for below in 0..2 {
                let row = &self.g + (group * MATRIX_ROWS + below * HALF);
                let [old, new] = [self.old, self.new].map(|at| w.load_shared(&row + at));
                let (old, new) = (w.code.set("by_old", old), w.code.set("by_new", new));
                let joins = w.code.set("joins", Expr::F32(STAYS).less(&old));
                let by = Scaled { top: 0.0f32.into(), old, new };
                for (sums, chunk) in sums.iter().zip(chunk) {
                    for i in [2 * below, 2 * below + 1] {
                        let [sum, new] = [sums, chunk].map(|of| of[group as usize][i as usize].clone());
                        w.code.assign(&sum, sum.clone().unless(&joins, together(sum.clone(), new, &by)));
                    }
                }
            }
        }
        Ok(())
    }

    /// Visits the sums of a pair of columns that exist: the row and the column of each.
    fn each(
        &self,
        w: &mut Writer<'_>,
        pair: u32,
        sums: &Sums,
        mut see: impl FnMut(&mut Writer<'_>, &Expr, Expr, Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let rows = self.place.tile();
        let (pair, exists) = self.pair(w, pair);
        w.when(exists, |w| {
            let first = w.code.set("column", pair * PAIR + &self.t * 2u32);
            for group in 0..self.groups() {
                for below in 0..2 {
                    let least = group * MATRIX_ROWS + below * HALF;
                    let row = w.code.set("row", &self.g + least);
                    let exists = if least + HALF <= rows { Expr::True } else { row.less(rows) };
                    w.when(exists, |w| {
                        for (half, sums) in sums.iter().enumerate() {
                            for beside in 0..2u32 {
                                let sum = sums[group as usize][(2 * below + beside) as usize].clone();
                                see(w, &row, &first + (half as u32 * HALF + beside), sum)?;
                            }
                        }
                        Ok(())
                    })?;
                }
            }
            Ok(())
        })
    }

    /// Multiplies the chunk's values, and stores its results in the scratch slot, for the second shader.
    fn store_chunk(&self, w: &mut Writer<'_>, chunk: &Expr, (slot, first): (usize, u32)) -> Result<(), Why> {
        let (rows, cols) = (self.place.tile(), self.tile.cols);
        let words = chunk_words(cols);
        let begins = self.place.chunk_row(chunk, &Expr::U32(0), rows) * words + first;
        let begins = w.code.set("put_at", begins);
        self.values(w, |w, pair, sums| {
            self.each(w, pair, sums, |w, row, column, sum| {
                w.code.push(Stmt::Store(slot, row * words + column + &begins, sum.bits()));
                Ok(())
            })
        })?;
        w.share(rows, |w, row| {
            let to = w.code.set("to", &row * words + (&begins + cols));
            let [total, top] = [self.totals, self.tops].map(|at| Expr::Shared((&row + at).into()));
            w.code.push(Stmt::Store(slot, to.clone(), total));
            w.code.push(Stmt::Store(slot, to + 1u32, top));
            Ok(())
        })
    }
}

/// Two values as halves, and what the halves leave of them as halves.
fn split(w: &mut Writer<'_>, values: [Expr; 2]) -> [Expr; 2] {
    let high = w.code.set("high", Expr::call(Fun::PackHalves, values.clone()));
    let [low, upper] = values;
    let rest = [(low, high.clone()), (upper, &high >> 16u32)]
        .map(|(value, half)| value - Expr::call(Fun::Half, [half]));
    [high.clone(), w.code.set("rest", Expr::call(Fun::PackHalves, rest))]
}

/// Adds the products of a group of rows by eight columns: the first or the second half of a pair.
fn multiply(w: &mut Writer<'_>, sums: &[Expr; 4], left: &[Expr; 4], pair: &[Expr; 4], half: usize) {
    let right = [pair[2 * half].clone(), pair[2 * half + 1].clone()];
    w.code.push(Stmt::MatrixHalves { sums: sums.clone(), left: left.clone(), right });
}

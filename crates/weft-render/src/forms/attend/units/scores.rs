//! Queries, scores and weights on matrix units.

use weft_shader::expr::{Expr, Fun};

use crate::forms::attend::units::division::{HALF, PAIR, Units, multiply};
use crate::forms::attend::units::{SEEKERS, STEP, Tile, UNIT_WORDS};
use crate::lower::attend::context::LOWEST;
use crate::lower::attend::join::join_row;
use crate::lower::attend::members;
use crate::lower::reduce::{self, Fold};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::{MATRIX_ROWS, WARP};

/// The exponent bits of a row's largest value, and the power of two that scales that value to about 1.
pub(crate) fn power_of_two(w: &mut Writer<'_>, largest: &Expr) -> (Expr, Expr) {
    let exponent = (largest & 0x7f80_0000u32).max(1u32 << 23).min(253u32 << 23);
    let exponent = w.code.set("exponent", exponent);
    let shrink = w.code.set("shrink", (Expr::U32(254 << 23) - &exponent).float());
    (exponent, shrink)
}

impl Units<'_> {
    /// Stores the queries in workgroup memory as halves, scaled by a power of two to fit their range. Lanes see them after the next
    /// barrier.
    pub(crate) fn queries(&self, w: &mut Writer<'_>) -> Result<(), Why> {
        let steps = self.tile.steps;
        let query = &self.attend.q;
        let (fours, padded) = (word(self.attend.k_len)? / 4, steps * STEP / 4);
        // Each row has as many lanes as possible, because their number does not change the largest value. Rows that only pad the units'
        // sixteen stay undefined, because no other row depends on them.
        let own = self.place.tile();
        let lanes = (1 << (w.code.lanes / own).max(1).ilog2()).clamp(SEEKERS, WARP);
        w.share((own * lanes).next_multiple_of(WARP), |w, item| {
            let (row, s) = (w.code.set("row", &item / lanes), w.code.set("s", item % lanes));
            let axes = members::axes(w, self.place, &row);
            let base = w.base(query, &axes)?;
            let base = w.start(query.param) + base;
            let base = w.code.set("query", base);
            let slot = w.slot(query.param);
            let largest = w.code.var("largest", 0u32);
            let mut loaded = Vec::new();
            for i in 0..padded.div_ceil(lanes) {
                let four = w.code.set("four", &s + i * lanes);
                let all = (i + 1) * lanes <= fours;
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
            let largest = reduce::subgroups(w, Fold::Max, largest, lanes);
            let (exponent, shrink) = power_of_two(w, &largest);
            for (four, values) in loaded {
                let values = values.map(|q| w.code.set("x", q.float() * &shrink));
                let at = w.code.set("to", self.query_at(&row, &four));
                let exists = if padded.is_multiple_of(lanes) { Expr::True } else { four.less(padded) };
                w.when(exists, |w| {
                    for (i, two) in values.chunks(2).enumerate() {
                        let halves = Expr::call(Fun::PackHalves, [two[0].clone(), two[1].clone()]);
                        w.code.store_shared(&at + i as u32, halves);
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

    /// Multiplies queries by keys. Warps share positions, and the values of each score.
    pub(crate) fn multiply_keys(&self, w: &mut Writer<'_>) -> Result<(), Why> {
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
            // For columns, words come before rows.
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
                for (group, sums) in sums.iter().enumerate() {
                    let offset = group as u32 * MATRIX_ROWS * stride;
                    let left = w.code.matrices("q", &query + &depth + offset, false);
                    for (n, sums) in sums.iter().enumerate() {
                        multiply(w, sums, &left, &keys[n / 2], n % 2);
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

    /// Turns scores into weights, relative to the largest of the chunk. With `is_in`, also combines the sums of weights of a run's rows,
    /// and stores the factors for their results. Ends with a barrier.
    pub(crate) fn weigh(
        &self,
        w: &mut Writer<'_>,
        start: &Expr,
        seen: impl Fn(&mut Writer<'_>, &Expr) -> Expr,
        is_in: Option<&dyn Fn(&Expr) -> Expr>,
    ) -> Result<(), Why> {
        let Tile { rows, chunk, reduce, .. } = self.tile;
        let stride = self.tile.weight_stride();
        w.share((self.place.tile() * SEEKERS).next_multiple_of(WARP), |w, item| {
            let (row, s) = (w.code.set("row", &item / SEEKERS), w.code.set("s", item % SEEKERS));
            let seen = seen(w, &row);
            let begin = self.bounds.begin(w, &seen);
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
                    let position = start + &s * 2u32 + at;
                    let exists = match &begin {
                        None => position.less(&seen),
                        Some(begin) => {
                            let position = w.code.set("p", position);
                            position.less(&seen).both(&begin.less(position + 1u32))
                        }
                    };
                    let score = Expr::F32(LOWEST).unless(&exists, sum * &factor);
                    scores.push(w.code.set("score", score));
                }
            }
            let top = scores.iter().cloned().reduce(|a, b| a.max(b)).unwrap_or(Expr::F32(LOWEST));
            let top = reduce::subgroups(w, Fold::Max, top, SEEKERS);
            // Each half has its own sum, because two warpgroups may compute the halves of a chunk.
            let halves = [(); 2].map(|()| w.code.var("total", 0.0f32));
            let pairs = scores.len() / 2;
            for (i, two) in scores.chunks(2).enumerate() {
                let total = &halves[2 * i / pairs];
                let weights = [0, 1].map(|beside| {
                    let weight = Expr::call(Fun::Exp, [&two[beside] - &top]);
                    let weight = w.code.set("weight", weight);
                    w.code.assign(total, total + &weight);
                    weight
                });
                let to = &row * stride + &s + (self.weights + i as u32 * SEEKERS);
                w.code.store_shared(to, Expr::call(Fun::PackHalves, weights));
            }
            let [first, second] = halves.map(|half| reduce::subgroups(w, Fold::Sum, half, SEEKERS));
            let total = w.code.set("total", first + second);
            w.when(s.equal(0u32), |w| {
                let Some(is_in) = is_in else {
                    w.code.store_shared(&row + self.tops, top.bits());
                    w.code.store_shared(row + self.totals, total.bits());
                    return Ok(());
                };
                // Other rows stay as they are.
                let mut joins = is_in(&row).both(&start.less(&seen));
                if let Some(begin) = &begin {
                    joins = joins.both(&begin.less(start + chunk));
                }
                let joins = w.code.set("joins", joins);
                let kept = [self.tops, self.totals, self.old, self.new];
                join_row(w, &row, kept, (top, total), (&joins, false));
                Ok(())
            })
        })?;
        w.code.barrier();
        Ok(())
    }
}

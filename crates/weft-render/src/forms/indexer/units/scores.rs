//! Scores the positions of a chunk on matrix units: sixteen heads are the rows of a product, and eight positions its columns.
//!
//! A value of a query becomes two halves: the nearest one, and the nearest one to what that leaves. So products are as exact as those of
//! floats. A lane loads eight neighbouring values of a key and of a query at once; they are its share of a step of 32 values. A lane adds
//! the weighted scores of its heads, each product rounded, in ascending order, and then lanes add theirs by halving. All of this depends on
//! the token and the position alone.

use weft_kern::ParamId;
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::attend::units::division::HALF;
use crate::forms::attend::units::scores::power_of_two;
use crate::forms::attend::units::{SEEKERS, UNIT, UNIT_WORDS};
use crate::forms::indexer::chunk::divisor;
use crate::forms::indexer::found::{Found, Scored};
use crate::forms::indexer::token::Token;
use crate::forms::indexer::units::{SHARES, STEP};
use crate::lower::reduce::{self, Fold};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::{MATRIX_ROWS, WARP};

/// The most groups of heads whose scores a lane adds up at a time.
const MOST_GROUPS: u32 = 2;

/// The words of a step in a row of halves.
const STEP_WORDS: u32 = STEP / 2;

/// Scores on matrix units: the division of heads, and offsets in workgroup memory.
pub(in crate::forms::indexer) struct Units {
    /// The parameter that holds keys, where keys begin in its rows, and the words of a row.
    keys: ParamId,
    offset: u32,
    row_words: u32,
    k_len: u32,
    /// Heads, and the rows that they take.
    heads: u32,
    rows: u32,
    /// Rows whose queries are in workgroup memory, and those whose products a lane adds up at a time.
    staged: u32,
    group: u32,
    /// Offsets of the weights and the factors of all heads, of the halves of queries, and of what these leave.
    weights: u32,
    factors: u32,
    queries: u32,
    rests: u32,
    /// The lane's number `4 · g + t` within its warp.
    g: Expr,
    t: Expr,
}

/// Eight positions that a warp scores.
struct Positions {
    /// The word at which the lane's share of a key begins: that of position `g`.
    key: Expr,
    /// The places in the chunk of the two whose sums the lane has, and their scores so far.
    own: [Scored; 2],
}

impl Units {
    pub(in crate::forms::indexer) fn new(w: &mut Writer<'_>, token: &Token<'_>) -> Result<Units, Why> {
        let (heads, k_len, cached) = (word(token.indexer.heads)?, word(token.indexer.k_len)?, token.attend.k);
        let rows = heads.next_multiple_of(MATRIX_ROWS);
        let [weights, factors] = [(); 2].map(|()| w.pool.alloc(rows));
        // Two halves of a value are a word.
        let room = w.pool.left(u32::MAX) / k_len;
        let groups = rows / MATRIX_ROWS;
        let staged = divisor(groups, (room / MATRIX_ROWS).max(1)) * MATRIX_ROWS;
        let [queries, rests] = [(); 2].map(|()| w.pool.alloc(staged * (k_len / 2)));
        Ok(Units {
            keys: cached.param,
            offset: word(cached.offset / 2)?,
            row_words: word(cached.row_stride / 2)?,
            k_len,
            heads,
            rows,
            staged,
            group: divisor(staged / MATRIX_ROWS, MOST_GROUPS),
            weights,
            factors,
            queries,
            rests,
            g: w.code.set("g", Expr::Lane % WARP / SHARES),
            t: w.code.set("t", Expr::Lane % SHARES),
        })
    }

    /// Frees its workgroup memory.
    pub(in crate::forms::indexer) fn free(&self, w: &mut Writer<'_>) {
        w.pool.free_from(self.weights);
    }

    /// Loads what all chunks need: the queries and their weights, if there is room for all. Ends with a barrier.
    pub(in crate::forms::indexer) fn begin(&self, w: &mut Writer<'_>, token: &Token<'_>) -> Result<(), Why> {
        if self.staged == self.rows {
            self.stage(w, token, &0u32.into())?;
        }
        w.code.barrier();
        Ok(())
    }

    /// The place of word `at` of a query in workgroup memory. In rows of an even number of steps, neighbouring ones would lie in the same
    /// banks.
    fn place(&self, row: &Expr, at: &Expr) -> Expr {
        let own = row * (self.k_len / 2);
        match (self.k_len / STEP).is_multiple_of(2) {
            true => own + (at ^ ((row % 2u32) * STEP_WORDS)),
            false => own + at,
        }
    }

    /// Copies the queries of some rows to workgroup memory as halves, scaled by a power of two to fit their range, and their weights. Rows
    /// without a head are zeros.
    fn stage(&self, w: &mut Writer<'_>, token: &Token<'_>, first: &Expr) -> Result<(), Why> {
        let (query, weight) = (&token.indexer.q, &token.indexer.w);
        let stride = word(token.indexer.q_stride)?;
        let row = std::slice::from_ref(&token.row);
        let of_query = w.base(query, row)?;
        let of_query = w.code.set("queries_of", of_query);
        let of_weight = w.base(weight, row)?;
        let of_weight = w.code.set("weights_of", of_weight);
        w.share(self.staged * SEEKERS, |w, item| {
            let (row, s) = (w.code.set("row", &item / SEEKERS), w.code.set("s", item % SEEKERS));
            let all = self.rows == self.heads;
            let head = w.code.set("head", first + &row);
            let exists = if all { Expr::True } else { head.less(self.heads) };
            let read = if all { head.clone() } else { head.clone().min(self.heads - 1) };
            let or_zero = |value: Expr| match all {
                true => value,
                false => Expr::F32(0.0).unless(&exists, value),
            };
            let base = w.code.set("query", &of_query + &read * stride);
            let largest = w.code.var("largest", 0u32);
            let mut loaded = Vec::new();
            for i in 0..self.k_len / (4 * SEEKERS) {
                let four = w.code.set("four", &s + i * SEEKERS);
                let mut values = Vec::new();
                for n in 0..4u32 {
                    let value = w.load(query.param, &(&base + &four * 4u32 + n))?;
                    let value = w.code.set("q", or_zero(value));
                    w.code.assign(&largest, largest.clone().max(value.clone().bits() & 0x7fff_ffffu32));
                    values.push(value);
                }
                loaded.push((four, values));
            }
            let largest = reduce::subgroups(w, Fold::Max, largest, SEEKERS);
            let (exponent, shrink) = power_of_two(w, &largest);
            for (four, values) in loaded {
                let at = self.place(&row, &(four * 2u32));
                let at = w.code.set("to", at);
                for (i, two) in (0..).zip(values.chunks(2)) {
                    let two = [0, 1].map(|n| w.code.set("x", two[n].clone() * &shrink));
                    let halves = w.code.set("halves", Expr::call(Fun::PackHalves, two.clone()));
                    let [low, high] = [halves.clone() & 0xffffu32, halves.clone() >> 16u32]
                        .map(|half| Expr::call(Fun::Half, [half]));
                    let rests = [two[0].clone() - low, two[1].clone() - high];
                    w.code.store_shared(&at + (self.queries + i), halves);
                    w.code.store_shared(&at + (self.rests + i), Expr::call(Fun::PackHalves, rests));
                }
            }
            w.when(s.equal(0u32), |w| {
                let weight = w.load(weight.param, &(of_weight + read * word(weight.step)?))?;
                w.code.store_shared(&head + self.weights, or_zero(weight).bits());
                w.code.store_shared(head + self.factors, exponent);
                Ok(())
            })
        })
    }

    /// Scores the positions of the chunk from `start` to `end`.
    pub(in crate::forms::indexer) fn chunk(
        &self,
        w: &mut Writer<'_>,
        token: &Token<'_>,
        (start, end): (&Expr, &Expr),
    ) -> Result<Found, Why> {
        let upcast = token.split.upcast;
        let first = w.code.set("first_place", Expr::Lane / WARP * (HALF * upcast));
        let mut positions = Vec::new();
        for n in 0..upcast {
            let place = w.code.set("b", &first + n * HALF);
            // Positions beyond the end are scored as the last one, and not stored.
            let p = w.code.set("p", (start + &place + &self.g).min(end - 1u32));
            let row = token.context.row(w, token.attend, &p);
            let key = row * self.row_words + &self.t * UNIT_WORDS + self.offset;
            let key = w.start(self.keys) + key;
            let key = w.code.set("key_at", key);
            let own = [0, 1].map(|beside| Scored {
                place: &place + &self.t * 2u32 + beside,
                score: w.code.var("total", 0.0f32),
            });
            positions.push(Positions { key, own });
        }
        w.count_or_once("first_row", (0u32.into(), self.rows.into(), self.staged), |w, first| {
            if self.staged < self.rows {
                // Other lanes may still be reading the queries of earlier heads.
                w.code.barrier();
                self.stage(w, token, &first)?;
                w.code.barrier();
            }
            let all = (0u32.into(), self.staged.into(), self.group * MATRIX_ROWS);
            w.count_or_once("row", all, |w, row| self.add(w, &positions, (&first, &row)))
        })?;
        let mut scored = Vec::new();
        for Scored { place, score } in positions.into_iter().flat_map(|of| of.own) {
            let mut sum = score;
            let mut mask = SHARES;
            while mask < WARP {
                let other = w.shuffled(&sum, mask);
                sum = w.code.set("score", sum + other);
                mask *= 2;
            }
            scored.push(Scored { place, score: sum });
        }
        let masks = (0..SHARES.ilog2()).map(|bit| 1 << bit).collect();
        Ok(Found { stores: self.g.equal(0u32), masks, scored })
    }

    /// Adds the weighted scores of some rows, which begin at `row` among those in workgroup memory.
    fn add(
        &self,
        w: &mut Writer<'_>,
        positions: &[Positions],
        (first, row): (&Expr, &Expr),
    ) -> Result<(), Why> {
        let slot = w.slot(self.keys);
        let sums: Vec<Vec<[Expr; 4]>> = (0..self.group)
            .map(|_| positions.iter().map(|_| [(); 4].map(|()| w.code.var("sum", 0.0f32))).collect())
            .collect();
        // The groups of a lane's rows begin at even rows, so that all of them have the same places.
        let own = w.code.set("own_row", row + &self.g);
        w.count_or_once("step", (0u32.into(), (self.k_len / STEP).into(), 1), |w, step| {
            let depth = w.code.set("depth", step * STEP_WORDS);
            let keys: Vec<[Expr; 4]> = positions
                .iter()
                .map(|of| w.code.four("key", Expr::Four(Some(slot), (&of.key + &depth).into())))
                .collect();
            let at = self.place(&own, &(depth + &self.t * UNIT_WORDS));
            let at = w.code.set("query_at", at);
            for (group, sums) in (0..).zip(&sums) {
                for half in [self.queries, self.rests] {
                    let [upper, lower] = [0, HALF].map(|below| {
                        let row = (group * MATRIX_ROWS + below) * (self.k_len / 2);
                        w.code.four("q", Expr::Four(None, (&at + (half + row)).into()))
                    });
                    // Eight values are two steps of a matrix unit, of which a lane has four each.
                    for n in [0, 2] {
                        let left = [&upper[n], &lower[n], &upper[n + 1], &lower[n + 1]].map(Expr::clone);
                        for (sums, key) in sums.iter().zip(&keys) {
                            let right = [key[n].clone(), key[n + 1].clone()];
                            w.code.push(Stmt::MatrixHalves { sums: sums.clone(), left: left.clone(), right });
                        }
                    }
                }
            }
            Ok(())
        })?;
        for (group, sums) in (0..).zip(sums) {
            for below in [0, 1] {
                let head = first + &own + (group * MATRIX_ROWS + below * HALF);
                let head = w.code.set("head", head);
                let [weight, factor] = [self.weights, self.factors].map(|at| w.load_shared(&head + at));
                let (weight, factor) = (w.code.set("weight", weight), w.code.set("factor", factor));
                for (sums, of) in sums.iter().zip(positions) {
                    for (beside, Scored { score, .. }) in of.own.iter().enumerate() {
                        let product = sums[2 * below as usize + beside].clone() * &factor;
                        let positive = Expr::call(Fun::Max, [product, 0.0f32.into()]);
                        w.code.assign(score, score + weight.times(positive));
                    }
                }
            }
        }
        Ok(())
    }
}

const _: () = assert!(STEP == SHARES * UNIT && UNIT == 2 * UNIT_WORDS);

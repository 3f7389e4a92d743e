//! Scores and weights of a chunk.

use std::collections::VecDeque;

use weft_shader::cooperative::{Cooperative, Operand, SIDE};
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::attend::cooperative::write::Cooperating;
use crate::forms::attend::cooperative::{CHUNK, Tile, WARPS};
use crate::forms::attend::units::stage::state_from;
use crate::forms::attend::units::{SEEKERS, UNIT};
use crate::lower::attend::context::LOWEST;
use crate::lower::attend::join::join_row;
use crate::lower::attend::members;
use crate::lower::reduce::{self, Fold};
use crate::lower::writer::{WARP, Writer};
use crate::refused::{Why, word};

/// Words of a unit.
const UNIT_WORDS: u32 = UNIT / 2;

/// Pieces of keys in flight in a tile of many rows, whose lanes have many sums. Other tiles load all pieces at once.
const AHEAD: u32 = 3;

/// Warps with different positions, and warps with different rows.
const ACROSS: u32 = CHUNK / SIDE;
const DOWN: u32 = 2;

/// A unit that a lane loads of a piece: its source, its destination, and whether the lane has one.
#[derive(Clone)]
pub(super) struct Unit {
    slot: usize,
    from: Expr,
    to: Expr,
    exists: Expr,
}

/// Pieces of keys and queries in flight.
pub(super) struct Keys {
    units: Vec<Unit>,
    loaded: VecDeque<Vec<[Expr; 4]>>,
}

impl Keys {
    /// Loads a piece that begins at this word of a row.
    fn load(&mut self, w: &mut Writer<'_>, word: u32) {
        let load =
            |unit: &Unit| w.code.four("piece", Expr::Four(Some(unit.slot), (&unit.from + word).into()));
        self.loaded.push_back(self.units.iter().map(load).collect());
    }

    /// Stores the oldest loaded piece.
    fn store(&mut self, w: &mut Writer<'_>) -> Result<(), Why> {
        let loaded = self.loaded.pop_front().unwrap_or_default();
        self.units.iter().zip(loaded).try_for_each(|(Unit { to, exists, .. }, words)| {
            w.when(exists.clone(), |w| {
                w.code.store_halves(to.clone(), words);
                Ok(())
            })
        })
    }
}

impl Cooperating<'_> {
    /// The lane's units of queries; none if the queries are not in scratch memory.
    pub(super) fn query_units(&self, w: &mut Writer<'_>) -> Result<Vec<Unit>, Why> {
        let Some(queries) = self.queries else { return Ok(Vec::new()) };
        let words = word(self.attend.k_len)? / 2;
        let units = self.units(self.tile.rows).map(|(row, unit, exists)| {
            let axes = members::axes(w, self.place, &row);
            let from = self.place.row_number(&axes) * words + &unit * UNIT_WORDS + queries.at;
            let from = w.code.set("query_from", from);
            // Computed where it is used, because sums occupy most registers.
            let to = row * self.tile.piece_stride() + unit * 2u32 + self.tile.queries();
            Unit { slot: queries.slot, from, to, exists }
        });
        Ok(units.collect())
    }

    /// The lane's units of a piece of this many rows: the row, the unit within the row, and whether it exists.
    fn units(&self, rows: u32) -> impl Iterator<Item = (Expr, Expr, Expr)> + use<> {
        let beside = self.tile.piece / UNIT;
        let at_once = WARP * WARPS / beside;
        (0..rows.div_ceil(at_once)).map(move |i| {
            let row = Expr::Lane / beside + i * at_once;
            let exists = if (i + 1) * at_once <= rows { Expr::True } else { row.less(rows) };
            (row, Expr::Lane % beside, exists)
        })
    }

    /// Loads the first pieces of a chunk's keys, and of the queries in scratch memory.
    pub(super) fn keys_ahead(&self, w: &mut Writer<'_>, queries: &[Unit]) -> Result<Keys, Why> {
        let tile = self.tile;
        let stride = tile.piece_stride();
        let row_words = word(self.attend.k.row_stride / 2)?;
        let from = state_from(w, (self.attend, self.place), &self.attend.k)?;
        let slot = w.slot(self.attend.k.param);
        let mut units = Vec::new();
        for (b, unit, exists) in self.units(CHUNK) {
            let b = w.code.set("b", b);
            let row = Expr::Shared((&b + self.positions).into());
            let from = w.code.set("key_from", row * row_words + (&from + &unit * UNIT_WORDS));
            let to = w.code.set("key_to", b * stride + unit * 2u32 + tile.keys());
            units.push(Unit { slot, from, to, exists });
        }
        units.extend_from_slice(queries);
        let mut keys = Keys { units, loaded: VecDeque::new() };
        let ahead = if tile.is_large() { AHEAD.min(tile.pieces()) } else { tile.pieces() };
        (0..ahead).for_each(|number| keys.load(w, number * tile.piece / 2));
        Ok(keys)
    }

    /// Multiplies queries by keys. A barrier at its end makes the scores visible.
    pub(super) fn multiply_keys(&self, w: &mut Writer<'_>, mut keys: Keys) -> Result<(), Why> {
        let tile = self.tile;
        let Tile { rows, piece, .. } = tile;
        let stride = tile.piece_stride();
        // Warps with the same scores store the same values; so do warps that share rows which cannot be halved.
        let down = DOWN.min(rows / SIDE);
        let matrices = (rows / SIDE).div_ceil(down);
        let first = &self.warp / ACROSS % down * (matrices * SIDE);
        let even = (rows / SIDE).is_multiple_of(down);
        let first_row = if even { first } else { first.min(rows - matrices * SIDE) };
        let first_row = w.code.set("first_row", first_row);
        let first_position = w.code.set("first_position", &self.warp % ACROSS * SIDE);
        let key = w.code.set("key_at", &first_position * stride + tile.keys());
        let (query, query_stride) = match self.queries {
            Some(_) => (&first_row * stride + tile.queries(), stride),
            None => (Expr::U32(tile.queries()), tile.query_stride()),
        };
        let query = w.code.set("query_at", query);
        let sums: Vec<String> = (0..matrices).map(|_| self.zeros(w)).collect();
        let pieces = tile.pieces();
        for number in 0..pieces {
            w.code.push_if(number > 0, Stmt::Barrier);
            keys.store(w)?;
            w.code.barrier();
            let next = number + 1 + keys.loaded.len() as u32;
            if next < pieces {
                keys.load(w, next * piece / 2);
            }
            for step in 0..piece / SIDE {
                let columns = self.load(w, "k", Operand::Columns, (&key + step * 4, stride));
                for (i, sums) in (0..).zip(&sums) {
                    let whole = if self.queries.is_none() { number * piece / 4 } else { 0 };
                    let at = &query + (i * SIDE * query_stride + step * 4 + whole);
                    let rows = self.load(w, "q", Operand::Rows, (at, query_stride));
                    self.multiply(w, sums, rows, columns.clone());
                }
            }
        }
        let score = w.code.set("score_at", first_row * tile.score_stride() + first_position);
        for (i, sums) in (0..).zip(sums) {
            let at = &score + i * SIDE * tile.score_stride();
            let stride = tile.score_stride();
            w.code.push(Stmt::Cooperative(Cooperative::Store { sums, at, stride }));
        }
        w.code.barrier();
        Ok(())
    }

    /// Loads an operand, and returns its name.
    pub(super) fn load(
        &self,
        w: &mut Writer<'_>,
        stem: &str,
        operand: Operand,
        (at, stride): (Expr, u32),
    ) -> String {
        let into = w.code.fresh(stem);
        w.code.push(Stmt::Cooperative(Cooperative::Load { into: into.clone(), operand, at, stride }));
        into
    }

    pub(super) fn multiply(&self, w: &mut Writer<'_>, sums: &str, rows: String, columns: String) {
        let sums = sums.to_string();
        w.code.push(Stmt::Cooperative(Cooperative::Multiply { sums, rows, columns }));
    }

    /// Turns scores into weights, relative to the largest of the chunk. With `is_in`, also combines the sums of weights of a run's rows,
    /// and stores the factors for their results. Lanes see them after the next barrier.
    pub(super) fn weigh(
        &self,
        w: &mut Writer<'_>,
        start: &Expr,
        seen: impl Fn(&mut Writer<'_>, &Expr) -> Expr,
        is_in: Option<&dyn Fn(&Expr) -> Expr>,
    ) -> Result<(), Why> {
        w.share((self.place.tile() * SEEKERS).next_multiple_of(WARP), |w, item| {
            // The matrices have rows beyond the tile's own.
            let (row, s) = (w.code.set("row", &item / SEEKERS), w.code.set("s", item % SEEKERS));
            let seen = seen(w, &row);
            let factor = w.load_shared(&row + self.factors);
            let factor = w.code.set("factor", factor);
            let from = w.code.set("from_score", &row * self.tile.score_stride() + &s * UNIT);
            let first = w.code.set("first", start + &s * UNIT);
            let scores: Vec<Expr> = (0..UNIT)
                .map(|i| {
                    let score = Expr::Summed((&from + i).into()).times(&factor);
                    let exists = (&first + i).less(&seen);
                    w.code.set("score", Expr::F32(LOWEST).unless(&exists, score))
                })
                .collect();
            let top = scores.iter().cloned().reduce(|a, b| a.max(b)).unwrap_or(Expr::F32(LOWEST));
            let top = w.code.set("top", top);
            let top = reduce::subgroups(w, Fold::Max, top, SEEKERS);
            let total = w.code.var("total", 0.0f32);
            let weights: Vec<Expr> = scores
                .into_iter()
                .map(|score| {
                    let weight = w.code.set("weight", Expr::call(Fun::Exp, [score - &top]));
                    w.code.assign(&total, &total + &weight);
                    weight
                })
                .collect();
            let words = std::array::from_fn(|i| {
                Expr::call(Fun::PackHalves, [weights[2 * i].clone(), weights[2 * i + 1].clone()])
            });
            w.code.store_halves(&row * self.tile.weight_stride() + &s * 2u32, words);
            let total = reduce::subgroups(w, Fold::Sum, total, SEEKERS);
            w.when(s.equal(0u32), |w| {
                let Some(is_in) = is_in else {
                    w.code.store_shared(&row + self.tops, top.bits());
                    w.code.store_shared(row + self.totals, total.bits());
                    return Ok(());
                };
                // Other rows stay unchanged.
                let joins = w.code.set("joins", is_in(&row).both(&start.less(&seen)));
                let kept = [self.tops, self.totals, self.old, self.new];
                join_row(w, &row, kept, (top, total), (&joins, w.cooperative_values));
                Ok(())
            })
        })
    }
}

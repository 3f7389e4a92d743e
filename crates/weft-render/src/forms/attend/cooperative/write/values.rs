//! Weighted sums of a chunk's values.

use std::collections::VecDeque;

use weft_shader::cooperative::{Cooperative, Operand, SIDE};
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::attend::cooperative::write::Cooperating;
use crate::forms::attend::cooperative::{CHUNK, WARPS};
use crate::forms::attend::units::UNIT;
use crate::forms::attend::units::stage::state_from;
use crate::lower::attend::context::chunk_words;
use crate::lower::attend::join::{STAYS, Scaled, together};
use crate::lower::writer::{WARP, Writer};
use crate::refused::{Why, word};

/// Words and fours of a unit.
const UNIT_WORDS: u32 = UNIT / 2;
const UNIT_FOURS: u32 = UNIT / 4;

/// Steps of positions whose values are in flight.
const AHEAD: u32 = 2;

/// Values of a matrix per lane.
const EACH: u32 = SIDE * SIDE / WARP;

/// Rows that the lanes of a warp hold at once.
const AT_ONCE: u32 = WARP / SIDE;

/// Steps of positions.
const STEPS: u32 = CHUNK / SIDE;

/// One of a lane's sums.
pub(super) struct Summed {
    /// Its number.
    pub(super) number: u32,
    /// Its matrix among those of the rows, and its number among the lane's sums there.
    pub(super) rows: u32,
    pub(super) down: u32,
    /// Its row and column in the tile.
    pub(super) row: Expr,
    pub(super) column: Expr,
}

/// The values of the first steps, and the plan for loading the others.
pub(super) struct Values {
    slot: usize,
    from: Expr,
    loaded: VecDeque<Vec<[Expr; 4]>>,
}

impl Cooperating<'_> {
    /// Matrices of columns that a warp holds at once.
    fn beside(&self) -> u32 {
        self.tile.warp_cols() / self.tile.passes() / SIDE
    }

    /// The number of sums per lane, which is also the number of matrices per warp.
    pub(super) fn sums(&self) -> u32 {
        self.tile.rows * self.tile.cols / (WARPS * WARP)
    }

    pub(super) fn matrices(&self) -> u32 {
        self.sums() / EACH
    }

    /// The place of one of the lane's sums.
    pub(super) fn place_of(&self, w: &mut Writer<'_>, number: u32) -> Summed {
        let (down, matrix) = (number % EACH, number / EACH);
        let (beside, all) = (self.beside(), self.tile.rows / SIDE);
        let (column, rest) = (matrix % beside, matrix / beside);
        let (rows, pass) = (rest % all, rest / all);
        let row = w.code.set("own_row", &self.own / SIDE);
        let first = w.code.set("own_column", &self.warp * self.tile.warp_cols() + &self.own % SIDE);
        Summed {
            number,
            rows,
            down,
            row: row + (rows * SIDE + down * AT_ONCE),
            column: first + (pass * beside + column) * SIDE,
        }
    }

    /// The lane's units of a step, each with its first word within a row of the state, for a pass.
    fn units_of(&self, pass: u32) -> Vec<(Expr, Expr)> {
        let (lanes, of_warp) = (WARP * WARPS, self.beside() * SIDE / UNIT);
        let all = self.tile.pass_cols() / UNIT;
        // Each warp's columns of this pass are neighbours.
        let unit = Expr::Lane % all;
        let column = &unit / of_warp * (self.tile.warp_cols() / UNIT) + unit % of_warp + pass * of_warp;
        (0..(SIDE * all).div_ceil(lanes))
            .map(|i| (Expr::Lane / all + i * (lanes / all), column.clone() * UNIT_WORDS))
            .collect()
    }

    /// Loads the values of a step, counted over all passes.
    fn load_values(&self, w: &mut Writer<'_>, values: &Values, number: u32) -> Result<Vec<[Expr; 4]>, Why> {
        let row_words = word(self.attend.v.row_stride / 2)?;
        let units = self.units_of(number / STEPS).into_iter();
        let load = units.map(|(row, word)| {
            let row = Expr::Shared((row + (number % STEPS * SIDE + self.positions)).into());
            let at = w.code.set("value_from", row * row_words + (&values.from + word));
            w.code.four("value", Expr::Four(Some(values.slot), at.into()))
        });
        Ok(load.collect())
    }

    /// Loads the values of the first steps.
    pub(super) fn values_ahead(&self, w: &mut Writer<'_>) -> Result<Values, Why> {
        let from = state_from(w, (self.attend, self.place), &self.attend.v)?;
        let mut values = Values { slot: w.slot(self.attend.v.param), from, loaded: VecDeque::new() };
        let all = self.tile.passes() * STEPS;
        let ahead = if self.tile.is_large() { AHEAD.min(all) } else { all };
        for number in 0..ahead {
            let loaded = self.load_values(w, &values, number)?;
            values.loaded.push_back(loaded);
        }
        Ok(values)
    }

    /// Multiplies weights by values, and calls a function with each of the lane's sums.
    pub(super) fn multiply_values(
        &self,
        w: &mut Writer<'_>,
        values: Values,
        mut done: impl FnMut(&mut Writer<'_>, Summed, Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let exchanged = self.exchanged(w);
        self.matrices_of_values(w, values, |w, first, sums| {
            self.exchange(w, &exchanged, (first, sums), &mut done)
        })
    }

    /// Multiplies weights by values, and calls a function with each pass's matrices of sums and the number of the first of them.
    pub(super) fn matrices_of_values(
        &self,
        w: &mut Writer<'_>,
        mut values: Values,
        mut done: impl FnMut(&mut Writer<'_>, u32, &[String]) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let tile = self.tile;
        let (beside, matrices, stride) = (self.beside(), tile.rows / SIDE, tile.value_stride());
        let all = tile.passes() * STEPS;
        let own = w.code.set("own_values", &self.warp * (beside * SIDE / 4) + tile.values());
        for pass in 0..tile.passes() {
            let sums: Vec<String> = (0..matrices * beside).map(|_| self.zeros(w)).collect();
            for step in 0..STEPS {
                let number = pass * STEPS + step;
                // Two buffers alternate, so that one barrier is enough.
                let turn = number % 2 * tile.values_apart();
                let loaded = values.loaded.pop_front().unwrap_or_default();
                let units = self.units_of(pass).into_iter().zip(loaded);
                for ((row, _), words) in units {
                    let unit = Expr::Lane % (tile.pass_cols() / UNIT);
                    let at = row * stride + unit * UNIT_FOURS + (tile.values() + turn);
                    w.code.store_halves(at, words);
                }
                w.code.barrier();
                let next = number + values.loaded.len() as u32 + 1;
                if next < all {
                    let loaded = self.load_values(w, &values, next)?;
                    values.loaded.push_back(loaded);
                }
                let columns: Vec<String> = (0..beside)
                    .map(|c| {
                        self.load(w, "v", Operand::ColumnsBeside, (&own + (turn + c * SIDE / 4), stride))
                    })
                    .collect();
                for (i, sums) in (0..).zip(sums.chunks(beside as usize)) {
                    let at = Expr::U32(i * SIDE * tile.weight_stride() + step * SIDE / 4);
                    let rows = self.load(w, "p", Operand::Rows, (at, tile.weight_stride()));
                    for (sums, columns) in sums.iter().zip(&columns) {
                        self.multiply(w, sums, rows.clone(), columns.clone());
                    }
                }
            }
            done(w, pass * matrices * beside, &sums)?;
        }
        Ok(())
    }

    /// The place at which a warp passes sums to its lanes.
    pub(super) fn exchanged(&self, w: &mut Writer<'_>) -> Expr {
        w.code.set("exchanged", &self.warp * (SIDE * SIDE * self.tile.passed_on()))
    }

    /// Passes matrices of sums through workgroup memory, and calls a function with each of the lane's sums.
    pub(super) fn exchange(
        &self,
        w: &mut Writer<'_>,
        exchanged: &Expr,
        (first, sums): (u32, &[String]),
        mut done: impl FnMut(&mut Writer<'_>, Summed, Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let together = self.tile.passed_on();
        for (i, sums) in (0..).zip(sums.chunks(together as usize)) {
            w.code.push(Stmt::Cooperative(Cooperative::SubgroupBarrier));
            for (j, sums) in (0u32..).zip(sums) {
                let (sums, at) = (sums.clone(), exchanged + j * SIDE * SIDE);
                w.code.push(Stmt::Cooperative(Cooperative::Store { sums, at, stride: SIDE }));
            }
            w.code.push(Stmt::Cooperative(Cooperative::SubgroupBarrier));
            for each in 0..EACH * sums.len() as u32 {
                let number = (first + i * together) * EACH + each;
                let place = self.place_of(w, number);
                let sum = Expr::Summed((exchanged + &self.own + each * WARP).into());
                let sum = w.code.set("y", sum);
                done(w, place, sum)?;
            }
        }
        Ok(())
    }

    /// Combines a pass's matrices of sums with those of earlier chunks. The weights of both are factors of rows.
    ///
    /// All rows are combined; those that do not see the chunk have the weights 1 and 0. So an infinite value or NaN spoils all rows of its
    /// sequence in the tile, including those of earlier tokens, as it does within a chunk.
    pub(super) fn join_matrices(
        &self,
        w: &mut Writer<'_>,
        joined: &[String],
        (first, sums): (u32, &[String]),
    ) {
        let beside = self.beside();
        for (rows, sums) in (0..).zip(sums.chunks(beside as usize)) {
            let [by, factor] =
                [self.old, self.new].map(|at| w.code.factors("by", Operand::Rows, (at + rows * SIDE).into()));
            for (column, more) in (0..).zip(sums) {
                let sums = joined[(first + rows * beside + column) as usize].clone();
                let (by, more, factor) = (by.clone(), more.clone(), factor.clone());
                w.code.push(Stmt::Cooperative(Cooperative::Rescale { sums, by, more, factor }));
            }
        }
    }

    /// Stores a sum in a slot whose rows begin at `begins`, if the sum's row exists and a condition holds.
    pub(super) fn put(
        &self,
        w: &mut Writer<'_>,
        (slot, begins): (usize, &Expr),
        place: &Summed,
        (sum, condition): (Expr, &Expr),
    ) -> Result<(), Why> {
        let exists = self.exists(&place.row).both(condition);
        w.when(exists, |w| {
            let to = begins + &place.row * chunk_words(self.tile.cols) + &place.column;
            w.code.push(Stmt::Store(slot, to, sum.bits()));
            Ok(())
        })
    }

    /// The weights of old and new results, for each row of a matrix in which the lane has sums.
    pub(super) fn weights_of(&self, w: &mut Writer<'_>, rows: u32) -> Vec<Scaled> {
        let first = w.code.set("own_row", &self.own / SIDE);
        (0..EACH)
            .map(|down| {
                let row = &first + (rows * SIDE + down * AT_ONCE);
                let [old, new] = [self.old, self.new].map(|at| w.load_shared(&row + at));
                let (old, new) = (w.code.set("by_old", old), w.code.set("by_new", new));
                Scaled { top: 0.0f32.into(), old, new }
            })
            .collect()
    }

    /// Combines a sum of the chunk with that of earlier chunks.
    pub(super) fn join(&self, w: &mut Writer<'_>, joined: &Expr, sum: Expr, by: &Scaled) {
        let joins = Expr::F32(STAYS).less(&by.old);
        w.code.assign(joined, joined.clone().unless(&joins, together(joined.clone(), sum, by)));
    }
}

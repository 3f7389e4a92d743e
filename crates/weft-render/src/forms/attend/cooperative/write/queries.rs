//! Converts queries to halves, scaled by a power of two to fit their range.

use weft_kern::Attend;
use weft_shader::cooperative::SIDE;
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::attend::cooperative::write::Cooperating;
use crate::forms::attend::units::UNIT;
use crate::forms::attend::units::scores::power_of_two;
use crate::lower::attend::members;
use crate::lower::pass::Queries;
use crate::lower::reduce::{self, Fold};
use crate::lower::space::Place;
use crate::lower::writer::{WARP, Writer};
use crate::refused::{Why, word};

/// Lanes that convert a row.
const BESIDE: u32 = 16;

/// Converts rows of a tile. Calls a function with each unit of eight values, as four words, and with the factor of each row's scores.
fn convert(
    w: &mut Writer<'_>,
    (attend, place): (&Attend, &Place),
    mut unit_of: impl FnMut(&mut Writer<'_>, &Expr, Expr, [Expr; 4]) -> Result<(), Why>,
    factor_of: impl FnOnce(&mut Writer<'_>, Expr, Expr) -> Result<(), Why>,
) -> Result<(), Why> {
    let query = &attend.q;
    let units = word(attend.k_len)? / UNIT;
    let slot = w.slot(query.param);
    w.share((place.tile() * BESIDE).next_multiple_of(WARP), |w, item| {
        let (row, s) = (w.code.set("row", &item / BESIDE), w.code.set("s", item % BESIDE));
        let axes = members::axes(w, place, &row);
        let base = w.base(query, &axes)?;
        let base = w.start(query.param) + base;
        let base = w.code.set("query", base);
        let largest = w.code.var("largest", 0u32);
        let mut loaded = Vec::new();
        for i in 0..units.div_ceil(BESIDE) {
            let unit = w.code.set("unit", &s + i * BESIDE);
            let all = (i + 1) * BESIDE <= units;
            let at = if all { unit.clone() } else { unit.clone().min(units - 1) };
            let at = w.code.set("unit_at", &base + at * UNIT);
            let mut values = Vec::new();
            for half in 0..2 {
                let four = Expr::Four(Some(slot), (&at + half * UNIT / 2).into());
                values.extend(w.code.four("q", four));
            }
            for q in &values {
                w.code.assign(&largest, largest.clone().max(q & 0x7fff_ffffu32));
            }
            loaded.push((unit, all, values));
        }
        let largest = reduce::subgroups(w, Fold::Max, largest, BESIDE);
        let (exponent, shrink) = power_of_two(w, &largest);
        let all = (place.tile() * BESIDE).is_multiple_of(WARP);
        let exists = if all { Expr::True } else { row.less(place.tile()) };
        for (unit, all, values) in loaded {
            let values: Vec<Expr> =
                values.into_iter().map(|q| w.code.set("x", q.float() * &shrink)).collect();
            let words = std::array::from_fn(|i| {
                let two = [values[2 * i].clone(), values[2 * i + 1].clone()];
                Expr::call(Fun::PackHalves, two)
            });
            let there = if all { exists.clone() } else { exists.both(&unit.less(units)) };
            w.when(there, |w| unit_of(w, &row, unit, words))?;
        }
        w.when(exists.both(&s.equal(0u32)), |w| {
            let factor = exponent.float() * attend.scale.0;
            factor_of(w, row, factor.bits())
        })
    })
}

/// Stores the queries of a tile in scratch memory.
pub(crate) fn store(
    w: &mut Writer<'_>,
    (attend, place): (&Attend, &Place),
    queries: &Queries,
) -> Result<(), Why> {
    let words = word(attend.k_len)? / 2;
    let number = |w: &mut Writer<'_>, row: &Expr| {
        let axes = members::axes(w, place, row);
        place.row_number(&axes)
    };
    convert(
        w,
        (attend, place),
        |w, row, unit, halves| {
            let to = number(w, row) * words + unit * (UNIT / 2) + queries.at;
            let to = w.code.set("to", to);
            for (i, two) in (0u32..).zip(halves) {
                w.code.push(Stmt::Store(queries.slot, &to + i, two));
            }
            Ok(())
        },
        |w, row, factor| {
            let to = number(w, &row) + queries.factors;
            w.code.push(Stmt::Store(queries.slot, to, factor));
            Ok(())
        },
    )
}

impl Cooperating<'_> {
    /// Stores the queries in workgroup memory. Lanes see them after the next barrier. Rows of matrices beyond the tile's own stay
    /// undefined, because no other row depends on them.
    pub(super) fn queries(&self, w: &mut Writer<'_>) -> Result<(), Why> {
        debug_assert!(self.tile.rows == SIDE);
        convert(
            w,
            (self.attend, self.place),
            |w, row, unit, words| {
                let at = row * self.tile.query_stride() + unit * 2u32 + self.tile.queries();
                w.code.store_halves(at, words);
                Ok(())
            },
            |w, row, factor| {
                w.code.store_shared(row + self.factors, factor);
                Ok(())
            },
        )
    }

    /// Copies the factors of scores from scratch memory. Lanes see them after the next barrier.
    pub(super) fn factors(&self, w: &mut Writer<'_>, queries: &Queries) -> Result<(), Why> {
        w.share(self.tile.rows, |w, row| {
            let axes = members::axes(w, self.place, &row);
            let from = self.place.row_number(&axes) + queries.factors;
            w.code.store_shared(row + self.factors, Expr::Word(queries.slot, from.into()));
            Ok(())
        })
    }
}

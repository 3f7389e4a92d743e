//! A block of positions, as both ways through a chunk have it: the rows of its positions, their scores, and their values.
//!
//! [`Walk`](crate::forms::attend::lanes::walk::Walk) and [`Tile`](crate::forms::attend::lanes::tile::Tile) differ in how lanes divide a
//! block and in where they store scores. The sums are these, so that their bits are the same.

use weft_kern::Attend;
use weft_shader::expr::Expr;

use crate::forms::attend::lanes::state::State;
use crate::lower::attend::context::{Context, LOWEST};
use crate::lower::reduce::{self, Fold};
use crate::lower::writer::Writer;
use crate::refused::Why;

/// Stores the row of the state of each of the block's positions, which begin at `start`, in workgroup memory from `rows` on.
pub(crate) fn find_rows(
    w: &mut Writer<'_>,
    (attend, context): (&Attend, &Context),
    (start, end): (&Expr, &Expr),
    (block, rows): (u32, u32),
) -> Result<(), Why> {
    w.share(block, |w, b| {
        // Positions beyond the end are read as the last one, and get no weight.
        let p = w.code.set("p", (start + &b).min(end - 1u32));
        let row = context.row(w, attend, &p);
        w.code.store_shared(b + rows, row);
        Ok(())
    })
}

/// The positions that a lane scores.
pub(crate) struct Scored<'a> {
    keys: &'a State,
    /// Their places in the block, and their rows in the state.
    places: Vec<Expr>,
    rows: Vec<Expr>,
    /// For each position, the lane's share of the score of each head.
    sums: Vec<Vec<Expr>>,
}

impl<'a> Scored<'a> {
    /// `count` positions from place `first` on, `step` apart. `rows` is where [`find_rows`] stored their rows.
    pub(crate) fn new(
        w: &mut Writer<'_>,
        keys: &'a State,
        (first, step, count): (&Expr, u32, u32),
        (heads, rows_at): (u32, u32),
    ) -> Result<Scored<'a>, Why> {
        let (mut places, mut rows) = (Vec::new(), Vec::new());
        for u in 0..count {
            let b = w.code.set("b", first + u * step);
            let row = keys.row(Expr::Shared((&b + rows_at).into()))?;
            rows.push(w.code.set("row", row));
            places.push(b);
        }
        let sums = (0..count).map(|_| (0..heads).map(|_| w.code.var("score", 0.0f32)).collect()).collect();
        Ok(Scored { keys, places, rows, sums })
    }

    /// Loads piece `c` of the key of each position.
    pub(crate) fn load(&self, w: &mut Writer<'_>, c: &Expr) -> Result<Vec<Vec<Expr>>, Why> {
        self.rows.iter().map(|row| self.keys.load(w, row, c)).collect()
    }

    /// Adds the products of value `q` of a head's query and value `part` of the pieces that were loaded.
    pub(crate) fn add_products(
        &self,
        w: &mut Writer<'_>,
        h: u32,
        q: &Expr,
        (part, keys): (usize, &[Vec<Expr>]),
    ) {
        for (key, sums) in keys.iter().zip(&self.sums) {
            w.code.add_product(&sums[h as usize], key[part].clone(), q.clone());
        }
    }

    /// Each position's place in the block, with the lane's shares of its scores.
    pub(crate) fn sums(&self) -> impl Iterator<Item = (&Expr, &[Expr])> {
        self.places.iter().zip(self.sums.iter().map(Vec::as_slice))
    }

    /// Adds up the shares of `reduce` neighbouring lanes, and stores the scores. `to` says where that of a place and a head goes.
    pub(crate) fn store(
        &self,
        w: &mut Writer<'_>,
        (share, reduce, scale): (&Expr, u32, f32),
        (start, end): (&Expr, &Expr),
        to: impl Fn(&Expr, u32) -> Expr,
    ) -> Result<(), Why> {
        for (b, sums) in self.sums() {
            let exists = w.code.set("exists", (start + b).less(end));
            for (h, sum) in (0..).zip(sums) {
                let score = reduce::subgroups(w, Fold::Sum, sum.clone(), reduce);
                let score = Expr::F32(LOWEST).unless(&exists, score * scale);
                w.when(share.equal(0u32), |w| {
                    w.code.store_shared(to(b, h), score.bits());
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

/// Gives each loaded value a name, so that it is loaded once.
pub(crate) fn named(w: &mut Writer<'_>, name: &str, loaded: Vec<Vec<Expr>>) -> Vec<Vec<Expr>> {
    let each = |values: Vec<Expr>| values.into_iter().map(|value| w.code.set(name, value)).collect();
    loaded.into_iter().map(each).collect()
}

/// Loads these items of the values of `ahead` positions, from place `b` of the block on.
pub(crate) fn load_values(
    w: &mut Writer<'_>,
    values: &State,
    (b, rows, ahead): (&Expr, u32, u32),
    items: &[Expr],
) -> Result<Vec<Vec<Vec<Expr>>>, Why> {
    let mut loaded = Vec::new();
    for a in 0..ahead {
        let row = values.row(Expr::Shared((b + (rows + a)).into()))?;
        let row = w.code.set("row", row);
        let each = items.iter().map(|item| values.load(w, &row, item));
        loaded.push(each.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(loaded)
}

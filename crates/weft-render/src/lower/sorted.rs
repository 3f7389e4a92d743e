//! Sorts rows by matrix, so that the rows of a tile share it: an expert is read and unpacked once for all of its tokens.
//!
//! The first shader writes to scratch memory the numbers of all rows in that order, and a table of tiles: each has a matrix and a range of
//! rows. Matrix `m`, whose rows begin at `b`, has the tiles from `⌊b / tile⌋ + m` on. These ranges do not overlap, so a workgroup only
//! needs the number of rows that select matrices before its own; some tiles have no rows. The tile of a row changes no bit of it.

use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::lower::space::{Place, Space};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::schedule::picks::Picks;

/// Matrices per workgroup that sorts.
const MATRICES: u32 = 8;

/// Words of a tile in the table: its matrix, its first row among the sorted ones, and the row after its last.
const TILE: u32 = 3;

/// The places of the sorted rows of a part in scratch memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sorted {
    pub(crate) slot: usize,
    /// The first words of the row numbers, of the table of tiles, and of the products of a weighted sum's terms.
    order: u32,
    tiles: u32,
    pub(crate) terms: u32,
}

/// The matrix of a row with these axes.
fn matrix_of(w: &mut Writer<'_>, picks: &Picks<'_>, axes: &[Expr]) -> Result<Expr, Why> {
    let count = word(picks.count)?;
    match (picks.terms, axes.split_last()) {
        (Some(_), Some((term, axes))) => w.index(picks.ids, axes, term, count),
        _ => w.index(picks.ids, axes, &Expr::U32(0), count),
    }
}

impl Sorted {
    /// Places `rows` rows in the tiles of `space`, from word `at` of the scratch memory on. Also returns the words that they take.
    pub(crate) fn new(
        slot: usize,
        at: u64,
        (space, picks): (&Space, &Picks<'_>),
        rows: u64,
    ) -> Option<(Sorted, u64)> {
        let tiles = at.checked_add(rows)?;
        // There is one more tile, because a step may have part of a tile.
        let all = (rows / u64::from(space.tile)).checked_add(picks.count as u64 + 1)?;
        let terms = tiles.checked_add(all.checked_mul(u64::from(TILE))?)?;
        let products = if picks.terms.is_some() { rows.checked_mul(u64::from(space.cols))? } else { 0 };
        let end = terms.checked_add(products)?;
        let [order, tiles, terms] = [at, tiles, terms].map(u32::try_from);
        Some((Sorted { slot, order: order.ok()?, tiles: tiles.ok()?, terms: terms.ok()? }, end - at))
    }

    fn word(&self, first: u32, at: Expr) -> Expr {
        Expr::Word(self.slot, (at + first).into())
    }
}

/// The number of workgroups that sort the rows.
pub(crate) fn workgroups(picks: &Picks<'_>) -> usize {
    picks.count.div_ceil(MATRICES as usize)
}

/// Sorts the rows of a part: writes the places of those that select the workgroup's matrices. `space` has all rows.
pub(crate) fn sort(
    w: &mut Writer<'_>,
    (picks, space): (&Picks<'_>, &Space),
    sorted: &Sorted,
    group: &Expr,
) -> Result<(), Why> {
    if !(w.stages_ahead && w.is_stable(picks.ids.param)) {
        w.wait();
    }
    let (count, tile) = (word(picks.count)?, space.tile);
    let segments = w.code.lanes / MATRICES;
    let own = w.code.set("own", Expr::Lane % MATRICES);
    let segment = w.code.set("segment", Expr::Lane / MATRICES);
    let matrix = w.code.set("matrix", group * MATRICES + &own);
    let rows = w.code.set("rows", space.rows_now());
    // Each lane reads a segment of the rows.
    let each = w.code.set("each", (&rows + (segments - 1)) / segments);
    let from = w.code.set("start", (&segment * &each).min(rows.clone()));
    let to = w.code.set("to", (&from + &each).min(rows.clone()));
    let (below, equal) = (w.code.var("below", 0u32), w.code.var("equal", 0u32));
    w.count("n", (from.clone(), to.clone(), 1), |w, n| {
        let axes = space.axes_of(&mut w.code, &n);
        let id = matrix_of(w, picks, &axes)?;
        for (count, is) in [(&below, id.less(matrix.clone())), (&equal, id.equal(matrix.clone()))] {
            let more = count.clone().unless(&is, count + 1u32);
            w.code.assign(count, more);
        }
        Ok(())
    })?;
    let [all_below, all_equal] = [0, 1].map(|_| w.pool.alloc(w.code.lanes));
    w.code.store_shared(Expr::Lane + all_below, below.clone());
    w.code.store_shared(Expr::Lane + all_equal, equal);
    w.code.barrier();
    // The numbers of rows of earlier matrices, of this matrix in earlier segments, and of this matrix.
    let [begin, before, has] = ["begin", "before", "has"].map(|name| w.code.var(name, 0u32));
    w.count("s", (0u32.into(), segments.into(), 1), |w, s| {
        let at = w.code.set("at", &s * MATRICES + &own);
        let smaller = &begin + Expr::Shared((&at + all_below).into());
        w.code.assign(&begin, smaller);
        let here = w.code.set("here", Expr::Shared((&at + all_equal).into()));
        let earlier = before.clone().unless(&s.less(segment.clone()), &before + &here);
        w.code.assign(&before, earlier);
        let all = &has + &here;
        w.code.assign(&has, all);
        Ok(())
    })?;
    w.wait();
    w.when(matrix.less(count), |w| {
        let place = w.code.var("place", &begin + &before);
        w.count("n", (from, to, 1), |w, n| {
            let axes = space.axes_of(&mut w.code, &n);
            let id = matrix_of(w, picks, &axes)?;
            w.when(id.equal(matrix.clone()), |w| {
                w.code.push(Stmt::Store(sorted.slot, &place + sorted.order, n));
                let next = &place + 1u32;
                w.code.assign(&place, next);
                Ok(())
            })
        })?;
        let end = w.code.set("end", &begin + &has);
        let first = w.code.set("first_tile", &begin / tile + &matrix);
        // The last matrix ends the table.
        let last = matrix.equal(count - 1);
        let next = &end / tile + &matrix + 1u32;
        let next = next.unless(&last, (&rows + (tile - 1)) / tile + count);
        let next = w.code.set("next", next);
        w.count("t", (&first + &segment, next, segments), |w, t| {
            let from = w.code.set("start", &begin + (&t - &first) * tile);
            let to = w.code.set("to", (&from + tile).min(end.clone()));
            let at = w.code.set("at", &t * TILE + sorted.tiles);
            for (i, value) in [matrix.clone(), from, to].into_iter().enumerate() {
                w.code.push(Stmt::Store(sorted.slot, &at + i as u32, value));
            }
            Ok(())
        })
    })
}

/// Writes the work on a tile of sorted rows, if it has rows: `write` receives the tile and its matrix.
pub(crate) fn tile(
    w: &mut Writer<'_>,
    place: &Place,
    sorted: &Sorted,
    write: impl FnOnce(&mut Writer<'_>, &Place, Expr) -> Result<(), Why>,
) -> Result<(), Why> {
    let at = w.code.set("tile_at", place.tile_number() * TILE);
    let matrix = w.code.set("number", sorted.word(sorted.tiles, at.clone()));
    let [first, end] = [("first_row", 1), ("end_row", 2)]
        .map(|(name, i)| w.code.uniform(name, sorted.word(sorted.tiles + i, at.clone())));
    w.when(first.less(end.clone()), |w| {
        let count = w.code.set("rows_here", &end - &first);
        let numbers = w.pool.alloc(place.tile());
        w.share(place.tile(), |w, r| {
            let at = (&first + &r).min(&end - 1u32);
            w.code.store_shared(r + numbers, sorted.word(sorted.order, at));
            Ok(())
        })?;
        w.code.barrier();
        write(w, &place.with_rows(numbers, count), matrix)
    })
}

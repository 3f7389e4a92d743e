//! Joins the results of a row's chunks in a long context. All lanes load the values of a large batch, each computes the weights of
//! one chunk, and then each column has a lane that adds up. Another warp adds up the sums of weights.
//!
//! The order of sums is that of [`join`](super::join).

use weft_kern::Attend;

use crate::code::expr::Expr;
use crate::code::stmt::Stmt;
use crate::lower::attend::context::{Context, LOWEST, chunk_words, initial};
use crate::lower::attend::join::{
    BATCH, FOUR, Scaled, before, fits_batches, head, inverse, scaled, together,
};
use crate::lower::space::Place;
use crate::lower::writer::{WARP, Writer};
use crate::refused::Why;

/// Chunks of a batch, each of which has a lane: each batch waits for its loads, so they are few. The last ones are those of a small
/// batch, or none.
const LARGE: u32 = 4 * BATCH;

/// Bytes of workgroup memory, at most. Two workgroups of a multiprocessor take as long as one, so both need room.
pub(crate) const MOST_BYTES: u32 = 4 * LARGE * (BATCH + 2 * FOUR) + 1024;

/// Chunks that a column's lane loads before it uses the first.
const AHEAD: u32 = 8;

/// The shape of batches.
#[derive(Clone, Copy)]
struct Batch {
    chunks: u32,
    /// Lanes that load four columns each of a chunk, and chunks that all lanes load at once.
    beside: u32,
    at_once: u32,
    /// Chunks that a column's lane loads before it uses the first.
    ahead: u32,
}

impl Batch {
    /// A large batch.
    fn large(w: &Writer<'_>, place: &Place) -> Batch {
        let beside = (place.width() / FOUR).max(1);
        Batch { chunks: LARGE, beside, at_once: w.code.lanes / beside, ahead: 2 * AHEAD }
    }

    fn small(self) -> Batch {
        Batch { chunks: BATCH, ahead: AHEAD, ..self }
    }
}

/// Whether there may be many chunks, and a workgroup that can join small batches of results, stored from word `at` on, has the lanes
/// for large ones.
pub(super) fn fits(w: &Writer<'_>, place: &Place, at: u32) -> bool {
    let batch = Batch::large(w, place);
    w.joins_many
        && fits_batches(w, place, at)
        && LARGE <= w.code.lanes
        && LARGE.is_multiple_of(batch.at_once)
        && place.width() + WARP <= w.code.lanes
}

/// What is known of a row while its chunks are joined.
struct Row<'a> {
    place: &'a Place,
    slot: usize,
    /// The number of its chunks, the word at which the first one's result begins, and the words from one to the next.
    chunks: &'a Expr,
    first: &'a Expr,
    words: u32,
    /// The largest score so far, and the sums of a column's values and of weights.
    carried: Expr,
    sum: Expr,
    total: Expr,
    /// Where values are in workgroup memory; for each chunk the weights of the old and the new result, and its sum of weights; and the
    /// largest score of each warp's chunks.
    values: u32,
    weights: u32,
    tops: u32,
}

/// Joins chunks whose results were computed for tiles of `rows` rows. Returns where the row's columns are in workgroup memory.
pub(super) fn join(
    w: &mut Writer<'_>,
    attend: &Attend,
    place: &Place,
    context: &Context,
    (slot, at, rows): (usize, u32, u32),
) -> Result<u32, Why> {
    let (width, words) = (place.width(), chunk_words(place.cols()));
    let large = Batch::large(w, place);
    let (values, weights) = (w.pool.room(LARGE * (width + FOUR)), w.pool.room(LARGE * FOUR));
    let (tops, results) = (w.pool.room(LARGE / WARP), w.pool.room(width + 1));
    let chunks = &context.chunks(w);
    let (first_top, first_total) = initial(w, attend, |w| head(w, place, &0u32.into()))?;
    let [sum, total] = [0.0, first_total].map(|first| w.code.var("sum", first));
    let carried = w.code.var("carried", first_top);
    let first = place.chunk_row(&Expr::U32(0), &Expr::U32(0), rows) * words + at;
    let first = &w.code.set("put_at", first);
    let words = rows * words;
    let row = Row { place, slot, chunks, first, words, carried, sum, total, values, weights, tops };
    let end = w.code.set("many", chunks.clone().max(BATCH) - BATCH);
    row.add(w, large, (0u32.into(), end.clone()))?;
    let rest = w.code.set("rest", (end + (LARGE - 1)) / LARGE * LARGE);
    row.add(w, large.small(), (rest, chunks.clone()))?;
    let Row { sum, total, .. } = row;
    w.when(Expr::Lane.equal(width), |w| {
        w.code.store_shared((results + width).into(), total.bits());
        Ok(())
    })?;
    w.code.barrier();
    w.share(width, |w, column| {
        let total = w.load_shared((results + width).into());
        let inverse = inverse(w, total);
        w.code.store_shared(column + results, (sum * inverse).bits());
        Ok(())
    })?;
    w.code.barrier();
    Ok(results)
}

impl Row<'_> {
    /// The word at which the result of a chunk begins; one beyond the last is read as the last.
    fn result(&self, chunk: Expr) -> Expr {
        chunk.min(self.chunks - 1u32) * self.words + self.first
    }

    /// Adds batches of chunks that begin from one chunk on, and before another.
    fn add(&self, w: &mut Writer<'_>, batch: Batch, (begin, end): (Expr, Expr)) -> Result<(), Why> {
        let has_chunk = if batch.chunks == w.code.lanes { Expr::True } else { Expr::Lane.less(batch.chunks) };
        w.count("batch", (begin, end, batch.chunks), |w, first| {
            let loaded = self.load(w, batch, &first);
            let [top, total, lower] = [LOWEST, 0.0, LOWEST].map(|none| w.code.var("own", none));
            w.when(has_chunk.clone(), |w| {
                let chunk = w.code.set("chunk", &first + Expr::Lane);
                let from = w.code.set("put_down", self.result(chunk.clone()) + self.place.cols());
                let [its_total, its_top] =
                    [0, 1].map(|i| w.code.set("put_down", Expr::Word(self.slot, (&from + i).into()).float()));
                w.code.assign(&total, its_total);
                // A chunk that does not exist gets no weight.
                w.code.assign(&top, Expr::F32(LOWEST).unless(&chunk.less(self.chunks), its_top));
                let (all, own_lower) = before(w, &top);
                w.code.assign(&lower, own_lower);
                w.when((Expr::Lane % WARP).equal(0u32), |w| {
                    w.code.store_shared(Expr::Lane / WARP + self.tops, all.bits());
                    Ok(())
                })
            })?;
            // Lanes may still read the batch before.
            w.code.barrier();
            for (to, words) in loaded {
                w.code.push(Stmt::StoreFour(to, words));
            }
            w.when(has_chunk, |w| {
                self.weigh(w, batch, [top, total, lower]);
                Ok(())
            })?;
            w.code.barrier();
            let here = w.code.set("here", (self.chunks - &first).min(batch.chunks));
            self.add_up(w, batch, &here)
        })
    }

    /// Loads the values of a batch: where they go, and what they are. Lanes side by side have four columns of a chunk each.
    fn load(&self, w: &mut Writer<'_>, batch: Batch, first: &Expr) -> Vec<(Expr, [Expr; 4])> {
        let column = w.code.set("column", (Expr::Lane % batch.beside) * FOUR);
        let own = w.code.set("own_chunk", Expr::Lane / batch.beside);
        (0..batch.chunks / batch.at_once)
            .map(|time| {
                let chunk = w.code.set("chunk", &own + time * batch.at_once);
                let from = self.result(first + &chunk) + &self.place.column + &column;
                let to = chunk * (self.place.width() + FOUR) + &column + self.values;
                (to, w.code.four("values", Expr::Four(Some(self.slot), from.into())))
            })
            .collect()
    }

    /// Stores the weights of the lane's chunk and of all before it, relative to the largest score.
    fn weigh(&self, w: &mut Writer<'_>, batch: Batch, [top, total, before]: [Expr; 3]) {
        // The chunks before this one are those of this warp, and all of the warps before.
        let mut lower = before.max(&self.carried);
        let mut all = self.carried.clone();
        for warp in 0..batch.chunks / WARP {
            let top = w.load_shared(Expr::U32(self.tops + warp));
            let top = w.code.set("warp_top", top);
            let above = (Expr::Lane / WARP).greater(warp);
            lower = w.code.set("lower", lower.clone().unless(&above, lower.max(&top)));
            all = all.max(top);
        }
        let by = scaled(w, lower, top);
        let words = [by.old.bits(), by.new.bits(), total.bits(), 0u32.into()];
        w.code.push(Stmt::StoreFour(Expr::Lane * FOUR + self.weights, words));
        w.code.assign(&self.carried, all);
    }

    /// Adds so many chunks of a batch: a lane for each column, and behind them a warp for the sums of weights. Chunks that do not exist
    /// have no weight.
    fn add_up(&self, w: &mut Writer<'_>, batch: Batch, here: &Expr) -> Result<(), Why> {
        let width = self.place.width();
        w.share(width, |w, column| {
            self.each(w, batch, here, &self.sum, |w, chunk, _| {
                let value = w.load_shared(chunk * (width + FOUR) + &column + self.values);
                w.code.set("value", value)
            })
        })?;
        let behind = Expr::Lane.greater(width - 1).both(&Expr::Lane.less(width + WARP));
        w.when(behind, |w| self.each(w, batch, here, &self.total, |_, _, total| total.float()))
    }

    /// Adds to a sum what each of so many chunks has, by its number in the batch and its sum of weights.
    fn each(
        &self,
        w: &mut Writer<'_>,
        batch: Batch,
        here: &Expr,
        sum: &Expr,
        mut own: impl FnMut(&mut Writer<'_>, &Expr, Expr) -> Expr,
    ) -> Result<(), Why> {
        w.count("c", (0u32.into(), here.clone(), batch.ahead), |w, c| {
            let loaded: Vec<_> = (0..batch.ahead)
                .map(|a| {
                    let chunk = w.code.set("chunk", c.clone() + a);
                    let weights = Expr::Four(None, (&chunk * FOUR + self.weights).into());
                    let [old, new, total, _] = w.code.four("by", weights);
                    (own(w, &chunk, total), old, new)
                })
                .collect();
            for (its, old, new) in loaded {
                let by = Scaled { top: 0.0f32.into(), old: old.float(), new: new.float() };
                w.code.assign(sum, together(sum.clone(), its, &by));
            }
            Ok(())
        })
    }
}

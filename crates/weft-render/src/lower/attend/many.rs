//! Combines the results of a row's chunks in a long context. All lanes load the values of a large batch, each lane computes the weights of
//! one chunk, and then one lane for each column adds up the values. Another warp adds up the sums of weights.
//!
//! The order of sums is that of [`join`](super::join).

use weft_kern::Attend;
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::lower::attend::context::{Context, LOWEST, initial};
use crate::lower::attend::join::{
    BATCH, FOUR, Scaled, Stored, before, fits_batches, head, inverse, scaled, together,
};
use crate::lower::space::Place;
use crate::lower::writer::{WARP, Writer};
use crate::refused::Why;

/// Chunks per batch, one for each lane. Each batch waits for its loads, so batches are few. The remaining chunks, if any, are a small
/// batch.
const LARGE: u32 = 4 * BATCH;

/// The most bytes of workgroup memory. Two workgroups of a multiprocessor take as long as one, so both must fit.
pub(crate) const MOST_BYTES: u32 = 4 * LARGE * (BATCH + 2 * FOUR) + 1024;

/// Chunks that the lane of a column loads before it uses the first.
const AHEAD: u32 = 8;

/// The sizes of batches.
#[derive(Clone, Copy)]
struct Batch {
    chunks: u32,
    /// Chunks that the lane of a column loads before it uses the first.
    ahead: u32,
}

/// Whether a row may have many chunks, and the workgroup has the lanes for large batches. It must be able to combine small batches of
/// results that are stored from word `at` on.
pub(crate) fn fits(w: &Writer<'_>, place: &Place, at: u32) -> bool {
    w.joins_many
        && fits_batches(w, place, at)
        && LARGE <= w.code.lanes
        && place.width() + WARP <= w.code.lanes
}

/// The state of a row while its chunks are combined.
struct Row<'a> {
    place: &'a Place,
    stored: Stored<'a>,
    chunks: &'a Expr,
    /// The largest score so far, and the sums of a column's values and of weights.
    carried: Expr,
    sum: Expr,
    total: Expr,
    /// Offsets in workgroup memory of the values, of each chunk's weights of the old and the new result and its sum of weights, and of the
    /// largest score of each warp's chunks.
    values: u32,
    weights: u32,
    tops: u32,
}

/// Combines chunks whose results were computed for tiles of `rows` rows. Returns the offset of the row's columns in workgroup memory.
pub(crate) fn join(
    w: &mut Writer<'_>,
    attend: &Attend,
    place: &Place,
    context: &Context,
    (slot, at, rows): (usize, u32, u32),
) -> Result<u32, Why> {
    let width = place.width();
    let (values, weights) = (w.pool.alloc(LARGE * (width + FOUR)), w.pool.alloc(LARGE * FOUR));
    let (tops, results) = (w.pool.alloc(LARGE / WARP), w.pool.alloc(width + 1));
    let chunks = &context.chunks(w);
    let (first_top, first_total) = initial(w, attend, |w| head(w, place, &0u32.into()))?;
    let [sum, total] = [0.0, first_total].map(|first| w.code.var("sum", first));
    let carried = w.code.var("carried", first_top);
    let stored = Stored::new(w, place, chunks, (slot, at, rows));
    let row = Row { place, stored, chunks, carried, sum, total, values, weights, tops };
    let end = w.code.set("many", chunks.clone().max(BATCH) - BATCH);
    row.add(w, Batch { chunks: LARGE, ahead: 2 * AHEAD }, (0u32.into(), end.clone()))?;
    let rest = w.code.set("rest", (end + (LARGE - 1)) / LARGE * LARGE);
    row.add(w, Batch { chunks: BATCH, ahead: AHEAD }, (rest, chunks.clone()))?;
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
    /// Adds the batches of chunks that begin at `begin` or later and before `end`.
    fn add(&self, w: &mut Writer<'_>, batch: Batch, (begin, end): (Expr, Expr)) -> Result<(), Why> {
        let has_chunk = if batch.chunks == w.code.lanes { Expr::True } else { Expr::Lane.less(batch.chunks) };
        w.count("batch", (begin, end, batch.chunks), |w, first| {
            let loaded = self.stored.load(w, &first, batch.chunks, self.values);
            let [top, total, lower] = [LOWEST, 0.0, LOWEST].map(|none| w.code.var("own", none));
            w.when(has_chunk.clone(), |w| {
                let (its_total, its_top) = self.stored.weights(w, &first + Expr::Lane);
                w.code.assign(&total, its_total);
                w.code.assign(&top, its_top);
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

    /// Stores the weights of the lane's chunk and of all before it, relative to the largest score.
    fn weigh(&self, w: &mut Writer<'_>, batch: Batch, [top, total, before]: [Expr; 3]) {
        // Earlier chunks are those of lower lanes, and all of earlier warps.
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

    /// Adds `here` chunks of a batch: one lane for each column, and after these lanes a warp for the sums of weights. Chunks that do not
    /// exist have no weight.
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

    /// Adds each chunk's value to a sum. The value depends on its number in the batch and on its sum of weights.
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

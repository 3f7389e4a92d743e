//! Joins the results of chunks in their order. Each is relative to its own largest score.

use crate::code::expr::{Expr, Fun};
use crate::lower::attend::context::{Context, LOWEST, chunk_words};
use crate::lower::attend::walk::Walk;
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// Chunks that are loaded before the first is used.
const AHEAD: u32 = 8;

/// Chunks that lanes load together, and the most columns that they load of each.
const BATCH: u32 = 64;
const BATCH_COLUMNS: u32 = 64;

/// The weights of an old and a new result, relative to the larger of their largest scores.
pub(super) struct Scaled {
    pub(super) top: Expr,
    pub(super) old: Expr,
    pub(super) new: Expr,
}

pub(super) fn scaled(w: &mut Writer<'_>, old: Expr, new: Expr) -> Scaled {
    let top = w.code.set("new_top", old.clone().max(&new));
    let weight = |w: &mut Writer<'_>, of: Expr| {
        let weight = Expr::call(Fun::Exp, [of - &top]);
        w.code.set("shrink", weight)
    };
    let (old, new) = (weight(w, old), weight(w, new));
    Scaled { top, old, new }
}

/// `new · weight + old · weight`: written once, so that all ways to join chunks round alike.
pub(super) fn together(old: Expr, new: Expr, by: &Scaled) -> Expr {
    Expr::call(Fun::Fma, [new, by.new.clone(), old * &by.old])
}

/// Chunks joined by the workgroup that computes them: where each head's state is in workgroup
/// memory.
pub(super) struct Joined {
    heads: u32,
    cols: u32,
    /// Sums of values, sums of weights, largest scores, and the weights of old and new results.
    sums: u32,
    totals: u32,
    tops: u32,
    old: u32,
    new: u32,
}

impl Joined {
    /// An empty result. Lanes see it after the next barrier.
    pub(super) fn new(w: &mut Writer<'_>, heads: u32, cols: u32) -> Result<Joined, Why> {
        let sums = w.pool.room(heads * cols);
        let [totals, tops, old, new] = [(); 4].map(|()| w.pool.room(heads));
        w.share(heads * cols, |w, item| {
            w.code.store_shared(item + sums, 0u32.into());
            Ok(())
        })?;
        w.share(heads, |w, h| {
            w.code.store_shared(&h + totals, 0u32.into());
            w.code.store_shared(h + tops, Expr::F32(LOWEST).bits());
            Ok(())
        })?;
        Ok(Joined { heads, cols, sums, totals, tops, old, new })
    }

    /// Joins the chunk that has just been visited. Ends with a barrier.
    pub(super) fn add(&self, w: &mut Writer<'_>, walk: &Walk<'_>) -> Result<(), Why> {
        let Joined { heads, cols, sums, totals, tops, old, new } = *self;
        w.share(heads, |w, h| {
            let (total, top) = (walk.total(w, &h), walk.top(w, &h));
            let before = w.load_shared(&h + tops);
            let by = scaled(w, before, top);
            let total = together(w.load_shared(&h + totals), total, &by);
            w.code.store_shared(&h + totals, total.bits());
            w.code.store_shared(&h + tops, by.top.bits());
            w.code.store_shared(&h + old, by.old.bits());
            w.code.store_shared(h + new, by.new.bits());
            Ok(())
        })?;
        w.code.barrier();
        w.share(heads * cols, |w, item| {
            let h = w.code.set("h", &item / cols);
            let by =
                Scaled { top: 0.0f32.into(), old: w.load_shared(&h + old), new: w.load_shared(&h + new) };
            let sum = walk.sum(w, &h, &(&item % cols));
            let sum = together(w.load_shared(&item + sums), sum, &by);
            w.code.store_shared(item + sums, sum.bits());
            Ok(())
        })?;
        w.code.barrier();
        Ok(())
    }

    /// Divides by the sums of weights. Returns where the result is.
    pub(super) fn finish(&self, w: &mut Writer<'_>) -> Result<u32, Why> {
        let Joined { heads, cols, sums, totals, .. } = *self;
        w.share(heads * cols, |w, item| {
            let value = w.load_shared(&item + sums) / w.load_shared(&item / cols + totals);
            w.code.store_shared(item + sums, value.bits());
            Ok(())
        })?;
        w.code.barrier();
        Ok(sums)
    }
}

/// Chunks joined by another shader than the one that computed them, for tiles of `rows` rows.
pub(super) fn join(
    w: &mut Writer<'_>,
    place: &Place,
    context: &Context,
    (slot, at, rows): (usize, u32, u32),
) -> Result<u32, Why> {
    let (heads, width, cols) = (place.tile(), place.width(), place.cols());
    if w.quads && heads == 1 && width <= BATCH_COLUMNS && w.code.lanes > BATCH.max(width) {
        return batches(w, place, context, (slot, at, rows));
    }
    let words = chunk_words(cols);
    let results = w.pool.room(heads * width);
    let chunks = w.code.set("chunks", (&context.seen + (context.chunk - 1)) / context.chunk);
    w.share(heads * width, |w, item| {
        let h = w.code.set("h", &item / width);
        let column = w.code.set("column", &place.column + &item % width);
        let [sum, total] = [(); 2].map(|()| w.code.var("sum", 0.0f32));
        let top = w.code.var("top", LOWEST);
        w.count("chunk", (0u32.into(), chunks.clone(), AHEAD), |w, first| {
            let mut loaded = Vec::new();
            for a in 0..AHEAD {
                let chunk = w.code.set("chunk", &first + a);
                let exists = chunk.less(&chunks);
                let from = place.chunk_row(&chunk.min(&chunks - 1u32), &h, rows) * words + at;
                let from = w.code.set("put_at", from);
                let [value, weights, top] = [&column + &from, &from + cols, from + (cols + 1)]
                    .map(|at| w.code.set("put_down", Expr::Word(slot, at.into()).float()));
                // A chunk that does not exist gets no weight.
                let top = w.code.set("its_top", Expr::F32(LOWEST).unless(&exists, top));
                loaded.push((value, weights, top));
            }
            for (value, weights, its_top) in loaded {
                let by = scaled(w, top.clone(), its_top);
                w.code.assign(&sum, together(sum.clone(), value, &by));
                w.code.assign(&total, together(total.clone(), weights, &by));
                w.code.assign(&top, by.top);
            }
            Ok(())
        })?;
        w.code.store_shared(item + results, (sum / total).bits());
        Ok(())
    })?;
    w.code.barrier();
    Ok(results)
}

/// The same for one row, many chunks at a time: all lanes load values, some lanes compute the weights of one chunk each, and
/// then each column has a lane that adds up.
fn batches(
    w: &mut Writer<'_>,
    place: &Place,
    context: &Context,
    (slot, at, rows): (usize, u32, u32),
) -> Result<u32, Why> {
    let (width, cols, lanes) = (place.width(), place.cols(), w.code.lanes);
    let (words, stride) = (chunk_words(cols), width + 1);
    // The sum of weights is one more column.
    let values = w.pool.room(BATCH * stride);
    let [tops, old, new] = [BATCH; 3].map(|n| w.pool.room(n));
    let results = w.pool.room(stride);
    let chunks = w.code.set("chunks", (&context.seen + (context.chunk - 1)) / context.chunk);
    let sum = w.code.var("sum", 0.0f32);
    let carried = w.code.var("carried", LOWEST);
    let row = |w: &mut Writer<'_>, chunk: Expr| {
        let chunk = chunk.min(&chunks - 1u32);
        let from = place.chunk_row(&chunk, &Expr::U32(0), rows) * words + at;
        w.code.set("put_at", from)
    };
    w.count("batch", (0u32.into(), chunks.clone(), BATCH), |w, first| {
        let mut loaded = Vec::new();
        for time in 0..(BATCH * width).div_ceil(lanes) {
            let item = w.code.set("item", Expr::Lane + time * lanes);
            let (c, column) = (&item / width, w.code.set("column", &item % width));
            let from = row(w, &first + &c) + &place.column + &column;
            let value = w.code.set("value", Expr::Word(slot, from.into()));
            let exists =
                if (time + 1) * lanes <= BATCH * width { Expr::True } else { item.less(BATCH * width) };
            loaded.push((exists, c * stride + column + values, value));
        }
        w.share(BATCH, |w, c| {
            let from = row(w, &first + &c);
            let [weights, top] =
                [0, 1].map(|i| w.code.set("put_down", Expr::Word(slot, (&from + (cols + i)).into())));
            w.code.store_shared(&c * stride + (values + width), weights);
            let top = Expr::F32(LOWEST).unless(&(first.clone() + &c).less(&chunks), top.float());
            w.code.store_shared(c + tops, top.bits());
            Ok(())
        })?;
        for (exists, to, value) in loaded {
            w.when(exists, |w| {
                w.code.store_shared(to, value);
                Ok(())
            })?;
        }
        w.code.barrier();
        w.share(BATCH, |w, c| {
            // The largest score before this chunk, and of all of them.
            let before = w.code.var("before", carried.clone());
            let own = w.code.set("own_top", w.load_shared(&c + tops));
            w.count("l", (0u32.into(), BATCH.into(), 1), |w, l| {
                let top = w.code.set("top", w.load_shared(&l + tops));
                let earlier = before.clone().max(&top);
                w.code.assign(&before, before.clone().unless(&l.less(&c), earlier));
                w.code.assign(&carried, carried.clone().max(top));
                Ok(())
            })?;
            let by = scaled(w, before, own);
            w.code.store_shared(&c + old, by.old.bits());
            w.code.store_shared(c + new, by.new.bits());
            Ok(())
        })?;
        w.code.barrier();
        let here = w.code.set("here", (&chunks - &first).min(BATCH));
        w.share(stride, |w, column| {
            w.count("c", (0u32.into(), here, 1), |w, c| {
                let [old, new] = [old, new].map(|at| w.load_shared(&c + at));
                let by = Scaled { top: 0.0f32.into(), old, new };
                let value = w.load_shared(c * stride + column + values);
                w.code.assign(&sum, together(sum.clone(), value, &by));
                Ok(())
            })
        })?;
        w.code.barrier();
        Ok(())
    })?;
    w.share(stride, |w, column| {
        w.code.store_shared(column + results, sum.clone().bits());
        Ok(())
    })?;
    w.code.barrier();
    w.share(width, |w, column| {
        let value = w.load_shared(&column + results) / w.load_shared(Expr::U32(results + width));
        w.code.store_shared(column + results, value.bits());
        Ok(())
    })?;
    w.code.barrier();
    Ok(results)
}

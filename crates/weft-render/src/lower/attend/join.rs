//! Combines the results of chunks in order. Each result is relative to its own largest score.

use weft_kern::Attend;
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::attend::lanes::walk::Walk;
use crate::lower::attend::context::{Context, LOWEST, chunk_words, initial};
use crate::lower::reduce::{self, Fold};
use crate::lower::space::Place;
use crate::lower::writer::{WARP, Writer};
use crate::refused::Why;

/// Chunks that are loaded before the first is used.
const AHEAD: u32 = 8;

/// Chunks per batch, one for each lane of two warps, and the most columns of each that the lanes load.
pub(crate) const BATCH: u32 = 2 * WARP;

/// Words per load.
pub(crate) const FOUR: u32 = 4;

/// The weight that leaves an old result unchanged.
pub(crate) const STAYS: f32 = -1.0;

/// The weights of an old and a new result, relative to the larger of their largest scores.
pub(crate) struct Scaled {
    pub(crate) top: Expr,
    pub(crate) old: Expr,
    pub(crate) new: Expr,
}

pub(crate) fn scaled(w: &mut Writer<'_>, old: Expr, new: Expr) -> Scaled {
    let top = w.code.set("new_top", old.clone().max(&new));
    let weight = |w: &mut Writer<'_>, of: Expr| {
        let weight = Expr::call(Fun::Exp, [of - &top]);
        w.code.set("shrink", weight)
    };
    let (old, new) = (weight(w, old), weight(w, new));
    Scaled { top, old, new }
}

/// `new · weight + old · weight`, in one place so that all ways to combine chunks round alike.
pub(crate) fn together(old: Expr, new: Expr, by: &Scaled) -> Expr {
    Expr::call(Fun::Fma, [new, by.new.clone(), old * &by.old])
}

/// Combines a row's largest score and sum of weights with earlier ones, and stores the weights with which its results are combined. The
/// words are the offsets of the largest scores, the sums of weights, and the weights of old and new results. The weights of a row that does
/// not take part leave it unchanged; `by_value` these are 1 and 0.
pub(crate) fn join_row(
    w: &mut Writer<'_>,
    row: &Expr,
    [tops, totals, old, new]: [u32; 4],
    (top, total): (Expr, Expr),
    (joins, by_value): (&Expr, bool),
) {
    let [before, old_total] = [tops, totals].map(|at| w.load_shared(row + at));
    let before = w.code.set("old_top", before);
    let old_total = w.code.set("old_total", old_total);
    let by = scaled(w, before.clone(), top);
    let total = together(old_total.clone(), total, &by);
    w.code.store_shared(row + totals, old_total.unless(joins, total).bits());
    w.code.store_shared(row + tops, before.unless(joins, by.top).bits());
    let stays = if by_value { 1.0 } else { STAYS };
    w.code.store_shared(row + old, Expr::F32(stays).unless(joins, by.old).bits());
    let weight = if by_value { Expr::F32(0.0).unless(joins, by.new) } else { by.new };
    w.code.store_shared(row + new, weight.bits());
}

/// The inverse of a sum of weights, by which each sum of values is multiplied, so that a row needs one division.
pub(crate) fn inverse(w: &mut Writer<'_>, total: Expr) -> Expr {
    w.code.set("inverse", Expr::call(Fun::Quotient, [1.0f32.into(), total]))
}

/// The combined results of a workgroup that visits all chunks: offsets of each head's state in workgroup memory.
pub(crate) struct Joined {
    heads: u32,
    cols: u32,
    /// Offsets of sums of values, sums of weights, largest scores, and the weights of old and new results.
    sums: u32,
    totals: u32,
    tops: u32,
    old: u32,
    new: u32,
}

impl Joined {
    /// An empty result. Lanes see it after the next barrier.
    pub(crate) fn new(w: &mut Writer<'_>, attend: &Attend, place: &Place, cols: u32) -> Result<Joined, Why> {
        let heads = place.tile();
        let sums = w.pool.alloc(heads * cols);
        let [totals, tops, old, new] = [(); 4].map(|()| w.pool.alloc(heads));
        w.share(heads * cols, |w, item| {
            w.code.store_shared(item + sums, 0u32.into());
            Ok(())
        })?;
        w.share(heads, |w, h| {
            let (top, total) = initial(w, attend, |w| head(w, place, &h))?;
            w.code.store_shared(&h + totals, total.to_bits().into());
            w.code.store_shared(h + tops, top.bits());
            Ok(())
        })?;
        Ok(Joined { heads, cols, sums, totals, tops, old, new })
    }

    /// Combines the chunk that has just been visited. Ends with a barrier.
    pub(crate) fn add(&self, w: &mut Writer<'_>, walk: &Walk<'_>) -> Result<(), Why> {
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

    /// Divides by the sums of weights. Returns the offset of the result.
    pub(crate) fn finish(&self, w: &mut Writer<'_>) -> Result<u32, Why> {
        let Joined { heads, cols, sums, totals, .. } = *self;
        w.share(heads * cols, |w, item| {
            let inverse = inverse(w, w.load_shared(&item / cols + totals));
            let value = w.load_shared(&item + sums) * inverse;
            w.code.store_shared(item + sums, value.bits());
            Ok(())
        })?;
        w.code.barrier();
        Ok(sums)
    }
}

/// The head of a row of the tile.
pub(crate) fn head(w: &mut Writer<'_>, place: &Place, row: &Expr) -> Expr {
    place.row_to_read(&mut w.code, row).axes.get(1).cloned().unwrap_or(Expr::U32(0))
}

/// Combines chunks that another shader has computed for tiles of `rows` rows.
pub(crate) fn join(
    w: &mut Writer<'_>,
    attend: &Attend,
    place: &Place,
    context: &Context,
    (slot, at, rows): (usize, u32, u32),
) -> Result<u32, Why> {
    let (heads, width, cols) = (place.tile(), place.width(), place.cols());
    if fits_batches(w, place, at) {
        return batches(w, attend, place, context, (slot, at, rows));
    }
    let words = chunk_words(cols);
    let results = w.pool.alloc(heads * width);
    let chunks = context.chunks(w);
    w.share(heads * width, |w, item| {
        let h = w.code.set("h", &item / width);
        let column = w.code.set("column", &place.column + &item % width);
        let (first_top, first_total) = initial(w, attend, |w| head(w, place, &h))?;
        let [sum, total] = [0.0, first_total].map(|first| w.code.var("sum", first));
        let top = w.code.var("top", first_top);
        w.count("chunk", (0u32.into(), chunks.clone(), AHEAD), |w, first| {
            let mut loaded = Vec::new();
            for a in 0..AHEAD {
                let chunk = w.code.set("chunk", &first + a);
                let exists = chunk.less(&chunks);
                let from = place.chunk_row(&chunk.min(&chunks - 1u32), &h, rows) * words + at;
                let from = w.code.set("put_at", from);
                let [value, weights, top] = [&column + &from, &from + cols, from + (cols + 1)]
                    .map(|at| w.code.set("put_down", Expr::Word(slot, at.into()).float()));
                // A chunk that does not exist has no weight.
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
        let inverse = inverse(w, total);
        w.code.store_shared(item + results, (sum * inverse).bits());
        Ok(())
    })?;
    w.code.barrier();
    Ok(results)
}

/// Whether results that are stored from word `at` on can be combined in batches.
pub(crate) fn fits_batches(w: &Writer<'_>, place: &Place, at: u32) -> bool {
    let (width, lanes) = (place.width(), w.code.lanes);
    let fits = lanes.is_multiple_of(width / FOUR) && BATCH.is_multiple_of(lanes / (width / FOUR).max(1));
    let fours = [width, at].iter().all(|n| n.is_multiple_of(FOUR)) && place.cols().is_multiple_of(width);
    w.quads && w.subgroup == WARP && place.tile() == 1 && width <= BATCH && lanes > BATCH && fours && fits
}

/// Divides combined results by the sums of their weights.
pub(crate) fn finish(w: &mut Writer<'_>, place: &Place, (slot, at): (usize, u32)) -> Result<u32, Why> {
    let (rows, width, cols) = (place.tile(), place.width(), place.cols());
    let words = chunk_words(cols);
    let results = w.pool.alloc(rows * width);
    w.share(rows * width, |w, item| {
        let row = w.code.set("h", &item / width);
        let row = place.tile_number() * rows + row;
        let from = w.code.set("put_at", row * words + at);
        let [value, total] = [&place.column + &item % width + &from, from + cols]
            .map(|at| w.code.set("put_down", Expr::Word(slot, at.into()).float()));
        let inverse = inverse(w, total);
        w.code.store_shared(item + results, (value * inverse).bits());
        Ok(())
    })?;
    w.code.barrier();
    Ok(results)
}

/// The results of a row's chunks in a scratch slot.
pub(crate) struct Stored<'a> {
    place: &'a Place,
    slot: usize,
    /// The number of chunks, the first word of the first result, and the stride of results in words.
    chunks: Expr,
    first: Expr,
    words: u32,
}

impl<'a> Stored<'a> {
    /// The results from word `at` on, computed for tiles of `rows` rows.
    pub(crate) fn new(
        w: &mut Writer<'_>,
        place: &'a Place,
        chunks: &Expr,
        (slot, at, rows): (usize, u32, u32),
    ) -> Stored<'a> {
        let words = chunk_words(place.cols());
        let first = place.chunk_row(&Expr::U32(0), &Expr::U32(0), rows) * words + at;
        Stored {
            place,
            slot,
            chunks: chunks.clone(),
            first: w.code.set("put_at", first),
            words: rows * words,
        }
    }

    /// The first word of a chunk's result. A chunk beyond the last is read as the last.
    fn at(&self, chunk: Expr) -> Expr {
        chunk.min(&self.chunks - 1u32) * self.words + &self.first
    }

    /// Loads the values of a batch of chunks. Returns their destinations in workgroup memory, from word `to` on, and the words.
    /// Neighbouring lanes have four columns of a chunk each.
    pub(crate) fn load(
        &self,
        w: &mut Writer<'_>,
        first: &Expr,
        chunks: u32,
        to: u32,
    ) -> Vec<(Expr, [Expr; 4])> {
        let beside = self.place.width() / FOUR;
        let at_once = w.code.lanes / beside;
        let column = w.code.set("column", (Expr::Lane % beside) * FOUR);
        let own = w.code.set("own_chunk", Expr::Lane / beside);
        (0..chunks / at_once)
            .map(|time| {
                let chunk = w.code.set("chunk", &own + time * at_once);
                let from = self.at(first + &chunk) + &self.place.column + &column;
                let words = w.code.four("values", Expr::Four(Some(self.slot), from.into()));
                (chunk * (self.place.width() + FOUR) + &column + to, words)
            })
            .collect()
    }

    /// Loads a chunk's sum of weights and its largest score. A chunk that does not exist has no weight.
    pub(crate) fn weights(&self, w: &mut Writer<'_>, chunk: Expr) -> (Expr, Expr) {
        let chunk = w.code.set("chunk", chunk);
        let from = w.code.set("put_down", self.at(chunk.clone()) + self.place.cols());
        let [total, top] =
            [0, 1].map(|i| w.code.set("put_down", Expr::Word(self.slot, (&from + i).into()).float()));
        (total, Expr::F32(LOWEST).unless(&chunk.less(&self.chunks), top))
    }
}

/// Combines the chunks of one row in batches: all lanes load values, two warps compute the weights of one chunk in each lane, and then one
/// lane for each column adds up the values and the sums of weights.
fn batches(
    w: &mut Writer<'_>,
    attend: &Attend,
    place: &Place,
    context: &Context,
    (slot, at, rows): (usize, u32, u32),
) -> Result<u32, Why> {
    let width = place.width();
    let stride = width + FOUR;
    // Each chunk has the weights of the old and the new result, and its sum of weights.
    let (values, weights) = (w.pool.alloc(BATCH * stride), w.pool.alloc(BATCH * FOUR));
    let results = w.pool.alloc(width);
    let chunks = context.chunks(w);
    let (first_top, first_total) = initial(w, attend, |w| head(w, place, &0u32.into()))?;
    let [sum, total] = [0.0, first_total].map(|first| w.code.var("sum", first));
    let carried = w.code.var("carried", first_top);
    let stored = Stored::new(w, place, &chunks, (slot, at, rows));
    w.count("batch", (0u32.into(), chunks.clone(), BATCH), |w, first| {
        let loaded = stored.load(w, &first, BATCH, values);
        let four = [(); FOUR as usize - 1].map(|()| w.code.var("weight", 0u32));
        w.when(Expr::Lane.less(BATCH), |w| {
            // This lane's chunk, and that of its counterpart in the other warp.
            let [(own_weights, own_top), (_, other_top)] = [Expr::Lane, Expr::Lane ^ WARP].map(|lane| {
                let (weights, top) = stored.weights(w, &first + lane);
                (weights, w.code.set("its_top", top))
            });
            // The largest score of earlier chunks: those of this warp in a butterfly, and all of the first warp's.
            let (own_all, before) = before(w, &own_top);
            let other_all = reduce::subgroups(w, Fold::Max, other_top, WARP);
            let lower =
                carried.clone().unless(&Expr::Lane.greater(WARP - 1), carried.clone().max(&other_all));
            let by = scaled(w, before.max(lower), own_top);
            let words = [by.old.bits(), by.new.bits(), own_weights.bits()];
            four.iter().zip(words).for_each(|(four, word)| w.code.assign(four, word));
            w.code.assign(&carried, carried.clone().max(own_all).max(other_all));
            Ok(())
        })?;
        // Lanes may still be reading the previous batch.
        w.code.barrier();
        for (to, words) in loaded {
            w.code.push(Stmt::StoreFour(to, words));
        }
        w.when(Expr::Lane.less(BATCH), |w| {
            let [old, new, own] = four;
            w.code.push(Stmt::StoreFour(Expr::Lane * FOUR + weights, [old, new, own, 0u32.into()]));
            Ok(())
        })?;
        w.code.barrier();
        // Chunks beyond the last have no weight.
        let here = w.code.set("here", (&chunks - &first).min(BATCH));
        w.share(width, |w, column| {
            w.count("c", (0u32.into(), here, AHEAD), |w, c| {
                let loaded: Vec<_> = (0..AHEAD)
                    .map(|a| {
                        let chunk = w.code.set("chunk", c.clone() + a);
                        let by = w.code.four("by", Expr::Four(None, (&chunk * FOUR + weights).into()));
                        let value = w.load_shared(chunk * stride + &column + values);
                        (by, w.code.set("value", value))
                    })
                    .collect();
                for ([old, new, weights, _], value) in loaded {
                    let by = Scaled { top: 0.0f32.into(), old: old.float(), new: new.float() };
                    w.code.assign(&sum, together(sum.clone(), value, &by));
                    w.code.assign(&total, together(total.clone(), weights.float(), &by));
                }
                Ok(())
            })
        })
    })?;
    w.share(width, |w, column| {
        let inverse = inverse(w, total);
        w.code.store_shared(column + results, (sum * inverse).bits());
        Ok(())
    })?;
    w.code.barrier();
    Ok(results)
}

/// The largest value of the warp, and the largest of its lower lanes.
pub(crate) fn before(w: &mut Writer<'_>, own: &Expr) -> (Expr, Expr) {
    let (mut all, mut before) = (own.clone(), Expr::F32(LOWEST));
    for mask in (0..WARP.ilog2()).map(|log| 1 << log) {
        let other = w.shuffled(&all, mask);
        let upper = (Expr::Lane & mask).greater(0u32);
        before = w.code.set("before", before.clone().unless(&upper, before.max(&other)));
        all = w.code.set("all", all.max(other));
    }
    (all, before)
}

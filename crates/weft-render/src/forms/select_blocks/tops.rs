//! Selects the largest values of a row that is too long for one workgroup, such as the logits of a
//! vocabulary.
//!
//! The row is cut into blocks of columns. The first shader spreads them over workgroups and stores the largest key of each block. The
//! second shader has one workgroup for a row: it finds the blocks with the largest keys, the first of equal ones, and then the largest
//! values in these blocks. No other block can have one of them, because at least that many values come before all of its own.
//!
//! The `k` largest keys are found without sorting. The `k`th largest is bisected by counting the keys that are not less, which is exact,
//! and mostly ends after a third of the 32 rounds, when `k` keys are left. These few are ranked by counting.

use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::lower::reduce::{self, Fold};
use crate::lower::select;
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// Writes the value at a column of the row.
type ValueAt<'a> = &'a dyn Fn(&mut Writer<'_>, &Expr) -> Result<Expr, Why>;

/// The most lanes that search a block together.
const MEMBERS: u32 = 16;

/// The place of the largest keys of all blocks: a slot, its first word for this row, and the columns of a block.
#[derive(Clone, Debug)]
pub(crate) struct Tops {
    slot: usize,
    from: Expr,
    columns: u32,
}

impl Tops {
    /// The blocks of the workgroup's row, in a slot from word `at` on.
    pub(crate) fn new(w: &mut Writer<'_>, place: &Place, (slot, at): (usize, u32), columns: u32) -> Tops {
        let each = place.cols().div_ceil(columns);
        let from = w.code.set("blocks", place.tile_number() * each + at);
        Tops { slot, from, columns }
    }
}

/// Stores the largest key of each of the workgroup's blocks.
pub(crate) fn largest_of_blocks(
    w: &mut Writer<'_>,
    place: &Place,
    tops: &Tops,
    value: ValueAt<'_>,
) -> Result<(), Why> {
    let members = w.subgroup.min(MEMBERS);
    let each = tops.columns / members;
    let items = place.width().div_ceil(tops.columns) * members;
    let first_block = w.code.set("first_block", &place.column / tops.columns);
    let rounds = items.div_ceil(w.code.lanes);
    w.count_or_once("time", (0u32.into(), rounds.into(), 1), |w, time| {
        // All lanes take part in the exchange, including those beyond the last block.
        let item = w.code.set("item", time * w.code.lanes + Expr::Lane);
        let block = w.code.set("block", &first_block + &item / members);
        let begin = w.code.set("begin", &block * tops.columns + &item % members);
        let top = w.code.var("top_key", 0u32);
        let look = |w: &mut Writer<'_>, i: Expr| {
            let column = w.code.set("column", (&begin + i * members).min(place.cols() - 1));
            let value = value(w, &column)?;
            let key = select::key(w, value);
            w.code.assign(&top, top.clone().max(key));
            Ok(())
        };
        w.count_or_once("i", (0u32.into(), each.into(), 1), look)?;
        let top = reduce::subgroups(w, Fold::Max, top, members);
        let is_own = (&item % members).equal(0u32);
        let exists = item.less(items).both(&block.less(place.cols().div_ceil(tops.columns)));
        w.when(is_own.both(&exists), |w| {
            w.code.push(Stmt::Store(tops.slot, &tops.from + block, top));
            Ok(())
        })
    })
}

/// Keys that the lanes hold, each with a unique number that orders equal keys.
struct Keys {
    held: Vec<(Expr, Expr)>,
    /// Numbers are less than this.
    bound: u32,
}

/// Keys in workgroup memory, in any order, and their numbers.
struct Found {
    keys: u32,
    numbers: u32,
}

/// Finds the indices of the `k` largest of `n` values, as floats. Returns their offset. Has barriers on both sides.
pub(crate) fn largest(
    w: &mut Writer<'_>,
    tops: &Tops,
    (n, k): (u32, u32),
    value: ValueAt<'_>,
) -> Result<u32, Why> {
    let (columns, lanes) = (tops.columns, w.code.lanes);
    let count = n.div_ceil(columns);
    w.code.note(format!("the {k} largest of {n}: first the blocks that have them"));
    let items = |w: &mut Writer<'_>, all: u32| -> Vec<(Expr, Expr)> {
        let item = |i: u32| w.code.set("item", Expr::Lane + i * lanes);
        let items: Vec<Expr> = (0..all.div_ceil(lanes)).map(item).collect();
        items.into_iter().map(|item| (item.less(all), item)).collect()
    };
    let mut held = Vec::new();
    for (exists, item) in items(w, count) {
        let at = &tops.from + item.clone().min(count - 1);
        let key = w.code.set("key", Expr::Word(tops.slot, at.into()));
        // A key less than all others.
        held.push((w.code.set("key", Expr::U32(0).unless(&exists, key)), item));
    }
    let chosen = k.min(count);
    let found = chosen_keys(w, &Keys { held, bound: count }, chosen)?;
    let mut held = Vec::new();
    for (exists, item) in items(w, chosen * columns) {
        let block = Expr::Shared((item.clone().min(chosen * columns - 1) / columns + found.numbers).into());
        let column = w.code.set("column", block * columns + &item % columns);
        let exists = exists.both(&column.less(n));
        let at = w.code.set("at", column.clone().min(n - 1));
        let value = value(w, &at)?;
        let key = select::key(w, value);
        held.push((w.code.set("key", Expr::U32(0).unless(&exists, key)), column));
    }
    w.code.note("then their values");
    let found = chosen_keys(w, &Keys { held, bound: n }, k)?;
    ranked(w, &found, k)
}

/// The first `k` keys: the largest, and of equal ones those with the lowest numbers. At least `k` keys must not be 0. Ends with a barrier.
fn chosen_keys(w: &mut Writer<'_>, keys: &Keys, k: u32) -> Result<Found, Why> {
    // At least `k` keys are not less than `low`. `above` keys, fewer than `k`, are greater than `high`.
    let (least, most) = keys.bounds(w, k);
    let (low, high) = (w.code.var("low", least), w.code.var("high", most));
    let above = w.code.var("above", 0.0f32);
    let exact = w.code.var("exact", 0u32);
    let counter = Counter::new(w);
    w.count("round", (0u32.into(), 32u32.into(), 1), |w, round| {
        let goes_on = Expr::U32(0).unless(&low.less(&high), 1u32);
        let goes_on = w.code.uniform("goes_on", goes_on);
        w.when(goes_on.equal(1u32), |w| {
            // Keys greater than `less` are not less than `middle`.
            let less = w.code.set("less", &low + (&high - &low - 1u32) / 2u32);
            let middle = w.code.set("middle", &less + 1u32);
            let own = keys.count(w, |key, _| key.greater(&less));
            let count = counter.total(w, own, &round)?;
            let (few, is_exact) = (count.less(k as f32), count.equal(k as f32));
            w.code.assign(&exact, exact.clone().unless(&is_exact, 1u32));
            w.code.assign(&above, above.clone().unless(&few, count));
            w.code.assign(&low, middle.clone().unless(&few, low.clone()));
            w.code.assign(&high, high.clone().unless(&few, less).unless(&is_exact, middle));
            Ok(())
        })
    })?;
    // Keys equal to the last are chosen if their number is less than this.
    let (least, most) = (w.code.var("least", 0u32), w.code.var("most", keys.bound));
    let tied = w.code.uniform("tied", Expr::U32(1).unless(&exact.equal(1u32), 0u32));
    w.when(tied.equal(1u32), |w| {
        let rounds = 32 - keys.bound.leading_zeros();
        // Other lanes may still be reading the counts of the last round.
        let counter = Counter::new(w);
        w.count("round", (0u32.into(), rounds.into(), 1), |w, round| {
            let middle = w.code.set("middle", (&least + &most) / 2u32);
            let own = keys.count(w, |key, number| key.equal(&low).both(&number.less(&middle)));
            let count = counter.total(w, own, &round)? + &above;
            let few = w.code.set("count", count).less(k as f32);
            // When both are equal, nothing changes any more.
            w.code.assign(&least, least.clone().unless(&few, (&middle + 1u32).min(&most)));
            w.code.assign(&most, middle.unless(&few, most.clone()));
            Ok(())
        })
    })?;
    let is_chosen =
        |key: &Expr, number: &Expr| key.greater(&low).either(&key.equal(&low).both(&number.less(&most)));
    let own = keys.count(w, is_chosen);
    let place = before(w, own)?;
    let place = w.code.var("place", place);
    let found = Found { keys: w.pool.alloc(k), numbers: w.pool.alloc(k) };
    for (key, number) in &keys.held {
        w.when(is_chosen(key, number).both(&place.less(k)), |w| {
            w.code.store_shared(&place + found.keys, key.clone());
            w.code.store_shared(&place + found.numbers, number.clone());
            w.code.assign(&place, &place + 1u32);
            Ok(())
        })?;
    }
    w.code.barrier();
    Ok(found)
}

impl Keys {
    /// Bounds of the `k`th largest key.
    fn bounds(&self, w: &mut Writer<'_>, k: u32) -> (Expr, Expr) {
        let own = self.held.iter().map(|(key, _)| key.clone()).reduce(|a, b| a.max(b));
        let own = w.code.set("own_top", own.unwrap_or(Expr::U32(0)));
        let top = top_of_lanes(w, own.clone());
        if k > w.code.lanes {
            return (Expr::U32(1), top);
        }
        // At least one key of each lane is not less than the least of the lanes' largest keys.
        let least = top_of_lanes(w, own ^ u32::MAX) ^ u32::MAX;
        (w.code.set("least_top", least).max(1u32), top)
    }

    /// The number of the lane's chosen keys, as a float.
    fn count(&self, w: &mut Writer<'_>, is_chosen: impl Fn(&Expr, &Expr) -> Expr) -> Expr {
        let ones =
            self.held.iter().map(|(key, number)| Expr::F32(0.0).unless(&is_chosen(key, number), 1.0f32));
        let count = ones.reduce(|a, b| a + b).unwrap_or(Expr::F32(0.0));
        w.code.set("own_count", count)
    }
}

/// The largest of the lanes' words. All lanes must get here.
fn top_of_lanes(w: &mut Writer<'_>, own: Expr) -> Expr {
    let groups = w.code.lanes / w.subgroup;
    let at = w.pool.alloc(groups);
    let own = reduce::subgroups(w, Fold::Max, own, w.subgroup);
    w.code.open();
    w.code.store_shared(Expr::Lane / w.subgroup + at, own);
    w.code.close_if((Expr::Lane % w.subgroup).equal(0u32));
    w.code.barrier();
    let top = w.code.var("top", 0u32);
    let name = w.code.fresh("l");
    w.code.open();
    let other = Expr::Shared((Expr::name(name.clone()) + at).into());
    w.code.assign(&top, top.clone().max(other));
    w.code.close_for(name, 0u32.into(), groups.into(), 1);
    top
}

/// Adds up counts of all lanes, round after round.
struct Counter {
    /// Two ranges of workgroup memory that alternate, so that one barrier a round is enough.
    at: u32,
}

impl Counter {
    fn new(w: &mut Writer<'_>) -> Counter {
        Counter { at: w.pool.alloc(2 * (w.code.lanes / w.subgroup)) }
    }

    /// The sum of whole numbers, which is exact in any order. All lanes must get here.
    fn total(&self, w: &mut Writer<'_>, own: Expr, round: &Expr) -> Result<Expr, Why> {
        let groups = w.code.lanes / w.subgroup;
        let own = reduce::subgroups(w, Fold::Sum, own, w.subgroup);
        let at = w.code.set("counts", (round & 1u32) * groups + self.at);
        w.when((Expr::Lane % w.subgroup).equal(0u32), |w| {
            w.code.store_shared(Expr::Lane / w.subgroup + &at, own.bits());
            Ok(())
        })?;
        w.code.barrier();
        let total = reduce::folded(w, Fold::Sum, &at, groups, 1);
        Ok(w.code.set("count", total))
    }
}

/// The number of keys that earlier lanes have chosen. All lanes must get here.
pub(crate) fn before(w: &mut Writer<'_>, own: Expr) -> Result<Expr, Why> {
    let groups = w.code.lanes / w.subgroup;
    let at = w.pool.alloc(groups);
    let (mut sum, mut before) = (own, Expr::F32(0.0));
    let mut mask = 1;
    while mask < w.subgroup {
        let other = w.shuffled(&sum, mask);
        let is_before = (Expr::Lane & mask).greater(0u32);
        before = w.code.set("before", &before + Expr::F32(0.0).unless(&is_before, other.clone()));
        sum = w.code.set("both", sum + other);
        mask *= 2;
    }
    w.when((Expr::Lane % w.subgroup).equal(0u32), |w| {
        w.code.store_shared(Expr::Lane / w.subgroup + at, sum.bits());
        Ok(())
    })?;
    w.code.barrier();
    let total = w.code.var("total", before);
    w.count("l", (0u32.into(), groups.into(), 1), |w, l| {
        let other = w.load_shared(&l + at);
        let is_before = l.less(Expr::Lane / w.subgroup);
        w.code.assign(&total, &total + Expr::F32(0.0).unless(&is_before, other));
        Ok(())
    })?;
    Ok(Expr::call(Fun::U32OfFloat, [total]))
}

/// The numbers of `k` keys in order, as floats. Ends with a barrier.
fn ranked(w: &mut Writer<'_>, found: &Found, k: u32) -> Result<u32, Why> {
    let order = w.pool.alloc(k);
    let word = |w: &mut Writer<'_>, at: Expr| w.code.set("word", Expr::Shared(at.into()));
    w.share(k, |w, item| {
        let (key, number) = (word(w, &item + found.keys), word(w, &item + found.numbers));
        let place = w.code.var("place", 0u32);
        w.count("other", (0u32.into(), k.into(), 1), |w, other| {
            let (its_key, its_number) = (word(w, &other + found.keys), word(w, &other + found.numbers));
            let comes_before =
                its_key.greater(&key).either(&its_key.equal(&key).both(&its_number.less(&number)));
            w.code.assign(&place, place.clone().unless(&comes_before, &place + 1u32));
            Ok(())
        })?;
        w.code.store_shared(place + order, Expr::call(Fun::FloatOfU32, [number]).bits());
        Ok(())
    })?;
    w.code.barrier();
    Ok(order)
}

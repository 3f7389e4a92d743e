//! Chooses the positions of a token's highest scores. Of equal scores, the lower positions are chosen.
//!
//! Nothing is sorted. The score of rank `most` is found digit by digit, from the highest: lanes count how many keys have each value of the
//! next digit, among those whose higher digits are known, each lane in a column of its own. A lane has neighbouring positions, so that the
//! number of positions that earlier lanes chose is where its own begin in the list, in ascending order.

use weft_shader::expr::{Expr, Fun};

use crate::forms::indexer_lanes::token::Token;
use crate::forms::select_blocks::tops::before;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// The most bits of a digit. It has fewer where workgroup memory is short.
const BITS: u32 = 4;

/// The lanes that add up the counts of a value.
const ADDERS: u32 = 16;

/// Keys that a lane loads at a time. A chunk has whole groups of them.
pub(super) const AHEAD: u32 = 8;

/// The keys of a token, and offsets in workgroup memory.
pub(super) struct Choice<'a> {
    slot: usize,
    /// The first key.
    keys: &'a Expr,
    /// The number of keys, and of those that are chosen.
    seen: &'a Expr,
    most: u32,
    pool: u32,
    bits: u32,
    /// Keys of a lane, and its first.
    each: Expr,
    first: Expr,
    /// Offsets of the counts of each value by each lane, of their sums by some lanes, and of all.
    counts: u32,
    partial: u32,
    totals: u32,
}

/// Which keys are chosen: those above `least`, and the first `ties` of those equal to it.
struct Chosen {
    least: Expr,
    ties: Expr,
}

impl<'a> Choice<'a> {
    pub(super) fn new(
        w: &mut Writer<'_>,
        (slot, keys): (usize, &'a Expr),
        token: &'a Token<'_>,
    ) -> Choice<'a> {
        let (seen, lanes) = (&token.context.seen, w.code.lanes);
        let each = (seen + (lanes * AHEAD - 1)) / (lanes * AHEAD) * AHEAD;
        let each = w.code.set("each", each);
        let first = w.code.set("first_key", Expr::Lane * &each);
        let room = w.pool.left(u32::MAX);
        let bits = (1..=BITS).rev().find(|bits| (lanes + ADDERS + 1) << bits <= room).unwrap_or(1);
        let [counts, partial, totals] = [lanes, ADDERS, 1].map(|n| w.pool.alloc(n << bits));
        let (most, pool) = (token.most, token.pool);
        Choice { slot, keys, seen, most, pool, bits, each, first, counts, partial, totals }
    }

    /// Lists the chosen positions in ascending order, as floats, from word `list` of workgroup memory on. Lanes see them after the next
    /// barrier.
    pub(super) fn write(&self, w: &mut Writer<'_>, list: u32) -> Result<(), Why> {
        let Chosen { least, ties } = self.chosen(w)?;
        let [above, equal] = [(); 2].map(|()| w.code.var("own_count", 0.0f32));
        self.each(w, |w, _, key, exists| {
            for (count, counts) in [(&above, key.greater(&least)), (&equal, key.equal(&least))] {
                let one = Expr::F32(0.0).unless(&exists.both(&counts), 1.0f32);
                w.code.assign(count, count + one);
            }
            Ok(())
        })?;
        let (above, equal) = (before(w, above)?, before(w, equal)?);
        let rank = w.code.var("rank", equal);
        let place = w.code.var("place", above + rank.clone().min(&ties));
        self.each(w, |w, position, key, exists| {
            let equal = key.equal(&least);
            let chosen = key.greater(&least).either(&equal.both(&rank.less(&ties)));
            w.when(exists.both(&chosen), |w| {
                self.store(w, (&place, list), position);
                w.code.assign(&place, &place + 1u32);
                Ok(())
            })?;
            w.code.assign(&rank, rank.clone().unless(&exists.both(&equal), &rank + 1u32));
            Ok(())
        })
    }

    /// Stores the position with this number among the chosen, or the positions of this pool.
    fn store(&self, w: &mut Writer<'_>, (place, list): (&Expr, u32), position: &Expr) {
        let pool = self.pool;
        if pool == 1 {
            w.code.store_shared(place + list, Expr::call(Fun::FloatOfU32, [position.clone()]).bits());
        } else {
            for i in 0..pool {
                let own = Expr::call(Fun::FloatOfU32, [position * pool + i]);
                w.code.store_shared(place * pool + (list + i), own.bits());
            }
        }
    }

    /// Finds the key of rank `most`. It is exact after the last digit, or when all keys with the known digits are chosen.
    fn chosen(&self, w: &mut Writer<'_>) -> Result<Chosen, Why> {
        let rounds = u32::BITS.div_ceil(self.bits);
        let (known, rest) = (w.code.var("known", 0u32), w.code.var("rest", self.most));
        let exact = w.code.var("exact", 0u32);
        w.count("round", (0u32.into(), rounds.into(), 1), |w, round| {
            let goes_on = w.code.uniform("goes_on", exact.clone());
            w.when(goes_on.equal(0u32), |w| {
                let shift = w.code.set("shift", (Expr::U32(rounds - 1) - &round) * self.bits);
                self.count(w, &known, &shift)?;
                self.digit(w, (&known, &rest, &exact), &shift)
            })
        })?;
        let exact = exact.equal(1u32);
        let least = known.clone().unless(&exact, known - 1u32);
        Ok(Chosen { least: w.code.set("least", least), ties: w.code.set("ties", rest.unless(&exact, 0u32)) })
    }

    /// Counts the values of a digit. Ends with a barrier.
    fn count(&self, w: &mut Writer<'_>, known: &Expr, shift: &Expr) -> Result<(), Why> {
        let (lanes, values) = (w.code.lanes, 1 << self.bits);
        let own = w.code.set("own_counts", Expr::Lane + self.counts);
        w.count("value", (0u32.into(), Expr::U32(values), 1), |w, value| {
            w.code.store_shared(value * lanes + &own, 0u32.into());
            Ok(())
        })?;
        self.each(w, |w, _, key, exists| {
            // Keys with other higher digits are larger.
            let digit = w.code.set("digit", (key ^ known) >> shift.clone());
            w.when(exists.both(&digit.less(values)), |w| {
                let at = w.code.set("at", digit * lanes + &own);
                w.code.store_shared(at.clone(), Expr::Shared(at.into()) + 1u32);
                Ok(())
            })
        })?;
        w.code.barrier();
        let adders = ADDERS.min(lanes);
        w.share(values * adders, |w, item| {
            let from = (&item / adders) * lanes + &item % adders + self.counts;
            let sum = self.sum(w, from, (lanes / adders, adders))?;
            w.code.store_shared(item + self.partial, sum);
            Ok(())
        })?;
        w.code.barrier();
        w.share(values, |w, value| {
            let sum = self.sum(w, &value * adders + self.partial, (adders, 1))?;
            w.code.store_shared(value + self.totals, sum);
            Ok(())
        })?;
        w.code.barrier();
        Ok(())
    }

    /// Adds up `n` words of workgroup memory, `apart` words from each other.
    fn sum(&self, w: &mut Writer<'_>, from: Expr, (n, apart): (u32, u32)) -> Result<Expr, Why> {
        let from = w.code.set("from_count", from);
        let sum = w.code.var("sum", 0u32);
        w.count("i", (0u32.into(), n.into(), 1), |w, i| {
            w.code.assign(&sum, &sum + Expr::Shared((i * apart + &from).into()));
            Ok(())
        })?;
        Ok(sum)
    }

    /// Finds the digit of the key of rank `rest` among those with the known digits, and its rank among those that also have this digit.
    fn digit(
        &self,
        w: &mut Writer<'_>,
        (known, rest, exact): (&Expr, &Expr, &Expr),
        shift: &Expr,
    ) -> Result<(), Why> {
        let values = 1u32 << self.bits;
        let (digit, found) = (w.code.var("found_digit", 0u32), w.code.var("found", 0u32));
        w.count("down", (0u32.into(), Expr::U32(values), 1), |w, down| {
            let value = w.code.set("value", Expr::U32(values - 1) - down);
            let count = w.code.set("count", Expr::Shared((&value + self.totals).into()));
            w.when(found.equal(0u32), |w| {
                // The rank is within this value, or among lower ones.
                let is_here = w.code.set("is_here", Expr::U32(1).unless(&count.less(rest), 0u32)).equal(1u32);
                w.code.assign(&digit, digit.clone().unless(&is_here, value));
                w.code.assign(&found, found.clone().unless(&is_here, 1u32));
                w.code.assign(exact, exact.clone().unless(&is_here.both(&count.equal(rest)), 1u32));
                w.code.assign(rest, (rest - &count).unless(&is_here, rest));
                Ok(())
            })
        })?;
        w.code.assign(known, known | (digit << shift.clone()));
        Ok(())
    }

    /// Visits the lane's keys, with their positions and whether they exist.
    fn each(
        &self,
        w: &mut Writer<'_>,
        visit: impl Fn(&mut Writer<'_>, &Expr, &Expr, &Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        // Loads beyond the last key stay in its group of keys.
        let last = w.code.set("last_keys", (self.seen - 1u32) / AHEAD * AHEAD);
        w.count("i", (0u32.into(), self.each.clone(), AHEAD), |w, i| {
            let position = w.code.set("position", i + &self.first);
            let from = w.code.set("from_key", position.clone().min(&last) + self.keys);
            let keys: Vec<Expr> = match w.quads {
                true => (0..AHEAD / 4)
                    .flat_map(|four| {
                        w.code.four("key", Expr::Four(Some(self.slot), (&from + four * 4).into()))
                    })
                    .collect(),
                false => {
                    (0..AHEAD).map(|n| w.code.set("key", Expr::Word(self.slot, (&from + n).into()))).collect()
                }
            };
            for (n, key) in (0..).zip(keys) {
                let position = w.code.set("position", &position + n);
                let exists = w.code.set("exists", position.less(self.seen));
                visit(w, &position, &key, &exists)?;
            }
            Ok(())
        })
    }
}

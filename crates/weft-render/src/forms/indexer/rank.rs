//! Finds the key of a rank digit by digit, from the highest, without sorting.
//!
//! Lanes count how many of their keys have each value of the next digit, among those whose higher digits are known. The counts of a lane
//! are bytes of two words. The lanes of a subgroup add them up in a butterfly in which each lane keeps half of the values, then a quarter,
//! and so on; subgroups exchange theirs through workgroup memory. All lanes then find the digit by themselves, so a round has one barrier.

use weft_shader::expr::Expr;

use crate::forms::indexer::keys::Keys;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// The bits of a digit, its values, and the digits of a key.
const BITS: u32 = 3;
const VALUES: u32 = 1 << BITS;
pub(super) const DIGITS: u32 = u32::BITS.div_ceil(BITS);

/// The most groups of lanes whose counts each lane adds up itself.
const MOST_GROUPS: u32 = 16;

/// The lanes that add up the counts of a value where there are more groups, and the counts of each that are stored at once.
const ADDERS: u32 = 16;
const AT_ONCE: usize = 2;

/// The key of a rank, as far as it is known.
pub(super) struct Found {
    /// The known digits; those below are 0.
    pub(super) known: Expr,
    /// The rank among keys with these digits.
    pub(super) rest: Expr,
    /// 1 if all keys with these digits are within the rank.
    pub(super) exact: Expr,
}

/// Workgroup memory of the counts.
struct Counts {
    /// Lanes that exchange counts, and the number of such groups.
    subgroup: u32,
    groups: u32,
    /// The counts of each group, in two ranges that alternate if there are few groups, and the sums of several groups.
    at: u32,
    sums: u32,
}

/// Finds the first digits of the key of rank `most`, until all are found or, with `early`, all keys with these digits are within the
/// rank. There must be as many keys; those that do not exist are 0.
pub(super) fn find(
    w: &mut Writer<'_>,
    keys: &Keys<'_>,
    most: u32,
    (digits, early): (u32, bool),
) -> Result<Found, Why> {
    let counts = Counts::new(w);
    let found = Found {
        known: w.code.var("known", 0u32),
        rest: w.code.var("rest", most),
        exact: w.code.var("exact", 0u32),
    };
    w.count("round", (0u32.into(), digits.into(), 1), |w, round| {
        let shift = w.code.set("shift", (Expr::U32(DIGITS - 1) - &round) * BITS);
        let one = |w: &mut Writer<'_>| {
            let own = count(w, keys, &found.known, &shift)?;
            let all = counts.total(w, own, &round)?;
            found.digit(w, &all, &shift);
            Ok(())
        };
        if !early {
            return one(w);
        }
        let goes_on = w.code.uniform("goes_on", found.exact.clone());
        w.when(goes_on.equal(0u32), one)
    })?;
    Ok(found)
}

/// How many of the lane's keys have each value of the digit at `shift`, among those with the known higher digits.
fn count(w: &mut Writer<'_>, keys: &Keys<'_>, known: &Expr, shift: &Expr) -> Result<Vec<Expr>, Why> {
    let counts: Vec<Expr> = (0..VALUES).map(|_| w.code.var("count", 0u32)).collect();
    // Bytes hold the counts of held keys, which are few.
    let bytes = |w: &mut Writer<'_>| [(); 2].map(|()| w.code.var("bytes", 0u32));
    let unpack = |w: &mut Writer<'_>, bytes: &[Expr; 2]| {
        for (value, count) in (0..).zip(&counts) {
            let own = (&bytes[value / 4] >> (value as u32 % 4 * 8)) & 255u32;
            w.code.assign(count, count + own);
        }
    };
    let held = keys.are_held().then(|| bytes(w));
    keys.each(w, |w, group| {
        let own = held.clone().unwrap_or_else(|| bytes(w));
        for key in &group.keys {
            // Keys with other higher digits are larger.
            let digit = w.code.set("digit", (key ^ known) >> shift.clone());
            let one = w.code.set("one", Expr::U32(1) << ((&digit & 3u32) * 8u32));
            for (half, bytes) in (0..).zip(&own) {
                let is_here = (&digit >> 2u32).equal(half as u32);
                w.code.assign(bytes, bytes + Expr::U32(0).unless(&is_here, one.clone()));
            }
        }
        if held.is_none() {
            unpack(w, &own);
        }
        Ok(())
    })?;
    if let Some(held) = &held {
        unpack(w, held);
    }
    Ok(counts)
}

impl Counts {
    fn new(w: &mut Writer<'_>) -> Counts {
        let subgroup = w.subgroup;
        let groups = w.code.lanes / subgroup;
        if groups <= MOST_GROUPS {
            return Counts { subgroup, groups, at: w.pool.alloc(2 * VALUES * groups), sums: 0 };
        }
        let at = w.pool.alloc(AT_ONCE as u32 * groups * subgroup.min(VALUES));
        Counts { subgroup, groups, at, sums: w.pool.alloc(VALUES * ADDERS) }
    }

    /// The sums of all lanes' counts. All lanes must get here.
    fn total(&self, w: &mut Writer<'_>, own: Vec<Expr>, round: &Expr) -> Result<Vec<Expr>, Why> {
        let (own, first) = self.exchanged(w, own);
        let stores = (Expr::Lane % self.subgroup).less(VALUES.min(self.subgroup));
        if self.groups > MOST_GROUPS {
            return self.total_of_many(w, &own, (first, stores));
        }
        let at = w.code.set("counts", (round & 1u32) * (VALUES * self.groups) + self.at);
        w.when(stores, |w| {
            let to = w.code.set("to", Expr::Lane / self.subgroup * VALUES + first + &at);
            for (i, count) in (0..).zip(&own) {
                w.code.store_shared(&to + i as u32, count.clone());
            }
            Ok(())
        })?;
        w.code.barrier();
        self.sum(w, &at, self.groups)
    }

    /// The same of many groups. A few counts of each are stored at once, because workgroup memory may be short, and some lanes add up those
    /// of several groups.
    fn total_of_many(
        &self,
        w: &mut Writer<'_>,
        own: &[Expr],
        (first, stores): (Expr, Expr),
    ) -> Result<Vec<Expr>, Why> {
        // Lanes of a group that have counts, each of neighbouring values.
        let each = own.len() as u32;
        let several = VALUES / each;
        let to = w.code.set("to", Expr::Lane / self.subgroup * several + first / each + self.at);
        for (number, counts) in (0..).zip(own.chunks(AT_ONCE)) {
            w.when(stores.clone(), |w| {
                for (i, count) in (0..).zip(counts) {
                    w.code.store_shared(&to + i * self.groups * several, count.clone());
                }
                Ok(())
            })?;
            w.code.barrier();
            w.share(counts.len() as u32 * several * ADDERS, |w, item| {
                let (adder, of) = (&item % ADDERS, &item / ADDERS);
                let (lane, i) = (&of % several, &of / several);
                let from = &i * (self.groups * several) + &adder * several + &lane + self.at;
                let from = w.code.set("from_count", from);
                let sum = w.code.var("sum", 0u32);
                w.count("i", (0u32.into(), (self.groups / ADDERS).into(), 1), |w, i| {
                    let from = i * (several * ADDERS) + &from;
                    w.code.assign(&sum, &sum + Expr::Shared(from.into()));
                    Ok(())
                })?;
                let value = lane * each + i + (number * AT_ONCE as u32 + self.sums);
                w.code.store_shared(adder * VALUES + value, sum);
                Ok(())
            })?;
            w.code.barrier();
        }
        self.sum(w, &Expr::U32(self.sums), ADDERS)
    }

    /// The sums of a subgroup's counts that the lane keeps, and the value of the first.
    fn exchanged(&self, w: &mut Writer<'_>, mut own: Vec<Expr>) -> (Vec<Expr>, Expr) {
        let (mut first, mut mask) = (Expr::U32(0), 1);
        while mask < self.subgroup {
            let half = own.len() / 2;
            let (kept, sent) = if half == 0 {
                (own.clone(), own)
            } else {
                let upper = (Expr::Lane & mask).greater(0u32);
                first = first + ((Expr::Lane / mask) & 1u32) * half as u32;
                let one = |i: usize, is: bool| {
                    let [no, yes] = if is { [i, half + i] } else { [half + i, i] };
                    own[no].clone().unless(&upper, own[yes].clone())
                };
                ((0..half).map(|i| one(i, true)).collect(), (0..half).map(|i| one(i, false)).collect())
            };
            let sent: Vec<Expr> = sent.into_iter().map(|count| w.code.set("sent", count)).collect();
            let others: Vec<Expr> = sent.iter().map(|count| w.shuffled(count, mask)).collect();
            let sums = kept.into_iter().zip(others);
            own = sums.map(|(kept, other)| w.code.set("both", kept + other)).collect();
            mask *= 2;
        }
        (own, w.code.set("first_value", first))
    }

    /// The sums of the counts of `n` groups in workgroup memory.
    fn sum(&self, w: &mut Writer<'_>, at: &Expr, n: u32) -> Result<Vec<Expr>, Why> {
        let all: Vec<Expr> = (0..VALUES).map(|_| w.code.var("all", 0u32)).collect();
        w.count("group", (0u32.into(), n.into(), 1), |w, group| {
            let words = w.shared_words("theirs", &(group * VALUES + at), VALUES);
            for (all, count) in all.iter().zip(words) {
                w.code.assign(all, all + count);
            }
            Ok(())
        })?;
        Ok(all)
    }
}

impl Found {
    /// Finds the next digit from the counts of its values: the largest that as many keys as the rank have, or a larger one.
    fn digit(&self, w: &mut Writer<'_>, counts: &[Expr], shift: &Expr) {
        let Found { known, rest, exact } = self;
        let [mut digit, mut above] = [Expr::U32(0), Expr::U32(0)];
        let (mut upto, mut sum) = (Expr::U32(u32::MAX), Expr::U32(0));
        for (value, count) in counts.iter().enumerate().rev() {
            sum = w.code.set("from_here", sum + count);
            // The rank is among lower values.
            let lower = sum.less(rest);
            above = w.code.set("above", above.clone().unless(&lower, sum.clone()));
            upto = w.code.set("upto", upto.clone().min(sum.clone().unless(&lower, u32::MAX)));
            if value > 0 {
                digit = w.code.set("found_digit", digit + Expr::U32(1).unless(&lower, 0u32));
            }
        }
        let is_exact = upto.equal(rest);
        w.code.assign(exact, exact.clone().unless(&is_exact, 1u32));
        w.code.assign(known, known | (digit << shift.clone()));
        w.code.assign(rest, rest - above);
    }
}

//! Divides the work of a launch: each thread does one contiguous stretch, and then helps with the rest.
//!
//! Work is a sequence of units with costs. Laid end to end, they are divided into stretches; a unit belongs to the stretch in
//! which it begins. Costs are estimates, and cores are not equally fast (other processes use them too), so a launch that is long
//! enough is divided in rounds. The first round gives every thread its own stretch, half of the work together; each further round
//! has a stretch for every thread of half of the rest, and the last has all of it. After its own stretch, a thread takes the next
//! free one. (This is factoring: Hummel, Schonberg and Flynn, 1992.) The parts of a kernel are laid end to end in the same way,
//! by their total costs; each part then divides its own stretch by more exact costs.

use std::ops::Range;

/// A fraction of some work: from `from` to `to`, where all of it is `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fraction {
    from: u64,
    to: u64,
    of: u64,
}

/// How the work of a launch is divided into stretches for a number of threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    threads: usize,
    /// Rounds after the first.
    more: u32,
}

/// The least cost of a stretch after the first, in picoseconds. Beginning one takes 2 to 5 µs, until memory delivers at its rate: stretches
/// of 2 µs cost 4 to 5 % of replies on two threads, and 18 % on sixteen (`bench/runs/2026-11-30-stretches.md`).
const LEAST: u64 = 256_000_000;

/// The most rounds after the first: a stretch of the last is a thread's share of all work divided by two to this power.
const MOST_ROUNDS: u32 = 4;

impl Rounds {
    /// Divides work of cost `total`; into one round, if the work cannot be divided further or is too small.
    pub(crate) fn new(threads: usize, total: u64, fine: bool) -> Rounds {
        let stretches = total / threads as u64 / LEAST;
        let more = if fine && threads > 1 { stretches.max(1).ilog2().min(MOST_ROUNDS) } else { 0 };
        Rounds { threads, more }
    }

    /// The number of stretches. The first ones belong to the threads, in order.
    pub(crate) fn stretches(self) -> usize {
        self.threads * (self.more as usize + 1)
    }

    /// A stretch.
    pub(crate) fn stretch(self, number: usize) -> Fraction {
        let threads = self.threads as u64;
        let (round, at) = ((number as u64 / threads).min(u64::from(self.more)), number as u64 % threads);
        // The last round is as long as the one before it.
        let left = 1 << (u64::from(self.more) - round);
        let len = (left / 2).max(1);
        let from = threads * ((1 << self.more) - left) + at * len;
        Fraction { from, to: from + len, of: threads << self.more }
    }
}

impl Fraction {
    /// This fraction of work of cost `total`, limited to a part of cost `cost` that comes after parts of cost `before`.
    pub(crate) fn within(self, total: u64, before: u64, cost: u64) -> Fraction {
        let Share { from, to } = self.share(total);
        let at = |cut: u64| cut.clamp(before, before + cost) - before;
        Fraction { from: at(from), to: at(to), of: cost }
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(self) -> bool {
        self.from == self.to
    }

    /// This fraction of work of cost `total`.
    pub(crate) fn share(self, total: u64) -> Share {
        let cut = |at: u64| (u128::from(total) * u128::from(at) / u128::from(self.of.max(1))) as u64;
        Share { from: cut(self.from), to: cut(self.to) }
    }
}

/// A stretch of work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    from: u64,
    to: u64,
}

impl Share {
    /// The units that are in this stretch, of `units` units of cost `cost` each (not 0) that come after work of cost `before`.
    pub(crate) fn of(&self, before: u64, cost: u64, units: usize) -> Range<usize> {
        let first_from = |at: u64| (at.saturating_sub(before).div_ceil(cost)).min(units as u64) as usize;
        first_from(self.from)..first_from(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of (cost of a unit, units).
    type Groups = &'static [(u64, usize)];
    const GROUPS: [Groups; 3] = [&[(1, 7)], &[(5, 3), (1, 40), (9, 1), (2, 0), (3, 11)], &[(1000, 1)]];

    fn total(groups: Groups) -> u64 {
        groups.iter().map(|(cost, units)| cost * *units as u64).sum()
    }

    /// Counts the owners of every unit, and returns what this share costs.
    fn count(share: Share, groups: Groups, owners: &mut [Vec<usize>]) -> u64 {
        let (mut before, mut load) = (0, 0);
        for ((cost, units), owners) in groups.iter().zip(owners) {
            let own = share.of(before, *cost, *units);
            load += own.len() as u64 * cost;
            own.for_each(|u| owners[u] += 1);
            before += cost * *units as u64;
        }
        load
    }

    fn nobody(groups: Groups) -> Vec<Vec<usize>> {
        groups.iter().map(|(_, n)| vec![0; *n]).collect()
    }

    #[test]
    fn shares_are_every_unit_once_and_about_even() {
        for groups in GROUPS {
            let dearest = groups.iter().map(|(cost, _)| *cost).max().unwrap();
            for threads in 1..9 {
                let mut owners = nobody(groups);
                for index in 0..threads {
                    let share = shares(threads, 0).stretch(index).share(total(groups));
                    let load = count(share, groups, &mut owners);
                    assert!(load <= total(groups).div_ceil(threads as u64) + dearest);
                }
                assert!(owners.iter().flatten().all(|n| *n == 1), "{groups:?} on {threads} threads");
            }
        }
    }

    /// A fixed number of additional rounds.
    fn shares(threads: usize, more: u32) -> Rounds {
        Rounds { threads, more }
    }

    #[test]
    fn rounds_are_every_unit_once_and_get_shorter() {
        for (threads, more) in (1..9).flat_map(|threads| (0..=MOST_ROUNDS).map(move |more| (threads, more))) {
            let rounds = shares(threads, more);
            for groups in GROUPS {
                let mut owners = nobody(groups);
                for stretch in 0..rounds.stretches() {
                    count(rounds.stretch(stretch).share(total(groups)), groups, &mut owners);
                }
                assert!(owners.iter().flatten().all(|n| *n == 1), "{groups:?}, {rounds:?}");
            }
            let len = |number| {
                let Fraction { from, to, of } = rounds.stretch(number);
                (to - from) as f64 / of as f64
            };
            let first = if more == 0 { 1.0 } else { 0.5 } / threads as f64;
            assert_eq!(len(0), first);
            assert_eq!(len(rounds.stretches() - 1), 1.0 / (threads << more) as f64);
            assert!((1..rounds.stretches()).all(|n| len(n) <= len(n - 1)), "{rounds:?}");
        }
    }

    #[test]
    fn only_long_work_is_cut_finer() {
        let rounds = |total, fine| Rounds::new(4, total, fine).stretches() / 4;
        assert_eq!([rounds(0, true), rounds(15 * LEAST, true), rounds(u64::MAX, false)], [1, 2, 1]);
        assert_eq!([rounds(16 * LEAST, true), rounds(u64::MAX, true)], [3, 5]);
        assert_eq!(Rounds::new(1, u64::MAX, true).stretches(), 1);
    }

    /// A part may know its costs better than the estimate by which it was laid next to others.
    #[test]
    fn parts_are_done_once_whatever_they_were_thought_to_cost() {
        for costs in [[1, 1, 1], [1000, 0, 1], [3, 50_000, 7], [u64::MAX >> 3, 1, u64::MAX >> 4]] {
            let all: u64 = costs.iter().sum();
            for threads in 1..9 {
                let mut owners = GROUPS.map(nobody);
                for index in 0..threads {
                    let mut before = 0;
                    for ((cost, groups), owners) in costs.iter().zip(GROUPS).zip(&mut owners) {
                        let own = shares(threads, 0).stretch(index).within(all, before, *cost);
                        before += cost;
                        if !own.is_empty() {
                            count(own.share(total(groups)), groups, owners);
                        }
                    }
                }
                for (cost, owners) in costs.iter().zip(owners) {
                    let expected = usize::from(*cost > 0);
                    assert!(
                        owners.iter().flatten().all(|n| *n == expected),
                        "{costs:?} on {threads} threads"
                    );
                }
            }
        }
    }

    /// A large unit that comes first occupies one thread, and the others do the rest.
    #[test]
    fn what_cannot_be_cut_leaves_the_rest_to_others() {
        let groups: Groups = &[(300, 1), (1, 700)];
        let mut owners = nobody(groups);
        let loads: Vec<u64> =
            (0..5).map(|i| count(shares(5, 0).stretch(i).share(1000), groups, &mut owners)).collect();
        assert_eq!(loads, [300, 100, 200, 200, 200]);
    }
}

//! How the work of a launch is cut: each thread does one contiguous stretch of it.
//!
//! Work is a sequence of units with costs. Laid end to end, they are cut into as many stretches of equal cost as there are threads, and a unit
//! belongs to the thread in whose stretch it begins. The parts of a kernel are laid end to end in the same way, by what they cost as a whole;
//! each then cuts its own stretch by costs it knows better.

use std::ops::Range;

/// What a thread does of something: from `from` to `to`, where all of it is `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fraction {
    from: u64,
    to: u64,
    of: u64,
}

impl Fraction {
    /// That of thread `index` of `threads`.
    pub(crate) fn new(index: usize, threads: usize) -> Fraction {
        Fraction { from: index as u64, to: index as u64 + 1, of: threads as u64 }
    }

    /// Of work that costs `total`, this fraction; of that, what lies in a part that costs `cost` and comes after others that cost `before`.
    pub(crate) fn within(self, total: u64, before: u64, cost: u64) -> Fraction {
        let Share { from, to } = self.share(total);
        let at = |cut: u64| cut.clamp(before, before + cost) - before;
        Fraction { from: at(from), to: at(to), of: cost }
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(self) -> bool {
        self.from == self.to
    }

    /// This fraction of work that costs `total`.
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
    /// Which of `units` units that cost `cost` each, not 0, are in it, if those before them cost `before`.
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
                    let share = Fraction::new(index, threads).share(total(groups));
                    let load = count(share, groups, &mut owners);
                    assert!(load <= total(groups).div_ceil(threads as u64) + dearest);
                }
                assert!(owners.iter().flatten().all(|n| *n == 1), "{groups:?} on {threads} threads");
            }
        }
    }

    /// A part may know its costs better than the estimate by which it was laid beside others.
    #[test]
    fn parts_are_done_once_whatever_they_were_thought_to_cost() {
        for costs in [[1, 1, 1], [1000, 0, 1], [3, 50_000, 7], [u64::MAX >> 3, 1, u64::MAX >> 4]] {
            let all: u64 = costs.iter().sum();
            for threads in 1..9 {
                let mut owners = GROUPS.map(nobody);
                for index in 0..threads {
                    let mut before = 0;
                    for ((cost, groups), owners) in costs.iter().zip(GROUPS).zip(&mut owners) {
                        let own = Fraction::new(index, threads).within(all, before, *cost);
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
            (0..5).map(|i| count(Fraction::new(i, 5).share(1000), groups, &mut owners)).collect();
        assert_eq!(loads, [300, 100, 200, 200, 200]);
    }
}

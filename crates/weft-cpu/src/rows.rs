//! The row space of a kernel: coordinates, where a row's values lie, and each thread's share of the work.

use std::ops::Range;

use weft_kern::{Dim, Indexed, ParamId, Sizes, View};

use crate::memory::Arg;

/// Most axes a row space may have.
pub(crate) const MAX_AXES: usize = 4;

/// A row's index along each axis; 0 for axes there are not.
pub(crate) type Coords = [usize; MAX_AXES];

/// An index in the step's data points outside of what it indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault;

/// The rows of a kernel in one step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Space {
    axes: [usize; MAX_AXES],
    count: usize,
}

impl Space {
    /// At most [`MAX_AXES`] axes are looked at.
    pub(crate) fn new(rows: &[Dim], sizes: &Sizes) -> Space {
        let mut axes = [1; MAX_AXES];
        for (axis, dim) in axes.iter_mut().zip(rows) {
            *axis = dim.eval(sizes);
        }
        Space { axes, count: axes.iter().product() }
    }

    pub(crate) fn axes(&self) -> [usize; MAX_AXES] {
        self.axes
    }

    /// Rows over all axes.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Where row `row`, the last axis counting fastest, is.
    #[inline(always)]
    pub(crate) fn coords(&self, mut row: usize) -> Coords {
        let mut coords = [0; MAX_AXES];
        for (coord, n) in coords.iter_mut().zip(self.axes).skip(1).rev() {
            if n > 1 {
                *coord = row % n;
                row /= n;
            }
        }
        coords[0] = row;
        coords
    }
}

/// [`View`] without indirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowView {
    pub(crate) param: ParamId,
    pub(crate) offset: usize,
    pub(crate) strides: [usize; MAX_AXES],
    pub(crate) step: usize,
}

impl RowView {
    /// At most [`MAX_AXES`] axes are looked at.
    pub(crate) fn new(view: &View) -> RowView {
        let mut strides = [0; MAX_AXES];
        for (stride, s) in strides.iter_mut().zip(&view.strides) {
            *stride = *s;
        }
        RowView { param: view.param, offset: view.offset, strides, step: view.step }
    }

    /// Position of a row's first value.
    #[inline(always)]
    pub(crate) fn at(&self, coords: &Coords) -> usize {
        self.strides.iter().zip(coords).fold(self.offset, |at, (stride, coord)| at + stride * coord)
    }

    /// The index that a row has in this view, of `count` possible ones.
    #[inline(always)]
    pub(crate) fn index(&self, args: &[Arg], coords: &Coords, count: usize) -> Result<usize, Fault> {
        let index = args[self.param].i32s(self.at(coords), 1).ok_or(Fault)?[0];
        usize::try_from(index).ok().filter(|i| *i < count).ok_or(Fault)
    }
}

/// A row picked by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowPick {
    pub(crate) index: RowView,
    pub(crate) stride: usize,
}

impl RowPick {
    pub(crate) fn new(indexed: &Indexed) -> RowPick {
        RowPick { index: RowView::new(&indexed.index), stride: indexed.stride }
    }

    /// What the row's number adds to positions in `target`.
    #[inline(always)]
    pub(crate) fn offset(&self, args: &[Arg], coords: &Coords, target: ParamId) -> Result<usize, Fault> {
        let count = args[target].values() / self.stride;
        Ok(self.index.index(args, coords, count)? * self.stride)
    }
}

/// The part of a kernel's work that one thread does.
///
/// Work is a sequence of units with costs. Laid end to end, they are cut into as many pieces of equal cost as there
/// are threads, and a unit belongs to the thread in whose piece it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    from: u64,
    to: u64,
}

impl Share {
    /// That of thread `index` of `threads`, of work that costs `total`.
    pub(crate) fn new(total: u64, index: usize, threads: usize) -> Share {
        let cut = |i: usize| (u128::from(total) * i as u128 / threads as u128) as u64;
        Share { from: cut(index), to: cut(index + 1) }
    }

    /// Which of `units` units that cost `cost` each, not 0, are in it, if those before them cost `before`.
    pub(crate) fn of(&self, before: u64, cost: u64, units: usize) -> Range<usize> {
        let first_from = |at: u64| (at.saturating_sub(before).div_ceil(cost)).min(units as u64) as usize;
        first_from(self.from)..first_from(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_count_the_last_axis_fastest() {
        let rows = [Dim::T, Dim::Const(1), Dim::Const(3)];
        let space = Space::new(&rows, &Sizes { tokens: 2, ..Sizes::default() });
        let all: Vec<_> = (0..space.count()).map(|r| space.coords(r)).collect();
        assert_eq!(all, [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 2, 0], [1, 0, 0, 0], [1, 0, 1, 0], [1, 0, 2, 0]]);
        assert_eq!(Space::new(&[], &Sizes::default()).count(), 1);
        assert_eq!(Space::new(&rows, &Sizes::default()).count(), 0);
    }

    #[test]
    fn shares_are_every_unit_once_and_about_even() {
        // Groups of (cost of a unit, units).
        for groups in [&[(1, 7)][..], &[(5, 3), (1, 40), (9, 1), (2, 0), (3, 11)], &[(1000, 1)]] {
            let total: u64 = groups.iter().map(|(cost, units)| cost * *units as u64).sum();
            let dearest = groups.iter().map(|(cost, _)| *cost).max().unwrap();
            for threads in 1..9 {
                let mut owners: Vec<Vec<usize>> = groups.iter().map(|(_, n)| vec![0; *n]).collect();
                for index in 0..threads {
                    let share = Share::new(total, index, threads);
                    let (mut before, mut load) = (0, 0);
                    for ((cost, units), owners) in groups.iter().zip(&mut owners) {
                        let own = share.of(before, *cost, *units);
                        load += own.len() as u64 * cost;
                        own.for_each(|u| owners[u] += 1);
                        before += cost * *units as u64;
                    }
                    assert!(load <= total.div_ceil(threads as u64) + dearest);
                }
                assert!(owners.iter().flatten().all(|n| *n == 1), "{groups:?} on {threads} threads");
            }
        }
    }
}

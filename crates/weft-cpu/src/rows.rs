//! The row space of a part of a kernel: coordinates, and the positions of a row's values.

use weft_kern::{Dim, Indexed, ParamId, Sizes, View};

use crate::memory::Arg;

/// The most axes a row space may have.
pub(crate) const MAX_AXES: usize = 4;

/// A row's index along each axis; 0 for missing axes.
pub(crate) type Coords = [usize; MAX_AXES];

/// An index in the step's data is out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault;

/// The rows of a part in one step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Space {
    axes: [usize; MAX_AXES],
    count: usize,
    sequences: usize,
}

impl Space {
    /// At most [`MAX_AXES`] axes are read.
    pub(crate) fn new(rows: &[Dim], sizes: &Sizes) -> Space {
        let mut axes = [1; MAX_AXES];
        for (axis, dim) in axes.iter_mut().zip(rows) {
            *axis = dim.eval(sizes);
        }
        Space { axes, count: axes.iter().product(), sequences: sizes.sequences }
    }

    pub(crate) fn axes(&self) -> [usize; MAX_AXES] {
        self.axes
    }

    /// The rows of the first axis only, for a prologue.
    pub(crate) fn first_axis(&self) -> Space {
        let rows = self.axes[0];
        Space { axes: [rows, 1, 1, 1], count: rows, sequences: self.sequences }
    }

    /// The sequences of the step.
    pub(crate) fn sequences(&self) -> usize {
        self.sequences
    }

    /// Rows over all axes.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The coordinates of row `row`; the last axis counts fastest.
    #[inline(always)]
    pub(crate) fn coords(&self, mut row: usize) -> Coords {
        let [_, b, c, d] = self.axes;
        // Written out: filling an array in a loop and copying it stalls the CPU once per row.
        let mut last = |n: usize| {
            if n <= 1 {
                return 0;
            }
            let index = row % n;
            row /= n;
            index
        };
        let (d, c, b) = (last(d), last(c), last(b));
        [row, b, c, d]
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
    /// At most [`MAX_AXES`] axes are read.
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

    /// The index that a row has in this view; `None` if it is negative.
    #[inline(always)]
    pub(crate) fn number(&self, args: &[Arg], coords: &Coords) -> Result<Option<usize>, Fault> {
        let index = args[self.param].i32s(self.at(coords), 1).ok_or(Fault)?[0];
        Ok(usize::try_from(index).ok())
    }

    /// The index that a row has in this view, of `count` possible ones.
    #[inline(always)]
    pub(crate) fn index(&self, args: &[Arg], coords: &Coords, count: usize) -> Result<usize, Fault> {
        self.index_of(args, coords, 0, count)
    }

    /// The index that value `i` of a row has in this view, of `count` possible ones.
    #[inline(always)]
    pub(crate) fn index_of(
        &self,
        args: &[Arg],
        coords: &Coords,
        i: usize,
        count: usize,
    ) -> Result<usize, Fault> {
        let index = args[self.param].i32s(self.at(coords) + i * self.step, 1).ok_or(Fault)?[0];
        usize::try_from(index).ok().filter(|i| *i < count).ok_or(Fault)
    }
}

/// A row selected by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowPick {
    pub(crate) index: RowView,
    pub(crate) stride: usize,
}

impl RowPick {
    pub(crate) fn new(indexed: &Indexed) -> RowPick {
        RowPick { index: RowView::new(&indexed.index), stride: indexed.stride }
    }

    /// The offset that the row's number adds to positions in `target`.
    #[inline(always)]
    pub(crate) fn offset(&self, args: &[Arg], coords: &Coords, target: ParamId) -> Result<usize, Fault> {
        let count = args[target].values() / self.stride;
        Ok(self.index.index(args, coords, count)? * self.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_count_the_last_axis_fastest() {
        let rows = [Dim::T, Dim::Const(1), Dim::Const(3)];
        let space = Space::new(&rows, &Sizes::of(2));
        let all: Vec<_> = (0..space.count()).map(|r| space.coords(r)).collect();
        assert_eq!(all, [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 2, 0], [1, 0, 0, 0], [1, 0, 1, 0], [1, 0, 2, 0]]);
        assert_eq!(Space::new(&[], &Sizes::default()).count(), 1);
        assert_eq!(Space::new(&rows, &Sizes::default()).count(), 0);
    }
}

//! The grid: the number of workgroups of a launch.

use weft_ir::{Dim, Sizes, Sym};

use crate::expr::Expr;

/// The sizes of a step that texts can read, in the order of the words of `sizes`.
pub const SIZES: [Sym; 4] = [Sym::Tokens, Sym::Rows, Sym::Slots, Sym::Pages];

/// The workgroups of a launch, by the sizes of the step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grid {
    /// The length of the first axis.
    pub wide: u32,
    /// The workgroups of each part, one range after another.
    pub parts: Vec<Groups>,
}

/// Workgroups of a part: `(⌈axis · inner / tile⌉ + more) · times · chunks`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Groups {
    /// The first axis of the part's rows.
    pub axis: Dim,
    /// The factor of that axis.
    pub inner: u32,
    /// Rows of a tile; each workgroup has one tile.
    pub tile: u32,
    /// The number of additional tiles that may be needed, because each matrix has its own tiles where rows are sorted.
    pub more: u32,
    /// Workgroups per tile.
    pub times: u32,
    /// The chunks of positions, if these are split. Each chunk has this many workgroups.
    pub chunks: Option<Chunks>,
}

/// Positions split into chunks: `⌈pages · page / positions⌉` of them, or fewer with a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunks {
    /// The most pages of a sequence, if known. The other pages of a step belong to other sequences.
    pub most_pages: Option<u32>,
    /// Positions per page.
    pub page: u32,
    /// Positions per chunk.
    pub positions: u32,
    /// The most chunks that a token sees, if there is a window.
    pub seen: Option<u32>,
    /// The most workgroups that share the chunks of a tile. If there is no limit, each chunk has its own.
    pub shared_by: Option<u32>,
}

impl Chunks {
    /// The number of chunks; saturates.
    pub fn count(&self, sizes: &Sizes) -> u64 {
        (sizes.pages as u64)
            .min(self.most_pages.map_or(u64::MAX, u64::from))
            .saturating_mul(u64::from(self.page))
            .div_ceil(u64::from(self.positions.max(1)))
            .min(self.seen.map_or(u64::MAX, u64::from))
    }

    /// An expression for the number of chunks in this step.
    pub fn now(self) -> Expr {
        let pages = match self.most_pages {
            None => size(Sym::Pages),
            Some(most) => size(Sym::Pages).min(most),
        };
        let all = (pages * self.page + (self.positions - 1)) / self.positions;
        match self.seen {
            None => all,
            Some(seen) => all.min(seen),
        }
    }

    /// The number of workgroups of a tile; saturates.
    fn groups(&self, sizes: &Sizes) -> u64 {
        self.count(sizes).min(self.shared_by.map_or(u64::MAX, u64::from))
    }
}

impl Groups {
    /// A fixed number of workgroups, for steps of any size.
    pub fn plain(n: usize) -> Groups {
        let times = u32::try_from(n).unwrap_or(u32::MAX);
        Groups { axis: Dim::Const(1), inner: 1, tile: 1, more: 0, times, chunks: None }
    }

    /// The number of workgroups; saturates.
    pub fn count(&self, sizes: &Sizes) -> u64 {
        let rows = (self.axis.eval(sizes) as u64).saturating_mul(u64::from(self.inner));
        let chunks = self.chunks.map_or(1, |chunks| chunks.groups(sizes));
        let tiles = rows.div_ceil(u64::from(self.tile)).saturating_add(u64::from(self.more));
        tiles.saturating_mul(u64::from(self.times)).saturating_mul(chunks)
    }

    /// An expression for the number of workgroups in this step.
    pub fn now(&self) -> Expr {
        let Groups { axis, inner, tile, more, times, chunks } = *self;
        let mut all = (length(axis) * inner + (tile - 1)) / tile + more;
        if let Some(chunks) = chunks {
            let count = chunks.now();
            all = all * chunks.shared_by.map_or_else(|| count.clone(), |most| count.clone().min(most));
        }
        all * times
    }
}

/// The length of an axis in this step.
pub fn length(axis: Dim) -> Expr {
    match axis {
        Dim::Const(n) => Expr::U32(u32::try_from(n).unwrap_or(u32::MAX)),
        Dim::Sym(sym) => size(sym),
    }
}

/// A size of the step.
pub fn size(sym: Sym) -> Expr {
    Expr::Size(SIZES.into_iter().position(|s| s == sym).unwrap_or(0))
}

impl Grid {
    /// Workgroups along the first axis on a GPU that launches up to `most` along an axis: a power of two.
    pub const fn wide(most: u32) -> u32 {
        match most {
            0 => 1,
            most => 1 << most.ilog2(),
        }
    }

    /// An expression for the number of workgroups of all parts in this step.
    pub fn now(&self) -> Expr {
        self.parts.iter().fold(Expr::U32(0), |all, part| all + part.now())
    }

    /// The number of workgroups of all parts; saturates.
    pub fn all(&self, sizes: &Sizes) -> u64 {
        self.parts.iter().fold(0, |all: u64, part| all.saturating_add(part.count(sizes)))
    }

    /// The number of workgroups along the three axes. All are 0 if there is no work; then nothing must be launched.
    ///
    /// They are within the GPU's limits for all sizes up to those that the kernel was rendered for.
    pub fn groups(&self, sizes: &Sizes) -> [u32; 3] {
        let all = self.all(sizes);
        if all == 0 {
            return [0; 3];
        }
        let high = u32::try_from(all.div_ceil(u64::from(self.wide))).unwrap_or(u32::MAX);
        [all.min(u64::from(self.wide)) as u32, high, 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_several_parts_fold_into_two_axes() {
        let part = |axis, inner, tile, times| Groups { axis, inner, tile, more: 0, times, chunks: None };
        let grid = Grid { wide: 8, parts: vec![part(Dim::T, 3, 2, 2), part(Dim::Const(1), 1, 1, 1)] };
        let groups = |tokens| grid.groups(&Sizes::of(tokens));
        assert_eq!(groups(0), [1, 1, 1]);
        assert_eq!(groups(1), [5, 1, 1]);
        assert_eq!(groups(4), [8, 2, 1]);
        let nothing = Grid { wide: 8, parts: vec![part(Dim::T, 1, 1, 1)] };
        assert_eq!(nothing.groups(&Sizes::default()), [0; 3]);
        let chunks =
            Some(Chunks { most_pages: Some(9), page: 32, positions: 128, seen: None, shared_by: None });
        let spread = Grid { wide: 64, parts: vec![Groups { chunks, ..part(Dim::T, 20, 4, 1) }] };
        assert_eq!(spread.groups(&Sizes::of(1).pages(9)), [15, 1, 1]);
        assert_eq!(spread.groups(&Sizes::of(1).pages(40)), [15, 1, 1]);
        let windowed = chunks.map(|chunks| Chunks { seen: Some(2), ..chunks });
        let spread = Grid { wide: 64, parts: vec![Groups { chunks: windowed, ..part(Dim::T, 20, 4, 1) }] };
        assert_eq!(spread.groups(&Sizes::of(1).pages(40)), [10, 1, 1]);
        assert_eq!(spread.groups(&Sizes::of(1).pages(3)), [5, 1, 1]);
        let chunks = chunks.map(|chunks| Chunks { shared_by: Some(2), ..chunks });
        let shared = Grid { wide: 64, parts: vec![Groups { chunks, ..part(Dim::T, 20, 4, 1) }] };
        assert_eq!(shared.groups(&Sizes::of(1).pages(9)), [10, 1, 1]);
    }
}

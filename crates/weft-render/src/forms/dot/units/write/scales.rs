//! Scales in workgroup memory: their layout in a stage, and their loads.
//!
//! A stage has planes: the scales of rows, their sums for each minimum of a block, the scales of columns, and their minima. In a plane
//! one block comes after another.

use weft_shader::expr::Expr;

use crate::forms::dot::units::write::shape::{Shape, USUAL_LANES, VECTOR};
use crate::lower::writer::Writer;
use crate::split::MATRIX_ROWS;
use crate::split::WARP;

/// Scales that a lane loads at once.
pub(crate) const TOGETHER: u32 = 4;

/// Rows and columns of a product of the units: half of a group, and half of a tile.
const HALF: u32 = 8;

/// Rows whose scales a lane loads together: two groups.
const PAIR: u32 = 2 * MATRIX_ROWS;

impl Shape {
    /// Whether a lane loads the scales of its four rows of 32 neighbours at once, and those of its four columns of a tile. Then these
    /// scales are neighbours. With two scales of a block, lanes of large workgroups have too few registers for that unless they have more
    /// rows.
    pub(crate) fn loads_fours(&self) -> bool {
        let rows = self.rows / self.down;
        let lanes = self.across * self.down * self.deep * WARP;
        rows.is_multiple_of(PAIR) && (self.layout().scales() == 1 || lanes < USUAL_LANES || rows > PAIR)
    }

    /// The row whose scale is at this place of a block's scales.
    pub(crate) fn left_row_at(&self, place: &Expr) -> Expr {
        match self.loads_fours() {
            true => (place / 32u32) * 32u32 + (place % 4u32) * 8u32 + (place % 32u32) / 4u32,
            false => place.clone(),
        }
    }

    /// The column whose scale is at this place of a block's scales.
    pub(crate) fn column_at(&self, place: &Expr) -> Expr {
        if !self.loads_fours() {
            return place.clone();
        }
        let [half, pair] = [(place % 4u32) / 2u32, (place % VECTOR) / 4u32];
        (place / VECTOR) * VECTOR + half * 8u32 + pair * 2u32 + place % 2u32
    }

    /// The first word of the sums of rows for the first minimum of a block, and the stride of these planes.
    pub(crate) fn left_sums_at(&self) -> u32 {
        (self.left_scales() * self.deep * self.each).next_multiple_of(TOGETHER)
    }

    /// The stride of a block's scales of all rows, chosen so that lanes with neighbouring blocks store to different banks.
    pub(crate) fn left_scales(&self) -> u32 {
        self.rows + if self.loads_fours() { 8 } else { 1 }
    }

    /// The first word of the scales of columns.
    pub(crate) fn right_scales_at(&self) -> u32 {
        self.left_sums_at() * (1 + self.layout().mins())
    }

    /// Words from a column's scale to its minimum.
    pub(crate) fn right_mins_at(&self) -> u32 {
        self.columns() * self.deep * self.each * self.layout().scales()
    }

    /// Words of a stage's scales.
    pub(crate) fn scale_words(&self) -> u32 {
        let planes = if self.layout().mins() > 0 { 2 } else { 1 };
        self.right_scales_at() + planes * self.right_mins_at()
    }

    /// Words of the scales of two stages, or of the only one.
    pub(crate) fn all_scale_words(&self) -> u32 {
        self.ring.min(2) * self.scale_words()
    }
}

/// The scales of a warp's rows and columns in a stage, from its first block on.
pub(super) struct Scales<'a> {
    shape: &'a Shape,
    rows: Expr,
    columns: Expr,
}

/// The scales of a lane's columns in a tile, and those that have been loaded.
pub(super) struct OfTile<'a> {
    scales: &'a Scales<'a>,
    scales_at: Expr,
    mins_at: Expr,
    loaded: [Vec<[Expr; 4]>; 2],
}

/// A row's scale, and its sum for each minimum.
pub(super) type OfRow = (Expr, Vec<Expr>);

/// For each scale of a block, the scales of a lane's two columns of half of a tile; and the same for minima.
pub(super) type OfHalf = [Vec<[Expr; 2]>; 2];

impl<'a> Scales<'a> {
    /// `scales` is word 0 of the stage's, `first` the warp's first block, `row` and `column` its first row and column, and `4 · g + t`
    /// the lane's place in it.
    pub(super) fn new(
        w: &mut Writer<'_>,
        shape: &'a Shape,
        (scales, first): (&Expr, &Expr),
        (row, column): (&Expr, &Expr),
        (g, t): (&Expr, &Expr),
    ) -> Scales<'a> {
        let fours = shape.loads_fours();
        let rows = scales + first * shape.left_scales() + row;
        let rows = w.code.set("left_scale", rows + if fours { g * TOGETHER } else { g.clone() });
        let per_block = shape.layout().scales() * shape.columns();
        let columns = scales + first * per_block + column + t * if fours { TOGETHER } else { 2 };
        let columns = w.code.set("right_scale", columns + shape.right_scales_at());
        Scales { shape, rows, columns }
    }

    /// The scales of a tile of columns in a block. The tile begins `column` columns after the warp's first.
    pub(super) fn of_tile(&self, w: &mut Writer<'_>, block: u32, column: u32) -> OfTile<'_> {
        let (layout, columns) = (self.shape.layout(), self.shape.columns());
        let scales_at = &self.columns + (block * layout.scales() * columns + column);
        let mins_at = &scales_at + self.shape.right_mins_at();
        let mut fours = |stem, n: u32, at: &Expr| -> Vec<[Expr; 4]> {
            let n = if self.shape.loads_fours() { n } else { 0 };
            (0..n).map(|part| four(w, stem, at + part * columns)).collect()
        };
        let loaded = [fours("scale", layout.scales(), &scales_at), fours("least", layout.mins(), &mins_at)];
        OfTile { scales: self, scales_at, mins_at, loaded }
    }

    /// The scales of a lane's two rows of a group in a block; those of the first row twice if the group's second half is not `whole`.
    /// Scales that are loaded for both groups of a pair stay in `loaded`, unless the group is written under its own condition.
    pub(super) fn of_group(
        &self,
        w: &mut Writer<'_>,
        (block, group): (u32, u32),
        (alone, whole): (bool, bool),
        loaded: &mut Vec<[Expr; 4]>,
    ) -> [OfRow; 2] {
        let (mins, sums_at) = (self.shape.layout().mins(), self.shape.left_sums_at());
        let fours = self.shape.loads_fours();
        if fours && (group.is_multiple_of(2) || alone) {
            let at = &self.rows + (block * self.shape.left_scales() + group / 2 * PAIR);
            *loaded = (0..=mins).map(|n| four(w, "d", &at + n * sums_at)).collect();
        }
        let mut of_row = |below: u32| -> OfRow {
            if fours {
                let i = (group % 2 * 2 + below / HALF) as usize;
                return (loaded[0][i].clone(), loaded[1..].iter().map(|four| four[i].clone()).collect());
            }
            let at = &self.rows + (block * self.shape.left_scales() + group * MATRIX_ROWS + below);
            let scale = w.code.set("d", float(at.clone()));
            let sums = (1..=mins).map(|n| w.code.set("s", float(&at + n * sums_at)));
            (scale, sums.collect())
        };
        let upper = of_row(0);
        let lower = if whole { of_row(HALF) } else { upper.clone() };
        [upper, lower]
    }
}

impl OfTile<'_> {
    /// The scales of the lane's columns in the first or the second half of the tile.
    pub(super) fn of_half(&self, w: &mut Writer<'_>, half: u32) -> OfHalf {
        let shape = self.scales.shape;
        let mut own = |stem, n: u32, at: &Expr, loaded: &[[Expr; 4]]| -> Vec<[Expr; 2]> {
            let of_part = |part: u32| match loaded.get(part as usize) {
                Some([first, second, ..]) if half == 0 => [first.clone(), second.clone()],
                Some([.., first, second]) => [first.clone(), second.clone()],
                None => {
                    let at = at + (part * shape.columns() + half);
                    [0, 1].map(|j| w.code.set(stem, float(&at + j)))
                }
            };
            (0..n).map(of_part).collect()
        };
        let [scales, mins] = &self.loaded;
        let layout = shape.layout();
        [
            own("scale", layout.scales(), &self.scales_at, scales),
            own("least", layout.mins(), &self.mins_at, mins),
        ]
    }
}

fn float(at: Expr) -> Expr {
    Expr::Shared(at.into()).float()
}

/// Loads four floats at once.
fn four(w: &mut Writer<'_>, stem: &str, at: Expr) -> [Expr; 4] {
    w.code.four(stem, Expr::Four(None, at.into())).map(Expr::float)
}

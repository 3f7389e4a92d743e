//! How a workgroup multiplies on matrix units, and where operands are in workgroup memory.

use weft_kern::{Product, View};

use crate::code::expr::Expr;
use crate::lower::space::Place;
use crate::lower::tile::{QUADS, Tiles};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::schedule::Split;
use crate::schedule::check::{Warps, warps};

/// Stages whose numbers are in workgroup memory at once.
pub(crate) const RING: u32 = 3;

/// Words between a row of activations and the next in a stage, beyond its own: then eight rows are in different banks.
pub(crate) const PAD: u32 = 4;

/// Words of a row's numbers in a block, in activations.
pub(crate) const ROW: u32 = QUADS as u32;

/// Words of a vector of a tile.
pub(crate) const VECTOR: u32 = 16;

/// A product, and the matrix that a workgroup's rows are multiplied by.
pub(crate) struct Task<'p> {
    pub(crate) product: &'p Product,
    pub(crate) view: &'p View,
    /// The matrix's row 0, among the parameter's rows.
    pub(crate) matrix: Expr,
    /// If each row is a term of a weighted sum, the distance between the activations of two terms.
    pub(crate) apart: Option<u32>,
}

/// Most words of numbers in a stage: six blocks of 64 rows and of 8 tiles of 4 bits.
const STAGE_WORDS: u32 = 6 * (64 * ROW + 8 * 4 * VECTOR);

/// How a workgroup multiplies: what its warps share.
pub(crate) struct Shape {
    pub(crate) tiles: Tiles,
    /// Rows and columns.
    pub(crate) rows: u32,
    pub(crate) width: u32,
    /// Warps side by side, and tiles of columns of each.
    pub(crate) across: u32,
    pub(crate) wide: u32,
    /// Warps below each other, with rows of their own, and warps that have shares of the same sums.
    pub(crate) down: u32,
    pub(crate) deep: u32,
    /// Blocks of a row that a warp multiplies, and in each stage.
    pub(crate) own: u32,
    pub(crate) each: u32,
    /// Blocks of a share.
    pub(crate) share: u32,
}

impl Shape {
    pub(crate) fn new(
        w: &mut Writer<'_>,
        product: &Product,
        place: &Place,
        split: &Split,
    ) -> Result<Shape, Why> {
        let tiles = w.tiles(product.w.param, product.w.k)?.filter(Tiles::has_one_scale);
        let tiles = tiles.ok_or_else(|| form("a weight without one scale for 32 values"))?;
        let Warps { across, down, deep } = warps(split, place.width(), w.code.lanes);
        let (rows, blocks) = (place.tile(), word(product.w.k / 32)?);
        let (own, share) = (blocks / deep, blocks / split.reduce);
        let columns = place.width() / VECTOR * tiles.vectors() * VECTOR;
        let most = (STAGE_WORDS / (deep * (rows * ROW + columns))).max(1);
        // Whole shares, or equal parts of one.
        let fits = |each: &u32| match each.is_multiple_of(share) {
            true => own.is_multiple_of(*each),
            false => share.is_multiple_of(*each),
        };
        let each = (1..=most.min(own)).rev().find(fits).unwrap_or(1);
        Ok(Shape {
            tiles,
            rows,
            width: place.width(),
            across,
            wide: split.upcast,
            down,
            deep,
            own,
            each,
            share,
        })
    }

    /// Words from a row of activations to the next in a stage.
    pub(crate) fn left_row(&self) -> u32 {
        self.deep * self.each * ROW + PAD
    }

    /// The first word of weights in a stage.
    pub(crate) fn right_at(&self) -> u32 {
        self.rows * self.left_row()
    }

    /// Words of a tile's numbers in a stage, and in a block.
    pub(crate) fn tile_words(&self) -> u32 {
        self.deep * self.each * self.block_words()
    }

    pub(crate) fn block_words(&self) -> u32 {
        self.tiles.vectors() * VECTOR
    }

    pub(crate) fn stage_words(&self) -> u32 {
        self.right_at() + self.width / VECTOR * self.tile_words()
    }

    pub(crate) fn ring_words(&self) -> u32 {
        RING * self.stage_words()
    }

    /// Where the planes of a stage's scales begin, after those of rows: sums of rows, scales of columns, minima of columns.
    pub(crate) fn left_sums_at(&self) -> u32 {
        self.rows * self.deep * self.each
    }

    pub(crate) fn right_scales_at(&self) -> u32 {
        self.left_sums_at() * if self.tiles.has_min() { 2 } else { 1 }
    }

    /// From a column's scale to its minimum.
    pub(crate) fn right_mins_at(&self) -> u32 {
        self.width * self.deep * self.each
    }

    pub(crate) fn scale_words(&self) -> u32 {
        let both = if self.tiles.has_min() { 2 } else { 1 };
        self.right_scales_at() + both * self.right_mins_at()
    }
}

/// The error for what matrix units do not multiply.
pub(crate) fn form(what: &str) -> Why {
    Why::Form(format!("has {what}, which matrix units do not multiply"))
}

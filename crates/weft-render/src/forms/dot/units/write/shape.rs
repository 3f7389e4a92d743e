//! The division of a workgroup's work on matrix units, and offsets of operands in workgroup memory.

use weft_kern::{Product, View};
use weft_shader::expr::Expr;

use crate::forms::dot::units::{Warps, warps};
use crate::lower::space::Place;
use crate::lower::tile::{QUADS, Tiles};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::{Split, shares};

/// Stages whose quants are in workgroup memory at once, unless there is only one.
const RING: u32 = 3;

/// Words of padding between rows of activations in a stage, which put eight rows into different banks.
pub(crate) const PAD: u32 = 4;

/// Words of a row's quants in a block of activations.
pub(crate) const ROW: u32 = QUADS as u32;

/// Words of a vector of a tile.
pub(crate) const VECTOR: u32 = 16;

/// A product, and the matrix of a workgroup's rows.
pub(crate) struct Task<'p> {
    pub(crate) product: &'p Product,
    pub(crate) view: &'p View,
    /// The matrix's row 0, among the parameter's rows.
    pub(crate) matrix: Expr,
    /// The distance between the activations of two terms, if each row is a term of a weighted sum.
    pub(crate) apart: Option<u32>,
}

/// Whether products have the same rows and weights of one `layout`.
pub(crate) fn alike<L: PartialEq>(
    w: &mut Writer<'_>,
    tasks: &[Task<'_>],
    layout: impl Fn(&Tiles) -> L,
) -> Result<bool, Why> {
    let mut found = Vec::new();
    for task in tasks {
        let tiles = w.tiles(task.product.w.param, task.product.w.k)?;
        found.push((task.view, task.product.w.k, task.apart, tiles.as_ref().map(&layout)));
    }
    Ok(found.windows(2).all(|pair| pair[0] == pair[1]))
}

/// The most words of quants in a stage: six blocks of 64 rows and of 8 tiles of 4 bits.
const STAGE_WORDS: u32 = 6 * (64 * ROW + 8 * 4 * VECTOR);

/// The most words of quants in a stage of a workgroup with fewer lanes: five blocks of 32 rows and of 8 tiles.
const SMALL_STAGE_WORDS: u32 = 5 * (32 * ROW + 8 * 4 * VECTOR);
pub(crate) const USUAL_LANES: u32 = 256;

/// The most blocks in a round of a stage that has all blocks. A round is unrolled.
const MOST_ROUND: u32 = 6;

/// The division of the products of the same rows by one matrix or several among warps.
pub(crate) struct Shape {
    /// The weights, which have the same layout.
    pub(crate) tiles: Vec<Tiles>,
    /// Rows, and columns of each product.
    pub(crate) rows: u32,
    pub(crate) width: u32,
    /// Warps with different columns, and tiles of columns per warp in each product.
    pub(crate) across: u32,
    pub(crate) wide: u32,
    /// Warps with different rows, and warps with different shares of the same sums.
    pub(crate) down: u32,
    pub(crate) deep: u32,
    /// Blocks of a row per warp: in total, in each stage, and in each round of a loop over a stage.
    pub(crate) own: u32,
    pub(crate) each: u32,
    pub(crate) round: u32,
    /// Stages whose quants are in workgroup memory at once.
    pub(crate) ring: u32,
    /// Blocks per share.
    pub(crate) share: u32,
    /// Whether some of the lanes that share a sum in short steps have no block of it.
    pub(crate) empty_shares: bool,
}

impl Shape {
    pub(crate) fn new(
        w: &mut Writer<'_>,
        tasks: &[&Task<'_>],
        place: &Place,
        split: &Split,
    ) -> Result<Shape, Why> {
        let mut tiles = Vec::new();
        for Task { product, .. } in tasks {
            let own = w.tiles(product.w.param, product.w.k)?;
            tiles.push(own.ok_or_else(|| form("a weight that is not quantised"))?);
        }
        let (Some(first), Some(task)) = (tiles.first(), tasks.first()) else {
            return Err(form("no product"));
        };
        let Warps { across, down, deep } = warps(split, place.width(), w.code.lanes);
        let (rows, blocks) = (place.tile(), word(task.product.w.k / 32)?);
        let (share, whole) = shares(blocks, split.reduce);
        let (own, empty_shares) = (blocks / deep, whole != Some(split.reduce));
        let columns = place.width() / VECTOR * first.vectors() * VECTOR * tasks.len() as u32;
        // Small workgroups have smaller stages, so that several run at once.
        let all = if w.code.lanes < USUAL_LANES { SMALL_STAGE_WORDS } else { STAGE_WORDS };
        let most = (all / (deep * (rows * ROW + columns))).max(1);
        let (width, wide) = (place.width(), split.upcast);
        let (each, ring) = (1, RING);
        let mut shape = Shape {
            tiles,
            rows,
            width,
            across,
            wide,
            down,
            deep,
            own,
            each,
            round: each,
            ring,
            share,
            empty_shares,
        };
        let largest =
            |suits: &dyn Fn(u32) -> bool| (1..=most.min(own)).rev().find(|each| suits(*each)).unwrap_or(1);
        let even = largest(&|each| shape.divides(each));
        // Shares end within a stage only if stages that end with a share would be much smaller.
        let any = largest(&|each| own.is_multiple_of(each));
        shape.each = if 2 * even <= any { any } else { even };
        shape.round = shape.each;
        Ok(shape.whole(w.whole_words).unwrap_or(shape))
    }

    /// Words of workgroup memory that it needs.
    fn words(&self) -> u32 {
        let shares = if self.deep > 1 { self.shares() } else { 0 };
        let results = self.rows * self.columns() * (shares + 1);
        self.ring_words() + self.all_scale_words() + results
    }

    /// The shape with a single stage of all blocks, if that fits in this many words.
    fn whole(&self, most: u32) -> Option<Shape> {
        let round = (1..=MOST_ROUND.min(self.own)).rev().find(|round| self.divides(*round))?;
        let whole = Shape { tiles: self.tiles.clone(), each: self.own, round, ring: 1, ..*self };
        (whole.words() <= most).then_some(whole)
    }

    /// Whether this many blocks are whole shares or equal parts of one, and divide a warp's blocks.
    fn divides(&self, blocks: u32) -> bool {
        match blocks.is_multiple_of(self.share) {
            true => self.own.is_multiple_of(blocks),
            false => self.share.is_multiple_of(blocks),
        }
    }

    /// Whether a share may end with any block of a round.
    pub(crate) fn ends_anywhere(&self) -> bool {
        !self.divides(self.round)
    }

    /// The number of shares of a sum.
    pub(crate) fn shares(&self) -> u32 {
        self.own * self.deep / self.share
    }

    /// The number of stages.
    pub(crate) fn stages(&self) -> u32 {
        self.own / self.each
    }

    /// The layout of the weights.
    pub(crate) fn layout(&self) -> &Tiles {
        &self.tiles[0]
    }

    /// Columns of all products.
    pub(crate) fn columns(&self) -> u32 {
        self.width * self.tiles.len() as u32
    }

    /// The stride of rows of activations in a stage, in words.
    pub(crate) fn left_row(&self) -> u32 {
        self.deep * self.each * ROW + PAD
    }

    /// The first word of weights in a stage.
    pub(crate) fn right_at(&self) -> u32 {
        self.rows * self.left_row()
    }

    /// Words of a tile's quants in a stage, and in a block.
    pub(crate) fn tile_words(&self) -> u32 {
        self.deep * self.each * self.block_words()
    }

    pub(crate) fn block_words(&self) -> u32 {
        self.layout().vectors() * VECTOR
    }

    pub(crate) fn stage_words(&self) -> u32 {
        self.right_at() + self.columns() / VECTOR * self.tile_words()
    }

    pub(crate) fn ring_words(&self) -> u32 {
        self.ring * self.stage_words()
    }
}

/// The error for operands that matrix units do not multiply.
pub(crate) fn form(what: &str) -> Why {
    Why::Form(format!("has {what}, which matrix units do not multiply"))
}

/// A sum to which lanes without blocks have added 0, which turns −0 into 0.
pub(crate) fn with_empty_shares(sum: Expr) -> Expr {
    sum + Expr::F32(0.0)
}

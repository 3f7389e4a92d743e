//! A tile on matrix units: the division of rows and columns among warps, and offsets in workgroup memory.

use weft_kern::{Attend, Part};
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;
use weft_shader::warpgroup::{self, BLOCK_ALIGN, swizzled};

use crate::forms::attend::units::{Tile, UNIT_WORDS};
use crate::lower::attend::context::Bounds;
use crate::lower::space::Place;
use crate::lower::writer::{WARP, Writer};
use crate::refused::Why;
use crate::split::{MATRIX_ROWS, Split};

/// Columns that units multiply at once. Operands are loaded for two such groups.
pub(crate) const HALF: u32 = 8;
pub(crate) const PAIR: u32 = 2 * HALF;

/// Attention of a tile.
pub(crate) struct Units<'a> {
    pub(crate) attend: &'a Attend,
    pub(crate) place: &'a Place,
    pub(crate) tile: Tile,
    pub(crate) warps: u32,
    pub(crate) bounds: Bounds,
    /// The lane's warp, its number `4 · g + t` within it, and the row and word of the matrices that it loads, of rows or of columns.
    pub(crate) warp: Expr,
    pub(crate) g: Expr,
    pub(crate) t: Expr,
    pub(crate) row: Expr,
    pub(crate) word: Expr,
    /// Offsets in workgroup memory. Each row has the factor of its scores, its largest score, the sum of its weights, and the weights of an
    /// old and a new result.
    pub(crate) keys: u32,
    pub(crate) values: u32,
    pub(crate) queries: u32,
    pub(crate) scores: u32,
    pub(crate) weights: u32,
    pub(crate) positions: u32,
    pub(crate) factors: u32,
    pub(crate) tops: u32,
    pub(crate) totals: u32,
    pub(crate) old: u32,
    pub(crate) new: u32,
}

/// Sums of a lane for a pair of columns: by half, by group of rows, and the lane's four.
pub(crate) type Sums = [Vec<[Expr; 4]>; 2];

impl<'a> Units<'a> {
    pub(crate) fn new(
        w: &mut Writer<'_>,
        part: &Part,
        attend: &'a Attend,
        place: &'a Place,
        split: &Split,
    ) -> Result<Units<'a>, Why> {
        let tile = Tile::new(part, attend, split);
        let bounds = Bounds::new(w, attend)?;
        let align = if tile.warpgroups { BLOCK_ALIGN } else { 1 };
        let [keys, queries] =
            [tile.staged_words(), tile.query_words()].map(|n| w.pool.alloc_aligned(n, align));
        let [scores, weights] = [tile.score_words(), tile.weight_words()].map(|n| w.pool.alloc(n));
        // Warpgroups look up the rows of a chunk while they use those of another.
        let positions = w.pool.alloc(if tile.warpgroups { 2 * tile.chunk } else { tile.chunk });
        // Warpgroups hold the rest in registers, and exchange sums of the two halves of a chunk.
        let [halves, joined] = if tile.warpgroups { [2, 0] } else { [1, 1] };
        let [factors, tops, totals, old, new] =
            [1, halves, halves, joined, joined].map(|n| w.pool.alloc(n * tile.rows));
        let own = w.code.set("own_lane", Expr::Lane % WARP);
        Ok(Units {
            attend,
            place,
            tile,
            warps: w.code.lanes / WARP,
            bounds,
            warp: w.code.set("own_warp", Expr::Lane / WARP),
            g: w.code.set("g", &own / 4u32),
            t: w.code.set("t", &own % 4u32),
            row: w.code.set("matrix_row", &own % MATRIX_ROWS),
            word: w.code.set("matrix_word", (own / MATRIX_ROWS) * UNIT_WORDS),
            keys,
            values: if tile.latent { keys } else { keys + tile.chunk * tile.key_stride() },
            queries,
            scores,
            weights,
            positions,
            factors,
            tops,
            totals,
            old,
            new,
        })
    }

    /// The offset in workgroup memory of four values of a row's query.
    pub(crate) fn query_at(&self, row: &Expr, four: &Expr) -> Expr {
        if !self.tile.warpgroups {
            return row * self.tile.key_stride() + four * 2u32 + self.queries;
        }
        let units = warpgroup::ROW_UNITS;
        let unit = four / 2u32;
        let block = &unit / units * (self.tile.rows * units * UNIT_WORDS);
        block + swizzled(row, &(unit % units)) + four % 2u32 * 2u32 + self.queries
    }

    /// Groups of rows that units multiply.
    pub(crate) fn groups(&self) -> u32 {
        self.tile.rows / MATRIX_ROWS
    }

    /// Pairs of columns of values per warp.
    pub(crate) fn pairs(&self) -> u32 {
        (self.tile.cols / PAIR).div_ceil(self.warps)
    }

    /// The number of a warp's pair, and whether it exists.
    pub(crate) fn pair(&self, w: &mut Writer<'_>, pair: u32) -> (Expr, Expr) {
        let all = self.tile.cols / PAIR;
        let index = w.code.set("pair", &self.warp * self.pairs() + pair);
        let exists = if all.is_multiple_of(self.pairs() * self.warps) { Expr::True } else { index.less(all) };
        (index, exists)
    }

    pub(crate) fn zeros(&self, w: &mut Writer<'_>) -> [Expr; 4] {
        [(); 4].map(|()| w.code.var("sum", 0.0f32))
    }

    pub(crate) fn sums(&self, w: &mut Writer<'_>) -> Sums {
        [(); 2].map(|()| (0..self.groups()).map(|_| self.zeros(w)).collect())
    }
}

/// Adds the products of a group of rows by eight columns: the first or the second half of a pair.
pub(crate) fn multiply(
    w: &mut Writer<'_>,
    sums: &[Expr; 4],
    left: &[Expr; 4],
    pair: &[Expr; 4],
    half: usize,
) {
    let right = [pair[2 * half].clone(), pair[2 * half + 1].clone()];
    w.code.push(Stmt::MatrixHalves { sums: sums.clone(), left: left.clone(), right });
}

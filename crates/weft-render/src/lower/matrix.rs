//! Products of many rows on matrix units.
//!
//! A warp multiplies 16 rows of activations by 8 columns of a weight at a time, 32 values deep: exactly one block, whose
//! integer sum is exact. The block is then scaled and added to a float, block by block in the order in which a lane adds
//! them up without matrix units, share by share. So the bits are the same for one row and for many.
//!
//! The layout of tiles suits the units: lane `4 · g + t` of a warp needs, of column `g`, the values `4 · t ..` and
//! `16 + 4 · t ..`, which are one word of a tile of 4 bits.

use weft_kern::{Factor, Part, Pick, Product};

use crate::code::expr::{Expr, Fun};
use crate::code::stmt::Stmt;
use crate::lower::factors::Factors;
use crate::lower::space::Place;
use crate::lower::tile::{QUADS, TileRow, Tiles};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::schedule::check::WARP;
use crate::schedule::{MATRIX_COLUMNS, MATRIX_ROWS, Split};

/// Columns that the units multiply at once; a tile is two such halves.
const HALF: u32 = 8;

/// Most blocks that are loaded before the first is multiplied.
const AHEAD: u32 = 2;

/// How the warps of a workgroup share its rows and columns.
struct Warps {
    /// Warps side by side, and groups of 16 rows for each warp.
    across: u32,
    groups: u32,
    /// The warp's first column, and its first row.
    column: Expr,
    row: Expr,
    /// The lane's place in its warp: `4 · g + t`.
    g: Expr,
    t: Expr,
}

/// A lane's columns of a tile of the weight.
struct Columns {
    /// For each half: the row of the weight that the lane multiplies, and the two that it adds up.
    halves: [(TileRow, [TileRow; 2]); 2],
    /// The tile's first column, within the block.
    own: Expr,
}

/// The rows of activations that a lane multiplies, two for each group; it also adds up those.
type Group = [Factors; 2];

/// Writes the products of a part. Returns where each result is in workgroup memory: a row of the block's width per tile
/// row.
pub(crate) fn write(w: &mut Writer<'_>, part: &Part, place: &Place, split: &Split) -> Result<Vec<u32>, Why> {
    let warps = Warps::new(w, place, split);
    let room = place.tile().saturating_mul(place.width());
    let results: Vec<u32> = part.products().iter().map(|_| w.pool.room(room)).collect();
    for (product, result) in part.products().iter().zip(&results) {
        w.code.note(format!("times {}[{}, {}]", w.format(product.w.param), product.w.n, product.w.k));
        multiply(w, product, place, split, &warps, *result)?;
    }
    w.code.barrier();
    Ok(results)
}

impl Warps {
    fn new(w: &mut Writer<'_>, place: &Place, split: &Split) -> Warps {
        let across = across(split, place.width());
        let down = (w.code.lanes / WARP) / across;
        let groups = place.tile() / MATRIX_ROWS / down;
        let warp = w.code.set("own_warp", Expr::Lane / WARP);
        Warps {
            across,
            groups,
            column: w.code.set("warp_column", (&warp % across) * (MATRIX_COLUMNS * split.upcast)),
            row: w.code.set("warp_row", (&warp / across) * (MATRIX_ROWS * groups)),
            g: w.code.set("g", (Expr::Lane % WARP) / 4u32),
            t: w.code.set("t", Expr::Lane % 4u32),
        }
    }
}

/// Warps side by side in a block of this width.
fn across(split: &Split, width: u32) -> u32 {
    (width / (MATRIX_COLUMNS * split.upcast)).max(1)
}

/// Multiplies, and stores the results from word `result` of workgroup memory on.
fn multiply(
    w: &mut Writer<'_>,
    product: &Product,
    place: &Place,
    split: &Split,
    warps: &Warps,
    result: u32,
) -> Result<(), Why> {
    let form = |what: &str| Why::Form(format!("has {what}, which matrix units do not multiply"));
    let tiles = w.tiles(product.w.param, product.w.k)?.filter(Tiles::has_one_scale);
    let tiles = tiles.ok_or_else(|| form("a weight without one scale for 32 values"))?;
    let Factor::View(view) = &product.x else { return Err(form("a prologue")) };
    let first = place.row_to_read(&mut w.code, &Expr::U32(0)).axes;
    let number = match &product.w.pick {
        Pick::Only => Expr::U32(0),
        Pick::Axis(axis) => first[*axis].clone(),
        Pick::Ids(_) | Pick::Sum(_) => return Err(form("rows with matrices of their own")),
    };
    let matrix = w.code.set("matrix", number * word(product.w.stride)? + word(product.w.first)?);
    let mut columns = Vec::new();
    for u in 0..split.upcast {
        let own = w.code.set("own", &warps.column + u * MATRIX_COLUMNS);
        let row = |w: &mut Writer<'_>, column: Expr| {
            let column = place.column_to_read(&mut w.code, &(&own + column), true);
            tiles.row(&mut w.code, &(&matrix + column))
        };
        let halves = [0, HALF].map(|half| {
            let multiplied = row(w, &warps.g + half);
            (multiplied, [0u32, 1].map(|j| row(w, &warps.t * 2u32 + (half + j))))
        });
        columns.push(Columns { halves, own });
    }
    let mut groups: Vec<Group> = Vec::new();
    for group in 0..warps.groups {
        let mut row = |below: u32| {
            let i = w.code.set("row", &warps.row + &warps.g + (group * MATRIX_ROWS + below));
            let axes = place.row_to_read(&mut w.code, &i).axes;
            Factors::rounded(w, view, &axes)
        };
        groups.push([row(0)?, row(HALF)?]);
    }

    let sums = |w: &mut Writer<'_>, stem: &str| -> Vec<Expr> {
        (0..columns.len() * 2 * groups.len() * 4).map(|_| w.code.var(stem, 0.0f32)).collect()
    };
    let totals = sums(w, "total");
    let blocks = word(product.w.k / 32)?;
    let even = |n: &u32| blocks.is_multiple_of(split.reduce * n);
    let ahead = (1..=AHEAD).rev().find(even).unwrap_or(1);
    w.count("share", (0u32.into(), split.reduce.into(), 1), |w, share| {
        let parts = sums(w, "sum");
        w.count("b", (share, blocks.into(), split.reduce * ahead), |w, first| {
            let operands: Vec<Operands> = (0..ahead)
                .map(|a| {
                    let b = w.code.set("b", &first + a * split.reduce);
                    Operands::load(w, &tiles, &columns, &groups, &warps.t, &b)
                })
                .collect();
            operands.iter().for_each(|operands| operands.multiply(w, &parts));
            Ok(())
        })?;
        for (total, part) in totals.iter().zip(&parts) {
            w.code.assign(total, total.clone() + part.clone());
        }
        Ok(())
    })?;

    let mut totals = totals.iter();
    for Columns { own, .. } in &columns {
        for half in [0, HALF] {
            for group in 0..warps.groups {
                for place_of in [[0, 0], [0, 1], [HALF, 0], [HALF, 1]] {
                    let [below, beside] = place_of;
                    let row = &warps.row + &warps.g + (group * MATRIX_ROWS + below);
                    let column = own + &warps.t * 2u32 + (half + beside);
                    let total = totals.next().cloned().unwrap_or(Expr::F32(0.0));
                    w.code.store_shared(row * place.width() + column + result, total.bits());
                }
            }
        }
    }
    debug_assert!(warps.across * MATRIX_COLUMNS * split.upcast == place.width());
    Ok(())
}

/// A row of activations in a block of 32 values: the lane's words, the scale, and the sum if the weight has minima.
struct LeftRow {
    words: [Expr; 2],
    scale: Expr,
    sum: Option<Expr>,
}

/// A column of a weight in a block: the lane's words, and the scales and minima of the two columns that it adds up.
struct RightColumn {
    words: [Expr; 2],
    scales: [(Expr, Option<Expr>); 2],
}

/// What a lane needs of a block of 32 values.
struct Operands {
    /// Two rows for each group.
    left: Vec<[LeftRow; 2]>,
    /// One for each tile and half.
    right: Vec<RightColumn>,
}

impl Operands {
    /// Loads those of block `b`.
    fn load(
        w: &mut Writer<'_>,
        tiles: &Tiles,
        columns: &[Columns],
        groups: &[Group],
        t: &Expr,
        b: &Expr,
    ) -> Operands {
        let left = groups.iter().map(|group| {
            group.each_ref().map(|x| {
                let at = w.code.set("xw", &x.values + b * (QUADS as u32) + t);
                let words = [0, QUADS as u32 / 2].map(|q| x.at(&at + q));
                let words = words.map(|word| w.code.set("xq", word));
                let mut scale = x.float(&x.scales + b);
                if tiles.factor() != 1.0 {
                    scale = scale * tiles.factor();
                }
                let scale = w.code.set("d", scale);
                let sum = tiles.has_min().then(|| {
                    let [a, b] = [0u32, 1].map(|h| x.float(&x.sums + b * 2u32 + h));
                    w.code.set("s", a + b)
                });
                LeftRow { words, scale, sum }
            })
        });
        let left = left.collect();
        let halves = columns.iter().flat_map(|columns| &columns.halves);
        let right = halves.map(|(multiplied, added)| {
            let words = tiles.operand(&mut w.code, multiplied, b, t);
            RightColumn { words, scales: added.each_ref().map(|row| tiles.scale(&mut w.code, row, b)) }
        });
        Operands { right: right.collect(), left }
    }

    /// Adds their products to the sums: by tile, half, group, and the four places of a lane.
    fn multiply(&self, w: &mut Writer<'_>, sums: &[Expr]) {
        let mut sums = sums.iter();
        for RightColumn { words: right, scales } in &self.right {
            for [upper, lower] in &self.left {
                let ([a, c], [b, d]) = (&upper.words, &lower.words);
                let left = [a, b, c, d].map(Clone::clone);
                let names = [0, 1, 2, 3].map(|_| w.code.fresh("dots"));
                w.code.push(Stmt::Matrix { into: names.clone(), left, right: right.clone() });
                for (i, name) in names.into_iter().enumerate() {
                    let (row, (scale, min)) = (if i < 2 { upper } else { lower }, &scales[i % 2]);
                    let Some(sum) = sums.next() else { continue };
                    let number = Expr::call(Fun::FloatOfI32, [Expr::name(name)]);
                    w.code.add_product(sum, number, scale * &row.scale);
                    if let (Some(min), Some(all)) = (min, &row.sum) {
                        w.code.add_product(sum, min.clone(), all.clone());
                    }
                }
            }
        }
    }
}

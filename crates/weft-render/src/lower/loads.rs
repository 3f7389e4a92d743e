//! The rows of a weight that a lane multiplies by, in pieces: blocks of quantised rows, or single floats, pairs or fours of them.

use weft_kern::{Format, Product};
use weft_quant::GgmlType;
use weft_shader::expr::{Expr, Fun};

use crate::lower::factors::Factors;
use crate::lower::tile::{Block, QUADS, TileRow, Tiles};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::shares;

/// The columns of lane `first` of those `across`, within their pass. `fours` says whether they are groups of four neighbours.
pub(crate) fn own_columns(
    w: &mut Writer<'_>,
    first: Expr,
    (across, columns): (u32, u32),
    fours: bool,
) -> Vec<Expr> {
    let first = if fours { w.code.set("first_own", first * 4u32) } else { first };
    let own = (0..columns).map(|u| match fours {
        true => w.code.set("own", &first + (u / 4 * 4 * across + u % 4)),
        false => w.code.set("own", &first + u * across),
    });
    own.collect()
}

/// The rows of a weight that a lane multiplies by, one for each of its columns.
pub(crate) struct Rows {
    rows: Kind,
    /// Pieces per row.
    pub(crate) pieces: u32,
    /// Registers per piece of all rows.
    pub(crate) registers: u32,
}

enum Kind {
    /// The rows of a tile, loaded one by one, or the first row of each group of four that are loaded together.
    Tiles {
        tiles: Tiles,
        rows: Vec<TileRow>,
        fours: bool,
    },
    Floats {
        product: usize,
        rows: Vec<Expr>,
        together: Together,
    },
}

/// The number of floats per load.
#[derive(Clone, Copy)]
enum Together {
    One,
    Pair(GgmlType),
    Four,
}

/// A lane's pieces of a sum: `first`, and every `step` after it that is below `to`.
pub(crate) struct Share {
    pub(crate) first: Expr,
    pub(crate) to: Expr,
    pub(crate) step: u32,
}

/// A piece of each row.
pub(crate) enum Piece {
    Blocks(Vec<Block>),
    Floats(Vec<Vec<Expr>>),
}

impl Rows {
    /// The rows `columns` of a matrix that begins at row `matrix` of the product's weight. `fours` says whether they are groups of four
    /// neighbours, each beginning at a multiple of four.
    pub(crate) fn new(
        w: &mut Writer<'_>,
        product: &Product,
        matrix: &Expr,
        (columns, fours): (&[Expr], bool),
    ) -> Result<Rows, Why> {
        let (param, k) = (product.w.param, word(product.w.k)?);
        let n = columns.len() as u32;
        if let Some(tiles) = w.tiles(param, product.w.k)? {
            let own = columns.iter().step_by(if fours { 4 } else { 1 });
            let rows = own.map(|c| tiles.row(&mut w.code, &(matrix + c))).collect();
            let registers = n * (tiles.vectors() + 1);
            return Ok(Rows { pieces: k / 32, registers, rows: Kind::Tiles { tiles, rows, fours } });
        }
        let rows = columns.iter().map(|c| w.code.set("row", (matrix + c) * k)).collect();
        // Several values are loaded at a time if every row begins at a multiple of their number.
        let together = match w.format(param) {
            Format::Ggml(ty @ (GgmlType::F16 | GgmlType::BF16)) if k.is_multiple_of(2) => Together::Pair(ty),
            Format::Ggml(GgmlType::F32) if w.quads && k.is_multiple_of(4) => Together::Four,
            _ => Together::One,
        };
        let (per, registers) = match together {
            Together::One => (1, 1),
            Together::Pair(_) => (2, 1),
            Together::Four => (4, 4),
        };
        let rows = Kind::Floats { product: param, rows, together };
        Ok(Rows { rows, pieces: k / per, registers: n * registers })
    }

    /// The name of the pieces' number.
    pub(crate) fn stem(&self) -> &'static str {
        match self.rows {
            Kind::Tiles { .. } => "b",
            Kind::Floats { .. } => "c",
        }
    }

    /// Loads piece `at` of each row. With `early`, compilers may not move the loads to a later place.
    pub(crate) fn load(&self, w: &mut Writer<'_>, at: &Expr, early: bool) -> Result<Piece, Why> {
        let timed = |word: Expr| if early { Expr::Early(word.into()) } else { word };
        Ok(match &self.rows {
            Kind::Tiles { tiles, rows, fours: false } => {
                let tiles = tiles.loaded(early);
                Piece::Blocks(rows.iter().map(|row| tiles.block(&mut w.code, row, at)).collect())
            }
            Kind::Tiles { tiles, rows, fours: true } => {
                let tiles = tiles.loaded(early);
                Piece::Blocks(rows.iter().flat_map(|row| tiles.four_blocks(&mut w.code, row, at)).collect())
            }
            Kind::Floats { product: param, rows, together } => {
                let mut values = Vec::new();
                for row in rows {
                    values.push(match together {
                        Together::Four => {
                            let from = w.start(*param) + (row + at * 4u32);
                            let four = timed(Expr::Four(Some(w.slot(*param)), from.into()));
                            w.code.four("four", four).map(Expr::float).into()
                        }
                        Together::Pair(ty) => w.load_pair(*param, *ty, row / 2u32 + at).into(),
                        Together::One => {
                            let value = w.load(*param, &(row + at))?;
                            vec![w.code.set("value", value)]
                        }
                    });
                }
                Piece::Floats(values)
            }
        })
    }

    /// The number of pieces of each lane that shares a sum, if all have the same number, or some have none ([`is_idle`]).
    pub(crate) fn each(&self, reduce: u32) -> Option<u32> {
        match self.rows {
            Kind::Tiles { .. } => {
                let (each, whole) = shares(self.pieces, reduce);
                whole.map(|_| each)
            }
            Kind::Floats { .. } => self.pieces.is_multiple_of(reduce).then_some(self.pieces / reduce),
        }
    }

    /// The pieces of a lane that shares a sum. In a row of a tile they are neighbours, so that products on matrix units visit a row in
    /// order; lanes that read words of a row alternate. A lane without any has those of another, and [does not count them](is_idle).
    pub(crate) fn share(&self, w: &mut Writer<'_>, share: &Expr, reduce: u32) -> Share {
        let all = self.pieces;
        if matches!(self.rows, Kind::Tiles { .. }) && reduce > 1 {
            let (each, whole) = shares(all, reduce);
            let first = share * each;
            let first = if whole.is_some_and(|lanes| lanes < reduce) { first.min(all - each) } else { first };
            let first = w.code.set(self.stem(), first);
            let to = &first + each;
            // The last lanes may have fewer.
            let to = if whole.is_some() { to } else { to.min(all) };
            return Share { to, first, step: 1 };
        }
        Share { first: share.clone(), to: all.into(), step: reduce }
    }

    /// Whether [`load`](Rows::load) can be early.
    pub(crate) fn can_be_early(&self) -> bool {
        matches!(self.rows, Kind::Tiles { .. } | Kind::Floats { together: Together::Four, .. })
    }
}

/// Whether a lane has no blocks of a row, if that is possible: lanes have whole shares, and there are fewer shares than lanes.
pub(crate) fn is_idle(blocks: u32, share: &Expr, reduce: u32) -> Option<Expr> {
    let lanes = shares(blocks, reduce).1.filter(|lanes| *lanes < reduce)?;
    Some(share.greater(lanes - 1))
}

impl Piece {
    /// Adds the products of piece `at` with each row of activations to `sums`, by column and row.
    pub(crate) fn multiply(&self, w: &mut Writer<'_>, at: &Expr, factors: &[Factors], sums: &[Vec<Expr>]) {
        match self {
            Piece::Blocks(blocks) => {
                for (i, x) in factors.iter().enumerate() {
                    times_block(w, x, at, blocks, sums.iter().map(|sums| &sums[i]));
                }
            }
            Piece::Floats(values) => times_floats(w, at, values, factors, sums),
        }
    }
}

/// Adds the products of 32 columns with a row of activations to a sum for each of the lane's
/// columns.
fn times_block<'e>(
    w: &mut Writer<'_>,
    x: &Factors,
    b: &Expr,
    blocks: &[Block],
    sums: impl Iterator<Item = &'e Expr>,
) {
    let at = w.code.address("xw", &x.values + b * (QUADS as u32));
    let quads = x.words(w, "xq", &at, QUADS as u32);
    let mut scale = x.float(&x.scales + b);
    // The quants of all blocks are too large by the same power of two.
    if let Some(block) = blocks.first().filter(|block| block.factor != 1.0) {
        scale = scale * block.factor;
    }
    let scale = w.code.set("d", scale);
    let mins = blocks.first().map_or(0, |block| block.mins.len());
    let all = x.sums(w, "s", b, mins as u32);
    for (block, sum) in blocks.iter().zip(sums) {
        let per = QUADS / block.scales.len();
        for (g, own) in block.scales.iter().enumerate() {
            let pairs = block.quads.iter().zip(&quads).skip(g * per).take(per);
            let dots = pairs.map(|(q, x)| Expr::call(Fun::Dot4, [q.clone(), x.clone()]));
            let dots = dots.reduce(|a, b| a + b).unwrap_or(Expr::U32(0));
            let number = w.float_of_dots(dots);
            w.code.add_product(sum, scale.clone(), number * own);
            if let (Some(min), Some(all)) = (block.mins.get(g), all.get(g)) {
                w.code.add_product(sum, min.clone(), all.clone());
            }
        }
    }
}

/// Adds the products of floats with each row of activations to a sum for each of the lane's
/// columns.
fn times_floats(w: &mut Writer<'_>, c: &Expr, values: &[Vec<Expr>], factors: &[Factors], sums: &[Vec<Expr>]) {
    let per = values.first().map_or(0, Vec::len) as u32;
    if per == 4 {
        for (i, x) in factors.iter().enumerate() {
            let xs = x.words(w, "xv", &(&x.values + c * 4u32), 4);
            for (values, sums) in values.iter().zip(sums) {
                for (value, x) in values.iter().zip(&xs) {
                    w.code.add_product(&sums[i], value.clone(), x.clone().float());
                }
            }
        }
        return;
    }
    for part in 0..per {
        let values: Vec<Expr> =
            values.iter().map(|v| w.code.set("value", v[part as usize].clone())).collect();
        for (i, x) in factors.iter().enumerate() {
            let x = w.code.set("xv", x.float(&x.values + c * per + part));
            for (value, sums) in values.iter().zip(sums) {
                w.code.add_product(&sums[i], value.clone(), x.clone());
            }
        }
    }
}

//! Products. Each lane adds up some terms of a few columns for all rows of the tile, so that a
//! weight is unpacked once for all of them. The partial sums of lanes that share a sum meet in
//! workgroup memory and are added there in a fixed order. That order depends on the weight's shape
//! alone: results are batch-invariant, bit for bit.

use weft_kern::{Factor, Format, Part, Pick, Product, View};
use weft_quant::GgmlType;

use crate::code::expr::{Expr, Fun};
use crate::lower::prologue::PrologueValues;
use crate::lower::reduce::{self, Fold};
use crate::lower::space::Place;
use crate::lower::tile::{Block, QUADS, Tiles};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::schedule::Split;

/// Most loads of a lane in flight at once: each takes a register.
const MOST_LOADS: u32 = 32;

/// The products of a part.
pub(crate) struct Dot<'a> {
    part: &'a Part,
    place: &'a Place,
    split: &'a Split,
    made: PrologueValues,
    /// Each tile row's index along each axis.
    rows: Vec<Vec<Expr>>,
}

/// A product's columns for a lane.
struct Lane {
    /// Which of the lanes that share a sum this is.
    share: Expr,
    /// Its columns, numbered within the pass and within the part.
    own: Vec<Expr>,
    columns: Vec<Expr>,
}

/// A row of activations: where the planes of its first value begin, in words.
struct Factors {
    /// The slot, or `None` for workgroup memory.
    slot: Option<usize>,
    values: Expr,
    scales: Expr,
    sums: Expr,
}

impl Factors {
    fn word(&self, at: Expr) -> Expr {
        match self.slot {
            Some(slot) => Expr::Word(slot, at.into()),
            None => Expr::Shared(at.into()),
        }
    }

    fn float(&self, at: Expr) -> Expr {
        self.word(at).float()
    }
}

/// A matrix of a sum.
struct Term {
    /// Its row 0, among the parameter's rows.
    matrix: Expr,
    /// The factor of its product.
    weight: Option<Expr>,
    /// Values from the first term's activations to this one's.
    apart: Expr,
}

impl<'a> Dot<'a> {
    /// Writes the products of a part. Returns where each result is in workgroup memory: a row of
    /// the block's width per tile row.
    pub(crate) fn write(
        w: &mut Writer<'_>,
        part: &'a Part,
        place: &'a Place,
        split: &'a Split,
        made: PrologueValues,
    ) -> Result<Vec<u32>, Why> {
        let rows = (0..place.tile()).map(|i| place.row_to_read(&mut w.code, &Expr::U32(i)).axes).collect();
        let dot = Dot { part, place, split, made, rows };
        let pass = split.across(w.code.lanes) * split.upcast;
        let passes = place.width().div_ceil(pass);
        let n = (dot.rows.len() as u32).saturating_mul(pass);
        let shares: Vec<u32> =
            part.products().iter().map(|_| w.pool.room(n.saturating_mul(split.reduce))).collect();
        if passes == 1 && pass == place.width() {
            dot.pass(w, &Expr::U32(0), &shares)?;
            dot.join(w, &Expr::U32(0), &shares, &shares)?;
            return Ok(shares);
        }
        let all = (dot.rows.len() as u32).saturating_mul(place.width());
        let results: Vec<u32> = part.products().iter().map(|_| w.pool.room(all)).collect();
        if passes == 1 {
            dot.pass(w, &Expr::U32(0), &shares)?;
            dot.join(w, &Expr::U32(0), &shares, &results)?;
        } else {
            w.count("at", (0u32.into(), place.width().into(), pass), |w, at| {
                dot.pass(w, &at, &shares)?;
                dot.join(w, &at, &shares, &results)
            })?;
        }
        Ok(results)
    }

    /// Columns of a pass.
    fn pass_width(&self, w: &Writer<'_>) -> u32 {
        self.split.across(w.code.lanes) * self.split.upcast
    }

    /// Computes each lane's share of all products, for the columns from `at` on.
    fn pass(&self, w: &mut Writer<'_>, at: &Expr, shares: &[u32]) -> Result<(), Why> {
        let width = self.pass_width(w);
        for (product, share) in self.part.products().iter().zip(shares) {
            let lane = self.lane(w, product, at);
            let sums = self.product(w, product, &lane)?;
            for (u, own) in lane.own.iter().enumerate() {
                for (i, sum) in sums[u].iter().enumerate() {
                    let row = &lane.share * (self.rows.len() as u32) + i as u32;
                    let to = w.code.set("to", row * width + own + *share);
                    w.code.store_shared(to, sum.clone().bits());
                }
            }
        }
        w.code.barrier();
        Ok(())
    }

    /// Adds up the lanes' shares.
    fn join(&self, w: &mut Writer<'_>, at: &Expr, shares: &[u32], results: &[u32]) -> Result<(), Why> {
        if self.split.reduce == 1 && shares == results {
            return Ok(());
        }
        let (pass, rows, width) = (self.pass_width(w), self.rows.len() as u32, self.place.width());
        let apart = rows * pass;
        w.share(apart, |w, item| {
            let own = w.code.set("own", at + &item % pass);
            let fits = if width.is_multiple_of(pass) { Expr::True } else { own.less(width) };
            w.when(fits, |w| {
                for (share, result) in shares.iter().zip(results) {
                    let sum = reduce::folded(w, Fold::Sum, &(&item + *share), self.split.reduce, apart);
                    w.code.store_shared((&item / pass) * width + &own + *result, sum.bits());
                }
                Ok(())
            })
        })?;
        w.code.barrier();
        Ok(())
    }

    /// The columns of a lane. Neighbouring lanes read neighbouring memory: rows of a tile or
    /// columns of a transposed matrix, else words of a row.
    fn lane(&self, w: &mut Writer<'_>, product: &Product, at: &Expr) -> Lane {
        let (reduce, across) = (self.split.reduce, self.split.across(w.code.lanes));
        let side_by_side = product.transposed || product.rounds(&w.kernel.params);
        let (first, share) = match side_by_side {
            true => (Expr::Lane % across, Expr::Lane / across),
            false => (Expr::Lane / reduce, Expr::Lane % reduce),
        };
        let share = if reduce == 1 { Expr::U32(0) } else { w.code.set("share", share) };
        let own: Vec<Expr> = (0..self.split.upcast).map(|u| w.code.set("own", &first + u * across)).collect();
        // A pass may have more columns than the block; those are computed and not stored.
        let within = self.place.width().is_multiple_of(self.pass_width(w));
        let columns = own.iter().map(|own| self.place.column_to_read(&mut w.code, &(at + own), within));
        Lane { share, columns: columns.collect(), own }
    }

    /// A lane's sums, for each of its columns and each row.
    fn product(&self, w: &mut Writer<'_>, product: &Product, lane: &Lane) -> Result<Vec<Vec<Expr>>, Why> {
        w.code.note(title(w, product));
        let sums = self.zeros(w, "sum");
        let m = &product.w;
        let (count, first, stride) = (word(m.count)?, word(m.first)?, word(m.stride)?);
        let Some(axes) = self.rows.first() else { return Ok(sums) };
        let matrix = |number: Expr| number * stride + first;
        let one = |number: Expr| Term { matrix: matrix(number), weight: None, apart: Expr::U32(0) };
        match &m.pick {
            Pick::Only => self.terms(w, product, lane, &one(Expr::U32(0)), &sums)?,
            Pick::Axis(axis) => self.terms(w, product, lane, &one(axes[*axis].clone()), &sums)?,
            Pick::Ids(view) => {
                let number = w.index(view, axes, &Expr::U32(0), count)?;
                self.terms(w, product, lane, &one(number), &sums)?;
            }
            Pick::Sum(sum) => {
                let apart = word(sum.apart)?;
                w.count("term", (0u32.into(), word(sum.terms)?.into(), 1), |w, term| {
                    let number = w.index(&sum.ids, axes, &term, count)?;
                    let at = w.base(&sum.weights, axes)? + &term * word(sum.weights.step)?;
                    let weight = w.load(sum.weights.param, &at)?;
                    let weight = Some(w.code.set("weight", weight));
                    let term = Term { matrix: matrix(number), weight, apart: term * apart };
                    self.terms(w, product, lane, &term, &sums)
                })?;
            }
        }
        Ok(sums)
    }

    fn zeros(&self, w: &mut Writer<'_>, name: &str) -> Vec<Vec<Expr>> {
        let rows = self.rows.len();
        (0..self.split.upcast).map(|_| (0..rows).map(|_| w.code.var(name, 0.0f32)).collect()).collect()
    }

    /// Adds the product with one matrix to the sums.
    fn terms(
        &self,
        w: &mut Writer<'_>,
        product: &Product,
        lane: &Lane,
        term: &Term,
        sums: &[Vec<Expr>],
    ) -> Result<(), Why> {
        // A weighted product is added up on its own first.
        let own = if term.weight.is_some() { Some(self.zeros(w, "part")) } else { None };
        let into = own.as_deref().unwrap_or(sums);
        let factors: Vec<Factors> =
            (0..self.rows.len()).map(|i| self.factors(w, product, i, term)).collect::<Result<_, _>>()?;
        match w.tiles(product.w.param, product.w.k)? {
            _ if product.transposed => self.transposed(w, product, lane, term, &factors, into)?,
            Some(tiles) => tile_rows(w, product, &tiles, (lane, self.split.reduce), term, &factors, into)?,
            None => float_rows(w, product, (lane, self.split.reduce), term, &factors, into)?,
        }
        if let (Some(own), Some(weight)) = (own, &term.weight) {
            for (sum, part) in sums.iter().flatten().zip(own.into_iter().flatten()) {
                w.code.add_product(sum, weight.clone(), part);
            }
        }
        Ok(())
    }

    /// Where row `i` of the activations is.
    fn factors(&self, w: &mut Writer<'_>, product: &Product, i: usize, term: &Term) -> Result<Factors, Why> {
        let rounds = product.rounds(&w.kernel.params);
        let none = Expr::U32(0);
        let view: &View = match &product.x {
            Factor::View(view) => view,
            Factor::Prologue => {
                let n = word(product.x_len())?;
                let missing = || Why::Form("multiplies a prologue it does not have".into());
                return Ok(if rounds {
                    let r = self.made.rounded.ok_or_else(missing)?;
                    let at = |plane: u32, per: u32| Expr::U32(plane + i as u32 * (n / per));
                    let (values, scales, sums) = (at(r.quants, 4), at(r.scales, 32), at(r.sums, 16));
                    Factors { slot: None, values, scales, sums }
                } else {
                    let floats = self.made.floats.ok_or_else(missing)?;
                    let values = Expr::U32(floats + i as u32 * n);
                    Factors { slot: None, values, scales: none.clone(), sums: none }
                });
            }
        };
        let at = w.base(view, &self.rows[i])? + &term.apart;
        let at = w.code.set("x", at);
        let (slot, start) = (Some(w.slot(view.param)), w.start(view.param));
        if !rounds {
            let values = w.code.set("x", start + at);
            return Ok(Factors { slot, values, scales: none.clone(), sums: none });
        }
        let n = w.values(view.param);
        let values = w.code.set("x", &start + &at / 4u32);
        let scales = w.code.set("xd", &start + &n / 4u32 + &at / 32u32);
        let sums = w.code.set("xs", start + &n / 4u32 + n / 32u32 + at / 16u32);
        Ok(Factors { slot, values, scales, sums })
    }

    /// y = x·w: the weight's columns are the output's.
    fn transposed(
        &self,
        w: &mut Writer<'_>,
        product: &Product,
        lane: &Lane,
        term: &Term,
        factors: &[Factors],
        sums: &[Vec<Expr>],
    ) -> Result<(), Why> {
        let (n, k) = (word(product.w.n)?, word(product.w.k)?);
        let tiles = w.tiles(product.w.param, product.w.k)?;
        w.count("n", (lane.share.clone(), n.into(), self.split.reduce), |w, at| {
            let row = w.code.set("row", &term.matrix + &at);
            let values: Vec<Expr> = match &tiles {
                Some(tiles) => {
                    let row = tiles.row(&mut w.code, &row);
                    lane.columns.iter().map(|c| tiles.value(&mut w.code, &row, c)).collect()
                }
                None => {
                    let at = lane.columns.iter().map(|c| &row * k + c);
                    at.map(|at| w.load(product.w.param, &at)).collect::<Result<_, _>>()?
                }
            };
            let values: Vec<Expr> = values.into_iter().map(|v| w.code.set("value", v)).collect();
            for (i, x) in factors.iter().enumerate() {
                let x = w.code.set("xv", x.float(&x.values + &at));
                for (value, sums) in values.iter().zip(sums) {
                    w.code.add_product(&sums[i], value.clone(), x.clone());
                }
            }
            Ok(())
        })
    }
}

/// Quantised rows times rounded activations: 32 columns at a time, in integers first.
fn tile_rows(
    w: &mut Writer<'_>,
    product: &Product,
    tiles: &Tiles,
    (lane, reduce): (&Lane, u32),
    term: &Term,
    factors: &[Factors],
    sums: &[Vec<Expr>],
) -> Result<(), Why> {
    let blocks = word(product.w.k / 32)?;
    let rows: Vec<_> = lane.columns.iter().map(|c| tiles.row(&mut w.code, &(&term.matrix + c))).collect();
    let loads = rows.len() as u32 * (tiles.vectors() + 1);
    let ahead = ahead(blocks, reduce, factors, loads);
    let range = (lane.share.clone(), blocks.into(), reduce * ahead);
    w.count_or_once("b", range, |w, first| {
        let loaded: Vec<(Expr, Vec<Block>)> = (0..ahead)
            .map(|a| {
                let b = w.code.set("b", &first + a * reduce);
                let blocks = rows.iter().map(|row| tiles.block(&mut w.code, row, &b)).collect();
                (b, blocks)
            })
            .collect();
        for (b, blocks) in &loaded {
            for (i, x) in factors.iter().enumerate() {
                times_block(w, x, b, blocks, sums.iter().map(|sums| &sums[i]));
            }
        }
        Ok(())
    })
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
    let at = w.code.set("xw", &x.values + b * (QUADS as u32));
    let quads: Vec<Expr> = (0..QUADS as u32).map(|q| w.code.set("xq", x.word(&at + q))).collect();
    let scale = w.code.set("d", x.float(&x.scales + b));
    let halves: Vec<Expr> = match blocks.iter().any(|b| !b.mins.is_empty()) {
        true => (0..2u32).map(|h| w.code.set("s", x.float(&x.sums + b * 2u32 + h))).collect(),
        false => Vec::new(),
    };
    for (block, sum) in blocks.iter().zip(sums) {
        let per = QUADS / block.scales.len();
        for (g, own) in block.scales.iter().enumerate() {
            let pairs = block.quads.iter().zip(&quads).skip(g * per).take(per);
            let dots = pairs.map(|(q, x)| Expr::call(Fun::Dot4, [q.clone(), x.clone()]));
            let dots = dots.reduce(|a, b| a + b).unwrap_or(Expr::U32(0));
            let number = Expr::call(Fun::FloatOfI32, [dots]);
            w.code.add_product(sum, number, own * &scale);
        }
        match (&block.mins[..], &halves[..]) {
            ([all], [a, b]) => w.code.add_product(sum, all.clone(), a + b),
            ([one, other], [a, b]) => {
                w.code.add_product(sum, one.clone(), a.clone());
                w.code.add_product(sum, other.clone(), b.clone());
            }
            _ => {}
        }
    }
}

/// How many pieces of the weight are loaded before the first is used, to have more loads in flight:
/// only if they divide evenly, and only where a lane does little work per piece. Each piece takes
/// that many `loads`.
fn ahead(pieces: u32, reduce: u32, rows: &[Factors], loads: u32) -> u32 {
    let even = |n: &u32| pieces.is_multiple_of(reduce * n);
    let most = (MOST_LOADS / loads.max(1)).clamp(1, 8);
    if rows.len() > 2 { 1 } else { (1..=most).rev().find(even).unwrap_or(1) }
}

/// Rows of floats times floats.
fn float_rows(
    w: &mut Writer<'_>,
    product: &Product,
    (lane, reduce): (&Lane, u32),
    term: &Term,
    factors: &[Factors],
    sums: &[Vec<Expr>],
) -> Result<(), Why> {
    let (k, param) = (word(product.w.k)?, product.w.param);
    let rows: Vec<Expr> = lane.columns.iter().map(|c| w.code.set("row", (&term.matrix + c) * k)).collect();
    // Two halves at a time, where every row begins at a word boundary.
    let pairs = match w.format(param) {
        Format::Ggml(ty @ (GgmlType::F16 | GgmlType::BF16)) if k.is_multiple_of(2) => Some(ty),
        _ => None,
    };
    let per = if pairs.is_some() { 2 } else { 1 };
    let ahead = ahead(k / per, reduce, factors, rows.len() as u32);
    let range = (lane.share.clone(), (k / per).into(), reduce * ahead);
    w.count_or_once("c", range, |w, first| {
        let mut loaded: Vec<(Expr, Vec<Vec<Expr>>)> = Vec::new();
        for a in 0..ahead {
            let c = w.code.set("c", &first + a * reduce);
            let mut values = Vec::new();
            for row in &rows {
                values.push(match pairs {
                    Some(ty) => w.load_pair(param, ty, row / 2u32 + &c).into(),
                    None => {
                        let value = w.load(param, &(row + &c))?;
                        vec![w.code.set("value", value)]
                    }
                });
            }
            loaded.push((c, values));
        }
        for (c, values) in loaded {
            for part in 0..per {
                let values: Vec<Expr> =
                    values.iter().map(|v| w.code.set("value", v[part as usize].clone())).collect();
                for (i, x) in factors.iter().enumerate() {
                    let x = w.code.set("xv", x.float(&x.values + &c * per + part));
                    for (value, sums) in values.iter().zip(sums) {
                        w.code.add_product(&sums[i], value.clone(), x.clone());
                    }
                }
            }
        }
        Ok(())
    })
}

/// A product's title, for the comment above it.
fn title(w: &Writer<'_>, product: &Product) -> String {
    let m = &product.w;
    let turned = if product.transposed { ", transposed" } else { "" };
    format!("times {}[{}, {}]{turned}", w.format(m.param), m.n, m.k)
}

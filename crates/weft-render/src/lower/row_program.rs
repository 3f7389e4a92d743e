//! Row programs. A value is an expression of the column, written where it is needed. The whole workgroup computes operations across columns
//! (reductions, selections, pairs), from values in workgroup memory where that pays.

use weft_kern::{Binary, Format, Instr, Part, Product, Reduce, RopeStyle, Unary, ValueId};
use weft_shader::expr::{Expr, Fun};

use crate::forms::select_blocks::tops::{self as top, Tops};
use crate::lower::functions::{SIGMOID, SINE};
use crate::lower::quads::{Four, Quads};
use crate::lower::reduce::{self, Fold};
use crate::lower::select;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// A row program, and its known values so far.
pub(crate) struct RowProgram<'p> {
    pub(crate) body: &'p [Instr],
    /// The products whose results it reads, if the anchor is products.
    products: &'p [Product],
    pub(crate) lens: Vec<usize>,
    /// Offsets of the anchor's results in workgroup memory. The result of tile row `i` and own column `c` is at `i · stride + c`.
    pub(crate) results: Vec<u32>,
    stride: u32,
    /// The known values of the current row.
    known: Vec<Option<Known>>,
    /// The largest keys of the row's blocks, if it selects from a long row.
    tops: Option<Tops>,
}

#[derive(Clone, Debug)]
enum Known {
    /// One value for all columns.
    Scalar(Expr),
    /// In workgroup memory, from this word on.
    Shared(u32),
}

/// A row, and the values that the current block has written for it.
#[derive(Clone, Debug)]
pub(crate) struct RowState {
    /// Its index along each axis.
    pub(crate) axes: Vec<Expr>,
    /// Its number within the tile.
    pub(crate) row: Expr,
    written: Vec<(ValueId, Expr, Expr)>,
    /// The fours that the lane holds of rows of this length.
    held: Option<(u32, Vec<Four>)>,
}

impl RowState {
    pub(crate) fn new(axes: Vec<Expr>, row: Expr) -> RowState {
        RowState { axes, row, written: Vec::new(), held: None }
    }

    /// Remembers a value at a column.
    pub(crate) fn know(&mut self, v: ValueId, column: &Column, value: Expr) {
        self.written.push((v, column.at.clone(), value));
    }

    /// Adds the values that the lane holds.
    pub(crate) fn hold(&mut self, quads: &Quads) {
        self.written.extend_from_slice(quads.values());
        self.held = Some((quads.n, quads.words().to_vec()));
    }
}

/// A column of a row, and its number among the workgroup's columns.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) at: Expr,
    pub(crate) own: Expr,
}

impl Column {
    /// A column of a workgroup that has whole rows.
    pub(crate) fn whole(at: Expr) -> Column {
        Column { own: at.clone(), at }
    }
}

impl<'p> RowProgram<'p> {
    pub(crate) fn new(body: &'p [Instr], lens: Vec<usize>, results: Vec<u32>, stride: u32) -> RowProgram<'p> {
        RowProgram { known: vec![None; lens.len()], body, products: &[], lens, results, stride, tops: None }
    }

    /// The program that follows the anchor of a part.
    pub(crate) fn of(part: &'p Part, results: Vec<u32>, stride: u32) -> RowProgram<'p> {
        RowProgram { products: part.products(), ..RowProgram::new(&part.body, part.lens(), results, stride) }
    }

    /// The result of the anchor's product number `result` for a row, which is 0 where a part of a stack lacks the row's matrix.
    pub(crate) fn result(
        &self,
        w: &mut Writer<'_>,
        result: usize,
        axes: &[Expr],
        value: Expr,
    ) -> Result<Expr, Why> {
        self.products.get(result).map_or(Ok(value.clone()), |product| w.or_zero(product, axes, value))
    }

    /// The same program, which selects from a long row whose blocks have these largest keys.
    pub(crate) fn selecting(self, tops: Tops) -> RowProgram<'p> {
        RowProgram { tops: Some(tops), ..self }
    }

    /// The stride in words of the anchor's results of rows.
    pub(crate) fn stride(&self) -> u32 {
        self.stride
    }

    /// The number of a value's columns.
    pub(crate) fn len(&self, value: ValueId) -> Result<u32, Why> {
        word(self.lens[value])
    }

    /// Computes the operations across columns of a whole row, which later values need: reductions, selections, and vectors that are read at
    /// other columns than their own.
    pub(crate) fn prepare(&mut self, w: &mut Writer<'_>, spot: &mut RowState) -> Result<(), Why> {
        self.known = vec![None; self.lens.len()];
        self.fetch(w, spot)?;
        self.prepare_all(w, spot)
    }

    /// Prepares a row whose values lanes hold and `spot` knows.
    pub(crate) fn prepare_held(&mut self, w: &mut Writer<'_>, spot: &mut RowState) -> Result<(), Why> {
        self.known = vec![None; self.lens.len()];
        self.prepare_all(w, spot)
    }

    fn prepare_all(&mut self, w: &mut Writer<'_>, spot: &mut RowState) -> Result<(), Why> {
        for (v, instr) in self.body.iter().enumerate() {
            if self.known[v].is_some() {
                continue;
            }
            let known = match instr {
                Instr::Store { .. } => continue,
                Instr::Reduce(op, x) => Known::Scalar(self.reduced(w, spot, *op, *x)?),
                Instr::TopK { x, k } if let Some(tops) = &self.tops => {
                    let value = |w: &mut Writer<'_>, column: &Expr| {
                        self.value(w, &mut spot.clone(), *x, &Column::whole(column.clone()))
                    };
                    Known::Shared(top::largest(w, tops, (self.len(*x)?, word(*k)?), &value)?)
                }
                Instr::TopK { x, k } => {
                    let n = self.len(*x)?;
                    let keys = w.pool.alloc(n);
                    w.code.note(format!("the {k} largest of {n}"));
                    w.share(n, |w, c| {
                        let value = self.value(w, &mut spot.clone(), *x, &Column::whole(c.clone()))?;
                        let key = select::key(w, value);
                        w.code.store_shared(&c + keys, key);
                        Ok(())
                    })?;
                    Known::Shared(select::largest(w, keys, n, word(*k)?))
                }
                Instr::Rope { x, .. } => {
                    self.settle(w, spot, *x)?;
                    continue;
                }
                Instr::Take { from, .. } => {
                    self.settle(w, spot, *from)?;
                    continue;
                }
                _ => {
                    if self.lens[v] == 1 {
                        let value = self.value(w, spot, v, &Column::whole(Expr::U32(0)))?;
                        self.known[v] = Some(Known::Scalar(w.code.set("s", value)));
                    }
                    continue;
                }
            };
            self.known[v] = Some(known);
        }
        Ok(())
    }

    /// Loads all vectors of a row that has a reduction into workgroup memory at once, because they are read before and after it, and global
    /// memory is slow.
    fn fetch(&mut self, w: &mut Writer<'_>, spot: &RowState) -> Result<(), Why> {
        if !self.body.iter().any(|instr| matches!(instr, Instr::Reduce(..))) {
            return Ok(());
        }
        let mut loads: Vec<ValueId> = Vec::new();
        for (v, instr) in self.body.iter().enumerate() {
            let Instr::Load { view, .. } = instr else { continue };
            let quantised = matches!(w.format(view.param), Format::Ggml(ty) if ty.is_quantised());
            if self.lens[v] > 1 && !quantised {
                loads.push(v);
            }
        }
        if loads.iter().map(|v| self.lens[*v]).sum::<usize>() > w.pool.spare {
            return Ok(());
        }
        let mut lens: Vec<usize> = loads.iter().map(|v| self.lens[*v]).collect();
        lens.sort_unstable();
        lens.dedup();
        for len in lens {
            let same: Vec<(ValueId, u32)> = loads
                .iter()
                .filter(|v| self.lens[**v] == len)
                .map(|v| Ok((*v, w.pool.alloc(word(len)?))))
                .collect::<Result<_, Why>>()?;
            w.share(word(len)?, |w, c| {
                let column = Column::whole(c.clone());
                let values: Vec<Expr> = same
                    .iter()
                    .map(|(v, _)| self.value(w, &mut spot.clone(), *v, &column))
                    .collect::<Result<_, _>>()?;
                for ((_, at), value) in same.iter().zip(values) {
                    w.code.store_shared(&c + *at, value.bits());
                }
                Ok(())
            })?;
            for (v, at) in same {
                self.known[v] = Some(Known::Shared(at));
            }
        }
        if !loads.is_empty() {
            w.code.barrier();
        }
        Ok(())
    }

    fn reduced(&self, w: &mut Writer<'_>, spot: &mut RowState, op: Reduce, x: ValueId) -> Result<Expr, Why> {
        let n = self.len(x)?;
        let fold = match op {
            Reduce::Sum => Fold::Sum,
            Reduce::Max => Fold::Max,
        };
        let total = match fold {
            Fold::Sum => w.code.var("total", 0.0f32),
            // It starts with a value, because no language has a literal for −∞.
            Fold::Max => {
                let first = self.value(w, &mut spot.clone(), x, &Column::whole(Expr::U32(0)))?;
                w.code.var("top", first)
            }
        };
        if w.quads && n.is_multiple_of(4) {
            self.add_fours(w, spot, (fold, &total), x, n)?;
            return Ok(reduce::lanes(w, fold, total));
        }
        w.share(n, |w, c| {
            let value = self.value(w, &mut spot.clone(), x, &Column::whole(c))?;
            w.code.assign(&total, fold.of(total.clone(), value));
            Ok(())
        })?;
        Ok(reduce::lanes(w, fold, total))
    }

    /// Reduces a lane's values four by four, in the same order whether it holds them or not.
    fn add_fours(
        &self,
        w: &mut Writer<'_>,
        spot: &mut RowState,
        (fold, total): (Fold, &Expr),
        x: ValueId,
        n: u32,
    ) -> Result<(), Why> {
        let add = |w: &mut Writer<'_>, spot: &mut RowState, four: &Four| {
            for column in four.columns() {
                let value = self.value(w, spot, x, &Column::whole(column))?;
                let next = fold.of(total.clone(), value);
                let exists = &four.exists;
                let next = if *exists == Expr::True { next } else { total.clone().unless(exists, next) };
                w.code.assign(total, next);
            }
            Ok(())
        };
        let held = spot.held.iter().find(|(of, _)| *of == n).map(|(_, fours)| fours.clone());
        if let Some(fours) = held {
            return fours.iter().try_for_each(|four| add(w, spot, four));
        }
        let times = (n / 4).div_ceil(w.code.lanes);
        w.count_or_once("time", (0u32.into(), times.into(), 1), |w, time| {
            let four = Four::new(w, n, &time);
            add(w, &mut spot.clone(), &four)
        })
    }

    /// Stores a vector in workgroup memory, unless computing it at any column is as cheap.
    fn settle(&mut self, w: &mut Writer<'_>, spot: &RowState, v: ValueId) -> Result<(), Why> {
        let cheap = match &self.body[v] {
            _ if self.known[v].is_some() || self.lens[v] == 1 => true,
            Instr::Acc(_) | Instr::Const(_) => true,
            Instr::Load { view, .. } => {
                !matches!(w.format(view.param), Format::Ggml(ty) if ty.is_quantised())
            }
            _ => false,
        };
        if cheap {
            return Ok(());
        }
        let n = self.len(v)?;
        let at = w.pool.alloc(n);
        w.share(n, |w, c| {
            let value = self.value(w, &mut spot.clone(), v, &Column::whole(c.clone()))?;
            w.code.store_shared(&c + at, value.bits());
            Ok(())
        })?;
        w.code.barrier();
        self.known[v] = Some(Known::Shared(at));
        Ok(())
    }

    /// A value at a column, as a float.
    pub(crate) fn value(
        &self,
        w: &mut Writer<'_>,
        spot: &mut RowState,
        v: ValueId,
        column: &Column,
    ) -> Result<Expr, Why> {
        let first = Column::whole(Expr::U32(0));
        let column = if self.lens[v] == 1 { &first } else { column };
        match &self.known[v] {
            Some(Known::Scalar(value)) => return Ok(value.clone()),
            Some(Known::Shared(at)) => return Ok(w.load_shared(&column.at + *at)),
            None => {}
        }
        if let Some((_, _, value)) = spot.written.iter().find(|(of, at, _)| *of == v && *at == column.at) {
            return Ok(value.clone());
        }
        let value = self.written(w, spot, v, column)?;
        let value = w.code.set("v", value);
        spot.written.push((v, column.at.clone(), value.clone()));
        Ok(value)
    }

    fn written(
        &self,
        w: &mut Writer<'_>,
        spot: &mut RowState,
        v: ValueId,
        column: &Column,
    ) -> Result<Expr, Why> {
        Ok(match &self.body[v] {
            Instr::Const(value) if value.0.is_finite() => Expr::F32(value.0),
            Instr::Const(value) => return Err(Why::Form(format!("has the constant {} (v{v})", value.0))),
            Instr::Acc(result) => {
                // A scalar has column 0, which belongs to the workgroup.
                let value = w.load_shared(&spot.row * self.stride + &column.own + self.results[*result]);
                self.result(w, *result, &spot.axes, value)?
            }
            Instr::Load { view, indexed, len } => {
                if let Some(tiles) = w.tiles(view.param, *len)? {
                    let by = indexed.as_ref().ok_or_else(|| {
                        Why::Form(format!("loads a quantised row that is not picked by an index (v{v})"))
                    })?;
                    let (number, rows, _) = w.picked(view, by, &spot.axes)?;
                    let row = w.code.set("row", number.min(rows.max(1u32) - 1u32));
                    let row = tiles.row(&mut w.code, &row);
                    return Ok(tiles.value(&mut w.code, &row, &column.at));
                }
                let at = w.loaded_row(view, indexed.as_ref(), &spot.axes)?;
                let at = w.code.set("at", at + &column.at * word(view.step)?);
                w.load(view.param, &at)?
            }
            Instr::Take { from, ids } => {
                let id = self.value(w, spot, *ids, column)?;
                let last = self.len(*from)? - 1;
                let id = Expr::call(Fun::U32OfFloat, [id]).min(last);
                let id = w.code.set("id", id);
                self.value(w, spot, *from, &Column::whole(id))?
            }
            Instr::Unary(op, x) => {
                let x = self.value(w, spot, *x, column)?;
                unary(*op, x)
            }
            Instr::Binary(op, a, b) => {
                let a = self.value(w, spot, *a, column)?;
                let b = self.value(w, spot, *b, column)?;
                binary(*op, a, b)
            }
            Instr::Rope { style, x, cos, sin } => {
                let half = self.len(*x)? / 2;
                let at = &column.at;
                let (pair, apart) = match style {
                    RopeStyle::Pairs => (at / 2u32, 1),
                    RopeStyle::Halves => (at % half, half),
                };
                let pair = w.code.set("pair", pair);
                let a = match style {
                    RopeStyle::Pairs => w.code.set("a", &pair * 2u32),
                    RopeStyle::Halves => pair.clone(),
                };
                let b = w.code.set("b", &a + apart);
                let is_first = at.equal(&a);
                // Columns of a block are numbered from its first one.
                let own = |at: &Expr| {
                    if column.own == column.at { at.clone() } else { &column.own + at - &column.at }
                };
                let [a, b] = [a, b].map(|at| Column { own: own(&at), at });
                let first = self.value(w, spot, *x, &a)?;
                let second = self.value(w, spot, *x, &b)?;
                let pair = Column::whole(pair);
                let cos = self.value(w, spot, *cos, &pair)?;
                let sin = self.value(w, spot, *sin, &pair)?;
                (first.times(&sin) + second.times(&cos))
                    .unless(&is_first, first.times(cos) - second.times(sin))
            }
            Instr::Reduce(..) | Instr::TopK { .. } | Instr::Store { .. } => {
                return Err(Why::Form(format!("needs v{v} at a column where it is not computed")));
            }
        })
    }
}

/// Larger exponents are clamped, which makes no difference, because their exponential may overflow.
const FAR: f32 = 80.0;

/// A value of two operands.
pub(crate) fn binary(op: Binary, a: Expr, b: Expr) -> Expr {
    match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a.times(b),
        // Compilers know the inverse of a constant. Exact division costs branches otherwise.
        Binary::Div if matches!(b, Expr::F32(_)) => a / b,
        Binary::Div => Expr::call(Fun::Quotient, [a, b]),
        Binary::Max => a.max(b),
        Binary::Min => Expr::call(Fun::Min, [a, b]),
    }
}

/// ln(1 + eˣ) = max(x, 0) + ln(1 + e) with e = e^−|x|, and ln(1 + e) = 2·artanh(z) with z = e / (2 + e), at most ⅓. The first
/// term that the series of artanh leaves out, z¹⁷ / 17, is below 2⁻³⁰ of the sum.
fn softplus(x: Expr, negative: Expr) -> Expr {
    let far = Expr::call(Fun::Max, [Expr::call(Fun::Min, [x.clone(), negative]), (-FAR).into()]);
    let e = Expr::call(Fun::Exp, [far]);
    let z = Expr::call(Fun::Quotient, [e.clone(), e + 2.0f32]);
    let square = z.clone().times(z.clone());
    let terms = [13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0];
    let sum = terms
        .into_iter()
        .fold(Expr::from(1.0f32 / 15.0), |sum, term| sum.times(square.clone()) + Expr::from(1.0f32 / term));
    x.max(0.0f32) + z.times(sum).times(2.0f32)
}

/// A value of one operand.
pub(crate) fn unary(op: Unary, x: Expr) -> Expr {
    let negative = Expr::call(Fun::Negate, [x.clone()]);
    let sigmoid = || Expr::Own(SIGMOID, vec![x.clone()]);
    match op {
        Unary::Neg => negative,
        Unary::Exp => Expr::call(Fun::Exp, [x]),
        Unary::Sigmoid => sigmoid(),
        Unary::Silu => x.times(sigmoid()),
        Unary::Softplus => softplus(x, negative),
        Unary::Rsqrt => Expr::call(Fun::InverseSqrt, [x]),
        Unary::Cos => Expr::Own(SINE, vec![x, Expr::U32(1)]),
        Unary::Sin => Expr::Own(SINE, vec![x, Expr::U32(0)]),
    }
}

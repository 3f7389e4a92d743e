//! `dot`: products with weights in any stored format.

mod interp;
mod shares;

use std::fmt;

pub(super) use interp::compute;
pub use shares::Shares;

use super::room::Room;
use crate::program::{Access, Format, Param, ParamId, View};
use crate::q8;
use crate::text::{Attrs, Parsed, number, view, words};
use crate::traffic::{Counter, Operation, Seen, Touch};
use crate::verify::Context;

/// The anchor's word in the text form.
pub(super) const NAME: &str = "dot";
/// The word for a product whose matrix is selected by index.
const SELECT_DOT: &str = "select_dot";
/// The word of a product that adds several matrices' results.
const SELECT_SUM: &str = "select_sum";
/// The words that begin a product.
pub(super) const WORDS: [&str; 3] = [NAME, SELECT_DOT, SELECT_SUM];
/// The only matrix, in the text form.
const ONLY: &str = "only";

/// Which matrix of a stack a row is multiplied by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Pick {
    /// There is only one.
    Only,
    /// The matrix with the row's index along this axis of [`Part::rows`]: one per head.
    Axis(usize),
    /// The matrix whose index is at this view of an `i32` parameter, with step 0: one per expert.
    Ids(View),
    /// Several, whose weighted products are added: all experts of a token.
    Sum(Box<Sum>),
}

/// `Σ weight(i) · x(i)·W(id(i))ᵀ`: every product is rounded to `f32` and multiplied by its weight, which is rounded, and the terms are
/// added in order, starting with the first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sum {
    /// The number of terms.
    pub terms: usize,
    /// The indices of the matrices, from an `i32` parameter; the step is the distance between terms.
    pub ids: View,
    /// The weights of the products, `f32`; the step is the distance between terms.
    pub weights: View,
    /// The distance between the x of two terms, in values.
    pub apart: usize,
}

/// A matrix, or a stack of them, inside a weight parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Matrices {
    /// The parameter.
    pub param: ParamId,
    /// Which matrix multiplies a row.
    pub pick: Pick,
    /// If the stack is part of one: the first index that selects a matrix of it. The results of a row whose index is not in `from..count`
    /// are 0. Only for [`Pick::Ids`].
    pub from: Option<usize>,
    /// The number of matrices.
    pub count: usize,
    /// The rows of a matrix that are used, N.
    pub n: usize,
    /// The length of a row, K.
    pub k: usize,
    /// The row of the parameter that is row 0 of matrix 0.
    pub first: usize,
    /// The distance between two matrices, in rows of the parameter.
    pub stride: usize,
}

/// y = x·wᵀ with the columns as N; transposed, y = x·w with the columns as K.
///
/// The text form calls it `dot`, or `select_dot` if the matrix is picked by index, or `select_sum` if several are.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Product {
    /// K values per row (transposed: N), `q8` if the product [`rounds`](Product::rounds), otherwise `f32`.
    pub x: Factor,
    /// The weight.
    pub w: Matrices,
    /// Whether to multiply by the transposed matrices.
    pub transposed: bool,
}

impl Product {
    /// The word that begins its text.
    fn word(&self) -> &'static str {
        match self.w.pick {
            Pick::Only | Pick::Axis(_) => NAME,
            Pick::Ids(_) => SELECT_DOT,
            Pick::Sum(_) => SELECT_SUM,
        }
    }

    /// The name in measurements, which distinguish products with one matrix for each head.
    fn kind(&self) -> &'static str {
        match self.w.pick {
            Pick::Axis(_) => "head_dot",
            _ => self.word(),
        }
    }

    /// Returns whether it reads the values of a parameter, rather than multiplying by its tiles.
    fn reads_values(&self, param: ParamId, params: &[Param]) -> bool {
        let is_it = |view: &View| view.param == param;
        let by_pick = match &self.w.pick {
            Pick::Only | Pick::Axis(_) => false,
            Pick::Ids(ids) => is_it(ids),
            Pick::Sum(sum) => is_it(&sum.ids) || is_it(&sum.weights),
        };
        let unrounded = self.w.param == param && !self.rounds(params);
        by_pick || unrounded || matches!(&self.x, Factor::View(view) if is_it(view))
    }

    /// The length of a row of x.
    pub const fn x_len(&self) -> usize {
        if self.transposed { self.w.n } else { self.w.k }
    }

    /// Returns whether x is rounded to `q8`: if the weight is quantised and not transposed.
    pub fn rounds(&self, params: &[Param]) -> bool {
        let quantised = |p: &Param| matches!(p.format, Format::Ggml(ty) if ty.is_quantised());
        !self.transposed && params.get(self.w.param).is_some_and(quantised)
    }

    /// The columns of the result.
    pub const fn cols(&self) -> usize {
        if self.transposed { self.w.k } else { self.w.n }
    }
}

/// The left factor of a product with a weight.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Factor {
    /// Values in memory.
    View(View),
    /// The prologue's value for the row's index along the first axis, rounded to `q8` if the weight is quantised.
    Prologue,
}

impl Room for Vec<Product> {
    fn results(&self) -> usize {
        self.len()
    }

    fn params(&self) -> Vec<ParamId> {
        let of = |product: &Product| {
            let x = match &product.x {
                Factor::View(x) => Some(x.param),
                Factor::Prologue => None,
            };
            let pick = match &product.w.pick {
                Pick::Only | Pick::Axis(_) => [None; 2],
                Pick::Ids(ids) => [Some(ids.param), None],
                Pick::Sum(sum) => [Some(sum.ids.param), Some(sum.weights.param)],
            };
            [x, Some(product.w.param)].into_iter().chain(pick).flatten()
        };
        self.iter().flat_map(of).collect()
    }

    fn params_mut(&mut self) -> Vec<&mut ParamId> {
        let mut all = Vec::new();
        for Product { x, w, .. } in self {
            if let Factor::View(x) = x {
                all.push(&mut x.param);
            }
            all.push(&mut w.param);
            match &mut w.pick {
                Pick::Only | Pick::Axis(_) => {}
                Pick::Ids(ids) => all.push(&mut ids.param),
                Pick::Sum(sum) => all.extend([&mut sum.ids.param, &mut sum.weights.param]),
            }
        }
        all
    }

    fn reads_prologue(&self) -> bool {
        self.iter().any(|product| product.x == Factor::Prologue)
    }

    fn reads_values(&self, param: ParamId, params: &[Param]) -> bool {
        self.iter().any(|product| product.reads_values(param, params))
    }

    fn verify(&self, cx: &Context<'_>) -> Result<(), String> {
        if self.is_empty() {
            return Err("a dot has no products".into());
        }
        self.iter().try_for_each(|product| verify(cx, product))
    }

    fn operations(&self, counter: &Counter<'_>, _: usize, _: &Seen) -> Vec<Operation> {
        self.iter().map(|product| operation(counter, product)).collect()
    }

    fn label(&self, params: &[Param], _: usize) -> String {
        let of = |p: &Product| format!("{}_{}x{}_{}", p.kind(), p.w.n, p.w.k, params[p.w.param].format);
        self.iter().map(of).collect::<Vec<_>>().join("&")
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|product| writeln!(f, "  {product}"))
    }
}

fn verify(cx: &Context<'_>, product: &Product) -> Result<(), String> {
    let w = &product.w;
    let Format::Ggml(ty) = cx.format(w.param, Access::Read)? else {
        return Err("a weight must have a GGML type".into());
    };
    if !ty.can_decode() || w.n == 0 || w.k == 0 || w.count == 0 || ty.row_bytes(w.k as u64).is_none() {
        return Err(format!("cannot multiply by {} matrices {ty}[{}, {}]", w.count, w.n, w.k));
    }
    if product.cols() != cx.cols {
        return Err(format!("the part has {} columns, but the dot {}", cx.cols, product.cols()));
    }
    let rounded = product.rounds(cx.params);
    match &product.x {
        Factor::View(x) => verify_factor(cx, x, product, rounded)?,
        Factor::Prologue => {
            let found = cx.prologue.map(|p| p.lens().get(p.value).copied().unwrap_or(0));
            if found != Some(product.x_len()) {
                return Err(format!(
                    "the dot reads {} values, but the prologue has {found:?}",
                    product.x_len()
                ));
            }
            if rounded && !product.x_len().is_multiple_of(q8::BLOCK) {
                return Err(format!("{} values are not whole blocks of q8", product.x_len()));
            }
        }
    }
    let rows = cx.values[w.param] / w.k;
    let last = (w.count - 1).checked_mul(w.stride).and_then(|r| r.checked_add(w.first)?.checked_add(w.n));
    if last.is_none_or(|last| last > rows) || (w.count > 1 && w.stride == 0) {
        return Err(format!("the matrices reach beyond the parameter's {rows} rows"));
    }
    if w.from.is_some() && !matches!(w.pick, Pick::Ids(_)) {
        return Err("only a matrix selected by index can be one of part of a stack".into());
    }
    match &w.pick {
        Pick::Only => Ok(()),
        Pick::Axis(a) if cx.rows.get(*a).is_some_and(|n| *n <= w.count) => Ok(()),
        Pick::Axis(a) => Err(format!("axis {a} cannot pick one of {} matrices", w.count)),
        Pick::Ids(_) if w.from.is_some_and(|from| from >= w.count) => {
            Err(format!("no index from {} on selects one of {} matrices", w.from.unwrap_or(0), w.count))
        }
        Pick::Ids(view) if view.step == 0 => cx.indices(view, 1),
        Pick::Ids(_) => Err("ids must have step 0".into()),
        Pick::Sum(sum) if sum.terms == 0 || sum.terms > w.count.max(rows) => {
            Err(format!("a sum has {} terms, expected 1 to {}", sum.terms, w.count.max(rows)))
        }
        Pick::Sum(sum) => {
            cx.indices(&sum.ids, sum.terms)?;
            cx.reads(&sum.weights, sum.terms, |f| f == Format::F32)
        }
    }
}

/// Checks a factor in memory: contiguous rows, several of which a sum reads.
fn verify_factor(cx: &Context<'_>, x: &View, product: &Product, rounded: bool) -> Result<(), String> {
    let (terms, apart) = match &product.w.pick {
        Pick::Sum(sum) => (sum.terms, sum.apart),
        _ => (1, 0),
    };
    let reach = terms.saturating_sub(1).checked_mul(apart).and_then(|n| n.checked_add(product.x_len()));
    let reach = reach.ok_or("the rows of a sum reach too far")?;
    cx.reads(x, reach, |f| f == if rounded { Format::Q8 } else { Format::F32 })?;
    let mut places = x.strides.iter().chain([&x.offset, &apart]);
    if x.step != 1 || (rounded && places.any(|s| s % q8::BLOCK != 0)) {
        return Err("the rows of a dot must be contiguous, and those of q8 at multiples of 32".into());
    }
    Ok(())
}
fn operation(counter: &Counter<'_>, product: &Product) -> Operation {
    let w = &product.w;
    let rows = counter.count() * if let Pick::Sum(sum) = &w.pick { sum.terms as u64 } else { 1 };
    // The most matrices that the rows can select.
    let matrices = match w.pick {
        Pick::Only => rows.min(1),
        Pick::Axis(_) if rows == 0 => 0,
        Pick::Axis(_) => w.count as u64,
        Pick::Ids(_) | Pick::Sum(_) => rows.min(w.count as u64),
    };
    let row_bytes = match counter.params[w.param].format {
        Format::Ggml(ty) => ty.row_bytes(w.k as u64).unwrap_or(0),
        Format::Q8 => 0,
    };
    let bytes = matrices * w.n as u64 * row_bytes;
    let mut touches = vec![Touch { param: w.param, access: Access::Read, bytes }];
    let mut terms = 1;
    match &w.pick {
        Pick::Only | Pick::Axis(_) => {}
        Pick::Ids(ids) => touches.push(counter.touch(ids, None, 1, Access::Read)),
        Pick::Sum(sum) => {
            touches.extend([&sum.ids, &sum.weights].map(|v| counter.touch(v, None, sum.terms, Access::Read)));
            terms = if sum.apart > 0 { sum.terms } else { 1 };
        }
    }
    if let Factor::View(x) = &product.x {
        touches.push(counter.touch(x, None, product.x_len() * terms, Access::Read));
    }
    Operation {
        weight: Some(w.param),
        touches,
        multiplications: rows * w.n as u64 * w.k as u64,
        floats: !product.rounds(counter.params),
        ..counter.operation(product.kind())
    }
}

impl fmt::Display for Matrices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Matrices { param, pick, from, count, n, k, first, stride } = self;
        if let Some(from) = from {
            write!(f, "from={from} ")?;
        }
        write!(f, "w=p{param} count={count} n={n} k={k} first={first} stride={stride} pick=")?;
        match pick {
            Pick::Only => f.write_str(ONLY),
            Pick::Axis(a) => write!(f, "axis{a}"),
            Pick::Ids(view) => write!(f, "{view}"),
            Pick::Sum(sum) => {
                let Sum { terms, ids, weights, apart } = &**sum;
                write!(f, "{ids} terms={terms} weights={weights} apart={apart}")
            }
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x=", self.word())?;
        match &self.x {
            Factor::View(view) => write!(f, "{view}")?,
            Factor::Prologue => f.write_str(words::BEFORE)?,
        }
        write!(f, " {} transposed={}", self.w, self.transposed)
    }
}

/// Reads a product.
pub(super) fn parse(attrs: &Attrs<'_>) -> Parsed<Product> {
    let name = attrs.plain.first().copied().unwrap_or_default();
    let pick = match attrs.get("pick")? {
        ONLY => Pick::Only,
        axis if axis.starts_with("axis") => Pick::Axis(number(axis, "axis")?),
        ids if name == SELECT_SUM => Pick::Sum(Box::new(Sum {
            terms: attrs.num("terms")?,
            ids: view(ids)?,
            weights: view(attrs.get("weights")?)?,
            apart: attrs.num("apart")?,
        })),
        ids => Pick::Ids(view(ids)?),
    };
    let w = Matrices {
        param: number(attrs.get("w")?, "p")?,
        pick,
        from: attrs.get("from").ok().map(|from| number(from, "")).transpose()?,
        count: attrs.num("count")?,
        n: attrs.num("n")?,
        k: attrs.num("k")?,
        first: attrs.num("first")?,
        stride: attrs.num("stride")?,
    };
    let transposed = match attrs.get("transposed")? {
        "true" => true,
        "false" => false,
        other => return Err(format!("`transposed` must be true or false, not `{other}`")),
    };
    let x = match attrs.get("x")? {
        words::BEFORE => Factor::Prologue,
        at => Factor::View(view(at)?),
    };
    if matches!(w.pick, Pick::Ids(_)) != (name == SELECT_DOT)
        || matches!(w.pick, Pick::Sum(_)) != (name == SELECT_SUM)
    {
        return Err("a `select_dot` or `select_sum` picks by ids, and a `dot` does not".into());
    }
    Ok(Product { x, w, transposed })
}

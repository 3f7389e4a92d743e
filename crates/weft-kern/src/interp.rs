//! The kernel interpreter, slow and obvious: it defines what kernels compute, and is the oracle for every device.
//!
//! Operands are read in the precision they are stored in (rounded activations stay rounded). Sums are accumulated in `f64` and
//! rounded once, so a device differs only by the rounding of its sums.
//!
//! The interpreter is generic over [`Number`]: [`run`] computes with `f32` and writes the results; [`stores`] computes one row
//! with values that carry more, such as error bounds, and returns what it would write.

mod attend;
mod buffer;
mod number;
mod rows;

use weft_ir::{Binary, Reduce, RopeStyle, Sizes};

pub use attend::Attention;
pub use buffer::{Buffer, BufferError};
pub use number::Number;
pub use rows::rows;

use crate::kernel::{Anchor, Factor, Indexed, Instr, Kernel, ParamId, Part, Pick, Product, View};
use crate::q8;

/// An index in the data is out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`: {why}")]
pub struct InterpError {
    /// The kernel.
    pub kernel: String,
    /// Which index, and its bound.
    pub why: String,
}

/// Values that a row writes.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored<N> {
    /// The parameter that they are written to.
    pub param: ParamId,
    /// The index of the first value.
    pub at: usize,
    /// The distance between two values.
    pub step: usize,
    /// The values, before they are rounded to the parameter's format.
    pub values: Vec<N>,
}

/// Runs a kernel on its arguments, one buffer per parameter.
///
/// # Errors
/// If an index in the data is out of range. Earlier rows have been written then.
///
/// # Panics
/// If [`crate::verify_call`] does not accept the kernel for these buffers.
pub fn run(kernel: &Kernel, args: &mut [Buffer<'_>], sizes: &Sizes) -> Result<(), InterpError> {
    for part in &kernel.parts {
        for row in rows(&part.rows, sizes) {
            for stored in stores::<f32>(kernel, part, args, &row)? {
                args[stored.param].store(stored.at, stored.step, &stored.values);
            }
        }
    }
    Ok(())
}

/// Computes what one row of a part writes.
///
/// # Errors
/// If an index in the data is out of range.
///
/// # Panics
/// If [`crate::verify_call`] does not accept the kernel for these buffers, or there is no such row.
pub fn stores<N: Number>(
    kernel: &Kernel,
    part: &Part,
    args: &[Buffer<'_>],
    row: &[usize],
) -> Result<Vec<Stored<N>>, InterpError> {
    let run = || {
        let results: Vec<Vec<N>> = match &part.anchor {
            Anchor::Map | Anchor::Reduce => Vec::new(),
            Anchor::Dot(products) => {
                products.iter().map(|p| product(kernel, part, args, row, p)).collect::<Result<_, _>>()?
            }
            Anchor::Attend(attend) => {
                let attention = Attention::new(args, row, attend)?;
                vec![N::attended(&attention.result(part.cols), &attention)]
            }
        };
        let mut stored = Vec::new();
        program(&part.body, args, row, &results, &mut stored)?;
        Ok(stored)
    };
    run().map_err(|why| InterpError { kernel: kernel.name.clone(), why })
}

/// The first index that a row loads or stores: where its view begins, plus the offset of a row picked by index.
///
/// # Errors
/// A sentence, if the index is out of range.
pub fn place(
    args: &[Buffer<'_>],
    view: &View,
    indexed: Option<&Indexed>,
    row: &[usize],
) -> Result<usize, String> {
    let picked = match indexed {
        None => 0,
        Some(i) => index(args, &i.index, row, 0, args[view.param].len() / i.stride)? * i.stride,
    };
    Ok(base(view, row) + picked)
}

/// The first index of a view's row.
fn base(view: &View, row: &[usize]) -> usize {
    view.offset + view.strides.iter().zip(row).map(|(s, r)| s * r).sum::<usize>()
}

/// The index that a view of indices holds for a row, checked against `bound`.
fn index(args: &[Buffer<'_>], view: &View, row: &[usize], c: usize, bound: usize) -> Result<usize, String> {
    let value = args[view.param].int(base(view, row) + c * view.step);
    usize::try_from(value)
        .ok()
        .filter(|i| *i < bound)
        .ok_or_else(|| format!("index {value} is out of range: there are {bound}"))
}

/// Values in memory.
fn load<N: Number>(args: &[Buffer<'_>], view: &View, at: usize, len: usize) -> Vec<N> {
    (0..len).map(|i| N::exact(args[view.param].float(at + i * view.step))).collect()
}

fn binary<N: Number>(op: Binary, a: N, b: N) -> N {
    N::binary(op.apply(a.value(), b.value()), op, a, b)
}

fn product<N: Number>(
    kernel: &Kernel,
    part: &Part,
    args: &[Buffer<'_>],
    row: &[usize],
    product: &Product,
) -> Result<Vec<N>, String> {
    let w = &product.w;
    // The left factor, of which a sum has several rows.
    let x = |term: usize, apart: usize| -> Result<Vec<N>, String> {
        match &product.x {
            Factor::View(view) => Ok(load(args, view, base(view, row) + term * apart, product.x_len())),
            Factor::Prologue => prologue(part, args, row, product.rounds(&kernel.params)),
        }
    };
    let matrix = match &w.pick {
        Pick::Only => 0,
        Pick::Axis(axis) => row[*axis],
        Pick::Ids(view) => index(args, view, row, 0, w.count)?,
        Pick::Sum(sum) => {
            let mut total: Vec<N> = Vec::new();
            for term in 0..sum.terms {
                let matrix = index(args, &sum.ids, row, term, w.count)?;
                let at = base(&sum.weights, row) + term * sum.weights.step;
                let weight = N::exact(args[sum.weights.param].float(at));
                let each = multiply(args, product, matrix, &x(term, sum.apart)?).into_iter();
                let each = each.map(|y| binary(Binary::Mul, y, weight));
                total = match term {
                    0 => each.collect(),
                    _ => total.iter().zip(each).map(|(t, y)| binary(Binary::Add, *t, y)).collect(),
                };
            }
            return Ok(total);
        }
    };
    Ok(multiply(args, product, matrix, &x(0, 0)?))
}

/// The prologue's value for a row, rounded to `q8` and back if the product reads it rounded.
fn prologue<N: Number>(
    part: &Part,
    args: &[Buffer<'_>],
    row: &[usize],
    rounded: bool,
) -> Result<Vec<N>, String> {
    let prologue = part.prologue.as_ref().ok_or("the part has no prologue")?;
    let row = &row[..part.prologue_rows().len()];
    let mut values = program(&prologue.body, args, row, &[], &mut Vec::new())?;
    let mut x: Vec<N> = values.swap_remove(prologue.value);
    if rounded {
        for block in x.as_chunks_mut::<{ q8::BLOCK }>().0 {
            *block = N::rounded_q8(block, &q8::quantise(&block.map(N::value)));
        }
    }
    Ok(x)
}

/// Multiplies one row by one matrix.
fn multiply<N: Number>(args: &[Buffer<'_>], product: &Product, matrix: usize, x: &[N]) -> Vec<N> {
    let w = &product.w;
    // For each output, the sum so far and what it carries.
    let mut sums = vec![(0.0f64, N::Sum::default()); product.cols()];
    let add = |sum: &mut (f64, N::Sum), x: N, (weight, magnitude): (f32, f64)| {
        sum.0 += f64::from(x.value()) * f64::from(weight);
        N::add(&mut sum.1, x, weight, magnitude);
    };
    for n in 0..w.n {
        let row = w.first + matrix * w.stride + n;
        let weights = args[w.param].row(row, w.k);
        let magnitudes = if N::MAGNITUDES { args[w.param].magnitudes(row, &weights) } else { Vec::new() };
        let weight = |k: usize| (weights[k], magnitudes.get(k).copied().unwrap_or(0.0));
        if product.transposed {
            sums.iter_mut().enumerate().for_each(|(k, sum)| add(sum, x[n], weight(k)));
        } else {
            let mut sum = Default::default();
            x.iter().enumerate().for_each(|(k, x)| add(&mut sum, *x, weight(k)));
            sums[n] = sum;
        }
    }
    sums.into_iter().map(|(value, sum)| N::product(value as f32, sum, x.len())).collect()
}

/// Runs a row program for a row. Returns its values, and adds what it stores to `stored`.
fn program<N: Number>(
    body: &[Instr],
    args: &[Buffer<'_>],
    row: &[usize],
    results: &[Vec<N>],
    stored: &mut Vec<Stored<N>>,
) -> Result<Vec<Vec<N>>, String> {
    let mut values: Vec<Vec<N>> = Vec::with_capacity(body.len());
    for instr in body {
        let value = match instr {
            Instr::Const(v) => vec![N::exact(v.0)],
            Instr::Acc(i) => results[*i].clone(),
            Instr::Load { view, indexed, len } => {
                load(args, view, place(args, view, indexed.as_ref(), row)?, *len)
            }
            Instr::TopK { x, k } => N::top_k(&values[*x], &descending(&values[*x]), *k),
            Instr::Take { from, ids } => {
                let from = &values[*from];
                let pick = |id: &N| {
                    let found = (0..from.len()).find(|i| *i as f32 == id.value());
                    let found = found.ok_or_else(|| {
                        format!("index {} is out of range: there are {}", id.value(), from.len())
                    })?;
                    Ok(from[found].picked(*id))
                };
                values[*ids].iter().map(pick).collect::<Result<_, String>>()?
            }
            Instr::Unary(op, x) => {
                values[*x].iter().map(|x| N::unary(op.apply(x.value()), *op, *x)).collect()
            }
            Instr::Binary(op, a, b) => {
                let (a, b) = (&values[*a], &values[*b]);
                let at = |v: &[N], c: usize| v[if v.len() == 1 { 0 } else { c }];
                (0..a.len().max(b.len())).map(|c| binary(*op, at(a, c), at(b, c))).collect()
            }
            Instr::Reduce(op, x) => vec![reduce(*op, &values[*x])],
            Instr::Rope { style, x, cos, sin } => rope(*style, &values[*x], &values[*cos], &values[*sin]),
            Instr::Store { value, view, indexed } => {
                let at = place(args, view, indexed.as_ref(), row)?;
                let values = values[*value].clone();
                stored.push(Stored { param: view.param, at, step: view.step, values });
                Vec::new()
            }
        };
        values.push(value);
    }
    Ok(values)
}

/// All indices of `x`, the largest value first; among equals, the lower index first. NaN comes before everything.
fn descending<N: Number>(x: &[N]) -> Vec<usize> {
    let key = |i: usize| if x[i].value().is_nan() { f32::NAN } else { x[i].value() };
    let mut order: Vec<usize> = (0..x.len()).collect();
    // A stable sort keeps equals in order. The positive NaN is above all numbers.
    order.sort_by(|a, b| key(*b).total_cmp(&key(*a)));
    order
}

fn reduce<N: Number>(op: Reduce, x: &[N]) -> N {
    let values = x.iter().map(|x| x.value());
    match op {
        Reduce::Sum => N::sum(values.map(f64::from).sum::<f64>() as f32, x),
        Reduce::Max => N::max(values.fold(f32::NEG_INFINITY, f32::max), x),
    }
}

fn rope<N: Number>(style: RopeStyle, x: &[N], cos: &[N], sin: &[N]) -> Vec<N> {
    let mut out = x.to_vec();
    let rotated = |op, (x, by): (N, N), (y, with): (N, N)| {
        binary(op, binary(Binary::Mul, x, by), binary(Binary::Mul, y, with))
    };
    for (i, (cos, sin)) in cos.iter().zip(sin).enumerate() {
        let (a, b) = style.pair(i, x.len());
        out[a] = rotated(Binary::Sub, (x[a], *cos), (x[b], *sin));
        out[b] = rotated(Binary::Add, (x[a], *sin), (x[b], *cos));
    }
    out
}

//! The kernel interpreter: what a kernel means, slow and obvious. The oracle for every device.
//!
//! Operands are read in the precision they are stored in (rounded activations stay rounded); sums are kept in `f64` and rounded once, so a
//! device differs from this only by the rounding of its own sums.

mod buffer;
mod rows;

use weft_ir::{Reduce, RopeStyle, Sizes};

pub use buffer::{Buffer, BufferError};

use crate::kernel::{Anchor, Attend, Cached, Factor, Instr, Kernel, Matrices, Part, Pick, Product, View};
use crate::q8;
use rows::RowSpace;

/// An index in the data that points outside what it indexes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`: {why}")]
pub struct InterpError {
    /// The kernel.
    pub kernel: String,
    /// Which index, and its bound.
    pub why: String,
}

/// Runs a kernel on its arguments, one buffer for each parameter.
///
/// # Errors
/// If an index in the data is out of bounds. What was written until then stays written.
///
/// # Panics
/// If the kernel is not one that [`crate::verify_call`] accepts for these buffers.
pub fn run(kernel: &Kernel, args: &mut [Buffer<'_>], sizes: &Sizes) -> Result<(), InterpError> {
    let fail = |why| InterpError { kernel: kernel.name.clone(), why };
    kernel.parts.iter().try_for_each(|p| part(kernel, p, args, sizes)).map_err(fail)
}

fn part(kernel: &Kernel, part: &Part, args: &mut [Buffer<'_>], sizes: &Sizes) -> Result<(), String> {
    let space = RowSpace::new(&part.rows, sizes);
    for row in space.iter() {
        let results = match &part.anchor {
            Anchor::Map | Anchor::Reduce => Vec::new(),
            Anchor::Dot(products) => {
                let each = products.iter().map(|p| product(kernel, part, args, &row, p));
                each.collect::<Result<_, _>>()?
            }
            Anchor::Attend(attend) => vec![attention(part.cols, args, &row, attend)?],
        };
        program(&part.body, args, &row, &results)?;
    }
    Ok(())
}

/// Where a view's row begins.
fn base(view: &View, row: &[usize]) -> usize {
    view.offset + view.strides.iter().zip(row).map(|(s, r)| s * r).sum::<usize>()
}

/// The number a view of indices holds for a row, checked against what it indexes.
fn index(args: &[Buffer<'_>], view: &View, row: &[usize], c: usize, bound: usize) -> Result<usize, String> {
    let value = args[view.param].int(base(view, row) + c * view.step);
    usize::try_from(value).ok().filter(|i| *i < bound).ok_or_else(|| format!("index {value} of {bound}"))
}

fn product(
    kernel: &Kernel,
    part: &Part,
    args: &mut [Buffer<'_>],
    row: &[usize],
    product: &Product,
) -> Result<Vec<f32>, String> {
    let w = &product.w;
    // The values multiplied, of which a sum has several rows.
    let x = |args: &mut [Buffer<'_>], term: usize, apart: usize| -> Result<Vec<f32>, String> {
        match &product.x {
            Factor::View(view) => {
                let at = base(view, row) + term * apart;
                Ok((0..product.x_len()).map(|i| args[view.param].float(at + i * view.step)).collect())
            }
            Factor::Prologue => prologue(part, args, row, product.rounds(&kernel.params)),
        }
    };
    let matrix = match &w.pick {
        Pick::Only => 0,
        Pick::Axis(axis) => row[*axis],
        Pick::Ids(view) => index(args, view, row, 0, w.count)?,
        Pick::Sum(sum) => {
            let mut total: Vec<f32> = Vec::new();
            for term in 0..sum.terms {
                let matrix = index(args, &sum.ids, row, term, w.count)?;
                let x = x(args, term, sum.apart)?;
                let weight = args[sum.weights.param].float(base(&sum.weights, row) + term * sum.weights.step);
                let each = multiply(args, w, matrix, &x, product.transposed).into_iter().map(|y| y * weight);
                total = match term {
                    0 => each.collect(),
                    _ => total.iter().zip(each).map(|(t, y)| t + y).collect(),
                };
            }
            return Ok(total);
        }
    };
    let x = x(args, 0, 0)?;
    Ok(multiply(args, w, matrix, &x, product.transposed))
}

/// What a part's prologue makes of a row, rounded and read back if it is.
fn prologue(part: &Part, args: &mut [Buffer<'_>], row: &[usize], rounded: bool) -> Result<Vec<f32>, String> {
    let prologue = part.prologue.as_ref().ok_or("the part has no prologue")?;
    let mut values = program(&prologue.body, args, &row[..part.prologue_rows().len()], &[])?;
    let mut x = values.swap_remove(prologue.value);
    if rounded {
        let blocks = x.as_chunks_mut::<{ q8::BLOCK }>().0;
        blocks.iter_mut().for_each(|block| {
            let rounded = q8::quantise(block);
            *block = rounded.quants.map(|q| f32::from(q) * rounded.scale);
        });
    }
    Ok(x)
}

/// One matrix times one row.
fn multiply(args: &[Buffer<'_>], w: &Matrices, matrix: usize, x: &[f32], transposed: bool) -> Vec<f32> {
    let weights = |n: usize| args[w.param].row(w.first + matrix * w.stride + n, w.k);
    if transposed {
        let mut sums = vec![0.0f64; w.k];
        for (n, x) in x.iter().enumerate() {
            sums.iter_mut().zip(weights(n)).for_each(|(s, w)| *s += f64::from(*x) * f64::from(w));
        }
        return sums.into_iter().map(|s| s as f32).collect();
    }
    let terms = |n: usize| x.iter().zip(weights(n)).map(|(x, w)| f64::from(*x) * f64::from(w));
    (0..w.n).map(|n| terms(n).sum::<f64>() as f32).collect()
}

fn attention(cols: usize, args: &[Buffer<'_>], row: &[usize], a: &Attend) -> Result<Vec<f32>, String> {
    let [t, h] = row[..] else { return Err("rows must be tokens × heads".into()) };
    let group = h / (a.heads / a.kv_heads);
    let pos = args[a.pos].int(t);
    let seen = usize::try_from(pos).map_err(|_| format!("position {pos}"))? + 1;
    let first = args[a.first].int(t);
    let state_rows = |c: &Cached| args[c.param].len() / c.row_stride;
    let bound = state_rows(&a.k).min(state_rows(&a.v));
    let mut rows = Vec::with_capacity(seen);
    for p in 0..seen {
        let at = usize::try_from(first).ok().and_then(|f| f.checked_add(p / a.page));
        let at =
            at.filter(|at| *at < args[a.pages].len()).ok_or_else(|| format!("position {p} has no page"))?;
        let state_row = i64::from(args[a.pages].int(at)) * a.page as i64 + (p % a.page) as i64;
        let found = usize::try_from(state_row).ok().filter(|r| *r < bound);
        rows.push(found.ok_or_else(|| format!("state row {state_row} of {bound}"))?);
    }
    let cached = |c: &Cached, r: usize, i: usize| {
        f64::from(args[c.param].float(r * c.row_stride + c.offset + group * c.head_stride + i))
    };
    let at = base(&a.q, row);
    let query: Vec<f64> = (0..a.k_len).map(|i| f64::from(args[a.q.param].float(at + i * a.q.step))).collect();
    let scores: Vec<f64> = rows
        .iter()
        .map(|r| {
            let sum: f64 = query.iter().enumerate().map(|(i, q)| q * cached(&a.k, *r, i)).sum();
            sum * f64::from(a.scale.0)
        })
        .collect();
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    Ok((0..cols)
        .map(|i| {
            (rows.iter().zip(&weights).map(|(r, w)| w * cached(&a.v, *r, i)).sum::<f64>() / total) as f32
        })
        .collect())
}

/// Runs a row program for a row; what comes back are its values.
fn program(
    body: &[Instr],
    args: &mut [Buffer<'_>],
    row: &[usize],
    results: &[Vec<f32>],
) -> Result<Vec<Vec<f32>>, String> {
    let mut values: Vec<Vec<f32>> = Vec::with_capacity(body.len());
    for instr in body {
        let value = match instr {
            Instr::Const(v) => vec![v.0],
            Instr::Acc(i) => results[*i].clone(),
            Instr::Load { view, indexed, len } => {
                let mut at = base(view, row);
                if let Some(i) = indexed {
                    at += index(args, &i.index, row, 0, args[view.param].len() / i.stride)? * i.stride;
                }
                (0..*len).map(|c| args[view.param].float(at + c * view.step)).collect()
            }
            Instr::TopK { x, k } => {
                let x = &values[*x];
                let key = |i: usize| if x[i].is_nan() { f32::NEG_INFINITY } else { x[i] };
                let mut order: Vec<usize> = (0..x.len()).collect();
                // A stable sort keeps the lower index first among equals.
                order.sort_by(|a, b| key(*b).total_cmp(&key(*a)));
                order[..*k].iter().map(|i| *i as f32).collect()
            }
            Instr::Take { from, ids } => {
                let from = &values[*from];
                let pick = |id: &f32| {
                    let found = (0..from.len()).find(|i| *i as f32 == *id);
                    found.map(|i| from[i]).ok_or_else(|| format!("index {id} of {}", from.len()))
                };
                values[*ids].iter().map(pick).collect::<Result<_, _>>()?
            }
            Instr::Unary(op, x) => values[*x].iter().map(|v| op.apply(*v)).collect(),
            Instr::Binary(op, a, b) => {
                let (a, b) = (&values[*a], &values[*b]);
                let at = |v: &[f32], c: usize| v[if v.len() == 1 { 0 } else { c }];
                (0..a.len().max(b.len())).map(|c| op.apply(at(a, c), at(b, c))).collect()
            }
            Instr::Reduce(op, x) => {
                let x = values[*x].iter();
                vec![match op {
                    Reduce::Sum => x.map(|v| f64::from(*v)).sum::<f64>() as f32,
                    Reduce::Max => x.copied().fold(f32::NEG_INFINITY, f32::max),
                }]
            }
            Instr::Rope { style, x, cos, sin } => rope(*style, &values[*x], &values[*cos], &values[*sin]),
            Instr::Store { value, view, indexed } => {
                let mut at = base(view, row);
                if let Some(i) = indexed {
                    at += index(args, &i.index, row, 0, args[view.param].len() / i.stride)? * i.stride;
                }
                args[view.param].store(at, view.step, &values[*value]);
                Vec::new()
            }
        };
        values.push(value);
    }
    Ok(values)
}

fn rope(style: RopeStyle, x: &[f32], cos: &[f32], sin: &[f32]) -> Vec<f32> {
    let mut out = x.to_vec();
    for (i, (cos, sin)) in cos.iter().zip(sin).enumerate() {
        let (a, b) = style.pair(i, x.len());
        out[a] = x[a] * cos - x[b] * sin;
        out[b] = x[a] * sin + x[b] * cos;
    }
    out
}

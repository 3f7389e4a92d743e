//! The kernel interpreter: what a kernel means, slow and obvious. The oracle for every device.
//!
//! Operands are read in the precision they are stored in (rounded activations stay rounded); sums are kept in `f64` and rounded once, so a
//! device differs from this only by the rounding of its own sums.

mod buffer;
mod rows;

use weft_ir::{Reduce, RopeStyle, Sizes};

pub use buffer::{Buffer, BufferError};

use crate::kernel::{Anchor, Attend, Cached, Instr, Kernel, Matrices, Pick, View};
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
    let space = RowSpace::new(&kernel.rows, sizes);
    for row in space.iter() {
        let acc = anchor(kernel, args, &row).map_err(|why| fail(kernel, why))?;
        body(kernel, args, &row, &acc).map_err(|why| fail(kernel, why))?;
    }
    Ok(())
}

fn fail(kernel: &Kernel, why: String) -> InterpError {
    InterpError { kernel: kernel.name.clone(), why }
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

fn anchor(kernel: &Kernel, args: &[Buffer<'_>], row: &[usize]) -> Result<Vec<f32>, String> {
    match &kernel.anchor {
        Anchor::Map | Anchor::Reduce => Ok(Vec::new()),
        Anchor::Dot { x, w, transposed } => dot(kernel, args, row, x, w, *transposed),
        Anchor::Attend(attend) => attention(kernel, args, row, attend),
        Anchor::TopK { x, n } => {
            let at = base(x, row);
            let values: Vec<f32> = (0..*n).map(|i| args[x.param].float(at + i * x.step)).collect();
            let key = |i: usize| if values[i].is_nan() { f32::NEG_INFINITY } else { values[i] };
            let mut order: Vec<usize> = (0..*n).collect();
            // A stable sort keeps the lower index first among equals.
            order.sort_by(|a, b| key(*b).total_cmp(&key(*a)));
            Ok(order[..kernel.cols].iter().map(|i| *i as f32).collect())
        }
    }
}

fn dot(
    kernel: &Kernel,
    args: &[Buffer<'_>],
    row: &[usize],
    x: &View,
    w: &Matrices,
    transposed: bool,
) -> Result<Vec<f32>, String> {
    let matrix = match &w.pick {
        Pick::Only => 0,
        Pick::Axis(axis) => row[*axis],
        Pick::Ids(view) => index(args, view, row, 0, w.count)?,
    };
    let first = w.first + matrix * w.stride;
    let at = base(x, row);
    let value = |i: usize| f64::from(args[x.param].float(at + i * x.step));
    if transposed {
        let mut sums = vec![0.0f64; w.k];
        for j in 0..w.n {
            let weights = args[w.param].row(first + j, w.k);
            sums.iter_mut().zip(weights).for_each(|(s, w)| *s += value(j) * f64::from(w));
        }
        return Ok(sums.into_iter().map(|s| s as f32).collect());
    }
    let xs: Vec<f64> = (0..w.k).map(value).collect();
    Ok((0..kernel.cols)
        .map(|n| {
            let weights = args[w.param].row(first + n, w.k);
            xs.iter().zip(weights).map(|(x, w)| x * f64::from(w)).sum::<f64>() as f32
        })
        .collect())
}

fn attention(kernel: &Kernel, args: &[Buffer<'_>], row: &[usize], a: &Attend) -> Result<Vec<f32>, String> {
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
    Ok((0..kernel.cols)
        .map(|i| {
            (rows.iter().zip(&weights).map(|(r, w)| w * cached(&a.v, *r, i)).sum::<f64>() / total) as f32
        })
        .collect())
}

fn body(kernel: &Kernel, args: &mut [Buffer<'_>], row: &[usize], acc: &[f32]) -> Result<(), String> {
    let mut values: Vec<Vec<f32>> = Vec::with_capacity(kernel.body.len());
    for instr in &kernel.body {
        let value = match instr {
            Instr::Const(v) => vec![v.0],
            Instr::Acc => acc.to_vec(),
            Instr::Load { view, indexed, len } => {
                let mut at = base(view, row);
                if let Some(i) = indexed {
                    at += index(args, &i.index, row, 0, args[view.param].len() / i.stride)? * i.stride;
                }
                (0..*len).map(|c| args[view.param].float(at + c * view.step)).collect()
            }
            Instr::Take { from, of, ids, len } => {
                let at = base(from, row);
                let pick = |c| Ok(args[from.param].float(at + index(args, ids, row, c, *of)? * from.step));
                (0..*len).map(pick).collect::<Result<_, String>>()?
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
    Ok(())
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

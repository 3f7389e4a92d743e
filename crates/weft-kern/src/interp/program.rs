//! Runs the row program of a row.

use weft_ir::{Binary, Reduce, RopeStyle};

use super::buffer::Buffer;
use super::number::Number;
use super::views::place;
use crate::program::{Instr, ParamId, View};

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

/// Values in memory.
pub(crate) fn load<N: Number>(args: &[Buffer<'_>], view: &View, at: usize, len: usize) -> Vec<N> {
    (0..len).map(|i| N::exact(args[view.param].float(at + i * view.step))).collect()
}

/// An elementwise operation on two values.
pub(crate) fn binary<N: Number>(op: Binary, a: N, b: N) -> N {
    N::binary(op.apply(a.value(), b.value()), op, a, b)
}

/// Runs a row program for a row. Returns its values, and adds what it stores to `stored`.
pub(crate) fn program<N: Number>(
    body: &[Instr],
    args: &[Buffer<'_>],
    row: &[usize],
    results: &[Vec<N>],
    stored: &mut Vec<Stored<N>>,
) -> Result<Vec<Vec<N>>, String> {
    let mut values: Vec<Vec<N>> = Vec::with_capacity(body.len());
    let mut scalars = N::Scalars::default();
    for (at, instr) in body.iter().enumerate() {
        let mut value = match instr {
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
        if let [scalar] = &mut value[..] {
            *scalar = N::scalar(&mut scalars, at, instr, *scalar);
        }
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

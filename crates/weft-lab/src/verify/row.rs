//! A row of a kernel, computed with error bars: the interpreter once more ([`weft_kern::interp`]), with [`Bar`]s for values.

use weft_kern::{
    Anchor, Binary, Factor, Format, Instr, Kernel, Part, Pick, Product, Reduce, View, interp, q8,
};
use weft_quant::GgmlType;
use weft_quant::ints::unpack_row;

use super::attend::attention;
use super::bar::{Bar, U, sum_error};

/// An argument of a launch.
pub(super) struct Arg<'a> {
    pub(super) buffer: interp::Buffer<'a>,
    pub(super) format: Format,
    /// The bytes of a weight.
    pub(super) weight: Option<&'a [u8]>,
}

/// What a row writes somewhere.
pub(super) struct Stored {
    pub(super) param: usize,
    /// Of the first value.
    pub(super) at: usize,
    /// Between two values.
    pub(super) step: usize,
    pub(super) bars: Vec<Bar>,
}

/// Where a view's row begins.
pub(super) fn base(view: &View, row: &[usize]) -> usize {
    view.offset + view.strides.iter().zip(row).map(|(s, r)| s * r).sum::<usize>()
}

/// The number a view of indices holds for a row.
pub(super) fn index(args: &[Arg<'_>], view: &View, row: &[usize], c: usize) -> Option<usize> {
    usize::try_from(args[view.param].buffer.int(base(view, row) + c * view.step)).ok()
}

/// Where a row loads or stores.
pub(super) fn place(
    args: &[Arg<'_>],
    view: &View,
    indexed: Option<&weft_kern::Indexed>,
    row: &[usize],
) -> Option<usize> {
    let picked = match indexed {
        None => 0,
        Some(i) => index(args, &i.index, row, 0)?.checked_mul(i.stride)?,
    };
    base(view, row).checked_add(picked)
}

/// What a row writes, with bars. Nothing if an index is none, which the interpreter reports.
pub(super) fn stored(kernel: &Kernel, part: &Part, args: &[Arg<'_>], row: &[usize]) -> Option<Vec<Stored>> {
    let results = match &part.anchor {
        Anchor::Map | Anchor::Reduce => Vec::new(),
        Anchor::Dot(products) => {
            products.iter().map(|p| product(kernel, part, args, row, p)).collect::<Option<_>>()?
        }
        Anchor::Attend(attend) => vec![attention(part.cols, args, row, attend)?],
    };
    let mut stored = Vec::new();
    program(&part.body, args, row, &results, &mut stored)?;
    Some(stored)
}

fn product(
    kernel: &Kernel,
    part: &Part,
    args: &[Arg<'_>],
    row: &[usize],
    product: &Product,
) -> Option<Vec<Bar>> {
    let w = &product.w;
    let x = |term: usize, apart: usize| -> Option<Vec<Bar>> {
        match &product.x {
            Factor::View(view) => {
                let at = base(view, row) + term * apart;
                let value = |i: usize| args[view.param].buffer.float(at + i * view.step);
                Some((0..product.x_len()).map(|i| Bar::exact(value(i))).collect())
            }
            Factor::Prologue => prologue(part, args, row, product.rounds(&kernel.params)),
        }
    };
    let matrix = match &w.pick {
        Pick::Only => 0,
        Pick::Axis(axis) => row[*axis],
        Pick::Ids(view) => index(args, view, row, 0)?,
        Pick::Sum(sum) => {
            let mut total: Vec<Bar> = Vec::new();
            for term in 0..sum.terms {
                let matrix = index(args, &sum.ids, row, term)?;
                let at = base(&sum.weights, row) + term * sum.weights.step;
                let weight = Bar::exact(args[sum.weights.param].buffer.float(at));
                let each = multiply(args, product, matrix, &x(term, sum.apart)?);
                let each = each.into_iter().map(|y| Bar::binary(Binary::Mul, y, weight));
                total = match term {
                    0 => each.collect(),
                    _ => total.iter().zip(each).map(|(t, y)| Bar::binary(Binary::Add, *t, y)).collect(),
                };
            }
            return Some(total);
        }
    };
    Some(multiply(args, product, matrix, &x(0, 0)?))
}

fn prologue(part: &Part, args: &[Arg<'_>], row: &[usize], rounded: bool) -> Option<Vec<Bar>> {
    let prologue = part.prologue.as_ref()?;
    let mut values = program(&prologue.body, args, &row[..part.prologue_rows().len()], &[], &mut Vec::new())?;
    let mut x = values.swap_remove(prologue.value);
    if rounded {
        round(&mut x, Bar::rounded_q8);
    }
    Some(x)
}

/// Rounds all blocks and reads them back.
fn round(x: &mut [Bar], with: fn(&[Bar; q8::BLOCK]) -> [Bar; q8::BLOCK]) {
    x.as_chunks_mut().0.iter_mut().for_each(|block| *block = with(block));
}

/// Roundings of a product beside those of its sum: of a block's scales, of a minimum, of the sums it is multiplied with.
const SCALES: f64 = 8.0 * U;

/// One matrix times one row.
fn multiply(args: &[Arg<'_>], product: &Product, matrix: usize, x: &[Bar]) -> Vec<Bar> {
    let w = &product.w;
    let rows = |n: usize| {
        let row = w.first + matrix * w.stride + n;
        let weights = args[w.param].buffer.row(row, w.k);
        let sizes = sizes(&args[w.param], row, &weights);
        weights.into_iter().zip(sizes)
    };
    // Of each output: the exact sum, the sum of its terms' magnitudes, and what errors of x make of it.
    let mut sums = vec![[0.0f64; 3]; product.cols()];
    let add = |sum: &mut [f64; 3], x: &Bar, (w, size): (f32, f64)| {
        let value = f64::from(x.value);
        sum[0] += value * f64::from(w);
        sum[1] += value.abs() * size;
        sum[2] += x.error * size;
    };
    if product.transposed {
        for (n, x) in x.iter().enumerate() {
            sums.iter_mut().zip(rows(n)).for_each(|(sum, w)| add(sum, x, w));
        }
    } else {
        for (n, sum) in sums.iter_mut().enumerate() {
            x.iter().zip(rows(n)).for_each(|(x, w)| add(sum, x, w));
        }
    }
    let relative = sum_error(x.len()) + SCALES;
    let bar = |[sum, sizes, errors]: [f64; 3]| Bar::rounded(sum as f32, errors + relative * (sizes + errors));
    sums.into_iter().map(bar).collect()
}

/// How large the terms are that a weight is made of: it itself, or `|scale · q| + |minimum|`.
fn sizes(arg: &Arg<'_>, row: usize, weights: &[f32]) -> Vec<f64> {
    let plain = || weights.iter().map(|w| f64::from(w.abs())).collect();
    let Format::Ggml(ty) = arg.format else { return plain() };
    let (Some(layout), Some(bytes)) = (ty.int_layout().filter(|layout| layout.has_min), arg.weight) else {
        return plain();
    };
    let (len, groups) = (weights.len() / ty.block_len() * ty.block_bytes(), weights.len() / layout.group);
    let (mut q, mut scales, mut mins) = (vec![0; weights.len()], vec![0.0; groups], vec![0.0; groups]);
    unpack_row(ty, &bytes[row * len..][..len], &mut q, &mut scales, &mut mins);
    let size = |(i, q): (usize, &i8)| {
        let group = i / layout.group;
        f64::from((scales[group] * f32::from(*q)).abs()) + f64::from(mins[group].abs())
    };
    q.iter().enumerate().map(size).collect()
}

/// Runs a row program; what comes back are its values, what it stores is added to `stored`.
fn program(
    body: &[Instr],
    args: &[Arg<'_>],
    row: &[usize],
    results: &[Vec<Bar>],
    stored: &mut Vec<Stored>,
) -> Option<Vec<Vec<Bar>>> {
    let mut values: Vec<Vec<Bar>> = Vec::with_capacity(body.len());
    for instr in body {
        let value = match instr {
            Instr::Const(v) => vec![Bar::exact(v.0)],
            Instr::Acc(i) => results[*i].clone(),
            Instr::Load { view, indexed, len } => {
                let at = place(args, view, indexed.as_ref(), row)?;
                let value = |c: usize| args[view.param].buffer.float(at + c * view.step);
                (0..*len).map(|c| Bar::exact(value(c))).collect()
            }
            Instr::TopK { x, k } => top(&values[*x], *k),
            Instr::Take { from, ids } => {
                let from = &values[*from];
                let taken = |id: &Bar| {
                    let bar = *from.get(id.value as usize)?;
                    Some(if id.error > 0.0 { Bar::unknown(bar.value) } else { bar })
                };
                values[*ids].iter().map(taken).collect::<Option<_>>()?
            }
            Instr::Unary(op, x) => values[*x].iter().map(|v| v.unary(*op)).collect(),
            Instr::Binary(op, a, b) => {
                let (a, b) = (&values[*a], &values[*b]);
                let at = |v: &[Bar], c: usize| v[if v.len() == 1 { 0 } else { c }];
                (0..a.len().max(b.len())).map(|c| Bar::binary(*op, at(a, c), at(b, c))).collect()
            }
            Instr::Reduce(op, x) => vec![reduce(*op, &values[*x])],
            Instr::Rope { style, x, cos, sin } => {
                let mut out = values[*x].clone();
                for (i, (cos, sin)) in values[*cos].iter().zip(&values[*sin]).enumerate() {
                    let (a, b) = style.pair(i, out.len());
                    let (xa, xb) = (values[*x][a], values[*x][b]);
                    let turned = |op, (x, by): (Bar, &Bar), (y, and): (Bar, &Bar)| {
                        let [first, second] =
                            [(x, by), (y, and)].map(|(x, by)| Bar::binary(Binary::Mul, x, *by));
                        Bar::binary(op, first, second)
                    };
                    out[a] = turned(Binary::Sub, (xa, cos), (xb, sin));
                    out[b] = turned(Binary::Add, (xa, sin), (xb, cos));
                }
                out
            }
            Instr::Store { value, view, indexed } => {
                let mut bars = values[*value].clone();
                match args[view.param].format {
                    Format::Q8 => round(&mut bars, Bar::rounded_q8),
                    Format::Ggml(GgmlType::Q8_0) => round(&mut bars, Bar::rounded_q8_0),
                    Format::Ggml(_) => {}
                }
                let at = place(args, view, indexed.as_ref(), row)?;
                stored.push(Stored { param: view.param, at, step: view.step, bars });
                Vec::new()
            }
        };
        values.push(value);
    }
    Some(values)
}

fn reduce(op: Reduce, x: &[Bar]) -> Bar {
    match op {
        Reduce::Sum => Bar::sum(x.iter().map(|v| f64::from(v.value)).sum::<f64>() as f32, x),
        Reduce::Max => Bar {
            value: x.iter().map(|v| v.value).fold(f32::NEG_INFINITY, f32::max),
            error: x.iter().map(|v| v.error).fold(0.0, f64::max),
        },
    }
}

/// The indices of the `k` largest. If another order is possible within the bars, they are unknown.
fn top(x: &[Bar], k: usize) -> Vec<Bar> {
    let key = |i: usize| if x[i].value.is_nan() { f32::NEG_INFINITY } else { x[i].value };
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|a, b| key(*b).total_cmp(&key(*a)));
    let before = |a: usize, b: usize| {
        // Equal ones that are exact are told apart by their index.
        let gap = f64::from(key(a)) - f64::from(key(b));
        x[a].error + x[b].error == 0.0 || gap > x[a].error + x[b].error
    };
    let certain = (0..k).all(|i| order[i + 1..].iter().all(|other| before(order[i], *other)));
    let id = |i: &usize| if certain { Bar::exact(*i as f32) } else { Bar::unknown(*i as f32) };
    order[..k].iter().map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_certain_if_no_other_is_possible() {
        let bars = |values: &[(f32, f64)]| -> Vec<Bar> {
            values.iter().map(|&(value, error)| Bar { value, error }).collect()
        };
        let ids = |bars: &[Bar]| -> Vec<f32> { bars.iter().map(|bar| bar.value).collect() };
        let clear = top(&bars(&[(1.0, 0.1), (3.0, 0.1), (2.0, 0.1), (0.0, 5.0)]), 1);
        assert_eq!((ids(&clear), clear[0].error), (vec![1.0], f64::INFINITY), "the last may be the first");
        let clear = top(&bars(&[(1.0, 0.1), (3.0, 0.1), (2.0, 0.1), (0.0, 0.5)]), 2);
        assert_eq!((ids(&clear), clear[0].error), (vec![1.0, 2.0], 0.0));
        let near = top(&bars(&[(1.0, 0.6), (3.0, 0.1), (2.0, 0.6)]), 2);
        assert!(near.iter().all(|bar| bar.error == f64::INFINITY), "{near:?}");
        let equal = top(&bars(&[(2.0, 0.0), (2.0, 0.0), (f32::NAN, 0.0)]), 3);
        assert_eq!((ids(&equal), equal[2].error), (vec![0.0, 1.0, 2.0], 0.0));
    }
}

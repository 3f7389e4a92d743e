//! The definition of every operation.

use super::tensor::{Tensor, floats, index, ints, multiply};
use super::{attend, scan};
use crate::build::SCAN_LISTS;
use crate::graph::{Graph, NodeId, Type};
use crate::op::{Binary, Op, Reduce, RopeStyle, hadamard};
use crate::shape::Sizes;
use crate::weights::{WeightRows, WeightView};

pub(super) fn apply(
    graph: &Graph,
    id: NodeId,
    sizes: &Sizes,
    weights: &dyn WeightRows,
    results: &mut [Option<Tensor>],
    uses: &[usize],
) -> Result<Option<Tensor>, String> {
    let node = graph.node(id);
    let shape = node.ty.shape.eval(sizes);
    let cx = Context { graph, sizes, weights };
    if cx.weight(id).is_some() {
        // A part of a parameter is read in place by its users, as the parameter is.
        return Ok(None);
    }
    // Movement of, and arithmetic on, small weights (norms, biases) decodes them as a whole.
    let arg = |i: usize| cx.tensor(node.inputs[i], results);
    let value = match &node.op {
        Op::Const { values } => Ok(Tensor::f32(shape, values.iter().map(|v| v.0).collect())),
        Op::Hadamard => Ok(Tensor::f32(shape.clone(), hadamard(shape[0]))),
        Op::Cast => Ok(Tensor::f32(shape, ints(&arg(0)?)?.iter().map(|v| *v as f32).collect())),
        Op::Unary(op) => Ok(Tensor::f32(shape, floats(&arg(0)?)?.iter().map(|x| op.apply(*x)).collect())),
        Op::Binary(op) => binary(*op, &arg(0)?, &arg(1)?, shape),
        Op::Reduce { op, axis } => reduce(*op, &arg(0)?, *axis, shape),
        Op::Reshape => Ok(arg(0)?.reshaped(shape)),
        Op::Slice { axis, start, .. } => {
            let x = arg(0)?;
            let (strides, from) = (strides(x.shape()), start);
            let index = indices(&shape).map(|at| {
                at.iter()
                    .enumerate()
                    .map(|(a, i)| (i + if a == *axis { *from } else { 0 }) * strides[a])
                    .sum()
            });
            Ok(x.pick(shape.clone(), index))
        }
        Op::Concat { axis } => {
            let parts = (0..node.inputs.len()).map(arg).collect::<Result<Vec<_>, _>>()?;
            concat(&parts, *axis, shape)
        }
        Op::Rows => {
            let ids = arg(1)?;
            let mut out = vec![0.0; shape.iter().product()];
            let count = graph.node(node.inputs[0]).ty.shape.dims()[0].eval(sizes);
            for (id, row) in ints(&ids)?.iter().zip(out.chunks_exact_mut(shape[shape.len() - 1])) {
                cx.row(node.inputs[0], results, 0, index(*id, count, "row")?, row)?;
            }
            Ok(Tensor::f32(shape, out))
        }
        Op::Take => {
            let (x, ids) = (arg(0)?, arg(1)?);
            match x.is_i32() {
                true => Ok(Tensor::i32(shape, taken(ints(&x)?, x.shape(), &ids)?)),
                false => Ok(Tensor::f32(shape, taken(floats(&x)?, x.shape(), &ids)?)),
            }
        }
        Op::Rope { style } => rope(*style, &arg(0)?, &arg(1)?, &arg(2)?, shape),
        Op::TopK { k } => topk(&arg(0)?, *k, shape),
        Op::Dot => dot(&cx, node.inputs[1], results, &arg(0)?, shape),
        Op::HeadDot { transposed } => head_dot(&cx, *transposed, node.inputs[1], results, &arg(0)?, shape),
        Op::SelectDot => select_dot(&cx, node.inputs[1], results, (&arg(0)?, &arg(2)?, None), shape),
        Op::SelectRange { from } => {
            select_dot(&cx, node.inputs[1], results, (&arg(0)?, &arg(2)?, Some(*from)), shape)
        }
        Op::SelectSum => {
            let (tokens, n) = (shape[0], shape[1]);
            let (ids, shares) = (arg(2)?, arg(3)?);
            let choices = shares.shape()[1];
            let each =
                select_dot(&cx, node.inputs[1], results, (&arg(0)?, &ids, None), vec![tokens, choices, n])?;
            let shares = shares.reshaped(vec![tokens, choices, 1]);
            let shared = binary(Binary::Mul, &each, &shares, vec![tokens, choices, n])?;
            Ok(reduce(Reduce::Sum, &shared, 1, vec![tokens, 1, n])?.reshaped(shape))
        }
        Op::Store => {
            let (rows, slots) = (arg(1)?, arg(2)?);
            let width = shape[1];
            // If this is the state's only use, take it rather than copy a whole cache.
            let state = match uses[node.inputs[0].index()] {
                1 => results[node.inputs[0].index()].take(),
                _ => results[node.inputs[0].index()].clone(),
            };
            let mut data = state.ok_or("the state has no value")?.into_f32()?;
            for (slot, row) in ints(&slots)?.iter().zip(floats(&rows)?.chunks_exact(width)) {
                let at = index(*slot, shape[0], "slot")? * width;
                data[at..at + width].copy_from_slice(row);
            }
            Ok(Tensor::f32(shape, data))
        }
        Op::Attend { scale, kv_heads, page, window, pool } => {
            let args = (0..node.inputs.len()).map(arg).collect::<Result<Vec<_>, _>>()?;
            attend::attend(&args, scale.0, *kv_heads, (*page, *window, *pool), shape)
        }
        Op::Indexer { page, pool, .. } => {
            let args = (0..node.inputs.len()).map(arg).collect::<Result<Vec<_>, _>>()?;
            attend::indexer(&args, (*page, *pool), shape)
        }
        Op::Scan { rule } => {
            let count = rule.operands();
            let id = node.inputs[count];
            let operands = (0..count).map(arg).collect::<Result<Vec<_>, _>>()?;
            let lists =
                (1..=SCAN_LISTS.len()).map(|list| arg(count + list)).collect::<Result<Vec<_>, _>>()?;
            let layout = graph.scan_state(id).ok_or("the scan has no state")?;
            let state = results[id.index()].take().ok_or("the state has no value")?;
            let (result, state) =
                scan::scan((*rule, layout), &operands, &lists, state, sizes.sequences, shape)?;
            // It goes back to its owner.
            results[id.index()] = Some(state);
            Ok(result)
        }
        Op::Input { .. } | Op::Weight { .. } | Op::State { .. } => Err("sources are not computed".into()),
    };
    value.map(Some)
}

struct Context<'a> {
    graph: &'a Graph,
    sizes: &'a Sizes,
    weights: &'a dyn WeightRows,
}

impl<'a> Context<'a> {
    /// The node as a view of a parameter, if it is one.
    fn weight(&self, id: NodeId) -> Option<WeightView<'a>> {
        WeightView::of(self.graph, id)
    }

    /// Reads row `(i, j)` of a node, decoded from a parameter or copied from a computed value.
    fn row(
        &self,
        id: NodeId,
        results: &[Option<Tensor>],
        i: usize,
        j: usize,
        out: &mut [f32],
    ) -> Result<(), String> {
        if let Some(view) = self.weight(id) {
            return self.weights.read_row(view.name, view.row(i, j), out);
        }
        let value = results[id.index()].as_ref().ok_or("an operand has no value")?;
        let inner = if value.shape().len() == 3 { value.shape()[1] } else { 0 };
        let at = (i * inner + j) * out.len();
        out.copy_from_slice(floats(value)?.get(at..at + out.len()).ok_or("a row is outside its operand")?);
        Ok(())
    }

    /// A node's whole value.
    fn tensor(&self, id: NodeId, results: &[Option<Tensor>]) -> Result<Tensor, String> {
        let ty: &Type = &self.graph.node(id).ty;
        let Some(view) = self.weight(id) else {
            return results[id.index()].clone().ok_or_else(|| "an operand has no value".into());
        };
        let shape = ty.shape.eval(self.sizes);
        let width = shape.last().copied().unwrap_or(1);
        let mut out = vec![0.0; shape.iter().product()];
        for (r, row) in out.chunks_exact_mut(width).enumerate() {
            self.weights.read_row(view.name, view.flat_row(r), row)?;
        }
        Ok(Tensor::f32(shape, out))
    }
}

fn strides(shape: &[usize]) -> Vec<usize> {
    (0..shape.len()).map(|a| shape[a + 1..].iter().product()).collect()
}

/// All index tuples of a shape, in row-major order.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let (shape, strides) = (shape.to_vec(), strides(shape));
    (0..shape.iter().product())
        .map(move |flat: usize| shape.iter().zip(&strides).map(|(n, s)| (flat / s) % n).collect())
}

fn binary(op: Binary, a: &Tensor, b: &Tensor, shape: Vec<usize>) -> Result<Tensor, String> {
    // The stride is 0 along an axis that an operand lacks or has with size 1.
    let steps = |t: &Tensor| -> Vec<usize> {
        let own = strides(t.shape());
        let pad = shape.len() - own.len();
        (0..shape.len()).map(|i| if i < pad || t.shape()[i - pad] == 1 { 0 } else { own[i - pad] }).collect()
    };
    let (sa, sb, va, vb) = (steps(a), steps(b), floats(a)?, floats(b)?);
    let at =
        |steps: &[usize], index: &[usize]| -> usize { index.iter().zip(steps).map(|(i, s)| i * s).sum() };
    let out = indices(&shape).map(|i| op.apply(va[at(&sa, &i)], vb[at(&sb, &i)]));
    Ok(Tensor::f32(shape.clone(), out.collect()))
}

fn reduce(op: Reduce, x: &Tensor, axis: usize, shape: Vec<usize>) -> Result<Tensor, String> {
    let (data, n, inner) = (floats(x)?, x.shape()[axis], strides(x.shape())[axis]);
    let out = (0..shape.iter().product()).map(|o: usize| {
        let base = (o / inner) * inner * n + o % inner;
        let values = (0..n).map(|i| data[base + i * inner]);
        match op {
            Reduce::Sum => values.map(f64::from).sum::<f64>() as f32,
            Reduce::Max => values.fold(f32::NEG_INFINITY, f32::max),
        }
    });
    Ok(Tensor::f32(shape.clone(), out.collect()))
}

fn concat(parts: &[Tensor], axis: usize, shape: Vec<usize>) -> Result<Tensor, String> {
    let inner = strides(&shape)[axis];
    let outer: usize = shape[..axis].iter().product();
    let mut out = Vec::with_capacity(shape.iter().product());
    for o in 0..outer {
        for part in parts {
            let run = part.shape()[axis] * inner;
            out.extend_from_slice(&floats(part)?[o * run..(o + 1) * run]);
        }
    }
    Ok(Tensor::f32(shape, out))
}

fn rope(
    style: RopeStyle,
    x: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    shape: Vec<usize>,
) -> Result<Tensor, String> {
    let d = shape[shape.len() - 1];
    let heads = if shape.len() == 3 { shape[1] } else { 1 };
    let (cos, sin) = (floats(cos)?, floats(sin)?);
    let mut out = floats(x)?.to_vec();
    for (r, row) in out.chunks_exact_mut(d).enumerate() {
        for i in 0..d / 2 {
            let (a, b) = style.pair(i, d);
            let at = (r / heads) * (d / 2) + i;
            let (x0, x1) = (row[a], row[b]);
            row[a] = x0 * cos[at] - x1 * sin[at];
            row[b] = x0 * sin[at] + x1 * cos[at];
        }
    }
    Ok(Tensor::f32(shape, out))
}

/// Values selected from each row of `x`, or from its only one.
fn taken<V: Copy>(x: &[V], shape: &[usize], ids: &Tensor) -> Result<Vec<V>, String> {
    let (n, u) = (*shape.last().unwrap_or(&1), *ids.shape().last().unwrap_or(&1));
    let rows = x.chunks_exact(n.max(1)).cycle().zip(ints(ids)?.chunks_exact(u.max(1)));
    rows.flat_map(|(row, ids)| ids.iter().map(move |id| Ok(row[index(*id, n, "column")?]))).collect()
}

fn topk(x: &Tensor, k: usize, shape: Vec<usize>) -> Result<Tensor, String> {
    let n = x.shape()[x.shape().len() - 1];
    let mut out = Vec::with_capacity(shape.iter().product());
    for row in floats(x)?.chunks_exact(n) {
        let mut order: Vec<usize> = (0..n).collect();
        // A stable sort keeps the lower index first among equals. The positive NaN is above all numbers, and −0 below 0.
        let key = |i: usize| if row[i].is_nan() { f32::NAN } else { row[i] };
        order.sort_by(|a, b| key(*b).total_cmp(&key(*a)));
        out.extend(order[..k].iter().map(|i| *i as i32));
    }
    Ok(Tensor::i32(shape, out))
}

fn dot(
    cx: &Context<'_>,
    w: NodeId,
    results: &[Option<Tensor>],
    x: &Tensor,
    shape: Vec<usize>,
) -> Result<Tensor, String> {
    let (k, n) = (x.shape()[x.shape().len() - 1], shape[shape.len() - 1]);
    let mut row = vec![0.0; k];
    let mut out = vec![0.0; shape.iter().product()];
    for j in 0..n {
        cx.row(w, results, 0, j, &mut row)?;
        for (x, y) in floats(x)?.chunks_exact(k).zip(out.chunks_exact_mut(n)) {
            y[j] = multiply(x, &row);
        }
    }
    Ok(Tensor::f32(shape, out))
}

fn head_dot(
    cx: &Context<'_>,
    transposed: bool,
    w: NodeId,
    results: &[Option<Tensor>],
    x: &Tensor,
    shape: Vec<usize>,
) -> Result<Tensor, String> {
    let [heads, rows, k] = cx.graph.node(w).ty.shape.eval(cx.sizes)[..] else {
        return Err("head_dot needs matrices [H, N, K]".into());
    };
    let mut row = vec![0.0; k];
    let mut out = vec![0.0; shape.iter().product()];
    let one_row = x.shape()[1] == 1;
    let (x, xn, yn) = (floats(x)?, x.shape()[2], shape[2]);
    for h in 0..heads {
        let mut sums = vec![0.0f64; if transposed { shape[0] * k } else { 0 }];
        for j in 0..rows {
            cx.row(w, results, h, j, &mut row)?;
            for t in 0..shape[0] {
                let at = if one_row { t } else { t * heads + h } * xn;
                if transposed {
                    let sums = &mut sums[t * k..(t + 1) * k];
                    sums.iter_mut().zip(&row).for_each(|(s, w)| *s += f64::from(x[at + j]) * f64::from(*w));
                } else {
                    out[(t * heads + h) * yn + j] = multiply(&x[at..at + k], &row);
                }
            }
        }
        for (t, sums) in sums.chunks_exact(k).enumerate() {
            let y = &mut out[(t * heads + h) * yn..][..k];
            y.iter_mut().zip(sums).for_each(|(y, s)| *y = *s as f32);
        }
    }
    Ok(Tensor::f32(shape, out))
}

/// With `from`, rows whose ids are not in `from..E` are 0.
fn select_dot(
    cx: &Context<'_>,
    w: NodeId,
    results: &[Option<Tensor>],
    (x, ids, from): (&Tensor, &Tensor, Option<usize>),
    shape: Vec<usize>,
) -> Result<Tensor, String> {
    let experts = cx.graph.node(w).ty.shape.eval(cx.sizes)[0];
    let (u, n, k) = (shape[1], shape[2], x.shape()[x.shape().len() - 1]);
    let per_choice = x.shape().len() == 3;
    let mut row = vec![0.0; k];
    let mut out = vec![0.0; shape.iter().product()];
    for (c, id) in ints(ids)?.iter().enumerate() {
        let others =
            from.is_some_and(|from| !(from..experts).contains(&usize::try_from(*id).unwrap_or(usize::MAX)));
        if others {
            continue;
        }
        let expert = index(*id, experts, "expert")?;
        let from = if per_choice { c } else { c / u };
        let x = &floats(x)?[from * k..(from + 1) * k];
        for j in 0..n {
            cx.row(w, results, expert, j, &mut row)?;
            out[c * n + j] = multiply(x, &row);
        }
    }
    Ok(Tensor::f32(shape, out))
}

//! Shape inference: the type of a node from its operation and the types of its inputs.

use weft_quant::GgmlType;

use crate::graph::{Graph, NodeId, Type};
use crate::op::{Op, Recurrence, STATE_TYPES, ScanState};
use crate::shape::{Dim, Shape};

/// The most values of a node per entry of its symbolic axis: more than any machine holds, and few enough that sizes in bytes do
/// not overflow.
const MAX_VALUES: usize = 1 << 40;

/// Infers the type of `op` on inputs of these types.
///
/// Sources and `reshape` take their type from `declared`, which is only checked.
///
/// # Errors
/// A sentence saying which rule the inputs break.
pub(crate) fn infer(op: &Op, inputs: &[&Type], declared: Option<&Type>) -> Result<Type, String> {
    let ty = infer_any(op, inputs, declared)?;
    if ty.shape.dims().iter().skip(1).any(|d| d.known().is_none()) {
        return Err(format!("only the first axis may be symbolic, not {ty}"));
    }
    if ty.shape.dims().contains(&Dim::Const(0)) || ty.shape.known_count().is_none_or(|n| n > MAX_VALUES) {
        return Err(format!("{ty} has an empty axis or more than {MAX_VALUES} values"));
    }
    Ok(ty)
}

fn infer_any(op: &Op, inputs: &[&Type], declared: Option<&Type>) -> Result<Type, String> {
    let f32_of = |shape: Shape| Type { dtype: GgmlType::F32, shape };
    let i32_of = |shape: Shape| Type { dtype: GgmlType::I32, shape };
    match op {
        Op::Input { .. } | Op::Weight { .. } | Op::State { .. } | Op::Const { .. } | Op::Hadamard => {
            arity(inputs, 0)?;
            source(op, declared.ok_or("a source needs a declared type")?)
        }
        Op::Cast => {
            let [x] = take(inputs)?;
            expect_dtype(x, GgmlType::I32)?;
            Ok(f32_of(x.shape.clone()))
        }
        Op::Unary(_) => {
            let [x] = take(inputs)?;
            expect_dtype(x, GgmlType::F32)?;
            Ok(x.clone())
        }
        Op::Binary(_) => {
            let [a, b] = take(inputs)?;
            expect_dtype(a, GgmlType::F32)?;
            expect_dtype(b, GgmlType::F32)?;
            let shape = a.shape.broadcast(&b.shape).ok_or_else(|| format!("{a} and {b} do not broadcast"))?;
            Ok(f32_of(shape))
        }
        Op::Reduce { axis, .. } => {
            let [x] = take(inputs)?;
            expect_dtype(x, GgmlType::F32)?;
            match x.shape.dims().get(*axis) {
                Some(Dim::Const(n)) if *n > 0 => Ok(f32_of(x.shape.with(*axis, 1))),
                _ => Err(format!("axis {axis} of {x} is not a known, non-empty axis")),
            }
        }
        Op::Reshape => {
            let [x] = take(inputs)?;
            let to = declared.ok_or("reshape needs a declared type")?;
            let same = to.shape.sym() == x.shape.sym()
                && to.shape.known_count().is_some()
                && to.shape.known_count() == x.shape.known_count();
            if !same || to.dtype != x.dtype || (x.dtype.is_quantised() && to.shape.last() != x.shape.last()) {
                return Err(format!("cannot reshape {x} to {to}"));
            }
            Ok(to.clone())
        }
        Op::Slice { axis, start, len } => {
            let [x] = take(inputs)?;
            match (x.shape.dims().get(*axis), start.checked_add(*len)) {
                (Some(Dim::Const(n)), Some(end)) if end <= *n && *len > 0 => {}
                _ => return Err(format!("{len} entries from {start} are outside axis {axis} of {x}")),
            }
            if x.dtype.is_quantised() && axis + 1 == x.shape.rank() {
                // Kernels read rows of a state by blocks. Rows of a weight are packed as a whole.
                let block = x.dtype.block_len();
                let between_blocks = start.is_multiple_of(block) && len.is_multiple_of(block);
                if x.shape.sym().is_none() || !between_blocks {
                    return Err(format!("cannot slice within the rows of {x}: they are quantised"));
                }
            }
            Ok(Type { dtype: x.dtype, shape: x.shape.with(*axis, *len) })
        }
        Op::Concat { axis } => concat(inputs, *axis),
        Op::Rows => {
            let [table, ids] = take(inputs)?;
            expect_dtype(ids, GgmlType::I32)?;
            let ([_, width], [_, ..]) = (table.shape.dims(), ids.shape.dims()) else {
                return Err(format!("rows takes a table [N, D] and ids [..], not {table} and {ids}"));
            };
            decodable(table)?;
            let dims: Vec<Dim> = ids.shape.dims().iter().chain([width]).copied().collect();
            Ok(f32_of(Shape::new(dims)))
        }
        Op::Take => {
            let [x, ids] = take(inputs)?;
            if x.dtype != GgmlType::I32 {
                expect_dtype(x, GgmlType::F32)?;
            }
            expect_dtype(ids, GgmlType::I32)?;
            let (a, b) = (x.shape.dims(), ids.shape.dims());
            let columns = x.shape.last().is_some() && ids.shape.last().is_some();
            let fits = |n: usize| n == 0 || n + 1 == b.len() && a[..n] == b[..n];
            if !columns || !a.len().checked_sub(1).is_some_and(fits) {
                return Err(format!(
                    "take needs one row, or equal leading axes, and known last ones, not {x} and {ids}"
                ));
            }
            Ok(Type::new(x.dtype, ids.shape.clone()))
        }
        Op::Rope { .. } => {
            let [x, cos, sin] = take(inputs)?;
            for t in [x, cos, sin] {
                expect_dtype(t, GgmlType::F32)?;
            }
            let dims = x.shape.dims();
            let fits = match (dims.first(), x.shape.last()) {
                (Some(t), Some(d)) if matches!(dims.len(), 2 | 3) && d % 2 == 0 && d > 0 => {
                    cos.shape.dims() == [*t, Dim::Const(d / 2)] && sin.shape == cos.shape
                }
                _ => false,
            };
            if fits {
                Ok(x.clone())
            } else {
                Err(format!("rope takes x [T, H, D] or [T, D] and tables [T, D/2], not {x}, {cos} and {sin}"))
            }
        }
        Op::TopK { k } => {
            let [x] = take(inputs)?;
            expect_dtype(x, GgmlType::F32)?;
            match x.shape.last() {
                Some(n) if x.shape.rank() > 0 && *k > 0 && *k <= n => {
                    Ok(i32_of(x.shape.with(x.shape.rank() - 1, *k)))
                }
                _ => Err(format!("cannot take the {k} largest of {x}")),
            }
        }
        Op::Dot => {
            let [x, w] = take(inputs)?;
            expect_dtype(x, GgmlType::F32)?;
            decodable(w)?;
            match (x.shape.dims(), w.shape.dims()) {
                ([.., k], [n, wk]) if k == wk => Ok(f32_of(x.shape.with(x.shape.rank() - 1, *n))),
                _ => Err(format!("dot takes x [.., K] and w [N, K], not {x} and {w}")),
            }
        }
        Op::HeadDot { transposed } => {
            let [x, w] = take(inputs)?;
            expect_dtype(x, GgmlType::F32)?;
            decodable(w)?;
            match (x.shape.dims(), w.shape.dims()) {
                ([t, h, k], [wh, n, wk]) if (h == wh || *h == Dim::Const(1)) && k == wk && !transposed => {
                    Ok(f32_of([*t, *wh, *n].into()))
                }
                ([t, h, n], [wh, wn, k]) if h == wh && n == wn && *transposed => {
                    Ok(f32_of([*t, *h, *k].into()))
                }
                _ => Err(format!("head_dot does not take {x} and {w}")),
            }
        }
        Op::SelectDot | Op::SelectRange { .. } => {
            let [x, w, ids] = take(inputs)?;
            expect_dtype(x, GgmlType::F32)?;
            expect_dtype(ids, GgmlType::I32)?;
            decodable(w)?;
            let count = w.shape.dims().first().and_then(|count| count.known());
            if let (Op::SelectRange { from }, Some(count)) = (op, count)
                && *from >= count
            {
                return Err(format!("no id from {from} on selects one of {count} matrices"));
            }
            match (x.shape.dims(), w.shape.dims(), ids.shape.dims()) {
                ([t, k], [_, n, wk], [it, u]) if k == wk && t == it => Ok(f32_of([*t, *u, *n].into())),
                ([t, xu, k], [_, n, wk], [it, u]) if k == wk && t == it && xu == u => {
                    Ok(f32_of([*t, *u, *n].into()))
                }
                _ => Err(format!("{} does not take {x}, {w} and {ids}", op.name())),
            }
        }
        Op::SelectSum => {
            let [x, w, ids, weights] = take(inputs)?;
            expect_dtype(x, GgmlType::F32)?;
            expect_dtype(ids, GgmlType::I32)?;
            expect_dtype(weights, GgmlType::F32)?;
            decodable(w)?;
            match (x.shape.dims(), w.shape.dims(), ids.shape.dims()) {
                ([t, xu, k], [_, n, wk], [it, u])
                    if k == wk && t == it && xu == u && weights.shape == ids.shape =>
                {
                    Ok(f32_of([*t, *n].into()))
                }
                _ => Err(format!("select_sum does not take {x}, {w}, {ids} and {weights}")),
            }
        }
        Op::Store => {
            let [state, rows, slots] = take(inputs)?;
            expect_dtype(rows, GgmlType::F32)?;
            expect_dtype(slots, GgmlType::I32)?;
            match (state.shape.dims(), rows.shape.dims(), slots.shape.dims()) {
                ([_, w], [t, rw], [st]) if w == rw && t == st => Ok(state.clone()),
                _ => Err(format!("store does not take {state}, {rows} and {slots}")),
            }
        }
        Op::Attend { kv_heads, page, window, pool, .. } => attend(inputs, *kv_heads, *page, *window, *pool),
        Op::Indexer { k, page, pool } => indexer(inputs, *k, *page, *pool),
        Op::Scan { rule } => scan(*rule, inputs),
    }
}

fn source(op: &Op, declared: &Type) -> Result<Type, String> {
    let dims = declared.shape.dims();
    let ok = match op {
        Op::Input { .. } => matches!(declared.dtype, GgmlType::F32 | GgmlType::I32),
        Op::Weight { .. } => {
            let whole_blocks = |n: usize| declared.dtype.row_bytes(n as u64).is_some();
            declared.shape.sym().is_none()
                && declared.dtype.can_decode()
                && declared.shape.last().is_some_and(whole_blocks)
        }
        Op::State { .. } => {
            dims.len() == 2
                // A layer with a sliding window has fewer rows than the others.
                && matches!(dims[0], Dim::S | Dim::Const(_))
                && STATE_TYPES.contains(&declared.dtype)
                && dims[1].known().is_some_and(|n| declared.dtype.row_bytes(n as u64).is_some())
        }
        Op::Const { values } => {
            declared.dtype == GgmlType::F32
                && dims.len() <= 1
                && declared.shape.sym().is_none()
                && declared.shape.known_count() == Some(values.len())
                && values.iter().all(|v| v.0.is_finite())
        }
        Op::Hadamard => match dims {
            [Dim::Const(n), Dim::Const(columns)] => {
                declared.dtype == GgmlType::F32 && n == columns && n.is_power_of_two()
            }
            _ => false,
        },
        _ => false,
    };
    if ok { Ok(declared.clone()) } else { Err(format!("`{}` cannot have type {declared}", op.name())) }
}

fn scan(rule: Recurrence, inputs: &[&Type]) -> Result<Type, String> {
    let count = rule.operands();
    if inputs.len() != count + 6 {
        return Err(format!("a scan by {} takes {} operands", rule.name(), count + 6));
    }
    let (operands, state, lists) = (&inputs[..count], inputs[count], &inputs[count + 1..]);
    operands.iter().chain([&state]).try_for_each(|ty| expect_dtype(ty, GgmlType::F32))?;
    lists.iter().try_for_each(|ty| expect_dtype(ty, GgmlType::I32))?;
    let wrong = || {
        let all: Vec<String> = inputs.iter().map(ToString::to_string).collect();
        format!("a scan by {} does not take {}", rule.name(), all.join(", "))
    };
    let width = scan_state(rule, operands).ok_or_else(wrong)?.values();
    let &[_, own] = state.shape.dims() else { return Err(wrong()) };
    let fits = width.is_some_and(|width| width > 0) && own.known() == width;
    let same = lists.iter().all(|list| list.shape.rank() == 1 && list.shape == lists[0].shape);
    // The result is as the rows of x, or as the values.
    let result = if count == 2 { operands[0] } else { operands[2] };
    if fits && same { Ok(Type::new(GgmlType::F32, result.shape.clone())) } else { Err(wrong()) }
}

impl Graph {
    /// The layout of a row of a state of whole sequences, from the scan that uses it. `None` if no scan uses the node as its state.
    pub fn scan_state(&self, state: NodeId) -> Option<ScanState> {
        self.nodes.iter().find_map(|node| {
            let Op::Scan { rule } = node.op else { return None };
            let own = node.inputs.get(rule.operands()) == Some(&state);
            let operands = node.inputs.iter().take(rule.operands()).map(|id| &self.node(*id).ty);
            own.then(|| scan_state(rule, &operands.collect::<Vec<_>>())).flatten()
        })
    }
}

/// The layout of the state of a scan with these operands. `None` if they do not fit the rule.
pub(crate) fn scan_state(rule: Recurrence, operands: &[&Type]) -> Option<ScanState> {
    let known = |dims: &[Dim]| dims.iter().map(|dim| dim.known()).collect::<Option<Vec<usize>>>();
    match (rule, operands) {
        (Recurrence::Decay, [x, a]) => {
            let dims = x.shape.dims();
            let fits = dims.len() == 3 && a.shape.dims() == &dims[..2];
            let [heads, cols] = known(dims.get(1..)?).filter(|_| fits)?.try_into().ok()?;
            Some(ScanState { heads, width: cols, kept: cols.checked_add(1)? })
        }
        (Recurrence::Convolution, [x, w]) => {
            let [channels, taps] = known(w.shape.dims())?.try_into().ok()?;
            let [heads, cols]: [usize; 2] = known(x.shape.dims().get(1..)?)?.try_into().ok()?;
            let fits = heads.checked_mul(cols) == Some(channels) && taps >= 2;
            fits.then_some(ScanState { heads, width: cols.checked_mul(taps.checked_sub(1)?)?, kept: cols })
        }
        (Recurrence::Delta | Recurrence::DeltaTiled | Recurrence::Linear, [q, k, v, a, beta]) => {
            let (&[t, keys, inner], &[vt, heads, cols]) = (q.shape.dims(), v.shape.dims()) else {
                return None;
            };
            let of_channels = a.shape.dims() == [t, heads, inner];
            let decays = of_channels || a.shape.dims() == [t, heads];
            let fits = q.shape == k.shape && t == vt && decays && beta.shape.dims() == [t, heads];
            let [keys, inner, heads, cols] =
                known(&[keys, inner, heads, cols]).filter(|_| fits)?.try_into().ok()?;
            if keys == 0 || !heads.is_multiple_of(keys) {
                return None;
            }
            let decays = if of_channels { inner } else { 1 };
            let kept = [inner, cols, decays, 1].into_iter().try_fold(0, usize::checked_add)?;
            Some(ScanState { heads, width: cols.checked_mul(inner)?, kept })
        }
        _ => None,
    }
}

fn concat(inputs: &[&Type], axis: usize) -> Result<Type, String> {
    let [first, rest @ ..] = inputs else { return Err("concat of nothing".into()) };
    expect_dtype(first, GgmlType::F32)?;
    let size = |t: &Type| t.shape.dims().get(axis).and_then(|d| d.known());
    let mut sum = size(first).ok_or_else(|| format!("axis {axis} of {first} is not a known axis"))?;
    for t in rest {
        expect_dtype(t, GgmlType::F32)?;
        let fits = t.shape.rank() == first.shape.rank()
            && (0..t.shape.rank()).all(|i| i == axis || t.shape.dims()[i] == first.shape.dims()[i]);
        sum = match size(t) {
            Some(n) if fits => sum.checked_add(n).ok_or("concat overflows")?,
            _ => return Err(format!("cannot join {first} and {t} along axis {axis}")),
        };
    }
    Ok(Type { dtype: first.dtype, shape: first.shape.with(axis, sum) })
}

fn attend(
    inputs: &[&Type],
    kv_heads: usize,
    page: usize,
    window: Option<usize>,
    pool: usize,
) -> Result<Type, String> {
    let (inputs, more) = inputs.split_at(inputs.len().min(6));
    let [q, k, v, pos, first, pages] = take(inputs)?;
    let (sinks, list) = match more {
        [] => (None, None),
        [list] if list.dtype == GgmlType::I32 => (None, Some(*list)),
        [sinks] => (Some(*sinks), None),
        [sinks, list] => (Some(*sinks), Some(*list)),
        _ => return Err(format!("attend takes at most 8 inputs, found {}", 6 + more.len())),
    };
    expect_dtype(q, GgmlType::F32)?;
    for t in [pos, first, pages] {
        expect_dtype(t, GgmlType::I32)?;
    }
    let wrong = || {
        format!("attend with {kv_heads} key heads does not take {q}, {k}, {v}, {pos}, {first} and {pages}")
    };
    let (&[t, Dim::Const(h), Dim::Const(dk)], &[ks, Dim::Const(kw)], &[vs, Dim::Const(vw)]) =
        (q.shape.dims(), k.shape.dims(), v.shape.dims())
    else {
        return Err(wrong());
    };
    if let Some(sinks) = sinks {
        expect_dtype(sinks, GgmlType::F32)?;
        if sinks.shape.dims() != [Dim::Const(h)] {
            return Err(format!("attend with {h} heads does not take sinks {sinks}"));
        }
    }
    if let Some(list) = list {
        expect_dtype(list, GgmlType::I32)?;
        if !matches!(list.shape.dims(), [own, Dim::Const(_)] if *own == t) || window.is_some() {
            return Err(format!("attend to {q} without a window takes a list i32[T, K], not {list}"));
        }
    }
    let listed = list.and_then(|list| list.shape.last());
    if pool == 0 || pool > 1 && listed.is_none_or(|n| n < pool) {
        return Err(format!("attend takes pools of {pool} positions only with a list of at least as many"));
    }
    let fits = page > 0
        && window != Some(0)
        && kv_heads > 0
        && h % kv_heads == 0
        && kv_heads.checked_mul(dk) == Some(kw)
        && vw % kv_heads == 0
        && ks == vs
        && k.dtype == v.dtype
        && pos.shape.dims() == [t]
        && first.shape.dims() == [t]
        && pages.shape.rank() == 1;
    if fits {
        Ok(Type::new(GgmlType::F32, [t, Dim::Const(h), Dim::Const(vw / kv_heads)]))
    } else {
        Err(wrong())
    }
}

fn indexer(inputs: &[&Type], k: usize, page: usize, pool: usize) -> Result<Type, String> {
    let [q, w, keys, pos, first, pages] = take(inputs)?;
    [q, w].into_iter().try_for_each(|ty| expect_dtype(ty, GgmlType::F32))?;
    [pos, first, pages].into_iter().try_for_each(|ty| expect_dtype(ty, GgmlType::I32))?;
    let fits = match (q.shape.dims(), keys.shape.dims()) {
        (&[t, h, d], &[_, width]) => {
            d == width
                && w.shape.dims() == [t, h]
                && pos.shape.dims() == [t]
                && first.shape.dims() == [t]
                && pages.shape.rank() == 1
        }
        _ => false,
    };
    if pool == 0 || !k.is_multiple_of(pool) || !page.is_multiple_of(pool) {
        return Err(format!("an indexer of {k} positions and pages of {page} has no pools of {pool}"));
    }
    match k.checked_add(pool - 1).filter(|_| fits && k > 0 && page > 0) {
        Some(most) => Ok(Type::new(GgmlType::I32, [q.shape.dims()[0], Dim::Const(most)])),
        None => Err(format!(
            "an indexer of {k} positions does not take {q}, {w}, {keys}, {pos}, {first} and {pages}"
        )),
    }
}

fn arity(inputs: &[&Type], n: usize) -> Result<(), String> {
    if inputs.len() == n { Ok(()) } else { Err(format!("expected {n} inputs, found {}", inputs.len())) }
}

fn take<'a, const N: usize>(inputs: &[&'a Type]) -> Result<[&'a Type; N], String> {
    arity(inputs, N)?;
    inputs.try_into().map_err(|_| format!("expected {N} inputs"))
}

fn expect_dtype(t: &Type, dtype: GgmlType) -> Result<(), String> {
    if t.dtype == dtype { Ok(()) } else { Err(format!("expected {dtype}, found {t}")) }
}

fn decodable(w: &Type) -> Result<(), String> {
    if w.dtype.can_decode() { Ok(()) } else { Err(format!("cannot decode {w}")) }
}

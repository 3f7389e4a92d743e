//! The order in which terms are added is part of the device's contract. Here it is written again, as plainly as
//! possible, and the device must give the same bits.

use crate::support::attention::{Law, Row};
use crate::support::data::{BLOCK_TYPES, Random, rounded, weight_types};
use crate::support::{Arg, Case, kernel, load_of, run, store_to, view};
use weft_cpu::{CpuDevice, CpuOptions};
use weft_kern::{
    Anchor, Attend, Cached, Dim, F32, Format, Instr, Matrices, Pick, Reduce, STATE_TYPES, Sum, Unary, q8,
};
use weft_quant::GgmlType;

/// The only output of a case, as the device computes it.
fn found(case: &Case) -> Vec<u32> {
    let mut device = CpuDevice::new(CpuOptions::default()).unwrap();
    let out = case.args.len() - 1;
    bits(&case.args[out].floats(&run(&mut device, case).unwrap()[out]))
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// One row of x times a matrix `[n, k]`.
fn matrix(x: Arg, w: Arg, n: usize, k: usize, transposed: bool) -> Case {
    let cols = if transposed { k } else { n };
    let w_of = Matrices { param: 1, pick: Pick::Only, from: None, count: 1, n, k, first: 0, stride: n };
    let anchor = crate::support::dot(view(0, &[0], 1), w_of, transposed);
    let kernel = kernel(&[Dim::Const(1)], cols, anchor, vec![Instr::Acc(0), store_to(2, &[0], 0)]);
    Case::new(kernel, vec![x, w, Arg::out(Format::F32, cols)], 1, 0)
}

/// Values in 16 lanes, which are then folded.
fn lanes(values: impl Iterator<Item = f32>) -> f32 {
    let mut lanes = [0.0; 16];
    for (i, value) in values.enumerate() {
        lanes[i % 16] += value;
    }
    folded(lanes)
}

/// The sum of sixteen lanes.
fn folded(mut lanes: [f32; 16]) -> f32 {
    for half in [8, 4, 2, 1] {
        for j in 0..half {
            lanes[j] += lanes[j + half];
        }
    }
    lanes[0]
}

/// A row of rounded activations times a row of a quantised weight, whose blocks are added up in shares of `each`.
fn quantised(ty: GgmlType, row: &[u8], x: &[q8::Block], each: usize) -> f32 {
    let (layout, k) = (ty.int_layout().unwrap(), x.len() * 32);
    let (mut q, mut scales) = (vec![0; k], vec![0.0; k / layout.group]);
    let mut mins = vec![0.0; if layout.has_min { scales.len() } else { 0 }];
    weft_quant::unpack_row(ty, row, &mut q, &mut scales, &mut mins);
    let mut shares = vec![0.0f32; x.len().div_ceil(each)];
    for (g, q) in q.chunks_exact(layout.group).enumerate() {
        let at = g * layout.group;
        let acc = &mut shares[at / 32 / each];
        let x = &x[at / 32];
        let quants = &x.quants[at % 32..];
        let sum: i32 = q.iter().zip(quants).map(|(w, x)| i32::from(*w) * i32::from(*x)).sum();
        *acc = (sum as f32 * scales[g]).mul_add(x.scale, *acc);
        if layout.has_min {
            let s = if layout.group == 32 { x.sums[0] + x.sums[1] } else { x.sums[at % 32 / 16] };
            *acc = mins[g].mul_add(s, *acc);
        }
    }
    shares.into_iter().reduce(|sum, share| sum + share).unwrap()
}

fn blocks(x: &[f32]) -> Vec<q8::Block> {
    x.as_chunks().0.iter().map(q8::quantise).collect()
}

#[test]
fn quantised_weights() {
    let mut random = Random::new(1);
    for ty in weight_types().filter(|ty| ty.is_quantised()) {
        let (n, k) = (11, 2 * ty.block_len().max(512) + ty.block_len());
        let (weight, x) = (random.weight(ty, n * k), random.floats(k));
        let expected: Vec<f32> = weight
            .chunks_exact(weight.len() / n)
            .map(|row| quantised(ty, row, &blocks(&x), k / 32))
            .collect();
        let case = matrix(Arg::read(Format::Q8, k, rounded(&x)), Arg::weight(ty, n, k, weight), n, k, false);
        assert_eq!(found(&case), bits(&expected), "{ty}");
    }
}

/// A row of floats times a row of a float weight.
fn float(row: &[f32], x: &[f32]) -> f32 {
    let mut lanes = [0.0; 16];
    for (i, (w, x)) in row.iter().zip(x).enumerate() {
        lanes[i % 16] = w.mul_add(*x, lanes[i % 16]);
    }
    folded(lanes)
}

#[test]
fn float_weights() {
    let mut random = Random::new(2);
    for ty in [GgmlType::F32, GgmlType::F16, GgmlType::BF16] {
        let (n, k) = (7, 101);
        let (w, x) = (Arg::weight(ty, n, k, random.weight(ty, n * k)), random.floats(k));
        let expected: Vec<f32> = w.floats(&w.bytes).chunks_exact(k).map(|row| float(row, &x)).collect();
        assert_eq!(found(&matrix(Arg::f32(&x), w, n, k, false)), bits(&expected), "{ty}");
    }
}

#[test]
fn weighted_sums_of_products() {
    let mut random = Random::new(6);
    for ty in weight_types() {
        let (terms, count, n, k) = (3, 5, 43, ty.block_len().max(64));
        let (x, weights) = (random.floats(terms * k), random.floats(terms));
        // One matrix twice, and not in the order of the matrices.
        let ids = [4, 1, 4];
        let w = Arg::weight(ty, count * n, k, random.weight(ty, count * n * k));
        let (decoded, row_bytes) = (w.floats(&w.bytes), w.bytes.len() / count / n);
        let term = |row: usize, t: usize| {
            let (at, x) = (ids[t] as usize * n + row, &x[t * k..][..k]);
            match ty.is_quantised() {
                true => quantised(ty, &w.bytes[at * row_bytes..][..row_bytes], &blocks(x), k / 32),
                false => float(&decoded[at * k..][..k], x),
            }
        };
        let expected: Vec<f32> = (0..n)
            .map(|row| {
                let mut y = term(row, 0) * weights[0];
                for (t, weight) in weights.iter().enumerate().skip(1) {
                    y += term(row, t) * weight;
                }
                y
            })
            .collect();
        let sum = Sum { terms, ids: view(2, &[0], 1), weights: view(3, &[0], 1), apart: k };
        let pick = Pick::Sum(Box::new(sum));
        let w_of = Matrices { param: 1, pick, from: None, count, n, k, first: 0, stride: n };
        let body = vec![Instr::Acc(0), store_to(4, &[0], 0)];
        let kernel = kernel(&[Dim::Const(1)], n, crate::support::dot(view(0, &[0], 1), w_of, false), body);
        let args =
            vec![Arg::activations(ty, &x), w, Arg::i32(&ids), Arg::f32(&weights), Arg::out(Format::F32, n)];
        assert_eq!(found(&Case::new(kernel, args, 1, 0)), bits(&expected), "{ty}");
    }
}

/// Products with a part of a stack of experts, whose other part may be on another device: in shares. Rows of other experts are 0.
#[test]
fn products_of_experts_on_several_devices() {
    let mut random = Random::new(7);
    // Eight shares of 7 blocks; and 13 shares of 8 blocks, after which 3 are empty. Few rows, and as many as tile units multiply.
    let shares = [(1792, 7, 4), (3328, 8, 40)];
    let types = || weight_types().filter(|ty| ty.is_quantised());
    for (ty, (k, each, tokens)) in types().flat_map(|ty| shares.map(|shares| (ty, shares))) {
        let (from, count, n) = (1, 3, 21);
        let x = random.floats(tokens * k);
        let ids: Vec<i32> = (0..tokens as i32).map(|token| token * 7 % 5).collect();
        let w = Arg::weight(ty, count * n, k, random.weight(ty, count * n * k));
        let row_bytes = w.bytes.len() / count / n;
        let value = |token: usize, row: usize| {
            let id = ids[token] as usize;
            if !(from..count).contains(&id) {
                return 0.0;
            }
            let weight = &w.bytes[(id * n + row) * row_bytes..][..row_bytes];
            quantised(ty, weight, &blocks(&x[token * k..][..k]), each)
        };
        let expected: Vec<f32> = (0..tokens)
            .flat_map(|token| (0..n).map(move |row| (token, row)))
            .map(|(t, r)| value(t, r))
            .collect();
        let pick = Pick::Ids(view(2, &[1], 0));
        let w_of = Matrices { param: 1, pick, from: Some(from), count, n, k, first: 0, stride: n };
        let body = vec![Instr::Acc(0), store_to(3, &[n], 0)];
        let kernel = kernel(&[Dim::T], n, crate::support::dot(view(0, &[k], 1), w_of, false), body);
        let args = vec![Arg::activations(ty, &x), w, Arg::i32(&ids), Arg::out(Format::F32, tokens * n)];
        assert_eq!(found(&Case::new(kernel, args, tokens, 0)), bits(&expected), "{ty}, {k}");
    }
}

#[test]
fn transposed_weights() {
    let mut random = Random::new(3);
    for ty in weight_types() {
        let (n, k) = (13, 2 * ty.block_len().max(30));
        let (w, x) = (Arg::weight(ty, n, k, random.weight(ty, n * k)), random.floats(n));
        let rows = w.floats(&w.bytes);
        let mut expected = vec![0.0f32; k];
        for (x, row) in x.iter().zip(rows.chunks_exact(k)) {
            expected.iter_mut().zip(row).for_each(|(y, w)| *y += x * w);
        }
        assert_eq!(found(&matrix(Arg::f32(&x), w, n, k, true)), bits(&expected), "{ty}");
    }
}

#[test]
fn sums_of_rows() {
    let mut random = Random::new(4);
    for cols in [1, 15, 16, 33, 1000] {
        let x = random.floats(cols);
        let body = vec![load_of(0, &[0], cols), Instr::Reduce(Reduce::Sum, 0), store_to(1, &[0], 1)];
        let kernel = kernel(&[Dim::Const(1)], cols, Anchor::Reduce, body);
        let case = Case::new(kernel, vec![Arg::f32(&x), Arg::out(Format::F32, 1)], 1, 0);
        assert_eq!(found(&case), bits(&[lanes(x.into_iter())]), "{cols} columns");
    }
}

/// The device's exponential, which is tested elsewhere.
fn exp(x: &[f32]) -> Vec<f32> {
    let body = vec![load_of(0, &[0], x.len()), Instr::Unary(Unary::Exp, 0), store_to(1, &[0], 1)];
    let kernel = kernel(&[Dim::Const(1)], x.len(), Anchor::Map, body);
    let case = Case::new(kernel, vec![Arg::f32(x), Arg::out(Format::F32, x.len())], 1, 0);
    found(&case).into_iter().map(f32::from_bits).collect()
}

/// The largest score, the sum of weights and the weighted values of some positions.
type Partial = (f32, f32, Vec<f32>);

/// The sum of products.
fn exact(x: &[i32], y: &[i32]) -> f32 {
    x.iter().zip(y).map(|(x, y)| x * y).sum::<i32>() as f32
}

/// Of a block of positions, of which the first are not seen; `None` if none is.
fn block(law: Law, q: &Row, k: &[Row], v: &[Row], (scale, unseen): (f32, usize)) -> Option<Partial> {
    if unseen >= k.len() {
        return None;
    }
    let score = |k: &Row| exact(&q.numbers, &k.numbers) * (k.scale * (q.scale * scale));
    let mut scores: Vec<f32> = k.iter().map(score).collect();
    scores[..unseen].fill(f32::NEG_INFINITY);
    let m = scores.iter().fold(f32::NEG_INFINITY, |m, s| m.max(*s));
    let p = exp(&scores.iter().map(|s| s - m).collect::<Vec<_>>());
    let w: Vec<f32> = p.iter().zip(v).map(|(p, v)| p * v.scale).collect();
    let w = law.weights(&w, lanes(w.iter().copied()));
    let column = |i: usize| v.iter().map(|v| v.numbers[i]).collect::<Vec<_>>();
    let y = (0..v[0].numbers.len()).map(|i| exact(&w.numbers, &column(i)) * w.scale).collect();
    Some((m, lanes(p.into_iter()), y))
}

/// Joins blocks: the largest power of two that leaves some first, and then the others.
fn joined(blocks: &[Option<Partial>]) -> Option<Partial> {
    if let [only] = blocks {
        return only.clone();
    }
    let (a, b) = blocks.split_at(blocks.len().next_power_of_two() / 2);
    let (a, b) = match (joined(a), joined(b)) {
        (Some(a), Some(b)) => (a, b),
        (a, b) => return a.or(b),
    };
    let m = a.0.max(b.0);
    let (alpha, beta) = (exp(&[a.0 - m])[0], exp(&[b.0 - m])[0]);
    let y = a.2.iter().zip(&b.2).map(|(a, b)| b.mul_add(beta, a * alpha)).collect();
    Some((m, b.1.mul_add(beta, a.1 * alpha), y))
}

/// A query that attends to all positions it sees; `values_at` is where values begin in keys, if they are part of them.
fn attention(ty: GgmlType, k_len: usize, v_len: usize, values_at: Option<usize>, seen: usize) {
    windowed(ty, (k_len, v_len), values_at, seen, None);
}

/// The same with only the last positions and a sink, if there is a window.
fn windowed(
    ty: GgmlType,
    (k_len, v_len): (usize, usize),
    values_at: Option<usize>,
    seen: usize,
    window: Option<(usize, f32)>,
) {
    let (mut random, scale, law) = (Random::new(5), 3.0, Law::of(k_len));
    let q = random.floats(k_len);
    let (keys, values) = (random.weight(ty, seen * k_len), random.weight(ty, seen * v_len));
    let rows = |bytes: &[u8]| -> Vec<Row> {
        bytes.chunks_exact(bytes.len() / seen).map(|row| law.cached(ty, row)).collect()
    };
    let k = rows(&keys);
    let v = match values_at {
        // Values are the beginning of keys, so these are the same numbers.
        Some(at) => k.iter().map(|k| Row { numbers: k.numbers[at..][..v_len].to_vec(), ..*k }).collect(),
        None => rows(&values),
    };
    let row = law.row(&q);
    let begin = window.map_or(0, |(window, _)| seen.saturating_sub(window));
    let blocks = k.chunks(128).zip(v.chunks(128)).enumerate();
    let unseen = |at: usize| begin.saturating_sub(128 * at).min(128);
    let blocks: Vec<Option<Partial>> =
        blocks.map(|(at, (k, v))| block(law, &row, k, v, (scale, unseen(at)))).collect();
    let (m, mut l, mut y) = joined(&blocks).unwrap();
    if let Some((_, sink)) = window {
        let top = m.max(sink);
        let (alpha, beta) = (exp(&[m - top])[0], exp(&[sink - top])[0]);
        l = l * alpha + beta;
        y.iter_mut().for_each(|y| *y *= alpha);
    }
    let expected: Vec<f32> = y.iter().map(|y| y / l).collect();

    let rows = |param, len| Cached { param, offset: 0, row_stride: len, head_stride: 0 };
    let attend = Attend {
        q: view(0, &[0, 0], 1),
        k: rows(1, k_len),
        v: values_at.map_or(rows(2, v_len), |offset| Cached { offset, ..rows(1, k_len) }),
        pos: 3,
        first: 4,
        pages: 5,
        scale: F32(scale),
        heads: 1,
        kv_heads: 1,
        k_len,
        page: seen,
        window: window.map(|(window, _)| window),
        sinks: window.map(|_| 6),
        list: None,
        most_pages: None,
    };
    let body = vec![Instr::Acc(0), store_to(7, &[0, 0], 0)];
    let kernel = kernel(&[Dim::Const(1), Dim::Const(1)], v_len, Anchor::Attend(Box::new(attend)), body);
    let states =
        [(k_len, keys), (v_len, values)].map(|(len, bytes)| Arg::read(Format::Ggml(ty), seen * len, bytes));
    let numbers = [seen as i32 - 1, 0, 0].map(|i| Arg::i32(&[i]));
    let out = Arg::out(Format::F32, v_len);
    let sink = Arg::f32(&[window.map_or(0.0, |(_, sink)| sink)]);
    let args = [&[Arg::f32(&q)][..], &states, &numbers, &[sink, out]].concat();
    let what = format!("{ty}, keys of {k_len}, {seen} positions, window {window:?}");
    assert_eq!(found(&Case::new(kernel, args, 1, 0)), bits(&expected), "{what}");
}

#[test]
fn attention_to_any_number_of_positions() {
    for seen in [1, 75, 128, 129, 300, 6 * 128 + 75] {
        attention(GgmlType::F32, 21, 19, None, seen);
        for ty in BLOCK_TYPES {
            attention(ty, 96, 32, None, seen);
        }
    }
}

#[test]
fn attention_to_a_window_with_a_sink() {
    for (seen, window) in [(75, 75), (200, 72), (200, 73), (900, 1), (900, 260), (1300, 1299)] {
        for sink in [-3.0, 0.5, 40.0] {
            windowed(GgmlType::F32, (21, 19), None, seen, Some((window, sink)));
        }
    }
}

/// Short keys have larger numbers than long ones.
#[test]
fn attention_to_states_of_every_type() {
    for ty in STATE_TYPES {
        for k_len in [32, 192, 576, 2048] {
            attention(ty, k_len, 64, None, 140);
            attention(ty, k_len, 32, Some(0), 140);
            attention(ty, k_len + 32, k_len, Some(32), 140);
        }
    }
}

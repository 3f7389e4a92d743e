//! Steps of many tokens, whose products may be on matrix units: each token has the bits that it has alone.

use weft_device::Device;
use weft_kern::{Anchor, Binary, Dim, Format, Instr, Pick, Sum, Unary};
use weft_quant::GgmlType;

use crate::arg::Arg;
use crate::case::{Case, load_of, matrices, part, product, roundings, store_to, view};
use crate::data::{Random, weight_types};

/// One matrix, or one for each head.
pub fn of_one_matrix_or_one_per_head(device: &mut dyn Device) {
    let mut random = Random::new(31);
    for ty in weight_types().filter(|ty| ty.is_quantised()) {
        let unit = ty.block_len();
        // A single tile, columns that warps share with rows, and more than a workgroup has; the heads have matrices of
        // their own. And short steps, where warps share sums.
        for (heads, n, blocks, tokens) in
            [(1, 48, 3, 17), (3, 64, 2, 70), (1, 192, 1, 64), (2, 256, 3, 65), (1, 32, 8, 16), (2, 48, 4, 32)]
        {
            let k = unit * blocks;
            let x = random.floats(tokens * heads * k);
            let w = Arg::weight(ty, heads * n, k, random.weight(ty, heads * n * k));
            let case = |x: &[f32]| {
                let rows = x.len() / heads / k;
                let args = vec![Arg::activations(ty, x), w.clone(), Arg::out(Format::F32, rows * heads * n)];
                let pick = if heads == 1 { Pick::Only } else { Pick::Axis(1) };
                let products =
                    vec![product(view(0, &[heads * k, k], 1), matrices(1, pick, heads, n, k), false)];
                let body = vec![Instr::Acc(0), store_to(2, &[heads * n, n], 0)];
                let axes = [Dim::T, Dim::Const(heads)];
                Case::new(vec![part(&axes, n, Anchor::Dot(products), body)], args, rows, roundings(ty, k))
            };
            let all = case(&x).check(device);
            for t in [0, 7, tokens - 1] {
                let alone = case(&x[t * heads * k..][..heads * k]).run(device, 1).unwrap();
                let of = heads * n * 4;
                assert_eq!(alone[2], all[2][t * of..][..of], "{ty}, {n} columns, token {t}");
            }
        }
    }
}

/// Formats with one scale for 32 values and with two, with and without minima.
const TYPES: [GgmlType; 6] =
    [GgmlType::Q4_0, GgmlType::Q8_0, GgmlType::Q5_K, GgmlType::MXFP4, GgmlType::Q6_K, GgmlType::Q2_K];

/// The indices of the matrices of `rows` rows: half of the rows have the same matrix, and some matrices have none.
fn uneven(random: &mut Random, rows: usize, count: usize) -> Vec<i32> {
    let mut number = |_| if random.below(2) == 0 { 1 } else { random.below(count - 1) as i32 };
    (0..rows).map(&mut number).collect()
}

/// Two products with one epilogue, with matrices selected by index; the last as long as those of GLM-4.7-Flash.
pub fn of_picked_matrices(device: &mut dyn Device) {
    let mut random = Random::new(32);
    for ty in TYPES {
        for (count, chosen, n, k, tokens) in
            [(5, 3, 64, 256, 9), (9, 4, 32, 768, 70), (20, 2, 192, 512, 33), (16, 2, 64, 2048, 12)]
        {
            let rows = tokens * chosen;
            let ids = uneven(&mut random, rows, count);
            let mut weight = || Arg::weight(ty, count * n, k, random.weight(ty, count * n * k));
            let (a, b) = (weight(), weight());
            let x = random.floats(tokens * k);
            let case = |first: usize, tokens: usize| {
                let rows = tokens * chosen;
                let x = Arg::activations(ty, &x[first * k..][..tokens * k]);
                let ids = Arg::i32(&ids[first * chosen..][..rows]);
                let args = vec![a.clone(), b.clone(), x, ids, Arg::out(Format::Q8, rows * n)];
                let pick = Pick::Ids(view(3, &[chosen, 1], 0));
                let of = |p| product(view(2, &[k, 0], 1), matrices(p, pick.clone(), count, n, k), false);
                let body = vec![
                    Instr::Acc(0),
                    Instr::Unary(Unary::Silu, 0),
                    Instr::Acc(1),
                    Instr::Binary(Binary::Mul, 1, 2),
                    store_to(4, &[chosen * n, n], 3),
                ];
                let axes = [Dim::T, Dim::Const(chosen)];
                let parts = vec![part(&axes, n, Anchor::Dot(vec![of(0), of(1)]), body)];
                Case::new(parts, args, tokens, 8 * roundings(ty, k))
            };
            let all = case(0, tokens).check(device);
            for t in [0, 3, tokens - 1] {
                let alone = case(t, 1).run(device, 1).unwrap();
                // Rounded activations are planes of numbers, scales and sums.
                let (own, rows) = (chosen * n, rows * n);
                let mut from = [0, 0];
                for per in [1, 8, 4] {
                    let (len, at) = (own / per, t * own / per);
                    assert_eq!(
                        alone[4][from[0]..][..len],
                        all[4][from[1] + at..][..len],
                        "{ty}, token {t}, 1/{per}"
                    );
                    from = [from[0] + own / per, from[1] + rows / per];
                }
            }
        }
    }
}

/// Rows whose blocks the lanes that share a sum cannot divide evenly, as those of gpt-oss and Gemma 3.
pub fn of_uneven_shares(device: &mut dyn Device) {
    let mut random = Random::new(35);
    for ty in TYPES {
        let (n, k, tokens) = (64, if ty.block_len() == 32 { 2880 } else { 6912 }, 20);
        let w = Arg::weight(ty, n, k, random.weight(ty, n * k));
        let x = random.floats(tokens * k);
        let case = |x: &[f32]| {
            let tokens = x.len() / k;
            let args = vec![Arg::activations(ty, x), w.clone(), Arg::out(Format::F32, tokens * n)];
            let products = vec![product(view(0, &[k], 1), matrices(1, Pick::Only, 1, n, k), false)];
            let body = vec![Instr::Acc(0), store_to(2, &[n], 0)];
            let parts = vec![part(&[Dim::T], n, Anchor::Dot(products), body)];
            Case::new(parts, args, tokens, roundings(ty, k))
        };
        let all = case(&x).check(device);
        for t in [0, 9, tokens - 1] {
            let alone = case(&x[t * k..][..k]).run(device, 1).unwrap();
            assert_eq!(alone[2], all[2][t * n * 4..][..n * 4], "{ty}, token {t}");
        }
    }
}

/// Long steps: a product with a residual, and two products with one epilogue. On few multiprocessors, workgroups have tiles of many rows,
/// and the last tile is not full.
pub fn of_wide_matrices(device: &mut dyn Device) {
    let mut random = Random::new(34);
    for ty in TYPES {
        for (n, k, tokens, two) in [(256, 768, 300, false), (128, 512, 257, true), (64, 1280, 260, true)] {
            let mut weight = || Arg::weight(ty, n, k, random.weight(ty, n * k));
            let (a, b) = (weight(), weight());
            let (x, residual) = (random.floats(tokens * k), random.floats(tokens * n));
            let case = |first: usize, tokens: usize| {
                let own = |all: &[f32], n: usize| all[first * n..][..tokens * n].to_vec();
                let x = Arg::activations(ty, &own(&x, k));
                let residual = Arg::f32(&own(&residual, n));
                let args = vec![a.clone(), b.clone(), x, residual, Arg::out(Format::F32, tokens * n)];
                let of = |p| product(view(2, &[k], 1), matrices(p, Pick::Only, 1, n, k), false);
                let (products, mut body) = match two {
                    true => {
                        (vec![of(0), of(1)], vec![Instr::Acc(0), Instr::Unary(Unary::Silu, 0), Instr::Acc(1)])
                    }
                    false => (vec![of(0)], vec![Instr::Acc(0), load_of(3, &[n], n)]),
                };
                let last = body.len();
                let op = if two { Binary::Mul } else { Binary::Add };
                body.push(Instr::Binary(op, last - 2, last - 1));
                body.push(store_to(4, &[n], last));
                let parts = vec![part(&[Dim::T], n, Anchor::Dot(products), body)];
                Case::new(parts, args, tokens, 8 * roundings(ty, k))
            };
            let all = case(0, tokens).check(device);
            for t in [0, 70, tokens - 1] {
                let alone = case(t, 1).run(device, 1).unwrap();
                assert_eq!(alone[4], all[4][t * n * 4..][..n * 4], "{ty}, {n} columns, token {t}");
            }
        }
    }
}

/// A weighted sum over matrices that are selected by index, in one kernel with another product and a residual.
pub fn of_sums_over_experts(device: &mut dyn Device) {
    let mut random = Random::new(33);
    for ty in TYPES {
        for (count, terms, n, k, tokens) in
            [(7, 4, 64, 256, 9), (6, 2, 128, 1536, 35), (16, 4, 32, 512, 66), (16, 2, 128, 1536, 20)]
        {
            let ids = uneven(&mut random, tokens * terms, count);
            let (x, shared) = (random.floats(tokens * terms * k), random.floats(tokens * 256));
            let (weights, residual) = (random.floats(tokens * terms), random.floats(tokens * n));
            let experts = Arg::weight(ty, count * n, k, random.weight(ty, count * n * k));
            let beside = Arg::weight(ty, n, 256, random.weight(ty, n * 256));
            let case = |first: usize, tokens: usize| {
                let own = |all: &[f32], n: usize| all[first * n..][..tokens * n].to_vec();
                let args = vec![
                    Arg::activations(ty, &own(&x, terms * k)),
                    experts.clone(),
                    Arg::i32(&ids[first * terms..][..tokens * terms]),
                    Arg::f32(&own(&weights, terms)),
                    Arg::f32(&own(&residual, n)),
                    Arg::activations(ty, &own(&shared, 256)),
                    beside.clone(),
                    Arg::out(Format::F32, tokens * n),
                ];
                let sum = Sum { terms, ids: view(2, &[terms], 1), weights: view(3, &[terms], 1), apart: k };
                let products = vec![
                    product(
                        view(0, &[terms * k], 1),
                        matrices(1, Pick::Sum(Box::new(sum)), count, n, k),
                        false,
                    ),
                    product(view(5, &[256], 1), matrices(6, Pick::Only, 1, n, 256), false),
                ];
                let body = vec![
                    Instr::Acc(0),
                    Instr::Acc(1),
                    Instr::Binary(Binary::Add, 0, 1),
                    load_of(4, &[n], n),
                    Instr::Binary(Binary::Add, 2, 3),
                    store_to(7, &[n], 4),
                ];
                let parts = vec![part(&[Dim::T], n, Anchor::Dot(products), body)];
                Case::new(parts, args, tokens, 5 * roundings(ty, k.max(256)))
            };
            let all = case(0, tokens).check(device);
            for t in [0, 5, tokens - 1] {
                let alone = case(t, 1).run(device, 1).unwrap();
                assert_eq!(alone[7], all[7][t * n * 4..][..n * 4], "{ty}, {terms} terms, token {t}");
            }
        }
    }
}

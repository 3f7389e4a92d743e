//! Products: every format, pick, number of rows and kind of epilogue.

use weft_device::Device;
use weft_kern::{
    Anchor, Binary, Dim, Factor, Format, Instr, Matrices, Part, Pick, Product, Prologue, Reduce, RopeStyle,
    Sum, Unary, View,
};
use weft_quant::GgmlType;

use crate::arg::Arg;
use crate::case::{Case, constant, load_of, matrices, part, product, roundings, store_to, view};
use crate::data::{Random, weight_types};

/// Numbers of tokens: one, a few, and more than a tile, odd and even.
const TOKENS: [usize; 4] = [1, 2, 5, 19];

/// `y = x · wᵀ`, or `x · w`.
fn matrix(
    random: &mut Random,
    ty: GgmlType,
    tokens: usize,
    (n, k): (usize, usize),
    transposed: bool,
) -> Case {
    let (len, cols) = if transposed { (n, k) } else { (k, n) };
    let x = random.floats(tokens * len);
    let x = if transposed { Arg::f32(&x) } else { Arg::activations(ty, &x) };
    let args = vec![x, Arg::weight(ty, n, k, random.weight(ty, n * k)), Arg::out(Format::F32, tokens * cols)];
    let products = vec![product(view(0, &[len], 1), matrices(1, Pick::Only, 1, n, k), transposed)];
    let body = vec![Instr::Acc(0), store_to(2, &[cols], 0)];
    let roundings = roundings(if transposed { GgmlType::F32 } else { ty }, len);
    let case = Case::new(vec![part(&[Dim::T], cols, Anchor::Dot(products), body)], args, tokens, roundings);
    Case { least: 0.25, ..case }
}

/// Every stored format, in odd sizes.
pub fn every_format(device: &mut dyn Device) {
    let mut random = Random::new(1);
    for ty in weight_types() {
        let unit = ty.block_len();
        // The last ones have several pieces in flight.
        for (tokens, n, blocks) in [(1, 1, 1), (1, 16, 3), (3, 33, 2), (9, 50, 5), (1, 5, 64), (2, 3, 32)] {
            let k = if unit == 1 { 7 * blocks } else { unit * blocks };
            matrix(&mut random, ty, tokens, (n, k), false).check(device);
        }
    }
}

/// Products with a transposed matrix.
pub fn transposed(device: &mut dyn Device) {
    let mut random = Random::new(2);
    for ty in weight_types() {
        for (tokens, n) in [(1, 1), (4, 37)] {
            let k = if ty.is_quantised() { ty.block_len().max(64) } else { 45 };
            matrix(&mut random, ty, tokens, (n, k), true).check(device);
        }
    }
}

/// Results are batch-invariant: they depend neither on other rows nor on how many rows the kernel
/// was compiled for.
pub fn rows_have_the_bits_that_they_have_alone(device: &mut dyn Device) {
    let mut random = Random::new(3);
    for ty in [GgmlType::Q4_0, GgmlType::Q6_K, GgmlType::Q5_1, GgmlType::F32, GgmlType::F16] {
        let (n, k, tokens) = (70, 2048, 13);
        let x = random.floats(tokens * k);
        let w = Arg::weight(ty, n, k, random.weight(ty, n * k));
        let case = |x: &[f32]| {
            let rows = x.len() / k;
            let args = vec![Arg::activations(ty, x), w.clone(), Arg::out(Format::F32, rows * n)];
            let products = vec![product(view(0, &[k], 1), matrices(1, Pick::Only, 1, n, k), false)];
            let body = vec![Instr::Acc(0), store_to(2, &[n], 0)];
            Case::new(vec![part(&[Dim::T], n, Anchor::Dot(products), body)], args, rows, roundings(ty, k))
        };
        let all = case(&x).check(device);
        for t in [0, 7, 12] {
            let one = case(&x[t * k..][..k]);
            let alone = one.run(device, 1).unwrap();
            assert_eq!(alone[2], all[2][t * n * 4..][..n * 4], "{ty}, token {t}");
        }
    }
}

/// Schedules that the heuristic does not choose: several columns per lane, several passes, other
/// numbers of lanes, tiles of rows. Those that add in the same order give the same bits.
pub fn every_layout(device: &mut dyn Device) {
    let mut random = Random::new(8);
    for ty in [GgmlType::Q4_0, GgmlType::Q6_K, GgmlType::F32, GgmlType::BF16] {
        for transposed in [false, true] {
            let case = matrix(&mut random, ty, 7, (if transposed { 33 } else { 100 }, 256), transposed);
            let bits = |device: &mut dyn Device, lanes, reduce, rest: [(u32, u32, u32); 3]| {
                let of = |(rows, width, upcast)| {
                    format!(
                        "lanes {lanes}; dot.lanes rows {rows} width {width} reduce {reduce} upcast {upcast}"
                    )
                };
                let found = rest.map(|rest| case.check_with(device, &of(rest)));
                assert!(found.iter().all(|f| *f == found[0]), "{ty}, {lanes} lanes, {reduce}");
            };
            bits(device, 64, 4, [(1, 16, 1), (4, 64, 2), (3, 256, 4)]);
            bits(device, 32, 1, [(1, 32, 1), (8, 64, 2), (2, 96, 3)]);
            bits(device, 128, 8, [(1, 16, 1), (5, 48, 3), (7, 256, 1)]);
        }
    }
}

/// `silu(acc0) · acc1`.
fn gated(strides: &[usize], out: usize) -> Vec<Instr> {
    vec![
        Instr::Acc(0),
        Instr::Unary(Unary::Silu, 0),
        Instr::Acc(1),
        Instr::Binary(Binary::Mul, 1, 2),
        store_to(out, strides, 3),
    ]
}

/// Two products with one epilogue, with every way to select matrices.
pub fn gate_and_up_of_picked_matrices(device: &mut dyn Device) {
    let mut random = Random::new(4);
    let (count, chosen) = (6, 3);
    for ty in [GgmlType::Q4_0, GgmlType::Q6_K, GgmlType::MXFP4, GgmlType::BF16] {
        let (n, k) = (70, ty.block_len().max(32) * 2);
        for pick in [Pick::Only, Pick::Axis(1), Pick::Ids(view(3, &[chosen, 1], 0))] {
            for tokens in TOKENS {
                let rows = tokens * chosen;
                let ids: Vec<i32> = (0..rows).map(|_| random.below(count) as i32).collect();
                let mut weight = || Arg::weight(ty, count * n, k, random.weight(ty, count * n * k));
                let (a, b) = (weight(), weight());
                let x = Arg::activations(ty, &random.floats(tokens * k));
                let args = vec![a, b, x, Arg::i32(&ids), Arg::out(Format::F32, rows * n)];
                let of = |p| product(view(2, &[k, 0], 1), matrices(p, pick.clone(), count, n, k), false);
                let axes = [Dim::T, Dim::Const(chosen)];
                let anchor = Anchor::Dot(vec![of(0), of(1)]);
                let parts = vec![part(&axes, n, anchor, gated(&[chosen * n, n], 4))];
                Case::new(parts, args, tokens, 8 * roundings(ty, k)).check(device);
            }
        }
    }
}

/// Products by parts of a stack: the rows of other parts are 0, whatever their index is.
pub fn parts_of_a_stack_leave_other_rows_zero(device: &mut dyn Device) {
    let mut random = Random::new(41);
    let (count, chosen) = (6, 3);
    for ty in [GgmlType::Q4_0, GgmlType::Q6_K, GgmlType::MXFP4, GgmlType::F16] {
        let (n, k) = (70, ty.block_len().max(32) * 2);
        for (from, tokens) in [0, 2, 5].into_iter().flat_map(|from| TOKENS.map(|tokens| (from, tokens))) {
            let rows = tokens * chosen;
            let mut id = || random.below(count + 5) as i32 - 2;
            let ids: Vec<i32> = (0..rows).map(|_| id()).collect();
            let mut weight = || Arg::weight(ty, count * n, k, random.weight(ty, count * n * k));
            let (a, b) = (weight(), weight());
            let x = Arg::activations(ty, &random.floats(tokens * k));
            let args = vec![a, b, x, Arg::i32(&ids), Arg::out(Format::F32, rows * n)];
            let pick = || Pick::Ids(view(3, &[chosen, 1], 0));
            let w = |p| Matrices { from: Some(from), ..matrices(p, pick(), count, n, k) };
            let of = |p| product(view(2, &[k, 0], 1), w(p), false);
            let anchor = Anchor::Dot(vec![of(0), of(1)]);
            let parts = vec![part(&[Dim::T, Dim::Const(chosen)], n, anchor, gated(&[chosen * n, n], 4))];
            Case::new(parts, args, tokens, 8 * roundings(ty, k)).check(device);
        }
    }
}

/// A weighted sum over experts, another product and a residual, stored in four formats.
pub fn sums_over_experts_beside_a_product_and_a_residual(device: &mut dyn Device) {
    let mut random = Random::new(5);
    let count = 7;
    for ty in weight_types() {
        for (tokens, terms, n) in [(1, 4, 96), (5, 3, 32)] {
            let k = ty.block_len().max(32) * 2;
            let ids: Vec<i32> = (0..tokens * terms).map(|_| random.below(count) as i32).collect();
            let args = vec![
                Arg::activations(ty, &random.floats(tokens * terms * k)),
                Arg::weight(ty, count * n, k, random.weight(ty, count * n * k)),
                Arg::i32(&ids),
                Arg::f32(&random.floats(tokens * terms)),
                Arg::f32(&random.floats(tokens * n)),
                Arg::activations(GgmlType::Q6_K, &random.floats(tokens * 256)),
                Arg::weight(GgmlType::Q6_K, n, 256, random.weight(GgmlType::Q6_K, n * 256)),
                Arg::out(Format::F32, tokens * n),
                Arg::out(Format::Q8, tokens * n),
                Arg::out(Format::Ggml(GgmlType::F16), tokens * n),
                Arg::out(Format::Ggml(GgmlType::Q8_0), tokens * n),
            ];
            let sum = Sum { terms, ids: view(2, &[terms], 1), weights: view(3, &[terms], 1), apart: k };
            let products = vec![
                product(view(0, &[terms * k], 1), matrices(1, Pick::Sum(Box::new(sum)), count, n, k), false),
                product(view(5, &[256], 1), matrices(6, Pick::Only, 1, n, 256), false),
            ];
            let body = vec![
                Instr::Acc(0),
                Instr::Acc(1),
                Instr::Binary(Binary::Add, 0, 1),
                load_of(4, &[n], n),
                Instr::Binary(Binary::Add, 2, 3),
                store_to(7, &[n], 4),
                store_to(8, &[n], 4),
                store_to(9, &[n], 4),
                store_to(10, &[n], 4),
            ];
            let parts = vec![part(&[Dim::T], n, Anchor::Dot(products), body)];
            Case::new(parts, args, tokens, 5 * roundings(GgmlType::Q6_K, 256)).check(device);
        }
    }
}

/// A norm of `x`, and products that read it.
fn norm(x: usize, weight: usize, len: usize) -> Prologue {
    let body = vec![
        load_of(x, &[len], len),
        Instr::Binary(Binary::Mul, 0, 0),
        Instr::Reduce(Reduce::Sum, 1),
        constant(1.0 / len as f32),
        Instr::Binary(Binary::Mul, 2, 3),
        Instr::Unary(Unary::Rsqrt, 4),
        Instr::Binary(Binary::Mul, 0, 5),
        load_of(weight, &[0], len),
        Instr::Binary(Binary::Mul, 6, 7),
    ];
    Prologue { body, value: 8 }
}

fn of_prologue(p: usize, n: usize, k: usize) -> Product {
    Product { x: Factor::Prologue, w: matrices(p, Pick::Only, 1, n, k), transposed: false }
}

/// As at the beginning of a layer: a router with its whole selection and a rotated projection in one kernel, both over the same norm.
pub fn a_router_beside_a_rotated_projection_over_a_norm(device: &mut dyn Device) {
    let mut random = Random::new(6);
    let (experts, head) = (24, 64);
    for (len, ty, k) in [
        (320, GgmlType::Q4_0, 4),
        (320, GgmlType::F16, 4),
        (2048, GgmlType::Q4_0, 4),
        (2048, GgmlType::Q4_0, 6),
    ] {
        // Large products may be split over workgroups.
        let styles = if len > 320 { 1 } else { 2 };
        for style in [RopeStyle::Pairs, RopeStyle::Halves].into_iter().take(styles) {
            for tokens in TOKENS {
                let args = vec![
                    Arg::f32(&random.floats(tokens * len)),
                    Arg::weight(GgmlType::F32, 1, len, random.weight(GgmlType::F32, len)),
                    Arg::weight(GgmlType::F32, experts, len, random.weight(GgmlType::F32, experts * len)),
                    Arg::f32(&random.floats(experts)),
                    Arg::weight(ty, head, len, random.weight(ty, head * len)),
                    Arg::f32(&random.floats(tokens * head / 2)),
                    Arg::f32(&random.floats(tokens * head / 2)),
                    Arg::out(Format::I32, tokens * k),
                    Arg::out(Format::F32, tokens * k),
                    Arg::out(Format::Ggml(GgmlType::BF16), tokens * head),
                ];
                let router = vec![
                    Instr::Acc(0),
                    Instr::Unary(Unary::Sigmoid, 0),
                    load_of(3, &[0], experts),
                    Instr::Binary(Binary::Add, 1, 2),
                    Instr::TopK { x: 3, k },
                    Instr::Take { from: 1, ids: 4 },
                    Instr::Reduce(Reduce::Sum, 5),
                    Instr::Binary(Binary::Div, 5, 6),
                    store_to(7, &[k], 4),
                    store_to(8, &[k], 7),
                ];
                let turned = vec![
                    Instr::Acc(0),
                    load_of(5, &[head / 2], head / 2),
                    load_of(6, &[head / 2], head / 2),
                    Instr::Rope { style, x: 0, cos: 1, sin: 2 },
                    store_to(9, &[head], 3),
                ];
                let with_norm = |part: Part| Part { prologue: Some(norm(0, 1, len)), ..part };
                let dot = |p, n| Anchor::Dot(vec![of_prologue(p, n, len)]);
                let parts = vec![
                    with_norm(part(&[Dim::T], experts, dot(2, experts), router)),
                    with_norm(part(&[Dim::T], head, dot(4, head), turned)),
                ];
                // Values that the prologue rounds may be a step off.
                let mut case = Case::new(parts, args, tokens, 4 * roundings(GgmlType::F32, len));
                if ty.is_quantised() {
                    case.roundings = 1 << 16;
                }
                case.check(device);
                // Programs for longer steps may select in another way, but not others.
                let one = Case { tokens: 1, ..case };
                let alone = one.run(device, 1).unwrap();
                let same = one.run(device, tokens).unwrap() == alone;
                assert!(same, "{k} of {experts}, rows of {len}, steps of {tokens}");
            }
        }
    }
}

/// Matrices that begin within a tile, in a stack with gaps, with rows that are apart.
pub fn parts_of_weights_and_rows(device: &mut dyn Device) {
    let mut random = Random::new(7);
    for ty in [GgmlType::Q4_K, GgmlType::Q8_0, GgmlType::F32, GgmlType::BF16] {
        let (n, k, first, stride, heads) = (40, 256, 9, 45, 3);
        for tokens in TOKENS {
            let rows = first + heads * stride;
            let x = random.floats(tokens * heads * k + 64);
            let args = vec![
                Arg::activations(ty, &x),
                Arg::weight(ty, rows, k, random.weight(ty, rows * k)),
                Arg::out(Format::F32, tokens * heads * n + 5),
            ];
            let mut w = matrices(1, Pick::Axis(1), heads, n, k);
            (w.first, w.stride) = (first, stride);
            let x = View { offset: 64, ..view(0, &[heads * k, k], 1) };
            let store = View { offset: 5, ..view(2, &[heads * n, n], 1) };
            let body = vec![Instr::Acc(0), Instr::Store { value: 0, view: store, indexed: None }];
            let anchor = Anchor::Dot(vec![product(x, w, false)]);
            let parts = vec![part(&[Dim::T, Dim::Const(heads)], n, anchor, body)];
            let mut case = Case::new(parts, args, tokens, roundings(ty, k));
            // Values before the first row are not touched.
            case.args[2] = Arg::out(Format::F32, tokens * heads * n + 5);
            case.check(device);
        }
    }
}

/// Matrix indices in the data are not trusted: those out of bounds select the last matrix, and other rows are not affected.
pub fn wild_numbers(device: &mut dyn Device) {
    let mut random = Random::new(9);
    let (count, n, k, tokens) = (3, 40, 64, 5);
    let case = |ids: [i32; 5]| {
        let mut random = Random::new(10);
        let args = vec![
            Arg::activations(GgmlType::Q4_0, &random.floats(tokens * k)),
            Arg::weight(GgmlType::Q4_0, count * n, k, random.weight(GgmlType::Q4_0, count * n * k)),
            Arg::i32(&ids),
            Arg::out(Format::F32, tokens * n),
        ];
        let w = matrices(1, Pick::Ids(view(2, &[1], 0)), count, n, k);
        let anchor = Anchor::Dot(vec![product(view(0, &[k], 1), w, false)]);
        let parts = vec![part(&[Dim::T], n, anchor, vec![Instr::Acc(0), store_to(3, &[n], 0)])];
        Case::new(parts, args, tokens, roundings(GgmlType::Q4_0, k))
    };
    let right = case([2, 2, 2, 1, 0]).check(device);
    let last = random.below(1000) as i32 + 3;
    let wild = case([-1, i32::MIN, last, 1, 0]).run(device, tokens).unwrap();
    assert_eq!(right[3], wild[3]);
}

//! Shapes drawn at random: sizes that no tile, block or workgroup divides, for every anchor.
//!
//! A seed determines a case. Devices are checked with the same few seeds in every run, and with many on
//! request.

use std::ops::Range;

use weft_device::Device;
use weft_kern::{
    Anchor, Binary, Dim, Factor, Format, Instr, Part, Pick, Product, Prologue, Reduce, RopeStyle, Sum, Unary,
    View,
};
use weft_quant::GgmlType;

use crate::arg::Arg;
use crate::case::{Case, constant, load_of, matrices, part, product, roundings, store_to, view};
use crate::data::{BLOCK_TYPES, Random};
use crate::suite::attend::{Shape, case_of, listed, windowed};
use crate::suite::indexer;

/// Makes a case of an anchor from a seed.
pub type Draw = fn(u64) -> Case;

/// The functions that draw the cases of each anchor.
pub const DRAWS: [(&str, Draw); 9] = [
    ("products", product_case),
    ("picked products", picked_case),
    ("sums over experts", sum_case),
    ("routers", router_case),
    ("rows", row_case),
    ("attention", attention_case),
    ("lists of positions", listed_case),
    ("indexers", indexer_case),
    ("selections", selection_case),
];

/// Numbers of tokens: one, a few, and more than tiles of 16, 32 and 64 rows.
const TOKENS: [usize; 8] = [1, 2, 3, 5, 7, 17, 33, 65];

/// Columns: fewer than a block, between blocks of 16, 32 and 64, whole blocks of an odd number, and more than
/// a workgroup has lanes.
const COLUMNS: [usize; 18] = [1, 2, 3, 6, 17, 33, 40, 48, 63, 65, 80, 96, 112, 160, 224, 321, 544, 1003];

/// Rows of vocabularies: fewer than are selected, around whole blocks, and around what a workgroup has.
const VOCABULARIES: [usize; 16] =
    [1, 7, 63, 64, 65, 321, 511, 512, 513, 577, 1003, 1023, 1024, 1025, 2047, 32_001];

/// Heads, and those of keys and values.
const HEADS: [(usize, usize); 12] =
    [(1, 1), (2, 1), (3, 1), (5, 1), (7, 1), (3, 3), (6, 3), (9, 3), (10, 2), (15, 5), (24, 1), (14, 2)];

/// Sizes of heads.
const HEAD_SIZES: [usize; 10] = [20, 32, 40, 48, 64, 80, 96, 112, 128, 160];

const TYPES: [GgmlType; 9] = [
    GgmlType::Q4_0,
    GgmlType::Q8_0,
    GgmlType::Q5_1,
    GgmlType::MXFP4,
    GgmlType::Q4_K,
    GgmlType::Q6_K,
    GgmlType::F16,
    GgmlType::BF16,
    GgmlType::F32,
];

fn one<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len())]
}

/// The tokens of a case: few of them where each takes long.
fn tokens(random: &mut Random, work: usize) -> usize {
    let most = if work > 1 << 19 { 5 } else { TOKENS.len() };
    TOKENS[random.below(most)]
}

/// The length of rows of a weight: an odd number of blocks, mostly.
fn length(random: &mut Random, ty: GgmlType) -> usize {
    match ty.block_len() {
        1 => one(random, &[1, 7, 30, 33, 96, 160, 100, 321]),
        256 => 256 * one(random, &[1, 2, 3]),
        unit => unit * one(random, &[1, 2, 3, 5, 7, 16, 90]),
    }
}

/// A norm of each token's row of the first parameter, without weights.
fn norm(len: usize) -> Prologue {
    let body = vec![
        load_of(0, &[len], len),
        Instr::Binary(Binary::Mul, 0, 0),
        Instr::Reduce(Reduce::Sum, 1),
        constant(1.0 / len as f32),
        Instr::Binary(Binary::Mul, 2, 3),
        constant(1e-3),
        Instr::Binary(Binary::Add, 4, 5),
        Instr::Unary(Unary::Rsqrt, 6),
        Instr::Binary(Binary::Mul, 0, 7),
    ];
    Prologue { body, value: 8 }
}

/// Adds an output of one value of the program for each row, in a format that its length allows.
fn store(
    random: &mut Random,
    args: &mut Vec<Arg>,
    body: &mut Vec<Instr>,
    value: usize,
    of: (usize, usize, usize),
) {
    let (tokens, heads, len) = of;
    let format = match random.below(4) {
        0 if len.is_multiple_of(32) => Format::Q8,
        1 if len.is_multiple_of(32) => Format::Ggml(one(random, &BLOCK_TYPES)),
        2 if len.is_multiple_of(2) => Format::Ggml(one(random, &[GgmlType::F16, GgmlType::BF16])),
        _ => Format::F32,
    };
    args.push(Arg::out(format, tokens * heads * len).per_token(heads * len));
    body.push(store_to(args.len() - 1, &[heads * len, len], value));
}

/// Products with one matrix or one for each head, of rows or of their norms, with one of several programs
/// after them.
pub fn product_case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let random = &mut random;
    let ty = one(random, &TYPES);
    let (n, k) = (one(random, &COLUMNS), length(random, ty));
    let heads = one(random, &[1, 1, 3, 5]);
    let tokens = tokens(random, heads * n * k);
    let with_norm = random.below(3) == 0;
    // All heads multiply the same norm.
    let own = if with_norm { 1 } else { heads };
    let x = random.floats(tokens * own * k);
    let x = if with_norm { Arg::f32(&x) } else { Arg::activations(ty, &x) };
    let mut args = vec![x.per_token(own * k)];
    let strides = [heads * k, k];
    let gated = random.below(3) == 0;
    let mut products = Vec::new();
    for _ in 0..1 + usize::from(gated) {
        args.push(Arg::weight(ty, heads * n, k, random.weight(ty, heads * n * k)));
        let pick = if heads == 1 { Pick::Only } else { Pick::Axis(1) };
        let w = matrices(args.len() - 1, pick, heads, n, k);
        let x = if with_norm { Factor::Prologue } else { Factor::View(view(0, &strides, 1)) };
        products.push(Product { x, w, transposed: false });
    }
    let mut body = vec![Instr::Acc(0)];
    if gated {
        body.extend([Instr::Unary(Unary::Sigmoid, 0), Instr::Acc(1), Instr::Binary(Binary::Mul, 1, 2)]);
    }
    let of = body.len() - 1;
    let rows = [heads * n, n];
    match random.below(4) {
        0 => {
            args.push(Arg::f32(&random.floats(tokens * heads * n)).per_token(heads * n));
            body.extend([load_of(args.len() - 1, &rows, n), Instr::Binary(Binary::Add, of, of + 1)]);
        }
        1 => body.extend([Instr::Reduce(Reduce::Max, of), Instr::Binary(Binary::Sub, of, of + 1)]),
        2 if n > 2 && n.is_multiple_of(2) => {
            let half = n / 2;
            for at in 1..3 {
                args.push(Arg::f32(&random.floats(tokens * half)).per_token(half));
                body.push(load_of(args.len() - 1, &[half, 0], half));
                debug_assert!(body.len() == of + at + 1);
            }
            let style = RopeStyle::ALL[random.below(2)];
            body.push(Instr::Rope { style, x: of, cos: of + 1, sin: of + 2 });
        }
        _ => {}
    }
    let last = body.len() - 1;
    store(random, &mut args, &mut body, last, (tokens, heads, n));
    // Values that a prologue rounds may be a step off.
    let more = if with_norm && ty.is_quantised() { 1 << 17 } else { 16 };
    let axes = [Dim::T, Dim::Const(heads)];
    let part = Part { prologue: with_norm.then(|| norm(k)), ..part(&axes, n, Anchor::Dot(products), body) };
    let case = Case::new(vec![part], args, tokens, more + 8 * roundings(ty, k));
    Case { least: 0.5, ..case }
}

/// Two products with one program, with a matrix selected by index for each row.
pub fn picked_case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let random = &mut random;
    let ty = one(random, &TYPES);
    let (n, k) = (one(random, &COLUMNS[4..15]), length(random, ty));
    let count = one(random, &[1, 3, 5, 7, 9]);
    let chosen = 1 + random.below(count.min(5));
    let tokens = tokens(random, chosen * n * k);
    let ids = numbers(random, tokens, chosen, count);
    let mut args = vec![Arg::activations(ty, &random.floats(tokens * k)).per_token(k)];
    args.push(Arg::i32(&ids).per_token(chosen));
    for _ in 0..2 {
        args.push(Arg::weight(ty, count * n, k, random.weight(ty, count * n * k)));
    }
    let pick = Pick::Ids(view(1, &[chosen, 1], 0));
    let of = |p| product(view(0, &[k, 0], 1), matrices(p, pick.clone(), count, n, k), false);
    let mut body =
        vec![Instr::Acc(0), Instr::Unary(Unary::Silu, 0), Instr::Acc(1), Instr::Binary(Binary::Mul, 1, 2)];
    store(random, &mut args, &mut body, 3, (tokens, chosen, n));
    let axes = [Dim::T, Dim::Const(chosen)];
    let parts = vec![part(&axes, n, Anchor::Dot(vec![of(2), of(3)]), body)];
    Case { least: 0.5, ..Case::new(parts, args, tokens, 16 + 16 * roundings(ty, k)) }
}

/// Distinct indices for each token, as a router selects them.
fn numbers(random: &mut Random, tokens: usize, chosen: usize, count: usize) -> Vec<i32> {
    (0..tokens).flat_map(|_| random.distinct(chosen, count)).collect()
}

/// A weighted sum over matrices that are selected by index, with a residual, with or without another product.
pub fn sum_case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let random = &mut random;
    let ty = one(random, &TYPES);
    let (n, k) = (one(random, &COLUMNS[5..16]), length(random, ty));
    let count = one(random, &[1, 3, 5, 7, 9]);
    let terms = 1 + random.below(count.min(5));
    let tokens = tokens(random, terms * n * k);
    let mut args = vec![
        Arg::activations(ty, &random.floats(tokens * terms * k)).per_token(terms * k),
        Arg::weight(ty, count * n, k, random.weight(ty, count * n * k)),
        Arg::i32(&numbers(random, tokens, terms, count)).per_token(terms),
        Arg::f32(&random.floats(tokens * terms)).per_token(terms),
        Arg::f32(&random.floats(tokens * n)).per_token(n),
    ];
    let sum = Sum { terms, ids: view(2, &[terms], 1), weights: view(3, &[terms], 1), apart: k };
    let pick = Pick::Sum(Box::new(sum));
    let mut products = vec![product(view(0, &[terms * k], 1), matrices(1, pick, count, n, k), false)];
    let mut body = vec![Instr::Acc(0), load_of(4, &[n], n), Instr::Binary(Binary::Add, 0, 1)];
    if random.below(2) == 0 {
        let (other, len) = (GgmlType::Q8_0, 32 * one(random, &[1, 3, 5]));
        args.push(Arg::activations(other, &random.floats(tokens * len)).per_token(len));
        args.push(Arg::weight(other, n, len, random.weight(other, n * len)));
        products.push(product(view(5, &[len], 1), matrices(6, Pick::Only, 1, n, len), false));
        body.extend([Instr::Acc(1), Instr::Binary(Binary::Add, 2, 3)]);
    }
    let last = body.len() - 1;
    store(random, &mut args, &mut body, last, (tokens, 1, n));
    // A row's strides are those of one head.
    for instr in &mut body {
        if let Instr::Store { view, .. } = instr {
            view.strides.truncate(1);
        }
    }
    let parts = vec![part(&[Dim::T], n, Anchor::Dot(products), body)];
    Case { least: 0.5, ..Case::new(parts, args, tokens, 16 + 16 * roundings(ty, terms * k)) }
}

/// Scores of experts, of which a few are selected and weighted.
pub fn router_case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let random = &mut random;
    let experts = one(random, &[1, 2, 3, 5, 7, 8, 9, 24, 33, 60, 65, 130]);
    let k = 1 + random.below(experts.min(10));
    let len = one(random, &[32, 96, 100, 160, 288]);
    let tokens = tokens(random, 16 * experts * len);
    let with_norm = random.below(2) == 0;
    let ty = one(random, &[GgmlType::F32, GgmlType::F16]);
    let mut args = vec![
        Arg::f32(&random.floats(tokens * len)).per_token(len),
        Arg::weight(ty, experts, len, random.weight(ty, experts * len)),
        Arg::f32(&random.floats(experts)),
        Arg::out(Format::I32, tokens * k).per_token(k),
        Arg::out(Format::F32, tokens * k).per_token(k),
    ];
    let x = if with_norm { Factor::Prologue } else { Factor::View(view(0, &[len], 1)) };
    let products = vec![Product { x, w: matrices(1, Pick::Only, 1, experts, len), transposed: false }];
    let scored = [
        Instr::Acc(0),
        Instr::Unary(Unary::Sigmoid, 0),
        load_of(2, &[0], experts),
        Instr::Binary(Binary::Add, 1, 2),
        Instr::TopK { x: 3, k },
        Instr::Take { from: 1, ids: 4 },
    ];
    let mut body = scored.to_vec();
    if random.below(2) == 0 {
        body.extend([Instr::Reduce(Reduce::Sum, 5), Instr::Binary(Binary::Div, 5, 6)]);
    }
    let weights = body.len() - 1;
    body.extend([store_to(3, &[k], 4), store_to(4, &[k], weights)]);
    if random.below(3) == 0 {
        args.push(Arg::out(Format::F32, tokens * experts).per_token(experts));
        body.push(store_to(5, &[experts], 1));
    }
    let part = Part {
        prologue: with_norm.then(|| norm(len)),
        ..part(&[Dim::T], experts, Anchor::Dot(products), body)
    };
    Case { least: 1.0, ..Case::new(vec![part], args, tokens, 64 + 8 * roundings(GgmlType::F32, len)) }
}

/// Rows without a product: a norm, a softmax, a rotation or a function of each value.
pub fn row_case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let random = &mut random;
    let cols = one(random, &[1, 2, 6, 33, 48, 80, 96, 112, 160, 321, 500, 1003, 2880]);
    let heads = one(random, &[1, 1, 3, 5, 7]);
    let tokens = tokens(random, 64 * heads * cols);
    let strides = [heads * cols, cols];
    let ty = one(random, &[GgmlType::F32, GgmlType::F16, GgmlType::BF16]);
    let mut args = vec![
        Arg::floats_of(ty, &random.floats(tokens * heads * cols)).per_token(heads * cols),
        Arg::f32(&random.floats(cols)),
    ];
    let mut body = vec![load_of(0, &strides, cols), load_of(1, &[0, 0], cols)];
    match random.below(4) {
        0 => body.extend([
            Instr::Binary(Binary::Mul, 0, 0),
            Instr::Reduce(Reduce::Sum, 2),
            constant(0.5),
            Instr::Binary(Binary::Add, 3, 4),
            Instr::Unary(Unary::Rsqrt, 5),
            Instr::Binary(Binary::Mul, 0, 6),
            Instr::Binary(Binary::Mul, 7, 1),
        ]),
        1 => body.extend([
            Instr::Reduce(Reduce::Max, 0),
            Instr::Binary(Binary::Sub, 0, 2),
            Instr::Unary(Unary::Exp, 3),
            Instr::Reduce(Reduce::Sum, 4),
            Instr::Binary(Binary::Div, 4, 5),
        ]),
        2 if cols > 2 && cols.is_multiple_of(2) => {
            let half = cols / 2;
            for _ in 0..2 {
                args.push(Arg::f32(&random.floats(tokens * half)).per_token(half));
                body.push(load_of(args.len() - 1, &[half, 0], half));
            }
            let style = RopeStyle::ALL[random.below(2)];
            body.push(Instr::Rope { style, x: 0, cos: 2, sin: 3 });
        }
        _ => body.extend([Instr::Unary(Unary::Silu, 0), Instr::Binary(Binary::Mul, 1, 2)]),
    }
    let last = body.len() - 1;
    store(random, &mut args, &mut body, last, (tokens, heads, cols));
    let axes = [Dim::T, Dim::Const(heads)];
    let across = body.iter().any(|instr| matches!(instr, Instr::Reduce(..) | Instr::Rope { .. }));
    let anchor = if across { Anchor::Reduce } else { Anchor::Map };
    Case::new(vec![part(&axes, cols, anchor, body)], args, tokens, 64 + 4 * cols)
}

/// Attention of several sequences, latent or with heads that share keys, with and without a window.
pub fn attention_case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let random = &mut random;
    let ((heads, kv_heads), size) = (one(random, &HEADS), one(random, &HEAD_SIZES));
    let latent = kv_heads == 1 && random.below(3) == 0;
    let more = if latent { one(random, &[0, 16, 32, 64]) } else { 0 };
    let (k_len, v_len) = (size + more, if random.below(4) == 0 && !latent { size / 2 } else { size });
    let halves = [GgmlType::F16, GgmlType::F16, GgmlType::BF16, GgmlType::F32];
    let blocks = [k_len, v_len].iter().all(|len| len.is_multiple_of(32));
    let ty = if blocks && random.below(4) == 0 { one(random, &BLOCK_TYPES) } else { one(random, &halves) };
    let mut left = tokens(random, 16 * heads * k_len);
    let mut sequences: Vec<Range<usize>> = Vec::new();
    while left > 0 {
        let count = if random.below(2) == 0 { left } else { 1 + random.below(left) };
        let begin = one(random, &[0, 1, 7, 63, 64, 127, 200, 310]);
        sequences.push(begin..begin + count);
        left -= count;
    }
    let shape = Shape { heads, kv_heads, k_len, v_len, latent };
    let mut case = case_of(random, ty, shape, &sequences);
    if random.below(3) == 0 {
        let window = one(random, &[1, 7, 33, 64, 100]);
        case = windowed(random, case, window);
    }
    for (param, values) in [(0, heads * k_len), (3, 1), (4, 1), (6, heads * v_len), (7, heads * v_len)] {
        case.args[param].per_token = Some(values);
    }
    case
}

/// Attention to listed positions: fewer than a token sees, or all of them.
pub fn listed_case(seed: u64) -> Case {
    let case = attention_case(seed);
    let mut random = Random::new(seed);
    let most = one(&mut random, &[1, 7, 33, 64, 100, 400]);
    // Every fourth case has pools.
    listed(&mut random, case, most, if seed % 4 == 3 { most.min(4) } else { 1 })
}

/// The choice of positions by scores that are exact, of which many are equal.
pub fn indexer_case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let random = &mut random;
    let ty = one(random, &[GgmlType::F16, GgmlType::F16, GgmlType::BF16, GgmlType::F32]);
    let shape = indexer::Shape {
        heads: one(random, &[1, 2, 3, 7, 11, 13, 24, 32]),
        k_len: one(random, &[1, 2, 12, 24, 32, 40, 64, 128]),
        most: one(random, &[1, 5, 16, 64, 100, 257]),
        pool: 1,
    };
    // Every fourth case has pools.
    let pool = [1, 1, 1, [2, 4, 8][(seed / 4 % 3) as usize]][(seed % 4) as usize];
    let shape = indexer::Shape { most: shape.most.next_multiple_of(pool), pool, ..shape };
    let tokens = tokens(random, shape.heads * shape.k_len * 64);
    let mut sequences: Vec<Range<usize>> = Vec::new();
    let mut left = tokens;
    while left > 0 {
        let count = if random.below(2) == 0 { left } else { 1 + random.below(left) };
        let begin = one(random, &[0, 1, 15, 63, 64, 127, 256, 310]);
        sequences.push(begin..begin + count);
        left -= count;
    }
    indexer::exact(random, ty, shape, &sequences)
}

/// The largest values of rows: as many of a vocabulary as the engine asks for as candidates, or other numbers.
pub fn selection_case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let random = &mut random;
    let cols = one(random, &VOCABULARIES);
    let most = cols.min(if cols > 512 { 256 } else { cols });
    let k = match random.below(4) {
        0 => 1 + random.below(most),
        1 => cols.min(2),
        _ => cols.min(64),
    };
    let tokens = tokens(random, 64 * cols);
    let values: Vec<f32> = match random.below(3) {
        // Many equals.
        0 => (0..tokens * cols).map(|_| random.below(9) as f32).collect(),
        _ => random.floats(tokens * cols),
    };
    let args =
        vec![Arg::f32(&values).per_token(cols), Arg::out(Format::F32, tokens * 2 * k).per_token(2 * k)];
    let ids = View { offset: k, ..view(1, &[2 * k], 1) };
    let body = vec![
        load_of(0, &[cols], cols),
        Instr::TopK { x: 0, k },
        Instr::Take { from: 0, ids: 1 },
        store_to(1, &[2 * k], 2),
        Instr::Store { value: 1, view: ids, indexed: None },
    ];
    Case::new(vec![part(&[Dim::T], cols, Anchor::Reduce, body)], args, tokens, 0)
}

/// Checks cases of these seeds.
fn check(device: &mut dyn Device, draw: Draw, seeds: Range<u64>) {
    for seed in seeds {
        let case = draw(seed);
        // For people who look for the seed of a failure.
        println!("seed {seed}: {} tokens", case.tokens);
        case.check_with_tokens_alone(device);
    }
}

/// The seeds of every run.
pub const SEEDS: Range<u64> = 1..9;

/// The seeds of the longer ones.
pub const MANY_SEEDS: Range<u64> = 1..80;

/// Products of any shape.
pub fn products(device: &mut dyn Device) {
    check(device, product_case, SEEDS);
}

/// Products with matrices selected for each row, and weighted sums of them, of any shape.
pub fn products_with_experts(device: &mut dyn Device) {
    check(device, picked_case, SEEDS);
    check(device, sum_case, SEEDS);
    // Many rows, whose sums are stored as halves: by lanes that did not add them up.
    check(device, sum_case, 23..24);
}

/// Routers of any number of experts.
pub fn routers(device: &mut dyn Device) {
    check(device, router_case, SEEDS);
}

/// Rows of any length.
pub fn rows(device: &mut dyn Device) {
    check(device, row_case, SEEDS);
}

/// Attention of any shape.
pub fn attention(device: &mut dyn Device) {
    check(device, attention_case, SEEDS);
}

/// Attention to lists of any length.
pub fn lists_of_positions(device: &mut dyn Device) {
    check(device, listed_case, SEEDS);
}

/// Indexers of any shape.
pub fn indexers(device: &mut dyn Device) {
    check(device, indexer_case, SEEDS);
}

/// Vocabularies of every size that is drawn, each with as many candidates as the engine asks for.
pub fn candidates(device: &mut dyn Device) {
    check(device, selection_case, SEEDS);
    for cols in VOCABULARIES {
        let mut random = Random::new(cols as u64);
        let (tokens, k) = (3, cols.min(64));
        let body = vec![
            load_of(0, &[cols], cols),
            Instr::TopK { x: 0, k },
            Instr::Take { from: 0, ids: 1 },
            store_to(1, &[k], 1),
            store_to(2, &[k], 2),
        ];
        let args = vec![
            Arg::f32(&random.floats(tokens * cols)).per_token(cols),
            Arg::out(Format::I32, tokens * k).per_token(k),
            Arg::out(Format::F32, tokens * k).per_token(k),
        ];
        let parts = vec![part(&[Dim::T], cols, Anchor::Reduce, body)];
        Case::new(parts, args, tokens, 0).check_with_tokens_alone(device);
    }
}

/// All of them with many seeds.
pub fn many_of_each(device: &mut dyn Device) {
    for (name, draw) in DRAWS {
        println!("{name}");
        check(device, draw, MANY_SEEDS);
    }
}

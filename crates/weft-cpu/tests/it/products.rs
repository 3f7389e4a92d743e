//! Several products in one part, and weighted sums of products: against the interpreter, and bit for bit against kernels
//! that compute the same one by one.

use crate::support::data::{Random, weight_types};
use crate::support::{
    Arg, Case, Devices, kernel, kernel_of, load_of, matrices, part, product, roundings, run_all, store_to,
    view,
};
use weft_cpu::{CpuDevice, CpuOptions};
use weft_kern::{Anchor, Binary, Dim, Format, Instr, Pick, Product, Sum, Unary};
use weft_quant::GgmlType;

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

#[test]
fn gate_and_up_of_one_x() {
    let (mut devices, mut random) = (Devices::all(), Random::new(1));
    let (count, chosen) = (6, 3);
    for ty in [GgmlType::Q4_0, GgmlType::Q6_K, GgmlType::MXFP4, GgmlType::BF16] {
        let (n, k) = (70, ty.block_len().max(32) * 2);
        for pick in [Pick::Only, Pick::Axis(1), Pick::Ids(view(3, &[chosen, 1], 0))] {
            for tokens in [1, 3, 17] {
                let rows = tokens * chosen;
                let ids: Vec<i32> = (0..rows).map(|_| random.below(count) as i32).collect();
                let mut weight = || Arg::weight(ty, count * n, k, random.weight(ty, count * n * k));
                let args = vec![
                    weight(),
                    weight(),
                    Arg::activations(ty, &random.floats(tokens * k)).per_token(k),
                    Arg::i32(&ids).per_token(chosen),
                    Arg::out(Format::F32, rows * n).per_token(chosen * n),
                ];
                let x = view(2, &[k, 0], 1);
                let of = |param| product(x.clone(), matrices(param, pick.clone(), count, n, k));
                let body = gated(&[chosen * n, n], 4);
                let axes = [Dim::T, Dim::Const(chosen)];
                let kernel = kernel(&axes, n, Anchor::Dot(vec![of(0), of(1)]), body);
                devices.check(&Case::new(kernel, args, tokens, 8 * roundings(ty, k)));
            }
        }
    }
}

/// The products of a part that has one of every kind, with the columns `n` in common.
struct Kinds {
    args: Vec<Arg>,
    products: Vec<Product>,
    roundings: usize,
}

const COUNT: usize = 7;
const TERMS: usize = 3;

/// Other selections, types, inner lengths; the parameters before the outputs.
fn kinds(random: &mut Random, tokens: usize) -> Kinds {
    let n = 96;
    let ids: Vec<i32> = (0..tokens * TERMS).map(|_| random.below(COUNT) as i32).collect();
    let (numbers, weights) = (view(0, &[TERMS], 1), view(1, &[TERMS], 1));
    let mut args =
        vec![Arg::i32(&ids).per_token(TERMS), Arg::f32(&random.floats(tokens * TERMS)).per_token(TERMS)];
    let mut products = Vec::new();
    let mut add = |ty: GgmlType, pick: Pick, k: usize, rows: usize, transposed: bool| {
        // Transposed, the columns are those of the weight.
        let (n, k) = if transposed { (k, n) } else { (n, k) };
        let len = if transposed { n } else { k };
        let x = random.floats(tokens * rows * len);
        let x = if transposed { Arg::f32(&x) } else { Arg::activations(ty, &x) };
        args.push(x.per_token(rows * len));
        let x = view(args.len() - 1, &[rows * len], 1);
        args.push(Arg::weight(ty, COUNT * n, k, random.weight(ty, COUNT * n * k)));
        let w = matrices(args.len() - 1, pick, COUNT, n, k);
        products.push(Product { transposed, ..product(x, w) });
    };
    let sum = |apart| {
        Pick::Sum(Box::new(Sum { terms: TERMS, ids: numbers.clone(), weights: weights.clone(), apart }))
    };
    let picked = Pick::Ids(view(0, &[TERMS], 0));
    add(GgmlType::Q4_K, sum(256), 256, TERMS, false);
    add(GgmlType::Q5_0, Pick::Only, 96, 1, false);
    add(GgmlType::F32, Pick::Only, 45, 1, false);
    add(GgmlType::IQ4_NL, picked, 64, 1, false);
    add(GgmlType::Q4_1, sum(0), 32, 1, false);
    add(GgmlType::Q8_0, Pick::Only, 11, 1, true);
    add(GgmlType::F16, sum(5), 5, TERMS, true);
    Kinds { args, products, roundings: TERMS * roundings(GgmlType::F32, 256) }
}

/// A part that stores the result of each product as it is, the first to parameter `out`.
fn stored(n: usize, products: Vec<Product>, out: usize) -> weft_kern::Part {
    let acc = (0..products.len()).map(Instr::Acc);
    let stores = (0..products.len()).map(|i| store_to(out + i, &[n], i));
    let body = acc.chain(stores).collect();
    part(&[Dim::T], n, Anchor::Dot(products), body)
}

#[test]
fn products_that_have_nothing_in_common() {
    let (mut devices, mut random) = (Devices::all(), Random::new(2));
    for tokens in [1, 2, 3, 4, 5, 6, 7, 17, 40] {
        let Kinds { mut args, mut products, roundings } = kinds(&mut random, tokens);
        let (out, n) = (args.len(), 96);
        // Each kind comes first once.
        let first = tokens % products.len();
        products.rotate_left(first);
        args.extend(products.iter().map(|_| Arg::out(Format::F32, tokens * n).per_token(n)));
        devices.check(&Case::new(kernel_of(vec![stored(n, products, out)]), args, tokens, roundings));
    }
}

#[test]
fn products_have_the_bits_that_they_have_alone() {
    let mut random = Random::new(3);
    for tokens in [1, 3, 70] {
        let Kinds { mut args, mut products, .. } = kinds(&mut random, tokens);
        let (out, n) = (args.len(), 96);
        let first = tokens % products.len();
        products.rotate_left(first);
        args.extend(products.iter().map(|_| Arg::out(Format::F32, tokens * n)));
        let all: Vec<usize> = (0..args.len()).collect();
        let alone = products.iter().enumerate();
        let alone = alone.map(|(i, p)| (kernel_of(vec![stored(n, vec![p.clone()], out + i)]), &all[..]));
        let alone: Vec<_> = alone.collect();
        let together = kernel_of(vec![stored(n, products, out)]);
        for threads in [1, 4] {
            let mut device = CpuDevice::new(CpuOptions { threads: Some(threads), isa: None }).unwrap();
            let one = run_all(&mut device, &args, &[(together.clone(), &all)], tokens);
            let many = run_all(&mut device, &args, &alone, tokens);
            for p in out..args.len() {
                assert!(one[p].iter().any(|b| *b != 0xff));
                assert!(one[p] == many[p], "{tokens} tokens, product {}", p - out);
            }
        }
    }
}

/// Products of each token with some of the matrices, by numbers that may repeat, weighted and added.
struct Summed {
    n: usize,
    k: usize,
    /// x, the weight, indices, weights, the addend, y.
    args: Vec<Arg>,
    sum: Sum,
}

fn summed(random: &mut Random, ty: GgmlType, tokens: usize, terms: usize, n: usize) -> Summed {
    let k = ty.block_len().max(32) * 2;
    let ids: Vec<i32> = (0..tokens * terms).map(|_| random.below(COUNT) as i32).collect();
    let args = vec![
        Arg::activations(ty, &random.floats(tokens * terms * k)).per_token(terms * k),
        Arg::weight(ty, COUNT * n, k, random.weight(ty, COUNT * n * k)),
        Arg::i32(&ids).per_token(terms),
        Arg::f32(&random.floats(tokens * terms)).per_token(terms),
        Arg::f32(&random.floats(tokens * n)).per_token(n),
        Arg::out(Format::F32, tokens * n).per_token(n),
    ];
    let sum = Sum { terms, ids: view(2, &[terms], 1), weights: view(3, &[terms], 1), apart: k };
    Summed { n, k, args, sum }
}

impl Summed {
    /// The sum and a residual.
    fn kernel(&self) -> weft_kern::Kernel {
        let &Summed { n, k, ref sum, .. } = self;
        let w = matrices(1, Pick::Sum(Box::new(sum.clone())), COUNT, n, k);
        let body =
            vec![Instr::Acc(0), load_of(4, &[n], n), Instr::Binary(Binary::Add, 0, 1), store_to(5, &[n], 2)];
        kernel(&[Dim::T], n, Anchor::Dot(vec![product(view(0, &[sum.terms * k], 1), w)]), body)
    }
}

#[test]
fn sums_of_every_format_and_any_number_of_tokens() {
    let (mut devices, mut random) = (Devices::all(), Random::new(4));
    for ty in weight_types() {
        for (tokens, terms, n) in [(1, 4, 70), (2, 1, 33), (17, 6, 40)] {
            let summed = summed(&mut random, ty, tokens, terms, n);
            let roundings = terms * roundings(ty, summed.k);
            devices.check(&Case::new(summed.kernel(), summed.args, tokens, roundings));
        }
    }
    for tokens in 1..=20 {
        let summed = summed(&mut random, GgmlType::Q4_0, tokens, 4, 65);
        devices.check(&Case::new(summed.kernel(), summed.args, tokens, 4 * roundings(GgmlType::Q4_0, 64)));
    }
}

/// Every product in its own kernel, then multiplied by its weight, then added to the previous ones.
#[test]
fn sums_have_the_bits_of_their_terms() {
    let mut random = Random::new(5);
    // The last has more rows than a chunk.
    for (ty, tokens, terms, n) in [
        (GgmlType::Q4_0, 1, 4, 70),
        (GgmlType::Q4_K, 20, 3, 33),
        (GgmlType::F32, 5, 2, 64),
        (GgmlType::Q8_0, 1100, 5, 40),
    ] {
        let mut summed = summed(&mut random, ty, tokens, terms, n);
        let k = summed.k;
        // Rows tokens × terms of products, and weighted ones.
        summed.args.extend([(); 2].map(|()| Arg::out(Format::F32, tokens * terms * n)));
        let axes = [Dim::T, Dim::Const(terms)];
        let each = [terms * n, n];
        let w = matrices(1, Pick::Ids(view(2, &[terms, 1], 0)), COUNT, n, k);
        let products = Anchor::Dot(vec![product(view(0, &[terms * k, k], 1), w)]);
        let products = kernel(&axes, n, products, vec![Instr::Acc(0), store_to(6, &each, 0)]);
        let weigh = vec![
            load_of(6, &each, n),
            load_of(3, &[terms, 1], 1),
            Instr::Binary(Binary::Mul, 0, 1),
            store_to(7, &each, 2),
        ];
        let weigh = kernel(&axes, n, Anchor::Map, weigh);
        let term = |t: usize| weft_kern::View { offset: t * n, ..view(7, &[terms * n], 1) };
        let mut add: Vec<Instr> =
            (0..terms).map(|t| Instr::Load { view: term(t), indexed: None, len: n }).collect();
        let mut total = 0;
        for t in 1..terms {
            add.push(Instr::Binary(Binary::Add, total, t));
            total = add.len() - 1;
        }
        add.push(load_of(4, &[n], n));
        add.push(Instr::Binary(Binary::Add, total, add.len() - 1));
        add.push(store_to(5, &[n], add.len() - 1));
        let add = kernel(&[Dim::T], n, Anchor::Map, add);
        for threads in [1, 3] {
            let mut device = CpuDevice::new(CpuOptions { threads: Some(threads), isa: None }).unwrap();
            let all = [0, 1, 2, 3, 4, 5, 6, 7];
            let one = run_all(&mut device, &summed.args, &[(summed.kernel(), &all[..6])], tokens);
            let steps = [products.clone(), weigh.clone(), add.clone()].map(|kernel| (kernel, &all[..]));
            let many = run_all(&mut device, &summed.args, &steps, tokens);
            assert!(one[5].iter().any(|b| *b != 0xff));
            assert!(one[5] == many[5], "{ty}, {tokens} tokens");
        }
    }
}

/// A sum, a dot and a residual, as at the end of a layer; and the same with whole rows, rounded.
#[test]
fn routed_and_shared_experts_in_one() {
    let (mut devices, mut random) = (Devices::all(), Random::new(6));
    for (tokens, whole) in [(1, false), (1, true), (3, true), (17, false)] {
        let Summed { n, k, mut args, sum } = summed(&mut random, GgmlType::Q4_1, tokens, 4, 96);
        let shared = Arg::activations(GgmlType::Q6_K, &random.floats(tokens * 256)).per_token(256);
        let w = Arg::weight(GgmlType::Q6_K, n, 256, random.weight(GgmlType::Q6_K, n * 256));
        args.extend([shared, w, Arg::out(Format::F32, tokens).per_token(1)]);
        let routed = matrices(1, Pick::Sum(Box::new(sum)), COUNT, n, k);
        let products = vec![
            product(view(0, &[4 * k], 1), routed),
            product(view(6, &[256], 1), matrices(7, Pick::Only, 1, n, 256)),
        ];
        let mut body = vec![
            Instr::Acc(0),
            Instr::Acc(1),
            Instr::Binary(Binary::Add, 0, 1),
            load_of(4, &[n], n),
            Instr::Binary(Binary::Add, 2, 3),
            store_to(5, &[n], 4),
        ];
        if whole {
            body.extend([Instr::Reduce(weft_kern::Reduce::Max, 4), store_to(8, &[1], 6)]);
        } else {
            args.pop();
        }
        let kernel = kernel(&[Dim::T], n, Anchor::Dot(products), body);
        devices.check(&Case::new(kernel, args, tokens, 5 * roundings(GgmlType::Q6_K, 256)));
    }
}

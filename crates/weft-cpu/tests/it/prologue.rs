//! Prologues: against the interpreter, and bit for bit against a separate kernel.

use crate::support::data::{Random, weight_types};
use crate::support::{
    Arg, Case, Devices, constant, kernel_of, load_of, matrices, part, roundings, run_all, store_to, view,
};
use weft_cpu::{CpuDevice, CpuOptions};
use weft_kern::{
    Anchor, Binary, Dim, Factor, Format, Instr, Kernel, Part, Pick, Product, Prologue, Reduce, Sum, Unary,
};
use weft_quant::GgmlType;

/// How the rows of a product select their matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rows {
    /// Rows are tokens, and there is one matrix.
    Tokens,
    /// Tokens × heads, a matrix a head.
    Heads,
    /// Tokens × choices, selected by index.
    Choices,
    /// Tokens, each with a weighted sum of choices.
    Sum,
}

const ALL: [Rows; 4] = [Rows::Tokens, Rows::Heads, Rows::Choices, Rows::Sum];

/// Matrices, and how many a token is multiplied by.
const COUNT: usize = 5;

/// `x / max x · w`, which has only one way to round.
fn scaled(k: usize) -> Vec<Instr> {
    vec![
        load_of(0, &[k], k),
        Instr::Reduce(Reduce::Max, 0),
        Instr::Binary(Binary::Div, 0, 1),
        load_of(1, &[0], k),
        Instr::Binary(Binary::Mul, 2, 3),
    ]
}

/// `x · rsqrt(mean(x²) + ε) · w`.
fn normed(k: usize) -> Vec<Instr> {
    vec![
        load_of(0, &[k], k),
        Instr::Binary(Binary::Mul, 0, 0),
        Instr::Reduce(Reduce::Sum, 1),
        constant(1.0 / k as f32),
        Instr::Binary(Binary::Mul, 2, 3),
        constant(1e-5),
        Instr::Binary(Binary::Add, 4, 5),
        Instr::Unary(Unary::Rsqrt, 6),
        Instr::Binary(Binary::Mul, 0, 7),
        load_of(1, &[0], k),
        Instr::Binary(Binary::Mul, 8, 9),
    ]
}

struct Made {
    /// x, w of the prologue, the weight, numbers, weights of a sum, y.
    args: Vec<Arg>,
    part: Part,
}

/// A product whose prologue is `body`, over parameters 0 and 1.
fn made(
    random: &mut Random,
    ty: GgmlType,
    tokens: usize,
    rows: Rows,
    transposed: bool,
    body: Vec<Instr>,
) -> Made {
    let block = ty.block_len();
    let (n, k) = match transposed {
        true => (13, 2 * block.max(20)),
        false => (41, if ty.is_quantised() { 2 * block.max(32) } else { 83 }),
    };
    let (len, cols) = if transposed { (n, k) } else { (k, n) };
    let (axes, outs) = match rows {
        Rows::Tokens | Rows::Sum => (vec![Dim::T], 1),
        Rows::Heads | Rows::Choices => (vec![Dim::T, Dim::Const(COUNT)], COUNT),
    };
    let pick = match rows {
        Rows::Tokens => Pick::Only,
        Rows::Heads => Pick::Axis(1),
        Rows::Choices => Pick::Ids(view(3, &[COUNT, 1], 0)),
        Rows::Sum => {
            let (ids, weights) = (view(3, &[COUNT], 1), view(4, &[COUNT], 1));
            Pick::Sum(Box::new(Sum { terms: COUNT, ids, weights, apart: 0 }))
        }
    };
    let ids: Vec<i32> = (0..tokens * COUNT).map(|_| random.below(COUNT) as i32).collect();
    let args = vec![
        Arg::f32(&random.floats(tokens * len)).per_token(len),
        Arg::f32(&random.floats(len)),
        Arg::weight(ty, COUNT * n, k, random.weight(ty, COUNT * n * k)),
        Arg::i32(&ids).per_token(COUNT),
        Arg::f32(&random.floats(tokens * COUNT)).per_token(COUNT),
        Arg::out(Format::F32, tokens * outs * cols).per_token(outs * cols),
    ];
    let strides = if axes.len() == 1 { vec![cols] } else { vec![outs * cols, cols] };
    let product = Product { x: Factor::Prologue, w: matrices(2, pick, COUNT, n, k), transposed };
    let out = vec![Instr::Acc(0), store_to(5, &strides, 0)];
    let mut part = part(&axes, cols, Anchor::Dot(vec![product]), out);
    part.prologue = Some(Prologue { value: body.len() - 1, body });
    Made { args, part }
}

/// Values of a row of x.
fn len(ty: GgmlType, transposed: bool) -> usize {
    match (transposed, ty.is_quantised()) {
        (true, _) => 13,
        (false, true) => 2 * ty.block_len().max(32),
        (false, false) => 83,
    }
}

#[test]
fn every_format_and_pick() {
    let (mut devices, mut random) = (Devices::all(), Random::new(1));
    for ty in weight_types() {
        for rows in ALL {
            for (tokens, transposed) in [(1, false), (3, false), (17, false), (3, true)] {
                let k = len(ty, transposed);
                let Made { args, part } = made(&mut random, ty, tokens, rows, transposed, scaled(k));
                let roundings = COUNT * roundings(ty, k);
                devices.check(&Case::new(kernel_of(vec![part]), args, tokens, roundings));
            }
        }
    }
}

#[test]
fn a_norm_in_floats() {
    let (mut devices, mut random) = (Devices::all(), Random::new(2));
    for ty in [GgmlType::F32, GgmlType::F16] {
        for (tokens, rows) in [(1, Rows::Tokens), (3, Rows::Heads), (17, Rows::Sum)] {
            let k = len(ty, false);
            let Made { args, part } = made(&mut random, ty, tokens, rows, false, normed(k));
            let roundings = COUNT * (roundings(ty, k) + 16 + k / 16);
            devices.check(&Case::new(kernel_of(vec![part]), args, tokens, roundings));
        }
    }
}

/// The same by two kernels: the first writes the operand of the second.
fn apart(made: &Made, ty: GgmlType, tokens: usize) -> (Vec<Arg>, [Kernel; 2]) {
    let mut second = made.part.clone();
    let Prologue { mut body, value } = second.prologue.take().unwrap();
    let Anchor::Dot(products) = &mut second.anchor else { panic!("a dot") };
    let k = products[0].x_len();
    let mut strides = vec![0; second.rows.len()];
    strides[0] = k;
    products[0].x = Factor::View(view(6, &strides, 1));
    body.push(store_to(6, &[k], value));
    let format = if ty.is_quantised() && !products[0].transposed { Format::Q8 } else { Format::F32 };
    let first = part(&[Dim::T], k, Anchor::Reduce, body);
    let args = [made.args.clone(), vec![Arg::out(format, tokens * k)]].concat();
    (args, [first, second].map(|part| kernel_of(vec![part])))
}

#[test]
fn bits_are_those_of_a_kernel_in_front() {
    let mut random = Random::new(3);
    for threads in [1, 3] {
        let mut device = CpuDevice::new(CpuOptions { threads: Some(threads), isa: None }).unwrap();
        for ty in weight_types() {
            for rows in ALL {
                for (tokens, transposed) in [(1, false), (3, true), (17, false)] {
                    let body = normed(len(ty, transposed));
                    let made = made(&mut random, ty, tokens, rows, transposed, body);
                    let (args, [first, second]) = apart(&made, ty, tokens);
                    let all = [0, 1, 2, 3, 4, 5, 6];
                    let fused = kernel_of(vec![made.part.clone()]);
                    let one = run_all(&mut device, &args, &[(fused, &all[..6])], tokens);
                    let two = run_all(&mut device, &args, &[(first, &all), (second, &all)], tokens);
                    assert!(one[5].iter().any(|b| *b != 0xff));
                    assert!(one[5] == two[5], "{ty}, {rows:?}, {tokens} tokens");
                }
            }
        }
    }
}

/// One prologue for an integer and a float product; a row without axes; a plain copy as prologue.
#[test]
fn one_prologue_for_several_products() {
    let (mut devices, mut random) = (Devices::all(), Random::new(4));
    let (n, k) = (70, 64);
    for axes in [vec![], vec![Dim::Const(1)], vec![Dim::Const(6)]] {
        let rows = if axes == [Dim::Const(6)] { 6 } else { 1 };
        let strides = |stride: usize| vec![stride; axes.len()];
        let args = vec![
            Arg::f32(&random.floats(rows * k)),
            Arg::weight(GgmlType::Q4_1, n, k, random.weight(GgmlType::Q4_1, n * k)),
            Arg::weight(GgmlType::F16, n, k, random.weight(GgmlType::F16, n * k)),
            Arg::out(Format::F32, rows * n),
            Arg::out(Format::F32, rows * n),
        ];
        let of = |param| Product {
            x: Factor::Prologue,
            w: matrices(param, Pick::Only, 1, n, k),
            transposed: false,
        };
        let stores = [store_to(3, &strides(n), 0), store_to(4, &strides(n), 1)];
        let body = [vec![Instr::Acc(0), Instr::Acc(1)], stores.to_vec()].concat();
        let mut part = part(&axes, n, Anchor::Dot(vec![of(1), of(2)]), body);
        part.prologue = Some(Prologue { body: vec![load_of(0, &strides(k), k)], value: 0 });
        devices.check(&Case::new(kernel_of(vec![part]), args, 1, roundings(GgmlType::F16, k)));
    }
}

/// The product's operand need not be the last value computed.
#[test]
fn a_value_from_the_middle_of_a_prologue() {
    let (mut devices, mut random) = (Devices::all(), Random::new(5));
    for (ty, value) in [(GgmlType::F32, 2), (GgmlType::Q8_0, 4), (GgmlType::Q8_0, 0), (GgmlType::F16, 3)] {
        let k = len(ty, false);
        let mut body = scaled(k);
        body.extend([
            Instr::Unary(Unary::Neg, 4),
            Instr::Binary(Binary::Mul, 5, 4),
            Instr::Unary(Unary::Neg, 6),
        ]);
        let Made { args, mut part } = made(&mut random, ty, 3, Rows::Tokens, false, body);
        part.prologue.as_mut().unwrap().value = value;
        devices.check(&Case::new(kernel_of(vec![part]), args, 3, roundings(ty, k)));
    }
}

//! `Dot` against the interpreter: every weight format, every way to select a matrix, odd sizes.

use crate::support::data::{Random, rounded, weight_types};
use crate::support::{
    Arg, Case, Devices, constant, dot, kernel, load_of, matrices, roundings, store_to, view,
};
use weft_kern::{Binary, Dim, Format, Instr, Matrices, Pick, RopeStyle, Unary};
use weft_quant::GgmlType;

fn only(n: usize, k: usize) -> Matrices {
    matrices(1, Pick::Only, 1, n, k)
}

/// Activations of a dot with this weight, a row of `k` after another.
fn random_x(random: &mut Random, ty: GgmlType, rows: usize, k: usize) -> Arg {
    Arg::activations(ty, &random.floats(rows * k))
}

/// `y = x · wᵀ`, stored as it is.
fn plain(random: &mut Random, ty: GgmlType, tokens: usize, n: usize, k: usize) -> Case {
    let x = random_x(random, ty, tokens, k).per_token(k);
    // The matrix begins at row 2 of its weight.
    let w = Arg::weight(ty, n + 3, k, random.weight(ty, (n + 3) * k));
    let y = Arg::out(Format::F32, tokens * n).per_token(n);
    let anchor = dot(view(0, &[k], 1), Matrices { first: 2, ..only(n, k) }, false);
    let body = vec![Instr::Acc(0), store_to(2, &[n], 0)];
    Case::new(kernel(&[Dim::T], n, anchor, body), vec![x, w, y], tokens, roundings(ty, k))
}

#[test]
fn every_format_and_odd_sizes() {
    let (mut devices, mut random) = (Devices::all(), Random::new(1));
    for ty in weight_types() {
        let block = ty.block_len();
        let long = if block == 1 { 1000 } else { (1056 / block).max(5) * block };
        let few = [(1, 33, block), (2, 7, 3 * block), (3, 70, long), (4, 20, block)];
        // Several blocks of rows, and more columns than are multiplied with all of them before the next.
        let many = [(17, 41, 2 * block), (14, 150, block)];
        for (tokens, n, k) in few.into_iter().chain(many) {
            devices.check(&plain(&mut random, ty, tokens, n, k));
        }
    }
}

/// Sixteen rows at once where a unit multiplies tiles: whole blocks and shorter ones, alone and after others, few and many of
/// them, and with rows left over for vectors.
#[test]
fn rows_enough_for_tiles() {
    let (mut devices, mut random) = (Devices::all(), Random::new(4));
    for ty in weight_types().filter(|ty| ty.is_quantised()) {
        let block = ty.block_len();
        let long = (352 / block).max(1) * block;
        for (tokens, n, k) in [(13, 150, long), (21, 41, 3 * block), (36, 20, block)] {
            devices.check(&plain(&mut random, ty, tokens, n, k));
        }
    }
    for ty in [GgmlType::Q4_0, GgmlType::Q4_K, GgmlType::Q6_K] {
        devices.check(&plain(&mut random, ty, 90, 170, 512));
        devices.check(&plain(&mut random, ty, 20, 41, 768));
    }
}

#[test]
fn more_rows_than_a_chunk_and_more_columns_than_a_strip() {
    let (mut devices, mut random) = (Devices::all(), Random::new(2));
    for ty in [GgmlType::Q4_1, GgmlType::F16] {
        devices.check(&plain(&mut random, ty, 300, 45, 64));
        devices.check(&plain(&mut random, ty, 1, 1100, 32));
    }
}

#[test]
fn a_tiny_inner_length() {
    let (mut devices, mut random) = (Devices::all(), Random::new(3));
    for k in [1, 15, 16, 17, 31] {
        devices.check(&plain(&mut random, GgmlType::F32, 2, 5, k));
    }
}

#[test]
fn a_matrix_for_each_head() {
    let (mut devices, mut random) = (Devices::all(), Random::new(4));
    let heads = 5;
    for ty in weight_types() {
        let (n, k) = (19, ty.block_len() * 2);
        for tokens in [1, 3] {
            let x = random_x(&mut random, ty, tokens * heads, k).per_token(heads * k);
            let w = Arg::weight(ty, heads * n, k, random.weight(ty, heads * n * k));
            let y = Arg::out(Format::F32, tokens * heads * n).per_token(heads * n);
            let w_of = Matrices { pick: Pick::Axis(1), count: heads, ..only(n, k) };
            let anchor = dot(view(0, &[heads * k, k], 1), w_of, false);
            let body = vec![Instr::Acc(0), store_to(2, &[heads * n, n], 0)];
            let kernel = kernel(&[Dim::T, Dim::Const(heads)], n, anchor, body);
            devices.check(&Case::new(kernel, vec![x, w, y], tokens, roundings(ty, k)));
        }
    }
}

#[test]
fn transposed_matrices_for_each_head() {
    let (mut devices, mut random) = (Devices::all(), Random::new(5));
    let heads = 3;
    for ty in weight_types() {
        let block = ty.block_len();
        // More columns than are computed at a time, and odd ones, if they can be cut anywhere.
        let (wide, odd) = if block == 1 { (1100, 75) } else { (2 * block, 3 * block) };
        for (tokens, n, k) in [(1, 6, wide), (2, 13, odd), (17, 4, block)] {
            let x = Arg::f32(&random.floats(tokens * heads * n)).per_token(heads * n);
            let w = Arg::weight(ty, heads * n, k, random.weight(ty, heads * n * k));
            let y = Arg::out(Format::F32, tokens * heads * k).per_token(heads * k);
            let w_of = Matrices { pick: Pick::Axis(1), count: heads, ..only(n, k) };
            let anchor = dot(view(0, &[heads * n, n], 1), w_of, true);
            let body = vec![Instr::Acc(0), store_to(2, &[heads * k, k], 0)];
            let kernel = kernel(&[Dim::T, Dim::Const(heads)], k, anchor, body);
            devices.check(&Case::new(kernel, vec![x, w, y], tokens, 4 + 2 * n));
        }
    }
}

/// Rows tokens × choices, each choice a matrix.
fn experts(
    random: &mut Random,
    ty: GgmlType,
    (tokens, chosen, per_choice): (usize, usize, bool),
    from: Option<usize>,
) -> Case {
    let (count, n, k) = (9, 37, 2 * ty.block_len().max(32));
    let x = match per_choice {
        true => random_x(random, ty, tokens * chosen, k).per_token(chosen * k),
        false => random_x(random, ty, tokens, k).per_token(k),
    };
    let strides = if per_choice { [chosen * k, k] } else { [k, 0] };
    let w = Arg::weight(ty, count * n, k, random.weight(ty, count * n * k));
    let y = Arg::out(Format::F32, tokens * chosen * n).per_token(chosen * n);
    let all = if from.is_some() { count + 4 } else { count };
    let mut ids: Vec<i32> = (0..tokens).flat_map(|_| random.distinct(chosen, all)).collect();
    // Those that a part of the stack lacks may be any.
    ids.iter_mut().filter(|id| **id as usize > count).for_each(|id| *id = -*id);
    let ids = Arg::i32(&ids).per_token(chosen);
    let w_of = Matrices { pick: Pick::Ids(view(3, &[chosen, 1], 0)), from, count, ..only(n, k) };
    let anchor = dot(view(0, &strides, 1), w_of, false);
    let body = vec![Instr::Acc(0), store_to(2, &[chosen * n, n], 0)];
    let kernel = kernel(&[Dim::T, Dim::Const(chosen)], n, anchor, body);
    Case::new(kernel, vec![x, w, y, ids], tokens, roundings(ty, k))
}

#[test]
fn a_matrix_for_each_expert() {
    let (mut devices, mut random) = (Devices::all(), Random::new(6));
    for ty in weight_types() {
        for (tokens, chosen, per_choice) in [(1, 4, false), (3, 4, true), (17, 2, false)] {
            devices.check(&experts(&mut random, ty, (tokens, chosen, per_choice), None));
        }
    }
}

#[test]
fn a_part_of_a_stack_leaves_the_rows_of_others_zero() {
    let (mut devices, mut random) = (Devices::all(), Random::new(16));
    for ty in weight_types() {
        for (rows, from) in [((1, 4, false), 0), ((3, 4, true), 5), ((17, 2, false), 3), ((40, 2, true), 8)] {
            devices.check(&experts(&mut random, ty, rows, Some(from)));
        }
    }
}

#[test]
fn an_epilogue_by_columns_with_rounding() {
    let (mut devices, mut random) = (Devices::all(), Random::new(7));
    let (n, k) = (96, 64);
    for tokens in [1, 2, 17] {
        let ty = GgmlType::Q4_0;
        let x = random_x(&mut random, ty, tokens, k).per_token(k);
        let w = Arg::weight(ty, n, k, random.weight(ty, n * k));
        let residual = Arg::f32(&random.floats(tokens * n)).per_token(n);
        let bias = Arg::f32(&random.floats(n));
        let anchor = dot(view(0, &[k], 1), only(n, k), false);
        let body = vec![
            Instr::Acc(0),
            load_of(2, &[0], n),
            Instr::Binary(Binary::Add, 0, 1),
            Instr::Unary(Unary::Silu, 2),
            load_of(3, &[n], n),
            Instr::Binary(Binary::Add, 3, 4),
            store_to(4, &[n], 5),
            store_to(5, &[n], 5),
        ];
        let outs =
            [Arg::out(Format::Q8, tokens * n).per_token(n), Arg::out(Format::F32, tokens * n).per_token(n)];
        let args = [vec![x, w, bias, residual], outs.to_vec()].concat();
        let case = Case::new(kernel(&[Dim::T], n, anchor, body), args, tokens, roundings(ty, k));
        devices.check(&case);
        // The two outputs are one value, rounded by the definition.
        let mut device = weft_cpu::CpuDevice::new(weft_cpu::CpuOptions::default()).unwrap();
        let found = crate::support::run(&mut device, &case).unwrap();
        assert_eq!(found[4], rounded(&case.args[5].floats(&found[5])));
    }
}

#[test]
fn an_epilogue_over_the_whole_row() {
    let (mut devices, mut random) = (Devices::all(), Random::new(8));
    let (heads, n, k) = (3, 20, 64);
    for (ty, tokens) in [(GgmlType::Q5_1, 1), (GgmlType::Q5_1, 17), (GgmlType::BF16, 40)] {
        let x = random_x(&mut random, ty, tokens, k).per_token(k);
        let w = Arg::weight(ty, heads * n, k, random.weight(ty, heads * n * k));
        let tables = [0, 1].map(|_| Arg::f32(&random.floats(tokens * n / 2)).per_token(n / 2));
        let y = Arg::out(Format::F32, tokens * heads * n).per_token(heads * n);
        let w_of = Matrices { pick: Pick::Axis(1), count: heads, ..only(n, k) };
        let anchor = dot(view(0, &[k, 0], 1), w_of, false);
        let body = vec![
            Instr::Acc(0),
            load_of(2, &[n / 2, 0], n / 2),
            load_of(3, &[n / 2, 0], n / 2),
            Instr::Rope { style: RopeStyle::Halves, x: 0, cos: 1, sin: 2 },
            constant(0.5),
            Instr::Binary(Binary::Mul, 3, 4),
            store_to(4, &[heads * n, n], 5),
        ];
        let kernel = kernel(&[Dim::T, Dim::Const(heads)], n, anchor, body);
        let args = [vec![x, w], tables.to_vec(), vec![y]].concat();
        devices.check(&Case::new(kernel, args, tokens, roundings(ty, k)));
    }
}

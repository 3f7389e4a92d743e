//! Row programs against the interpreter: every instruction, every format, odd widths.

use crate::support::data::{Random, rounded};
use crate::support::{Arg, Case, Devices, constant, kernel, load_of, store_to, view};
use weft_kern::{Anchor, Binary, Dim, Format, Indexed, Instr, Reduce, RopeStyle, STATE_TYPES, Unary, View};
use weft_quant::GgmlType;

fn half(ty: GgmlType) -> Format {
    Format::Ggml(ty)
}

#[test]
fn elementwise_functions_of_any_width() {
    let (mut devices, mut random) = (Devices::all(), Random::new(1));
    for cols in [1, 31, 64, 513, 1100] {
        for tokens in [1, 3, 17] {
            let positive: Vec<f32> = random.floats(tokens * cols).iter().map(|v| v.abs() + 0.1).collect();
            let mut args = vec![
                Arg::f32(&random.floats(tokens * cols)).per_token(cols),
                Arg::f32(&positive).per_token(cols),
                Arg::f32(&random.floats(cols)),
            ];
            let mut body = vec![load_of(0, &[cols], cols), load_of(1, &[cols], cols), load_of(2, &[0], cols)];
            let values: Vec<Instr> =
                (Unary::ALL.iter().map(|op| Instr::Unary(*op, usize::from(*op == Unary::Rsqrt))))
                    .chain(Binary::ALL.iter().map(|op| Instr::Binary(*op, 2, 1)))
                    .collect();
            for value in values {
                body.extend([value, store_to(args.len(), &[cols], body.len())]);
                args.push(Arg::out(Format::F32, tokens * cols).per_token(cols));
            }
            // The oracle uses the system's functions, which may be off by a unit themselves.
            devices.check(&Case::new(kernel(&[Dim::T], cols, Anchor::Map, body), args, tokens, 8));
        }
    }
}

#[test]
fn exponentials_over_their_whole_range() {
    let mut devices = Devices::all();
    let x: Vec<f32> = (-1300..1300).map(|i| i as f32 * 0.08).collect();
    let n = x.len();
    for op in [Unary::Sigmoid, Unary::Silu] {
        let args = vec![Arg::f32(&x), Arg::out(Format::F32, n)];
        let body = vec![load_of(0, &[0], n), Instr::Unary(op, 0), store_to(1, &[0], 1)];
        devices.check(&Case::new(kernel(&[Dim::Const(1)], n, Anchor::Map, body), args, 1, 8));
    }
}

#[test]
fn scalars_are_repeated() {
    let (mut devices, mut random) = (Devices::all(), Random::new(2));
    let (tokens, cols) = (3, 600);
    let args = vec![
        Arg::f32(&random.floats(tokens * cols)).per_token(cols),
        Arg::f32(&random.floats(tokens)).per_token(1),
        Arg::i32(&[7, -3, 100]).per_token(1),
        Arg::out(Format::F32, tokens * cols).per_token(cols),
    ];
    let body = vec![
        load_of(0, &[cols], cols),
        load_of(1, &[1], 1),
        load_of(2, &[1], 1),
        constant(0.25),
        Instr::Binary(Binary::Mul, 2, 3),
        Instr::Binary(Binary::Sub, 4, 1),
        Instr::Binary(Binary::Sub, 5, 0),
        Instr::Binary(Binary::Div, 6, 5),
        // A step of 0 repeats one value over a vector.
        Instr::Load { view: view(1, &[1], 0), indexed: None, len: cols },
        Instr::Binary(Binary::Max, 7, 8),
        store_to(3, &[cols], 9),
    ];
    devices.check(&Case::new(kernel(&[Dim::T], cols, Anchor::Map, body), args, tokens, 8));
}

/// x · rsqrt(mean(x²) + ε) · w, and the same rounded.
#[test]
fn rms_norm() {
    let (mut devices, mut random) = (Devices::all(), Random::new(3));
    for (tokens, cols) in [(1, 32), (2, 576), (3, 1120), (17, 96)] {
        let args = vec![
            Arg::f32(&random.floats(tokens * cols)).per_token(cols),
            Arg::weight(GgmlType::F32, 1, cols, random.weight(GgmlType::F32, cols)),
            Arg::out(Format::F32, tokens * cols).per_token(cols),
            Arg::out(Format::Q8, tokens * cols).per_token(cols),
        ];
        let body = vec![
            load_of(0, &[cols], cols),
            Instr::Binary(Binary::Mul, 0, 0),
            Instr::Reduce(Reduce::Sum, 1),
            constant(1.0 / cols as f32),
            Instr::Binary(Binary::Mul, 2, 3),
            constant(1e-5),
            Instr::Binary(Binary::Add, 4, 5),
            Instr::Unary(Unary::Rsqrt, 6),
            Instr::Binary(Binary::Mul, 0, 7),
            load_of(1, &[0], cols),
            Instr::Binary(Binary::Mul, 8, 9),
            store_to(2, &[cols], 10),
            store_to(3, &[cols], 10),
        ];
        let case = Case::new(kernel(&[Dim::T], cols, Anchor::Reduce, body), args, tokens, 16 + cols / 16);
        devices.check(&case);
        let mut device = weft_cpu::CpuDevice::new(weft_cpu::CpuOptions::default()).unwrap();
        let found = crate::support::run(&mut device, &case).unwrap();
        assert_eq!(found[3], rounded(&case.args[2].floats(&found[2])), "rounded by the definition");
    }
}

#[test]
fn softmax_of_odd_widths() {
    let (mut devices, mut random) = (Devices::all(), Random::new(4));
    for (tokens, cols) in [(1, 1), (2, 7), (3, 64), (17, 33)] {
        let x: Vec<f32> = random.floats(tokens * cols).iter().map(|v| v * 20.0).collect();
        let args = vec![Arg::f32(&x).per_token(cols), Arg::out(Format::F32, tokens * cols).per_token(cols)];
        let body = vec![
            load_of(0, &[cols], cols),
            Instr::Reduce(Reduce::Max, 0),
            Instr::Binary(Binary::Sub, 0, 1),
            Instr::Unary(Unary::Exp, 2),
            Instr::Reduce(Reduce::Sum, 3),
            Instr::Binary(Binary::Div, 3, 4),
            store_to(1, &[cols], 5),
        ];
        devices.check(&Case::new(kernel(&[Dim::T], cols, Anchor::Reduce, body), args, tokens, 16 + cols));
    }
}

#[test]
fn ropes_and_tables() {
    let (mut devices, mut random) = (Devices::all(), Random::new(5));
    for style in [RopeStyle::Pairs, RopeStyle::Halves] {
        for (tokens, heads, d) in [(1, 2, 2), (3, 3, 10), (17, 2, 64)] {
            let positions: Vec<i32> = (0..tokens).map(|_| random.below(100_000) as i32).collect();
            let args = vec![
                Arg::f32(&random.floats(tokens * heads * d)).per_token(heads * d),
                Arg::i32(&positions).per_token(1),
                Arg::f32(&random.floats(d / 2)),
                Arg::out(Format::F32, tokens * heads * d).per_token(heads * d),
            ];
            let body = vec![
                load_of(0, &[heads * d, d], d),
                load_of(1, &[1, 0], 1),
                load_of(2, &[0, 0], d / 2),
                Instr::Binary(Binary::Mul, 1, 2),
                Instr::Unary(Unary::Cos, 3),
                Instr::Unary(Unary::Sin, 3),
                Instr::Rope { style, x: 0, cos: 4, sin: 5 },
                store_to(3, &[heads * d, d], 6),
            ];
            let kernel = kernel(&[Dim::T, Dim::Const(heads)], d, Anchor::Map, body);
            devices.check(&Case::new(kernel, args, tokens, 8));
        }
    }
}

#[test]
fn rows_of_a_table_of_any_type() {
    let (mut devices, mut random) = (Devices::all(), Random::new(6));
    for ty in crate::support::data::weight_types() {
        let cols = if ty.block_len() == 1 { 37 } else { 5 * ty.block_len() };
        for tokens in [1, 17] {
            let ids: Vec<i32> = (0..tokens).map(|_| random.below(11) as i32).collect();
            let args = vec![
                Arg::weight(ty, 11, cols, random.weight(ty, 11 * cols)),
                Arg::i32(&ids).per_token(1),
                Arg::out(Format::F32, tokens * cols).per_token(cols),
            ];
            let indexed = Some(Indexed { index: view(1, &[1], 0), stride: cols });
            let body = vec![
                Instr::Load { view: view(0, &[0], 1), indexed, len: cols },
                constant(3.0),
                Instr::Binary(Binary::Mul, 0, 1),
                store_to(2, &[cols], 2),
            ];
            devices.check(&Case::new(kernel(&[Dim::T], cols, Anchor::Map, body), args, tokens, 4));
        }
    }
}

#[test]
fn values_taken_from_their_row() {
    let (mut devices, mut random) = (Devices::all(), Random::new(7));
    let (of, k) = (64, 6);
    for tokens in [1, 3, 17] {
        let ids: Vec<i32> = (0..tokens).flat_map(|_| random.distinct(k, of)).collect();
        let args = vec![
            Arg::f32(&random.floats(tokens * of * 2)).per_token(of * 2),
            Arg::i32(&ids).per_token(k),
            Arg::out(Format::F32, tokens * k).per_token(k),
        ];
        let from = View { offset: 1, ..view(0, &[2 * of], 2) };
        let body = vec![
            Instr::Load { view: View { step: 1, ..from.clone() }, indexed: None, len: of },
            Instr::Load { view: from, indexed: None, len: of },
            load_of(1, &[k], k),
            Instr::Take { from: 0, ids: 2 },
            Instr::Take { from: 1, ids: 2 },
            Instr::Reduce(Reduce::Sum, 3),
            Instr::Binary(Binary::Div, 4, 5),
            store_to(2, &[k], 6),
        ];
        devices.check(&Case::new(kernel(&[Dim::T], of, Anchor::Reduce, body), args, tokens, 64));
    }
}

#[test]
fn rows_stored_by_number_in_any_format() {
    let (mut devices, mut random) = (Devices::all(), Random::new(8));
    for ty in STATE_TYPES {
        let format = Format::Ggml(ty);
        for (tokens, cols) in [(1, 576usize), (3, 7), (17, 129)] {
            // Blocks are written as a whole.
            let block = ty.block_len();
            let cols = cols.next_multiple_of(block);
            let width = cols + 5 * block;
            let args = vec![
                Arg::f32(&random.floats(tokens * cols)),
                Arg::i32(&random.distinct(tokens, 40)),
                Arg::out(format, 40 * width),
            ];
            let view = View { offset: 3 * block, ..view(2, &[0], 1) };
            let indexed = Some(Indexed { index: crate::support::view(1, &[1], 0), stride: width });
            let body = vec![load_of(0, &[cols], cols), Instr::Store { value: 0, view, indexed }];
            devices.check(&Case::new(kernel(&[Dim::T], cols, Anchor::Map, body), args, tokens, 0));
        }
    }
}

#[test]
fn halves_are_rounded_to_nearest() {
    let mut devices = Devices::all();
    // Around ties, the largest `f16`, the smallest, and values too large or too small for one.
    let ties = (0..4000u32).map(|i| f32::from_bits(0x3f80_0000 + i * 0x800));
    let ends = [65504.0, 65519.9, 65520.0, 1e9, 5.96e-8, 2.98e-8, 2.9e-8, 1e-30, f32::INFINITY, f32::NAN];
    let x: Vec<f32> = ties.chain(ends).flat_map(|v| [v, -v]).collect();
    let n = x.len();
    let args = vec![
        Arg::f32(&x),
        Arg::out(half(GgmlType::F16), n),
        Arg::out(half(GgmlType::BF16), n),
        Arg::out(Format::I32, n),
    ];
    let stores = [1, 2, 3].map(|p| store_to(p, &[0], 0));
    let body = [vec![load_of(0, &[0], n)], stores.to_vec()].concat();
    let case = Case::new(kernel(&[Dim::Const(1)], n, Anchor::Map, body), args, 1, 0);
    devices.check(&case);
    // Here even the bits equal the oracle's, except for NaNs.
    let mut device = weft_cpu::CpuDevice::new(weft_cpu::CpuOptions::default()).unwrap();
    let (found, expected) = (crate::support::run(&mut device, &case).unwrap(), case.oracle());
    let bits = |bytes: &[u8]| bytes[..bytes.len() - 4].to_vec();
    assert_eq!((bits(&found[1]), bits(&found[2])), (bits(&expected[1]), bits(&expected[2])));
    assert_eq!(found[3], expected[3]);
}

#[test]
fn views_with_steps_and_other_formats() {
    let (mut devices, mut random) = (Devices::all(), Random::new(9));
    let (tokens, heads, cols) = (3, 2, 40);
    let values = tokens * heads * cols;
    for ty in [GgmlType::F32, GgmlType::F16, GgmlType::BF16] {
        let args = vec![
            Arg::read(half(ty), values, random.weight(ty, values)).per_token(heads * cols),
            Arg::i32(&(0..values as i32).collect::<Vec<_>>()).per_token(heads * cols),
            Arg::out(Format::F32, 2 * values).per_token(2 * heads * cols),
            Arg::out(half(ty), values).per_token(heads * cols),
        ];
        let body = vec![
            // Transposed: columns are `heads` apart.
            Instr::Load { view: view(0, &[heads * cols, 1], heads), indexed: None, len: cols },
            load_of(1, &[heads * cols, cols], cols),
            Instr::Binary(Binary::Add, 0, 1),
            Instr::Store { value: 2, view: view(2, &[2 * heads * cols, 2 * cols], 2), indexed: None },
            store_to(3, &[heads * cols, cols], 0),
        ];
        let kernel = kernel(&[Dim::T, Dim::Const(heads)], cols, Anchor::Map, body);
        devices.check(&Case::new(kernel, args, tokens, 2));
    }
}

#[test]
fn the_largest_of_a_row_and_what_is_made_of_them() {
    let (mut devices, mut random) = (Devices::all(), Random::new(10));
    for (tokens, n, k) in [(1, 1, 1), (2, 64, 6), (3, 9, 9), (17, 256, 8)] {
        // Few different values, so that there are ties; and a few that are none.
        let value = |random: &mut Random| match random.below(50) {
            0 => f32::NAN,
            1 => f32::NEG_INFINITY,
            i => i as f32 - 20.0,
        };
        let x: Vec<f32> = (0..tokens * n).map(|_| value(&mut random)).collect();
        let args = vec![
            Arg::f32(&x).per_token(n),
            Arg::out(Format::I32, tokens * k).per_token(k),
            Arg::out(Format::F32, tokens * k).per_token(k),
            Arg::out(Format::F32, tokens * k).per_token(k),
        ];
        let body = vec![
            load_of(0, &[n], n),
            Instr::TopK { x: 0, k },
            store_to(1, &[k], 1),
            constant(0.5),
            Instr::Binary(Binary::Mul, 1, 3),
            store_to(2, &[k], 4),
            Instr::Take { from: 0, ids: 1 },
            store_to(3, &[k], 6),
        ];
        devices.check(&Case::new(kernel(&[Dim::T], n, Anchor::Reduce, body), args, tokens, 0));
    }
}

/// A router: scores, biased for the selection alone, the largest normalised. Vectors of four lengths in one program.
#[test]
fn values_of_any_length() {
    let (mut devices, mut random) = (Devices::all(), Random::new(11));
    for (tokens, n, half, k) in [(1, 64, 10, 4), (3, 600, 33, 7), (17, 5, 2, 5)] {
        let args = vec![
            Arg::f32(&random.floats(tokens * n)).per_token(n),
            Arg::f32(&random.floats(n)),
            Arg::f32(&random.floats(tokens * half)).per_token(half),
            Arg::out(Format::F32, tokens * k).per_token(k),
            Arg::out(Format::I32, tokens * k).per_token(k),
            Arg::out(Format::F32, tokens * half).per_token(half),
            Arg::out(Format::F32, tokens).per_token(1),
        ];
        let body = vec![
            load_of(0, &[n], n),
            Instr::Unary(Unary::Sigmoid, 0),
            load_of(1, &[0], n),
            Instr::Binary(Binary::Add, 1, 2),
            Instr::TopK { x: 3, k },
            Instr::Take { from: 1, ids: 4 },
            Instr::Reduce(Reduce::Sum, 5),
            Instr::Binary(Binary::Div, 5, 6),
            load_of(2, &[half], half),
            Instr::Binary(Binary::Mul, 8, 6),
            store_to(3, &[k], 7),
            store_to(4, &[k], 4),
            store_to(5, &[half], 9),
            Instr::Reduce(Reduce::Max, 3),
            store_to(6, &[1], 13),
        ];
        devices.check(&Case::new(kernel(&[Dim::T], n, Anchor::Reduce, body), args, tokens, 32 + n / 16));
    }
}

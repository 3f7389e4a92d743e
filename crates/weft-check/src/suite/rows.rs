//! Row programs without a product: every instruction, format and kind of row.

use weft_device::Device;
use weft_kern::{Anchor, Binary, Dim, Format, Indexed, Instr, Reduce, RopeStyle, Unary, View};
use weft_quant::GgmlType;

use crate::arg::{Arg, POISON};
use crate::case::{Case, constant, load_of, part, store_to, view};
use crate::data::{BLOCK_TYPES, Random, weight_types};

/// Every elementwise function, and every format that rows can be stored in.
pub fn every_function_and_format(device: &mut dyn Device) {
    let mut random = Random::new(1);
    for cols in [1, 6, 64, 300, 1024] {
        for tokens in [1, 3, 40] {
            let mut body = vec![load_of(0, &[cols], cols), load_of(1, &[cols], cols), load_of(2, &[0], cols)];
            for op in Unary::ALL {
                let x = if *op == Unary::Rsqrt { 2 } else { 0 };
                body.push(Instr::Unary(*op, x));
            }
            for op in Binary::ALL {
                body.push(Instr::Binary(*op, 1, if *op == Binary::Div { 2 } else { 0 }));
            }
            let values = body.len();
            let mut args = vec![
                Arg::f32(&random.floats(tokens * cols)),
                Arg::floats_of(GgmlType::F16, &random.floats(tokens * cols)),
                Arg::floats_of(
                    GgmlType::BF16,
                    &random.floats(cols).iter().map(|v| 1.1 + v).collect::<Vec<_>>(),
                ),
            ];
            for v in 3..values {
                args.push(Arg::out(Format::F32, tokens * cols));
                body.push(store_to(args.len() - 1, &[cols], v));
            }
            for ty in [GgmlType::F16, GgmlType::BF16] {
                if cols % 2 == 0 {
                    args.push(Arg::out(Format::Ggml(ty), tokens * cols));
                    body.push(store_to(args.len() - 1, &[cols], 5));
                }
            }
            if cols % 32 == 0 {
                let states = BLOCK_TYPES.map(Format::Ggml);
                for format in [Format::Q8].into_iter().chain(states) {
                    args.push(Arg::out(format, tokens * cols));
                    body.push(store_to(args.len() - 1, &[cols], 6));
                }
            }
            Case::new(vec![part(&[Dim::T], cols, Anchor::Map, body)], args, tokens, 32).check(device);
        }
    }
}

/// Positions of long contexts, as angles.
pub fn angles_of_any_size(device: &mut dyn Device) {
    let mut random = Random::new(2);
    let n = 512;
    let mut x: Vec<f32> = (0..n).map(|i| random.float() * 10f32.powi((i % 7) as i32)).collect();
    use std::f32::consts::{FRAC_PI_2, PI};
    x[..8].copy_from_slice(&[0.0, -0.0, 131071.0, 200_000.5, -65535.9, 1e-30, PI, FRAC_PI_2]);
    let body = vec![
        load_of(0, &[0], n),
        Instr::Unary(Unary::Cos, 0),
        Instr::Unary(Unary::Sin, 0),
        store_to(1, &[0], 1),
        store_to(2, &[0], 2),
    ];
    let args = vec![Arg::f32(&x), Arg::out(Format::F32, n), Arg::out(Format::F32, n)];
    Case::new(vec![part(&[Dim::Const(1)], n, Anchor::Map, body)], args, 1, 8).check(device);
}

/// Rows of a quantised table read by index, and rows written by index; an index that is out of
/// bounds reads the last row, and writes none.
pub fn rows_by_number(device: &mut dyn Device) {
    let mut random = Random::new(3);
    for ty in weight_types() {
        let (cols, rows, tokens) = (ty.block_len().max(64), 37, 9);
        let ids: Vec<i32> = (0..tokens).map(|_| random.below(rows) as i32).collect();
        let slots = random.distinct(tokens, 20);
        let args = vec![
            Arg::weight(ty, rows, cols, random.weight(ty, rows * cols)),
            Arg::i32(&ids),
            Arg::i32(&slots),
            Arg::out(Format::F32, tokens * cols),
            Arg::out(Format::Ggml(GgmlType::F16), 20 * cols),
        ];
        let by = |param| Some(Indexed { index: view(param, &[1], 0), stride: cols });
        let body = vec![
            Instr::Load { view: view(0, &[0], 1), indexed: by(1), len: cols },
            store_to(3, &[cols], 0),
            Instr::Store { value: 0, view: view(4, &[0], 1), indexed: by(2) },
        ];
        let mut case = Case::new(vec![part(&[Dim::T], cols, Anchor::Map, body)], args, tokens, 2);
        let right = case.check(device);
        if ty != GgmlType::Q4_0 {
            continue;
        }
        // Indices in the data are not trusted.
        let wild = |ids: &[i32]| [&[i32::MIN, -1, i32::MAX, 37][..], &ids[4..]].concat();
        case.args[1] = Arg::i32(&wild(&ids));
        case.args[2] = Arg::i32(&wild(&slots));
        let found = case.run(device, tokens).unwrap();
        let row = cols * 4;
        assert_eq!(found[3][4 * row..], right[3][4 * row..]);
        assert!((1..4).all(|t| found[3][t * row..][..row] == found[3][..row]));
        for slot in &slots[..4] {
            assert!(found[4][*slot as usize * cols * 2..][..cols * 2].iter().all(|b| *b == 0xff));
        }
    }
}

/// Rows of a cache of blocks, written by index, as a whole or from the middle on. Blocks are not
/// whole words: what a row's first and last words hold of its neighbours stays as it was, or
/// becomes what the neighbours write there at the same time.
pub fn states_of_blocks(device: &mut dyn Device) {
    for ty in BLOCK_TYPES {
        states_of(ty, device);
    }
}

fn states_of(ty: GgmlType, device: &mut dyn Device) {
    let mut random = Random::new(6);
    for [first, second] in [[32, 32], [64, 32], [32, 320], [64, 320], [512, 64], [288, 96]] {
        for tokens in [1, 4, 33] {
            for whole in [false, true] {
                let (slots, row) = (tokens + 7, first + second);
                let mut places = random.distinct(tokens, slots);
                // Most places are consecutive, as in a prompt.
                places[tokens / 3..].sort_unstable();
                let args = vec![
                    Arg::f32(&random.floats(tokens * row)),
                    Arg::i32(&places),
                    Arg::out(Format::Ggml(ty), slots * row),
                ];
                let store = |value, offset| Instr::Store {
                    value,
                    view: View { offset, ..view(2, &[0], 1) },
                    indexed: Some(Indexed { index: view(1, &[1], 0), stride: row }),
                };
                let load = |offset, len| Instr::Load {
                    view: View { offset, ..view(0, &[row], 1) },
                    indexed: None,
                    len,
                };
                let (anchor, cols, body) = match whole {
                    true => {
                        let body = vec![
                            load(0, first),
                            Instr::Reduce(Reduce::Max, 0),
                            Instr::Binary(Binary::Sub, 0, 1),
                            load(first, second),
                            store(2, 0),
                            store(3, first),
                        ];
                        (Anchor::Reduce, first.max(second), body)
                    }
                    false => (Anchor::Map, second, vec![load(first, second), store(0, first)]),
                };
                let parts = vec![part(&[Dim::T], cols, anchor, body)];
                let mut case = Case::new(parts, args, tokens, 4);
                let found = case.check(device).remove(2);
                let bytes = row / 32 * ty.block_bytes();
                // Of rows that are written in part, that part.
                let written = if whole { 0 } else { first / 32 * ty.block_bytes() };
                let untouched = |found: &[u8], slot: usize| {
                    found[slot * bytes..][written..bytes].iter().all(|byte| *byte == POISON)
                };
                for slot in 0..slots {
                    assert_eq!(untouched(&found, slot), !places.contains(&(slot as i32)), "slot {slot}");
                    assert!(found[slot * bytes..][..written].iter().all(|byte| *byte == POISON));
                }
                // Indices in the data are not trusted.
                let mut wild = places.clone();
                wild[0] = [i32::MIN, -1, i32::MAX, slots as i32][tokens % 4];
                case.args[1] = Arg::i32(&wild);
                let others = case.run(device, tokens).unwrap().remove(2);
                let gone = places[0] as usize;
                assert!(untouched(&others, gone));
                assert_eq!(others[..gone * bytes], found[..gone * bytes]);
                assert_eq!(others[(gone + 1) * bytes..], found[(gone + 1) * bytes..]);
            }
        }
    }
}

/// Operations across columns: softmax, selections among equals, NaN and infinities, pairs of pairs.
pub fn across_columns(device: &mut dyn Device) {
    let mut random = Random::new(4);
    for cols in [2, 10, 64, 250, 600] {
        for tokens in [1, 7] {
            let k = (cols / 2).min(8);
            let mut x = random.floats(tokens * cols);
            for (i, v) in x.iter_mut().enumerate() {
                match i % 7 {
                    0 => *v = 0.25,
                    1 => *v = -0.0,
                    2 => *v = 0.0,
                    3 if cols > 64 && i % 3 == 0 => *v = f32::NAN,
                    4 if cols > 64 => *v = f32::NEG_INFINITY,
                    _ => {}
                }
            }
            let args = vec![
                Arg::f32(&x),
                Arg::out(Format::I32, tokens * k),
                Arg::f32(&random.floats(tokens * cols)),
                Arg::out(Format::F32, tokens * cols),
                Arg::out(Format::F32, tokens * k),
                Arg::out(Format::F32, tokens * cols),
                Arg::f32(&random.floats(tokens * cols / 2)),
                Arg::out(Format::F32, tokens),
            ];
            let turn = |style, x| Instr::Rope { style, x, cos: 9, sin: 9 };
            let body = vec![
                load_of(0, &[cols], cols),
                Instr::TopK { x: 0, k },
                load_of(2, &[cols], cols),
                Instr::Take { from: 2, ids: 1 },
                Instr::Reduce(Reduce::Max, 2),
                Instr::Binary(Binary::Sub, 2, 4),
                Instr::Unary(Unary::Exp, 5),
                Instr::Reduce(Reduce::Sum, 6),
                Instr::Binary(Binary::Div, 6, 7),
                load_of(6, &[cols / 2], cols / 2),
                turn(RopeStyle::Pairs, 8),
                turn(RopeStyle::Halves, 10),
                constant(3.0),
                Instr::Binary(Binary::Mul, 11, 12),
                store_to(1, &[k], 1),
                store_to(3, &[cols], 8),
                store_to(4, &[k], 3),
                store_to(5, &[cols], 13),
                store_to(7, &[1], 7),
            ];
            let case = Case::new(vec![part(&[Dim::T], cols, Anchor::Reduce, body)], args, tokens, 64 + cols);
            case.check(device);
        }
    }
}

/// Views that step, repeat and begin anywhere, over rows of several axes; whole rows rounded.
pub fn views(device: &mut dyn Device) {
    let mut random = Random::new(5);
    let (a, b, cols) = (3, 4, 64);
    for tokens in [1, 6] {
        let args = vec![
            Arg::f32(&random.floats(5 + tokens * a * b * cols * 2)),
            Arg::i32(&(0..tokens as i32 * 7 + 1).collect::<Vec<_>>()),
            Arg::out(Format::F32, 3 + tokens * a * b * cols * 2),
            Arg::out(Format::Q8, tokens * a * b * cols + 32),
        ];
        let rows = [Dim::T, Dim::Const(a), Dim::Const(b)];
        let x = View { offset: 5, ..view(0, &[a * b * cols * 2, 2 * cols, a * cols * 2], 2) };
        let y = View { offset: 3, ..view(2, &[a * b * cols * 2, b * cols * 2, cols * 2], 2) };
        let z = View { offset: 32, ..view(3, &[a * b * cols, b * cols, cols], 1) };
        for whole in [false, true] {
            let mut body = vec![
                Instr::Load { view: x.clone(), indexed: None, len: cols },
                Instr::Load { view: View { offset: 2, ..view(1, &[7, 1, 1], 0) }, indexed: None, len: 1 },
                Instr::Binary(Binary::Mul, 0, 1),
            ];
            if whole {
                body.extend([Instr::Reduce(Reduce::Sum, 2), Instr::Binary(Binary::Add, 3, 2)]);
            }
            let value = body.len() - 1;
            body.push(Instr::Store { value, view: y.clone(), indexed: None });
            body.push(Instr::Store { value, view: z.clone(), indexed: None });
            let anchor = if whole { Anchor::Reduce } else { Anchor::Map };
            Case::new(vec![part(&rows, cols, anchor, body)], args.clone(), tokens, 128).check(device);
        }
    }
}

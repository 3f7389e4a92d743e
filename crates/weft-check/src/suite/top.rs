//! The largest values of rows that are too long for one workgroup.

use weft_device::Device;
use weft_kern::{Anchor, Binary, Dim, Format, Instr, Part};

use crate::arg::Arg;
use crate::case::{Case, constant, load_of, part, store_to};
use crate::data::Random;

/// Values with few, some and many equals, in any order, and with NaNs.
fn rows(random: &mut Random, cols: usize) -> [Vec<f32>; 6] {
    let odd = [f32::NEG_INFINITY, f32::MIN, -0.0, 0.0, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY];
    let mut wrong = random.floats(cols);
    for nan in [f32::NAN, -f32::NAN] {
        wrong[random.below(cols)] = nan;
    }
    [
        random.floats(cols),
        (0..cols).map(|_| random.below(40) as f32).collect(),
        (0..cols).map(|i| i as f32).collect(),
        vec![-0.5; cols],
        (0..cols).map(|_| odd[random.below(odd.len())]).collect(),
        wrong,
    ]
}

/// The indices of the `k` largest values of each row, and the values.
fn selection(cols: usize, k: usize) -> Part {
    let body = vec![
        load_of(0, &[cols], cols),
        Instr::TopK { x: 0, k },
        Instr::Take { from: 0, ids: 1 },
        store_to(1, &[2 * k], 2),
        Instr::Store {
            value: 1,
            view: weft_kern::View { param: 1, offset: k, strides: vec![2 * k], step: 1 },
            indexed: None,
        },
    ];
    part(&[Dim::T], cols, Anchor::Reduce, body)
}

/// Rows of a vocabulary, of lengths that nothing divides.
pub fn the_largest_of_long_rows(device: &mut dyn Device) {
    let mut random = Random::new(21);
    for (cols, k) in [(2049, 1), (2113, 64), (5000, 256), (33_333, 64), (154_881, 7)] {
        let rows = rows(&mut random, cols);
        let tokens = rows.len();
        let args = vec![Arg::f32(&rows.concat()), Arg::out(Format::F32, tokens * 2 * k)];
        Case::new(vec![selection(cols, k)], args, tokens, 0).check(device);
    }
}

/// A schedule changes no choice.
pub fn every_block(device: &mut dyn Device) {
    let mut random = Random::new(22);
    let (cols, k) = (3001, 40);
    let rows = rows(&mut random, cols);
    let tokens = rows.len();
    let args = vec![Arg::f32(&rows.concat()), Arg::out(Format::F32, tokens * 2 * k)];
    let case = Case::new(vec![selection(cols, k)], args, tokens, 0);
    for schedule in [
        "lanes 64; select.blocks width 64 chunk 64",
        "lanes 256; select.blocks width 96 chunk 32",
        "lanes 128; select.blocks width 3008 chunk 16",
    ] {
        case.check_with(device, schedule);
    }
}

/// Of computed values, in one kernel with another part.
pub fn of_computed_values_beside_others(device: &mut dyn Device) {
    let mut random = Random::new(23);
    let (tokens, cols, k) = (5, 2500, 9);
    let body = vec![
        load_of(0, &[cols], cols),
        load_of(2, &[0], cols),
        Instr::Binary(Binary::Sub, 0, 1),
        Instr::TopK { x: 2, k },
        Instr::Take { from: 2, ids: 3 },
        constant(2.0),
        Instr::Binary(Binary::Mul, 4, 5),
        store_to(1, &[k], 3),
        store_to(3, &[k], 6),
    ];
    let other = vec![load_of(0, &[cols], cols), Instr::Binary(Binary::Mul, 0, 0), store_to(4, &[cols], 1)];
    let args = vec![
        Arg::f32(&random.floats(tokens * cols)),
        Arg::out(Format::I32, tokens * k),
        Arg::f32(&random.floats(cols)),
        Arg::out(Format::F32, tokens * k),
        Arg::out(Format::F32, tokens * cols),
    ];
    let parts = vec![part(&[Dim::T], cols, Anchor::Map, other), part(&[Dim::T], cols, Anchor::Reduce, body)];
    Case::new(parts, args, tokens, 0).check(device);
}

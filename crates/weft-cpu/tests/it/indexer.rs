//! `Indexer` against the interpreter: every state format, lengths around blocks and around the number of chosen positions, ties, and
//! scattered pages. Every check covers that lists do not depend on threads, instruction sets and the rest of the batch.

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{Device, DeviceError};
use weft_kern::{Anchor, Cached, Dim, Format, Indexer, Instr, STATE_TYPES};
use weft_quant::GgmlType;

use crate::support::data::{BLOCK_TYPES, Random};
use crate::support::{Arg, Case, Devices, attention, compile, kernel, load, read, run, store_to, view};

/// Heads, their width, the rows of a page, and the positions of a pool.
#[derive(Clone, Copy)]
struct Shape {
    heads: usize,
    k_len: usize,
    page: usize,
    pool: usize,
}

const FEW: Shape = Shape { heads: 3, k_len: 24, page: 16, pool: 1 };
const GLM: Shape = Shape { heads: 32, k_len: 128, page: 64, pool: 1 };

/// Tokens of some sequences at these positions, with queries, weights and keys of these values. Pages are scattered, and keys that no token
/// may see are NaN.
fn of_values(
    random: &mut Random,
    (ty, shape, most): (GgmlType, Shape, usize),
    sequences: &[&[i32]],
    value: &mut dyn FnMut(&mut Random) -> f32,
) -> Case {
    let Shape { heads, k_len, page, pool } = shape;
    let most = most + pool - 1;
    let positions = sequences.concat();
    let tokens = positions.len();
    let lens: Vec<usize> = sequences.iter().map(|s| s.iter().max().map_or(1, |p| *p as usize + 1)).collect();
    let all: usize = lens.iter().map(|len| len.div_ceil(page)).sum();
    let own = random.distinct(all, all + 3);
    let (mut pages, mut first, mut seen) = (vec![-1], Vec::new(), vec![false; (all + 3) * page]);
    for (sequence, len) in sequences.iter().zip(&lens) {
        first.extend(vec![pages.len() as i32; sequence.len()]);
        let rest = &own[pages.len() - 1..][..len.div_ceil(page)];
        (0..*len).for_each(|p| seen[rest[p / page] as usize * page + p % page] = true);
        pages.extend(rest);
    }
    let around = ty.block_len().max(3);
    let row = k_len + around;
    let keys: Vec<f32> = (0..seen.len() * row).map(|_| value(random)).collect();
    let mut keys = Arg::floats_of(ty, &keys);
    let bytes = keys.bytes.len() / seen.len();
    keys.bytes
        .chunks_exact_mut(bytes)
        .zip(&seen)
        .filter(|(_, seen)| !**seen)
        .for_each(|(row, _)| row.fill(0xff));
    let mut floats = |n: usize| (0..n).map(|_| value(random)).collect::<Vec<_>>();
    let args = vec![
        Arg::f32(&floats(tokens * heads * k_len)).per_token(heads * k_len),
        Arg::f32(&floats(tokens * heads)).per_token(heads),
        keys,
        Arg::i32(&positions).per_token(1),
        Arg::i32(&first).per_token(1),
        Arg::i32(&pages),
        Arg::out(Format::I32, tokens * most).per_token(most),
    ];
    let indexer = Indexer {
        q: view(0, &[heads * k_len], 1),
        q_stride: k_len,
        w: view(1, &[heads], 1),
        k: Cached { param: 2, offset: around, row_stride: row, head_stride: k_len },
        pos: 3,
        first: 4,
        pages: 5,
        heads,
        k_len,
        page,
        pool,
        most_pages: None,
    };
    let body = vec![Instr::Acc(0), store_to(6, &[most], 0)];
    Case::new(kernel(&[Dim::T], most, Anchor::Indexer(Box::new(indexer)), body), args, tokens, 0)
}

/// Random values. The interpreter gets queries and keys as the device rounds them.
fn case(random: &mut Random, ty: GgmlType, shape: Shape, most: usize, sequences: &[&[i32]]) -> Case {
    let mut case = of_values(random, (ty, shape, most), sequences, &mut Random::float);
    let law = attention::Law::of(shape.k_len);
    let mut args = case.args.clone();
    let mut q = args[0].floats(&args[0].bytes);
    q.chunks_exact_mut(shape.k_len).for_each(|q| q.copy_from_slice(&law.row(q).values()));
    args[0] = Arg { per_token: args[0].per_token, ..Arg::f32(&q) };
    let Anchor::Indexer(indexer) = &case.kernel.parts[0].anchor else { panic!("an indexer") };
    args[2] = attention::round_state(&args[2], indexer.k, 1, shape.k_len, law);
    case.rounded = Some((args, 0.0));
    case
}

#[test]
fn states_of_every_type_and_contexts_of_any_length() {
    let (mut devices, mut random) = (Devices::all(), Random::new(31));
    for ty in [GgmlType::F32, GgmlType::F16, GgmlType::BF16] {
        for most in [1, 7, 128, 200] {
            let at = most as i32;
            devices.check(&case(&mut random, ty, FEW, most, &[&[0, at - 1, at, at + 1], &[127, 128, 700]]));
        }
    }
    let blocks = Shape { k_len: 64, ..FEW };
    for ty in BLOCK_TYPES {
        devices.check(&case(&mut random, ty, blocks, 20, &[&[5, 19, 20, 300], &[1000]]));
    }
}

/// Pools of positions: lengths around complete pools and around the number of chosen positions, and prompts.
#[test]
fn pools_of_positions() {
    let (mut devices, mut random) = (Devices::all(), Random::new(37));
    for (ty, pool, most) in
        [(GgmlType::F32, 2, 6), (GgmlType::F16, 4, 16), (GgmlType::BF16, 8, 8), (GgmlType::F16, 4, 256)]
    {
        let shape = Shape { pool, ..FEW };
        let at = most as i32;
        let around: Vec<i32> = (at - 1..=at + pool as i32).collect();
        let prompt: Vec<i32> = (at + 3..at + 70).collect();
        devices.check(&case(&mut random, ty, shape, most, &[&around, &[0, 1, pool as i32 - 1], &[1100]]));
        devices.check(&case(&mut random, ty, shape, most, &[&prompt, &[700], &[2]]));
    }
    let blocks = Shape { k_len: 64, pool: 4, ..FEW };
    for ty in BLOCK_TYPES {
        devices.check(&case(&mut random, ty, blocks, 20, &[&[5, 19, 22, 23, 300], &[1000]]));
    }
    devices.check(&case(
        &mut random,
        GgmlType::F16,
        Shape { pool: 4, ..GLM },
        40,
        &[&[3000, 3001], &[42, 43, 44]],
    ));
}

/// Heads and tokens enough for units of several tokens, and for a tile unit.
#[test]
fn prompts_and_replies_in_one_step() {
    let (mut devices, mut random) = (Devices::all(), Random::new(32));
    let chunk: Vec<i32> = (90..150).collect();
    for (shape, most) in
        [(FEW, 33), (Shape { heads: 13, ..FEW }, 100), (GLM, 40), (Shape { heads: 1, ..FEW }, 2)]
    {
        devices.check(&case(&mut random, GgmlType::F16, shape, most, &[&chunk, &[600], &[3], &[130, 131]]));
    }
}

/// Small integers, of which all sums are exact: many scores are equal, and the lower positions are chosen.
#[test]
fn ties_are_decided_by_position() {
    let (mut devices, mut random) = (Devices::all(), Random::new(33));
    let shape = Shape { heads: 5, k_len: 12, page: 16, pool: 1 };
    for most in [3, 60, 150] {
        let mut small = |random: &mut Random| random.below(5) as f32 - 2.0;
        let mut case =
            of_values(&mut random, (GgmlType::F32, shape, most), &[&[400, 20, 777], &[150; 3]], &mut small);
        // One value of each row is the largest number, so that rounding changes none; no product has both.
        for (param, row, at) in [(0, 12, 0), (2, 15, 4)] {
            let mut values = case.args[param].floats(&case.args[param].bytes);
            for row in values.chunks_exact_mut(row).filter(|row| !row[at].is_nan()) {
                row[at] = 4095.0;
                row[if param == 0 { 1 } else { 3 }] = 0.0;
            }
            case.args[param] = Arg { per_token: case.args[param].per_token, ..Arg::f32(&values) };
        }
        devices.check(&case);
        let lists = run(&mut CpuDevice::new(CpuOptions::default()).unwrap(), &case).unwrap()[6].clone();
        let list = case.args[6].floats(&lists)[..most].to_vec();
        assert!(list.windows(2).all(|pair| pair[0] < pair[1]), "ascending: {list:?}");
    }
}

/// Keys that no head likes all have the score 0.
#[test]
fn scores_of_zero_are_equal() {
    let (mut devices, mut random) = (Devices::all(), Random::new(34));
    for ty in STATE_TYPES {
        let shape = Shape { heads: 2, k_len: 32, page: 16, pool: 1 };
        let mut case =
            of_values(&mut random, (ty, shape, 50), &[&[500, 60]], &mut |r| -r.float().abs() - 0.1);
        let mut q = case.args[0].floats(&case.args[0].bytes);
        q.iter_mut().for_each(|q| *q = q.abs());
        case.args[0] = Arg { per_token: case.args[0].per_token, ..Arg::f32(&q) };
        devices.check(&case);
        let lists = run(&mut CpuDevice::new(CpuOptions::default()).unwrap(), &case).unwrap()[6].clone();
        let first: Vec<f32> = (0..50).map(|position| position as f32).collect();
        assert_eq!(case.args[6].floats(&lists), first.repeat(2), "{ty}");
    }
}

#[test]
fn what_another_sequence_holds_changes_nothing() {
    let mut random = Random::new(35);
    let good = case(&mut random, GgmlType::F16, FEW, 30, &[&[296, 297, 300], &[125, 129]]);
    let mut bad = good.clone();
    let pages = good.args[5].floats(&good.args[5].bytes);
    let bytes = good.args[2].bytes.len() / (pages.len() - 1 + 3);
    for page in &pages[1..1 + 301usize.div_ceil(16)] {
        bad.args[2].bytes[*page as usize * bytes..][..bytes].fill(0xff);
    }
    for threads in 1..=3 {
        let mut device = CpuDevice::new(CpuOptions { threads: Some(threads), isa: None }).unwrap();
        let [good, bad] = [&good, &bad].map(|case| run(&mut device, case).unwrap()[6].clone());
        assert!(
            good[3 * 30 * 4..] == bad[3 * 30 * 4..] && good[..30 * 4] != bad[..30 * 4],
            "{threads} threads"
        );
    }
}

/// A step that fails after some threads have done their part of a sequence leaves nothing behind for the next.
#[test]
fn a_step_that_failed_does_not_harm_the_next() {
    let mut random = Random::new(36);
    let case = case(&mut random, GgmlType::F16, FEW, 30, &[&[999], &[600]]);
    let mut device = CpuDevice::new(CpuOptions { threads: Some(4), isa: None }).unwrap();
    let args = load(&mut device, &case);
    let program = compile(&mut device, &case, &args).unwrap();
    let (pages, out) = (args[5].buffer, args[6].buffer);
    let replay = |device: &mut CpuDevice| {
        device.write(out, 0, &case.args[6].bytes).unwrap();
        device.replay(program, &case.sizes()).map(|()| read(device, out, case.args[6].bytes.len()))
    };
    let expected = replay(&mut device).unwrap();
    for entry in (1..case.args[5].values).step_by(7) {
        device.write(pages, 4 * entry, &i32::MAX.to_le_bytes()).unwrap();
        let fault = replay(&mut device);
        device.write(pages, 4 * entry, &case.args[5].bytes[4 * entry..][..4]).unwrap();
        assert_eq!(fault, Err(DeviceError::Index { kernel: "tested".into() }), "entry {entry}");
        assert_eq!(replay(&mut device).unwrap(), expected, "after entry {entry}");
    }
}

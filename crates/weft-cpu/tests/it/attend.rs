//! `Attend` against the interpreter: latent and grouped heads, every state format, lengths around the block of 128 and around
//! whole vectors, scattered pages, several sequences.
//!
//! Every check covers that bits do not depend on threads, instruction sets and the rest of the batch, see [`support`]: both with
//! work divided inside a sequence (few tokens, several threads) and without (one thread, or many units).

use crate::support::data::{BLOCK_TYPES, Random};
use crate::support::{Arg, Case, Devices, attention, compile, kernel, load, read, run, store_to, view};
use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{Device, DeviceError};
use weft_kern::{Anchor, Attend, Cached, Dim, F32, Format, Instr};
use weft_quant::GgmlType;

/// How heads share keys and values.
#[derive(Clone, Copy)]
pub(crate) struct Heads {
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) k_len: usize,
    pub(crate) v_len: usize,
    /// Values are part of the keys, from there on.
    pub(crate) latent: Option<usize>,
}

pub(crate) const LATENT: Heads = Heads { heads: 5, kv_heads: 1, k_len: 72, v_len: 64, latent: Some(2) };
pub(crate) const GROUPED: Heads = Heads { heads: 6, kv_heads: 2, k_len: 24, v_len: 17, latent: None };
/// Keys with more lines than are multiplied at once, values that begin at one of these lines, and more heads than fill a tile.
const WIDE: Heads = Heads { heads: 23, kv_heads: 1, k_len: 211, v_len: 170, latent: Some(16) };
/// Whole blocks of 32.
pub(crate) const BLOCKS: Heads = Heads { heads: 5, kv_heads: 1, k_len: 96, v_len: 64, latent: Some(32) };
const GROUPED_BLOCKS: Heads = Heads { heads: 6, kv_heads: 2, k_len: 32, v_len: 64, latent: None };
/// The most heads that are computed in one tile, each with its own keys.
const SINGLE: Heads = Heads { heads: 10, kv_heads: 10, k_len: 7, v_len: 33, latent: None };

/// Tokens of some sequences at these positions, in this order. Pages are scattered over the state, and values that no token may
/// see are NaN.
pub(crate) fn case(random: &mut Random, ty: GgmlType, h: Heads, page: usize, sequences: &[&[i32]]) -> Case {
    windowed(random, ty, h, (page, None), sequences)
}

/// The same if each token sees at most `window` positions; heads then have sinks.
fn windowed(
    random: &mut Random,
    ty: GgmlType,
    h: Heads,
    (page, window): (usize, Option<usize>),
    sequences: &[&[i32]],
) -> Case {
    let Heads { heads, kv_heads, k_len, v_len, latent } = h;
    let positions = sequences.concat();
    let tokens = positions.len();
    let lens: Vec<usize> = sequences.iter().map(|s| s.iter().max().map_or(1, |p| *p as usize + 1)).collect();
    let used: Vec<usize> = lens.iter().map(|len| len.div_ceil(page)).collect();
    let all: usize = used.iter().sum();
    // The page list has other entries around those of the sequences.
    let mut pages = vec![-1, i32::MAX];
    let own = random.distinct(all, all + 3);
    let (mut first, mut seen, mut rest) = (Vec::new(), vec![false; (all + 3) * page], &own[..]);
    for ((sequence, len), used) in sequences.iter().zip(&lens).zip(used) {
        first.extend(vec![pages.len() as i32; sequence.len()]);
        let (own, others) = rest.split_at(used);
        let sees = |at: usize| {
            let within = |p: &&i32| window.is_none_or(|window| at + window > **p as usize);
            sequence.iter().filter(within).any(|p| at <= *p as usize)
        };
        (0..*len).filter(|p| sees(*p)).for_each(|p| seen[own[p / page] as usize * page + p % page] = true);
        pages.extend(own.iter().chain(&[i32::MIN]));
        rest = others;
    }
    // Rows of a state have room around the heads.
    let around = ty.block_len().max(3);
    let (k_row, v_row) = (around + kv_heads * k_len, kv_heads * v_len + around);
    let mut state = |row: usize| {
        let mut bytes = random.weight(ty, seen.len() * row);
        let len = bytes.len() / seen.len();
        for (row, _) in bytes.chunks_exact_mut(len).zip(&seen).filter(|(_, seen)| !**seen) {
            row.fill(0xff);
        }
        Arg::read(Format::Ggml(ty), seen.len() * row, bytes)
    };
    let (k, v) = (state(k_row), state(v_row));
    let args = vec![
        Arg::f32(&random.floats(tokens * heads * k_len)).per_token(heads * k_len),
        k,
        v,
        Arg::i32(&positions).per_token(1),
        Arg::i32(&first).per_token(1),
        Arg::i32(&pages),
        Arg::out(Format::F32, tokens * heads * v_len).per_token(heads * v_len),
        // Some of them above all scores.
        Arg::f32(&random.floats(heads).iter().map(|s| 8.0 * s).collect::<Vec<_>>()),
    ];
    let k = Cached { param: 1, offset: around, row_stride: k_row, head_stride: k_len };
    let v = match latent {
        Some(at) => Cached { offset: around + at, ..k },
        None => Cached { param: 2, offset: around, row_stride: v_row, head_stride: v_len },
    };
    let attend = Attend {
        q: view(0, &[heads * k_len, k_len], 1),
        k,
        v,
        pos: 3,
        first: 4,
        pages: 5,
        scale: F32(0.7),
        heads,
        kv_heads,
        k_len,
        page,
        window,
        sinks: window.map(|_| 7),
        list: None,
        most_pages: None,
    };
    let body = vec![Instr::Acc(0), store_to(6, &[heads * v_len, v_len], 0)];
    let kernel = kernel(&[Dim::T, Dim::Const(heads)], v_len, Anchor::Attend(Box::new(attend)), body);
    // Sums are exact. Scores, of a few units, exponentials and the sum of weights are rounded.
    let longest = lens.into_iter().max().unwrap_or(1);
    let mut case = Case::new(kernel, args, tokens, 64 + longest);
    attention::round(&mut case);
    case
}

#[test]
fn latent_and_grouped_heads_of_any_length() {
    let (mut devices, mut random) = (Devices::all(), Random::new(1));
    for ty in [GgmlType::F32, GgmlType::F16, GgmlType::BF16] {
        for heads in [LATENT, GROUPED, SINGLE] {
            for last in [0, 1, 14, 15, 16, 126, 127, 128, 254, 255, 256, 700] {
                devices.check(&case(&mut random, ty, heads, 16, &[&[last]]));
            }
        }
    }
    for heads in [BLOCKS, GROUPED_BLOCKS] {
        for last in [0, 1, 127, 128, 129, 300] {
            for ty in BLOCK_TYPES {
                devices.check(&case(&mut random, ty, heads, 16, &[&[last]]));
            }
        }
    }
    for last in [3, 127, 130, 640] {
        devices.check(&case(&mut random, GgmlType::F16, WIDE, 64, &[&[last]]));
    }
}

/// Windows that begin in any block, and anywhere in it: blocks before them are not read.
#[test]
fn windows_of_any_length() {
    let (mut devices, mut random) = (Devices::all(), Random::new(9));
    for window in [1, 2, 100, 128, 129, 300, 5000] {
        for heads in [LATENT, GROUPED] {
            for last in [0, 127, 128, 300, 700, 1300] {
                let window = (16, Some(window));
                devices.check(&windowed(&mut random, GgmlType::F16, heads, window, &[&[last]]));
            }
            let chunk: Vec<i32> = (250..290).collect();
            let sequences: &[&[i32]] = &[&[1000], &chunk, &[5], &[640, 641, 900, 1150]];
            devices.check(&windowed(&mut random, GgmlType::F16, heads, (7, Some(window)), sequences));
        }
        for ty in BLOCK_TYPES {
            devices.check(&windowed(&mut random, ty, BLOCKS, (32, Some(window)), &[&[511, 512]]));
        }
    }
}

#[test]
fn any_number_of_heads_on_a_key_head() {
    let (mut devices, mut random) = (Devices::all(), Random::new(4));
    for group in 1..=22 {
        let heads = Heads { heads: 2 * group, kv_heads: 2, k_len: 9, v_len: 35, latent: None };
        devices.check(&case(&mut random, GgmlType::F16, heads, 32, &[&[140]]));
    }
}

#[test]
fn many_tokens_and_odd_pages() {
    let (mut devices, mut random) = (Devices::all(), Random::new(2));
    for page in [1, 7, 32, 100] {
        // One by one, by sevens, and all at once they have the same bits; most see one block, some two.
        let chunk: Vec<i32> = (100..140).collect();
        devices.check(&case(&mut random, GgmlType::F16, LATENT, page, &[&chunk]));
        devices.check(&case(&mut random, GgmlType::F16, GROUPED, page, &[&chunk]));
        devices.check(&case(&mut random, GgmlType::F16, GROUPED, page, &[&[40, 0, 199]]));
        for ty in BLOCK_TYPES {
            devices.check(&case(&mut random, ty, BLOCKS, page, &[&[40, 0, 199]]));
        }
    }
    let chunk: Vec<i32> = (250..260).collect();
    devices.check(&case(&mut random, GgmlType::BF16, WIDE, 16, &[&chunk]));
}

/// Enough rows for a unit that multiplies tiles: in one unit, divided inside a sequence, in several, and the keys of GLM-4.7-Flash.
#[test]
fn many_rows() {
    let (mut devices, mut random) = (Devices::all(), Random::new(10));
    let eight = Heads { heads: 8, ..LATENT };
    let chunk: Vec<i32> = (695..703).collect();
    devices.check(&case(&mut random, GgmlType::F16, eight, 16, &[&chunk]));
    devices.check(&windowed(&mut random, GgmlType::F16, eight, (16, Some(300)), &[&chunk]));
    devices.check(&case(&mut random, GgmlType::BF16, Heads { heads: 40, ..LATENT }, 16, &[&[900]]));
    let chunk: Vec<i32> = (240..280).collect();
    for ty in BLOCK_TYPES {
        devices.check(&case(&mut random, ty, BLOCKS, 16, &[&chunk, &[5]]));
    }
    devices.check(&case(&mut random, GgmlType::F32, Heads { heads: 12, ..GROUPED }, 16, &[&chunk]));
    let glm = Heads { heads: 20, kv_heads: 1, k_len: 576, v_len: 512, latent: Some(0) };
    devices.check(&case(&mut random, GgmlType::F16, glm, 64, &[&[126, 127, 128]]));
}

/// Numbers for which parts of a score leave 32 bits before the score is whole: with 40 rows, so that a tile unit computes it.
#[test]
fn parts_of_a_score_leave_32_bits() {
    let mut random = Random::new(11);
    let heads = Heads { heads: 40, kv_heads: 1, k_len: 576, v_len: 512, latent: Some(0) };
    let mut case = case(&mut random, GgmlType::F32, heads, 16, &[&[140]]);
    // Queries of 1856 = 15 · 128 − 64 but for one of 1930, which is the largest; keys of 1930.
    let mut q = vec![1856.0 / 1930.0; 40 * 576];
    q.iter_mut().step_by(576).for_each(|q| *q = 1.0);
    case.args[0] = Arg::f32(&q).per_token(40 * 576);
    let keys: Vec<f32> = case.args[1]
        .floats(&case.args[1].bytes)
        .into_iter()
        .map(|k| if k.is_nan() { k } else { 1.0 })
        .collect();
    case.args[1] = Arg::f32(&keys);
    attention::round(&mut case);
    Devices::all().check(&case);
}

#[test]
fn sequences_of_different_lengths() {
    let (mut devices, mut random) = (Devices::all(), Random::new(5));
    for heads in [LATENT, GROUPED] {
        let few: &[&[i32]] = &[&[300], &[0], &[127, 128, 129], &[5]];
        devices.check(&case(&mut random, GgmlType::F16, heads, 16, few));
        // Enough units for two threads without dividing them, but not for five.
        let many: Vec<[i32; 1]> = (0..18).map(|i| [i * 23]).collect();
        let many: Vec<&[i32]> = many.iter().map(|p| &p[..]).collect();
        devices.check(&case(&mut random, GgmlType::F16, heads, 16, &many));
    }
}

#[test]
fn one_score_far_above_the_others_and_far_below() {
    let mut random = Random::new(3);
    let mut devices = Devices::all();
    let mut case = case(&mut random, GgmlType::F32, LATENT, 16, &[&[299]]);
    // Queries so large that every softmax is nearly one-hot, with scores of some hundreds.
    let q = case.args[0].floats(&case.args[0].bytes);
    case.args[0] = Arg::f32(&q.iter().map(|v| v * 100.0).collect::<Vec<_>>()).per_token(5 * 72);
    attention::round(&mut case);
    // An error of a score, relative to it, is multiplied by its size in the exponent.
    case.roundings *= 500;
    devices.check(&case);
}

/// Where a block ends in the middle of a vector, missing positions count less than any score.
#[test]
fn every_score_far_below_zero() {
    let (mut devices, mut random) = (Devices::all(), Random::new(7));
    for last in [20, 127, 140] {
        let mut case = case(&mut random, GgmlType::F32, LATENT, 16, &[&[last]]);
        let change = |arg: &Arg, f: fn(f32) -> f32| Arg {
            per_token: arg.per_token,
            ..Arg::f32(&arg.floats(&arg.bytes).into_iter().map(f).collect::<Vec<_>>())
        };
        case.args[0] = change(&case.args[0], |q| -20.0 * q.abs());
        case.args[1] = change(&case.args[1], |k| k.abs() + 0.5);
        attention::round(&mut case);
        case.roundings *= 500;
        devices.check(&case);
    }
}

/// Tokens that see different blocks, after a sequence of NaN only.
#[test]
fn what_another_sequence_holds_changes_nothing() {
    let mut random = Random::new(8);
    for heads in [LATENT, GROUPED] {
        let good = case(
            &mut random,
            GgmlType::F16,
            heads,
            16,
            &[&[296, 297, 298, 299, 300], &[125, 126, 127, 128, 129]],
        );
        let mut bad = good.clone();
        // The first sequence's pages are those from entry 2 on.
        let pages = good.args[5].floats(&good.args[5].bytes);
        for page in &pages[2..2 + 301usize.div_ceil(16)] {
            for state in &mut bad.args[1..3] {
                let bytes = state.bytes.len() / (pages.len() - 4 + 3);
                state.bytes[*page as usize * bytes..][..bytes].fill(0xff);
            }
        }
        let own = 5 * heads.heads * heads.v_len * 4;
        for threads in 1..=3 {
            let mut device = CpuDevice::new(CpuOptions { threads: Some(threads), isa: None }).unwrap();
            let [good, bad] = [&good, &bad].map(|case| run(&mut device, case).unwrap()[6].clone());
            assert!(good[own..] == bad[own..] && good[..own] != bad[..own], "{threads} threads");
        }
    }
}

/// A step that fails after some threads have done their part of a sequence leaves nothing behind for the next.
#[test]
fn a_step_that_failed_does_not_harm_the_next() {
    let mut random = Random::new(6);
    let case = case(&mut random, GgmlType::F16, LATENT, 16, &[&[999], &[600]]);
    let mut device = CpuDevice::new(CpuOptions { threads: Some(4), isa: None }).unwrap();
    let args = load(&mut device, &case);
    let program = compile(&mut device, &case, &args).unwrap();
    let (pages, out) = (args[5].buffer, args[6].buffer);
    let replay = |device: &mut CpuDevice| {
        device.write(out, 0, &case.args[6].bytes).unwrap();
        device.replay(program, &case.sizes()).map(|()| read(device, out, case.args[6].bytes.len()))
    };
    let expected = replay(&mut device).unwrap();
    for entry in 2..case.args[5].values - 1 {
        // Pages that do not exist, and the end of the first sequence, which is none.
        device.write(pages, 4 * entry, &i32::MAX.to_le_bytes()).unwrap();
        let fault = replay(&mut device);
        let own = case.args[5].bytes[4 * entry..][..4].to_vec();
        device.write(pages, 4 * entry, &own).unwrap();
        if own != i32::MIN.to_le_bytes() {
            assert_eq!(fault, Err(DeviceError::Index { kernel: "tested".into() }), "entry {entry}");
        }
        assert_eq!(replay(&mut device).unwrap(), expected, "after entry {entry}");
    }
}

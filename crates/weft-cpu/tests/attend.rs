//! `Attend` against the interpreter: latent and grouped heads, every state format, lengths around the block of 32,
//! scattered pages.

mod support;

use support::data::Random;
use support::{Arg, Case, Devices, kernel, store_to, view};
use weft_kern::{Anchor, Attend, Cached, Dim, F32, Format, Instr};
use weft_quant::GgmlType;

/// How heads share keys and values.
#[derive(Clone, Copy)]
struct Heads {
    heads: usize,
    kv_heads: usize,
    k_len: usize,
    v_len: usize,
    /// Values are the first part of the keys.
    latent: bool,
}

const LATENT: Heads = Heads { heads: 5, kv_heads: 1, k_len: 72, v_len: 64, latent: true };
const GROUPED: Heads = Heads { heads: 6, kv_heads: 2, k_len: 24, v_len: 17, latent: false };

/// Tokens at these positions, all of one sequence, whose pages are scattered over the state.
fn case(random: &mut Random, ty: GgmlType, h: Heads, page: usize, positions: &[i32]) -> Case {
    let Heads { heads, kv_heads, k_len, v_len, latent } = h;
    let tokens = positions.len();
    let longest = positions.iter().max().map_or(1, |p| *p as usize + 1);
    let used = longest.div_ceil(page);
    // Rows of a state have room around the heads.
    let (k_row, v_row) = (3 + kv_heads * k_len, kv_heads * v_len + 2);
    let rows = (used + 3) * page;
    let mut state = |row: usize| {
        let format = Format::Ggml(ty);
        Arg::read(format, rows * row, random.weight(ty, rows * row))
    };
    let (k, v) = (state(k_row), state(v_row));
    // The sequence begins at entry 2 of the page list.
    let pages = [vec![-1, i32::MAX], random.distinct(used, used + 3)].concat();
    let args = vec![
        Arg::f32(&random.floats(tokens * heads * k_len)).per_token(heads * k_len),
        k,
        v,
        Arg::i32(positions).per_token(1),
        Arg::i32(&vec![2; tokens]).per_token(1),
        Arg::i32(&pages),
        Arg::out(Format::F32, tokens * heads * v_len).per_token(heads * v_len),
    ];
    let k = Cached { param: 1, offset: 3, row_stride: k_row, head_stride: k_len };
    let v = if latent {
        Cached { offset: 5, ..k }
    } else {
        Cached { param: 2, offset: 2, row_stride: v_row, head_stride: v_len }
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
    };
    let body = vec![Instr::Acc(0), store_to(6, &[heads * v_len, v_len], 0)];
    let kernel = kernel(&[Dim::T, Dim::Const(heads)], v_len, Anchor::Attend(Box::new(attend)), body);
    // Errors of a score are those of its sum, times the score's size, which is a few units here; weighted values
    // add theirs.
    Case::new(kernel, args, tokens, 64 + 8 * k_len + longest)
}

#[test]
fn latent_and_grouped_heads_of_any_length() {
    let (mut devices, mut random) = (Devices::all(), Random::new(1));
    for ty in [GgmlType::F32, GgmlType::F16, GgmlType::BF16] {
        for heads in [LATENT, GROUPED] {
            for last in [0, 1, 30, 31, 32, 63, 64, 150] {
                devices.check(&case(&mut random, ty, heads, 16, &[last]));
            }
        }
    }
}

#[test]
fn many_tokens_and_odd_pages() {
    let (mut devices, mut random) = (Devices::all(), Random::new(2));
    for page in [1, 7, 32, 100] {
        let chunk: Vec<i32> = (60..77).collect();
        devices.check(&case(&mut random, GgmlType::F16, LATENT, page, &chunk));
        devices.check(&case(&mut random, GgmlType::F16, GROUPED, page, &[40, 0, 99]));
    }
}

#[test]
fn one_score_far_above_the_others_and_far_below() {
    let mut random = Random::new(3);
    let mut devices = Devices::all();
    let mut case = case(&mut random, GgmlType::F32, LATENT, 16, &[99]);
    // Queries so large that every softmax is nearly one-hot, with scores of some hundreds.
    let q = case.args[0].floats(&case.args[0].bytes);
    case.args[0] = Arg::f32(&q.iter().map(|v| v * 100.0).collect::<Vec<_>>()).per_token(5 * 72);
    // An error of a score, relative to it, is multiplied by its size in the exponent.
    case.roundings *= 500;
    devices.check(&case);
}

//! Attention: latent and grouped, one position and many, pages in any order.

use std::ops::Range;

use weft_device::Device;
use weft_kern::{Access, Anchor, Attend, Cached, Dim, F32, Format, Instr, List, Param, STATE_TYPES};
use weft_quant::GgmlType;

use crate::arg::Arg;
use crate::case::{Case, load_of, part, store_to, view};
use crate::data::Random;

/// Heads, key heads, and the values of a query and of a result.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Query heads.
    pub heads: usize,
    /// Key heads.
    pub kv_heads: usize,
    /// Values of a query.
    pub k_len: usize,
    /// Values of a result.
    pub v_len: usize,
    /// Whether values are the beginning of the keys.
    pub latent: bool,
}

const PAGE: usize = 8;

/// Tokens of one sequence each, at these positions.
fn case(random: &mut Random, ty: GgmlType, shape: Shape, last: &[usize]) -> Case {
    let sequences: Vec<Range<usize>> = last.iter().map(|last| *last..last + 1).collect();
    case_of(random, ty, shape, &sequences)
}

/// A step of sequences, each with tokens at these positions.
pub fn case_of(random: &mut Random, ty: GgmlType, shape: Shape, sequences: &[Range<usize>]) -> Case {
    let Shape { heads, kv_heads, k_len, v_len, latent } = shape;
    let (mut first, mut last) = (Vec::new(), Vec::new());
    let mut needed = 0;
    for positions in sequences {
        first.extend(positions.clone().map(|_| needed as i32));
        last.extend(positions.clone());
        needed += (positions.end - 1) / PAGE + 1;
    }
    let tokens = last.len();
    let pages = random.distinct(needed, needed + 3);
    let slots = (needed + 3) * PAGE;
    let (k_row, v_row) = (kv_heads * k_len, kv_heads * v_len);
    let args = vec![
        Arg::f32(&random.floats(tokens * heads * k_len)),
        Arg::floats_of(ty, &random.floats(slots * k_row)),
        // Unused if values are in the keys.
        Arg::floats_of(if latent { GgmlType::F32 } else { ty }, &random.floats(slots * v_row)),
        Arg::i32(&last.iter().map(|p| *p as i32).collect::<Vec<_>>()),
        Arg::i32(&first),
        Arg::i32(&pages),
        Arg::out(Format::F32, tokens * heads * v_len),
        Arg::f32(&random.floats(tokens * heads * v_len)),
    ];
    let k = Cached { param: 1, offset: 0, row_stride: k_row, head_stride: k_len };
    let v = match latent {
        true => Cached { param: 1, offset: 0, row_stride: k_row, head_stride: v_len },
        false => Cached { param: 2, offset: 0, row_stride: v_row, head_stride: v_len },
    };
    let q = view(0, &[heads * k_len, k_len], 1);
    let attend = Attend {
        q,
        k,
        v,
        pos: 3,
        first: 4,
        pages: 5,
        scale: F32(1.5 / (k_len as f32).sqrt()),
        heads,
        kv_heads,
        k_len,
        page: PAGE,
        window: None,
        sinks: None,
        list: None,
        most_pages: None,
    };
    let strides = [heads * v_len, v_len];
    let body = vec![
        Instr::Acc(0),
        load_of(7, &strides, v_len),
        Instr::Binary(weft_kern::Binary::Mul, 0, 1),
        store_to(6, &strides, 2),
    ];
    let rows = [Dim::T, Dim::Const(heads)];
    // A score of a few units is a sum of many rounded products; its error shifts weights by as
    // much.
    let roundings = 64 + 8 * k_len;
    Case::new(vec![part(&rows, v_len, Anchor::Attend(Box::new(attend)), body)], args, tokens, roundings)
}

/// The same case, in which each token sees at most `window` positions, and each head has a sink.
pub fn windowed(random: &mut Random, mut case: Case, window: usize) -> Case {
    let sinks = case.args.len();
    let Anchor::Attend(attend) = &mut case.kernel.parts[0].anchor else { panic!("expected attention") };
    let values: Vec<f32> = random.floats(attend.heads).iter().map(|value| 4.0 * value).collect();
    (attend.window, attend.sinks) = (Some(window), Some(sinks));
    case.args.push(Arg::f32(&values));
    case.kernel.params.push(Param { access: Access::Read, format: Format::F32 });
    case
}

/// The same case, in which each token sees at most `most` listed positions and no window: some of those up to its own, in ascending order,
/// or all if they are no more. With pools, some entries of the longest lists do not count.
pub fn listed(random: &mut Random, mut case: Case, most: usize, pool: usize) -> Case {
    let param = case.args.len();
    let Anchor::Attend(attend) = &mut case.kernel.parts[0].anchor else { panic!("expected attention") };
    (attend.window, attend.list) = (None, Some(List { param, most, pool }));
    let positions = case.args[attend.pos].floats(&case.args[attend.pos].bytes);
    let list = |position: &f32| {
        let seen = *position as usize + 1;
        let mut list = random.distinct(weft_kern::listed(seen, most, pool), seen);
        list.sort_unstable();
        list.resize(most, -1);
        list
    };
    let lists: Vec<i32> = positions.iter().flat_map(list).collect();
    case.args.push(Arg::i32(&lists).per_token(most));
    case.kernel.params.push(Param { access: Access::Read, format: Format::I32 });
    case
}

/// A token of a case by itself.
pub fn alone(case: &Case, token: usize) -> Case {
    let mut alone = Case { tokens: 1, ..case.clone() };
    let list = case.kernel.parts[0].attention().and_then(|attend| attend.list);
    for param in [0, 3, 4, 6, 7].into_iter().chain(list.map(|list| list.param)) {
        let arg = &mut alone.args[param];
        let bytes = arg.bytes.len() / case.tokens;
        arg.bytes = arg.bytes[token * bytes..][..bytes].to_vec();
        arg.values /= case.tokens;
    }
    alone
}

/// Every cache format, with heads that share keys, or keys and values.
pub fn latent_and_grouped(device: &mut dyn Device) {
    let mut random = Random::new(1);
    let shapes = [
        Shape { heads: 5, kv_heads: 1, k_len: 72, v_len: 64, latent: true },
        Shape { heads: 20, kv_heads: 1, k_len: 576, v_len: 512, latent: true },
        Shape { heads: 6, kv_heads: 3, k_len: 32, v_len: 32, latent: false },
        Shape { heads: 8, kv_heads: 2, k_len: 64, v_len: 96, latent: false },
        Shape { heads: 2, kv_heads: 2, k_len: 7, v_len: 5, latent: false },
    ];
    for shape in shapes {
        for ty in STATE_TYPES {
            // Rows of heads of whole blocks only.
            if ![shape.k_len, shape.v_len].iter().all(|len| len.is_multiple_of(ty.block_len())) {
                continue;
            }
            case(&mut random, ty, shape, &[0]).check(device);
            case(&mut random, ty, shape, &[200, 3, 63, 64, 700, 127, 128]).check(device);
        }
    }
}

/// Many tokens take several heads at a time; the bits are those of one token.
pub fn tokens_have_the_bits_that_they_have_alone(device: &mut dyn Device) {
    let mut random = Random::new(2);
    let shape = Shape { heads: 8, kv_heads: 1, k_len: 64, v_len: 48, latent: true };
    let last: Vec<usize> = (0..330).map(|t| (500 + t) % 551).collect();
    let case = case(&mut random, GgmlType::F16, shape, &last);
    let many = case.check(device);
    let bytes = 2 * 8 * 48 * 4;
    for max in [2, 16] {
        let few = Case { tokens: 2, ..case.clone() }.run(device, max).unwrap();
        assert_eq!(many[6][..bytes], few[6][..bytes]);
    }
}

/// Prompts, replies and both in one step, of sequences of any length: the bits are those of each token alone.
pub fn prompts_and_replies(device: &mut dyn Device) {
    let mut random = Random::new(5);
    for (heads, kv_heads, latent) in [(5, 1, true), (4, 2, false)] {
        let shape = Shape { heads, kv_heads, k_len: 72, v_len: 64, latent };
        let sequences = [60..71, 0..1, 130..133, 3..140, 300..301];
        let case = case_of(&mut random, GgmlType::F16, shape, &sequences);
        let found = case.check(device);
        let row = heads * 64 * 4;
        for token in [0, 1, 10, 11, 12, 14, 15, 75, case.tokens - 2, case.tokens - 1] {
            let one = alone(&case, token).check(device);
            assert!(found[6][token * row..][..row] == one[6], "token {token} has other bits alone");
        }
    }
}

/// Prompts of heads of whole blocks of 64 values, which warpgroups multiply where there are any: the bits are those of each token
/// alone, which they do not.
pub fn prompts_in_whole_blocks(device: &mut dyn Device) {
    let several = vec![60..71, 0..1, 3..140, 300..301];
    whole_blocks(
        device,
        vec![
            (3, 1, 192, 128, several.clone()),
            (2, 1, 320, 256, vec![0..100, 700..730]),
            (2, 1, 576, 512, vec![190..260, 40..100]),
            (6, 2, 128, 128, several),
            (2, 2, 256, 256, vec![0..100, 700..730]),
        ],
    );
}

/// The same with 195 tiles of 64 rows and more, which warpgroups of up to as many multiprocessors share.
pub fn prompts_of_many_tiles(device: &mut dyn Device) {
    let several = vec![0..150, 40..200, 7..8];
    whole_blocks(
        device,
        vec![
            (40, 1, 192, 128, several.clone()),
            (40, 1, 576, 512, vec![100..230, 1400..1500]),
            (48, 8, 128, 128, several),
        ],
    );
}

/// Heads, those of keys, the values of a key and of a result, and the positions of sequences. One head of keys is latent.
type Blocks = (usize, usize, usize, usize, Vec<Range<usize>>);

fn whole_blocks(device: &mut dyn Device, cases: Vec<Blocks>) {
    let mut random = Random::new(8);
    for (heads, kv_heads, k_len, v_len, sequences) in cases {
        let shape = Shape { heads, kv_heads, k_len, v_len, latent: kv_heads == 1 };
        let case = case_of(&mut random, GgmlType::F16, shape, &sequences);
        let found = case.check(device);
        let row = heads * v_len * 4;
        for token in [0, 1, 10, 11, 12, 75, case.tokens - 2, case.tokens - 1] {
            let one = alone(&case, token).check(device);
            assert!(
                found[6][token * row..][..row] == one[6],
                "{shape:?}: token {token} has other bits alone"
            );
        }
    }
}

/// Schedules that the heuristic does not choose.
pub fn every_layout(device: &mut dyn Device) {
    let mut random = Random::new(3);
    let shape = Shape { heads: 8, kv_heads: 2, k_len: 48, v_len: 40, latent: false };
    let case = case(&mut random, GgmlType::BF16, shape, &[5, 70, 31]);
    for layout in [
        "lanes 32; attend.lanes rows 1 reduce 4 upcast 1",
        "lanes 64; attend.lanes rows 2 reduce 1 upcast 2",
        "lanes 16; attend.lanes rows 4 reduce 16 upcast 8",
        "lanes 128; attend.lanes rows 1 reduce 32 upcast 1",
    ] {
        for chunk in [5, 32, 1000] {
            let whole = case.check_with(device, &format!("{layout} chunk {chunk}"));
            let spread = case.check_with(device, &format!("{layout} chunk {chunk} spread"));
            assert!(
                whole[6] == spread[6],
                "{layout}: chunks of {chunk} give other bits when they are spread"
            );
        }
    }
}

/// Many heads of a token in one workgroup, as some GPUs have them in prompts: the bits are those of one head at a time, and of
/// chunks that have workgroups of their own, as replies have them.
pub fn many_heads_together(device: &mut dyn Device) {
    let mut random = Random::new(7);
    let sequences = [60..66, 0..1, 127..129, 200..201];
    for (ty, heads, kv_heads, v_len, window) in [
        (GgmlType::BF16, 2, 1, 512, None),
        (GgmlType::F16, 8, 2, 256, Some(100)),
        (GgmlType::BF16, 12, 2, 128, None),
        (GgmlType::F16, 10, 1, 64, Some(37)),
    ] {
        let shape = Shape { heads, kv_heads, k_len: v_len + 64, v_len, latent: kv_heads == 1 };
        let mut case = case_of(&mut random, ty, shape, &sequences);
        if let Some(window) = window {
            case = windowed(&mut random, case, window);
        }
        // Two teams of lanes, and a block of as many positions as a chunk.
        let (lanes, upcast) = (v_len / 2, 1024 / v_len);
        let layout = |rows: usize| {
            format!("lanes {lanes}; attend.lanes rows {rows} reduce 8 upcast {upcast} chunk 64")
        };
        let one = case.check_with(device, &layout(1));
        for rows in [2, heads / kv_heads] {
            assert!(case.check_with(device, &layout(rows))[6] == one[6], "{rows} heads have other bits");
        }
        let spread = case.check_with(device, &(layout(1) + " spread"));
        assert!(spread[6] == one[6], "other bits when chunks are spread");
    }
}

/// Windows of any length, anywhere in a chunk. The bits are those of each token alone, and of any way to visit chunks.
pub fn windows_and_sinks(device: &mut dyn Device) {
    let mut random = Random::new(6);
    for (heads, kv_heads, latent, window) in
        [(5, 1, true, 100), (4, 2, false, 1), (4, 2, false, 128), (8, 1, false, 37)]
    {
        let shape = Shape { heads, kv_heads, k_len: 64, v_len: 48, latent };
        let sequences = [60..71, 0..1, 130..133, 3..140, 300..301, 639..641];
        let case = case_of(&mut random, GgmlType::F16, shape, &sequences);
        let case = windowed(&mut random, case, window);
        let found = case.check(device);
        let row = heads * 48 * 4;
        for token in [0, 10, 11, 13, 15, 75, 150, case.tokens - 2, case.tokens - 1] {
            let one = alone(&case, token).check(device);
            assert!(
                found[6][token * row..][..row] == one[6],
                "window {window}: token {token} has other bits alone"
            );
        }
        for chunk in [5, 32, 1000] {
            let order = format!("lanes 64; attend.lanes rows 1 reduce 4 upcast 2 chunk {chunk}");
            let whole = case.check_with(device, &order);
            let spread = case.check_with(device, &format!("{order} spread"));
            assert!(
                whole[6] == spread[6],
                "window {window}, chunks of {chunk}: other bits when they are spread"
            );
        }
    }
}

/// Lists of any length, with positions of any page, in prompts and replies. The bits are those of each token alone, and of any way to visit
/// chunks; and wild lists harm no other token.
pub fn lists(device: &mut dyn Device) {
    let mut random = Random::new(9);
    for (ty, heads, kv_heads, latent, most) in [
        (GgmlType::F16, 5, 1, true, 100),
        (GgmlType::F32, 4, 2, false, 1),
        (GgmlType::BF16, 4, 2, false, 64),
        (GgmlType::Q8_0, 8, 1, false, 130),
        (GgmlType::Q5_1, 6, 3, false, 100),
        (GgmlType::Q4_0, 8, 1, true, 65),
    ] {
        let shape = Shape { heads, kv_heads, k_len: 64, v_len: 32, latent };
        let sequences = [60..66, 0..1, 130..133, 3..40, 300..301, 639..641];
        let case = case_of(&mut random, ty, shape, &sequences);
        let mut case = listed(&mut random, case, most, 1);
        let found = case.check(device);
        let row = heads * 32 * 4;
        for token in [0, 6, 7, 9, 40, case.tokens - 3, case.tokens - 1] {
            let one = alone(&case, token).check(device);
            assert!(
                found[6][token * row..][..row] == one[6],
                "lists of {most}: token {token} has other bits alone"
            );
        }
        for chunk in [5, 32, 1000] {
            let order = format!("lanes 64; attend.lanes rows 1 reduce 4 upcast 2 chunk {chunk}");
            let whole = case.check_with(device, &order);
            let spread = case.check_with(device, &format!("{order} spread"));
            assert!(
                whole[6] == spread[6],
                "lists of {most}, chunks of {chunk}: other bits when they are spread"
            );
        }
        let wild = [i32::MAX, i32::MIN, -1, 1 << 29, 5000];
        let lists = case.args.last_mut().unwrap();
        for (i, entry) in lists.bytes[most * 4..].chunks_exact_mut(4).enumerate() {
            entry.copy_from_slice(&wild[i % wild.len()].to_le_bytes());
        }
        let wild = case.run(device, case.tokens).unwrap();
        assert!(
            wild[6][..row] == found[6][..row],
            "lists of {most}: wild ones changed another token's result"
        );
    }
}

/// A list of all positions, for any schedule and in steps of any size.
pub fn a_list_of_all_positions_has_the_bits_of_no_list(device: &mut dyn Device) {
    let mut random = Random::new(10);
    for (heads, kv_heads, v_len) in [(8, 1, 64), (12, 2, 128), (3, 3, 40)] {
        let shape = Shape { heads, kv_heads, k_len: v_len + 64, v_len, latent: kv_heads == 1 };
        let case = case_of(&mut random, GgmlType::F16, shape, &[60..66, 0..1, 127..129, 299..300]);
        let all = listed(&mut random, case.clone(), 300, 1);
        let rows = heads / kv_heads;
        let mut schedules = vec![
            format!("lanes 64; attend.lanes rows {rows} reduce 4 upcast 2 chunk 32"),
            "lanes 128; attend.lanes rows 1 reduce 8 upcast 4 chunk 64 spread".into(),
        ];
        if rows.is_multiple_of(2) {
            // Many heads together, where a GPU has that.
            let (lanes, upcast) = (v_len / 2, 1024 / v_len);
            schedules
                .push(format!("lanes {lanes}; attend.lanes rows {rows} reduce 8 upcast {upcast} chunk 64"));
        }
        let [none, own] = [&case, &all].map(|case| case.check(device));
        assert!(none[6] == own[6], "{shape:?}: a list of all positions has other bits");
        for schedule in schedules {
            let [none, all] = [&case, &all].map(|case| case.check_with(device, &schedule));
            assert!(none[6] == all[6], "{shape:?}, {schedule}: a list of all positions has other bits");
        }
    }
}

/// Positions and pages in the data are not trusted: nothing outside of the state is read, and other
/// tokens are not affected.
pub fn wild_positions(device: &mut dyn Device) {
    let mut random = Random::new(4);
    // The second are columns for the cooperative matrices of eight subgroups.
    for (k_len, v_len) in [(32, 32), (160, 128)] {
        let shape = Shape { heads: 2, kv_heads: 1, k_len, v_len, latent: true };
        let mut case = case(&mut random, GgmlType::F16, shape, &[20, 20, 20, 20]);
        let right = case.check(device);
        let pages: Vec<i32> =
            (0..12).map(|p| if p < 3 { -7 } else { [i32::MAX, i32::MIN, 1 << 29][p % 3] }).collect();
        for (param, wild) in [(3, vec![-1, i32::MAX, i32::MIN, 20]), (4, vec![-3, i32::MAX, i32::MIN, 9])] {
            let sound = std::mem::replace(&mut case.args[param], Arg::i32(&wild));
            let found = case.run(device, 4).unwrap();
            let row = 2 * v_len * 4;
            assert_eq!(found[6][3 * row..], right[6][3 * row..]);
            case.args[param] = sound;
        }
        case.args[5] = Arg::i32(&pages);
        case.run(device, 4).unwrap();
    }
}

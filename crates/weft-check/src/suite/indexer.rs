//! The choice of positions by scores of a few small heads.
//!
//! Where all sums are exact, lists are compared with the interpreter's with `==`: many scores are then equal. Otherwise a list must have
//! the highest scores within the errors of sums in `f32`. Keys that no token may see are NaN.

use std::ops::Range;

use weft_device::Device;
use weft_kern::{Anchor, Cached, Dim, Format, Indexer, Instr, STATE_TYPES};
use weft_quant::GgmlType;

use crate::arg::Arg;
use crate::case::{Case, part, store_to, view};
use crate::data::Random;

/// Heads, the values of a key, the number of chosen positions, and those of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Heads.
    pub heads: usize,
    /// Values of a query and of a key.
    pub k_len: usize,
    /// Chosen positions.
    pub most: usize,
    /// The positions that share a key; 1 if each has its own.
    pub pool: usize,
}

impl Shape {
    /// The positions of a list.
    fn listed(&self) -> usize {
        self.most + self.pool - 1
    }
}

const PAGE: usize = 16;

/// The parameters with positions, the beginnings of pages, pages, and lists.
const POS: usize = 3;
const FIRST: usize = 4;
const PAGES: usize = 5;
const LISTS: usize = 6;

/// A step of sequences, each with tokens at these positions. `value` draws queries, weights and keys.
fn of_values(
    random: &mut Random,
    (ty, shape): (GgmlType, Shape),
    sequences: &[Range<usize>],
    value: &mut dyn FnMut(&mut Random) -> f32,
) -> Case {
    let Shape { heads, k_len, pool, .. } = shape;
    let most = shape.listed();
    let (mut first, mut positions) = (Vec::new(), Vec::new());
    let needed: usize = sequences.iter().map(|own| own.end.div_ceil(PAGE)).sum();
    let pages = random.distinct(needed, needed + 3);
    let mut seen = vec![false; (needed + 3) * PAGE];
    let mut from = 0;
    for own in sequences {
        first.extend(own.clone().map(|_| from as i32));
        positions.extend(own.clone().map(|p| p as i32));
        (0..own.end).for_each(|p| seen[pages[from + p / PAGE] as usize * PAGE + p % PAGE] = true);
        from += own.end.div_ceil(PAGE);
    }
    // Keys begin within a row, and after whole blocks.
    let before = if ty.block_len() > 1 { ty.block_len() } else { 8 };
    let row = before + k_len;
    let keys: Vec<f32> = (0..seen.len() * row).map(|_| value(random)).collect();
    let mut keys = Arg::floats_of(ty, &keys);
    let bytes = keys.bytes.len() / seen.len();
    let rows = keys.bytes.chunks_exact_mut(bytes).zip(&seen);
    rows.filter(|(_, seen)| !**seen).for_each(|(row, _)| row.fill(0xff));
    let tokens = positions.len();
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
        k: Cached { param: 2, offset: before, row_stride: row, head_stride: k_len },
        pos: POS,
        first: FIRST,
        pages: PAGES,
        heads,
        k_len,
        page: PAGE,
        pool,
        most_pages: None,
    };
    let body = vec![Instr::Acc(0), store_to(LISTS, &[most], 0)];
    Case::new(vec![part(&[Dim::T], most, Anchor::Indexer(Box::new(indexer)), body)], args, tokens, 0)
}

/// A step of sequences, with small whole numbers: all sums are exact.
pub fn exact(random: &mut Random, ty: GgmlType, shape: Shape, sequences: &[Range<usize>]) -> Case {
    of_values(random, (ty, shape), sequences, &mut |random| random.below(5) as f32 - 2.0)
}

/// The same with floats.
fn floats(random: &mut Random, ty: GgmlType, shape: Shape, sequences: &[Range<usize>]) -> Case {
    of_values(random, (ty, shape), sequences, &mut Random::float)
}

/// Runs it, and checks that each list has the highest scores, as exact as sums in `f32` are.
fn check(device: &mut dyn Device, case: &Case) -> Vec<Vec<u8>> {
    let found = case.run(device, case.tokens).unwrap();
    let indexer = case.kernel.parts[0].indexer().unwrap();
    let (most, pool) = (case.kernel.parts[0].cols, indexer.pool);
    let [q, w, k] = [0, 1, 2].map(|p| case.args[p].floats(&case.args[p].bytes));
    let ints = |p: usize| case.args[p].floats(&case.args[p].bytes).into_iter().map(|n| n as usize);
    let [positions, first, pages] = [POS, FIRST, PAGES].map(|p| ints(p).collect::<Vec<_>>());
    let lists = case.args[LISTS].floats(&found[LISTS]);
    let (heads, k_len) = (indexer.heads, indexer.k_len);
    for token in 0..case.tokens {
        let seen = positions[token] + 1;
        // The score of each position or complete pool, and its largest error.
        let score = |i: usize| {
            let p = (i + 1) * pool - 1;
            let row = pages[first[token] + p / PAGE] * PAGE + p % PAGE;
            let key = &k[row * indexer.k.row_stride + indexer.k.offset..][..k_len];
            let (mut score, mut error) = (0.0f64, 0.0f64);
            for h in 0..heads {
                let query = &q[(token * heads + h) * k_len..][..k_len];
                let products = query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k));
                let (sum, size) = products.fold((0.0, 0.0), |(sum, size), p| (sum + p, size + p.abs()));
                let weight = f64::from(w[token * heads + h]);
                score += weight * f64::max(sum, 0.0);
                error += weight.abs() * size * (k_len + heads + 1) as f64 * f64::from(f32::EPSILON);
            }
            (score, error)
        };
        let scores: Vec<(f64, f64)> = (0..seen / pool).map(score).collect();
        let list = &lists[token * most..][..most];
        let (chosen, rest) = list.split_at(weft_kern::listed(seen, most, pool));
        let mut is_chosen = vec![false; seen / pool];
        let of_pools = indexer.chosen(most).min(seen / pool);
        for (i, p) in chosen.iter().enumerate() {
            match is_chosen.get_mut(*p as usize / pool) {
                // A pool has all its positions, one after another.
                Some(is) => {
                    *is = true;
                    assert!(
                        i < of_pools * pool && *p as usize % pool == i % pool,
                        "entry {i} of token {token}"
                    );
                }
                None => assert_eq!(*p as usize, seen / pool * pool + i - of_pools * pool, "token {token}"),
            }
        }
        let place = format!("token {token} of {:?}: {list:?}", case.kernel);
        assert!(chosen.is_sorted_by(|a, b| a < b) && rest.iter().all(|p| *p == -1.0), "{place}");
        let of = |wanted: bool| scores.iter().zip(&is_chosen).filter(move |(_, is)| **is == wanted);
        let least = of(true).map(|((score, error), _)| score + error).fold(f64::INFINITY, f64::min);
        let top = of(false).map(|((score, error), _)| score - error).fold(f64::NEG_INFINITY, f64::max);
        assert!(least >= top, "{place}: {least} was chosen, and {top} was not");
    }
    found
}

/// Every type of keys but blocks, lengths around the number of chosen positions and around chunks. Many scores are equal, and the lower
/// positions are chosen. A token's list is the same alone.
pub fn exact_scores(device: &mut dyn Device) {
    let mut random = Random::new(1);
    for (ty, heads, k_len) in [(GgmlType::F16, 4, 64), (GgmlType::BF16, 3, 12), (GgmlType::F32, 13, 7)] {
        for most in [1, 64, 200] {
            let shape = Shape { heads, k_len, most, pool: 1 };
            let at = |p: usize| p..p + 1;
            let sequences = [at(0), at(most - 1), at(most), at(most + 1), at(127), at(128), at(700)];
            exact(&mut random, ty, shape, &sequences).check_with_tokens_alone(device);
        }
    }
    // Scores that are all 0, because no head likes a key.
    let shape = Shape { heads: 2, k_len: 32, most: 50, pool: 1 };
    let mut case = of_values(&mut random, (GgmlType::F16, shape), &[500..501, 60..61], &mut |_| -1.0);
    case.args[0] = Arg::f32(&vec![1.0; 2 * 2 * 32]).per_token(2 * 32);
    let found = case.check(device);
    let first: Vec<f32> = (0..50).map(|position| position as f32).collect();
    assert_eq!(case.args[LISTS].floats(&found[LISTS]), first.repeat(2));
}

/// Floats, in states of every type.
pub fn any_scores(device: &mut dyn Device) {
    let mut random = Random::new(2);
    let sequences = [20..21, 300..301, 1999..2000];
    for ty in STATE_TYPES {
        for (heads, k_len, most) in [(8, 64, 20), (5, 96, 129)] {
            check(device, &floats(&mut random, ty, Shape { heads, k_len, most, pool: 1 }, &sequences));
        }
    }
    // Longer keys than matrix units take.
    let shape = Shape { heads: 3, k_len: 512, most: 20, pool: 1 };
    check(device, &floats(&mut random, GgmlType::F16, shape, &[300..301, 40..41]));
    // The sizes of GLM-5 and DeepSeek-V3.2.
    for heads in [32, 64] {
        let shape = Shape { heads, k_len: 128, most: 2048, pool: 1 };
        check(device, &floats(&mut random, GgmlType::F16, shape, &[2500..2502, 900..901]));
    }
}

/// Prompts, replies and both in one step: lists are those of each token alone, whether the chunks of a step have workgroups or not.
pub fn prompts_and_replies(device: &mut dyn Device) {
    let mut random = Random::new(3);
    let shape = Shape { heads: 6, k_len: 40, most: 33, pool: 1 };
    let sequences = [90..150, 600..601, 3..4, 30..36, 130..132];
    let case = floats(&mut random, GgmlType::F16, shape, &sequences);
    let all = check(device, &case);
    for token in [0, 30, 59, 60, 61, 62, 65, 67, case.tokens - 1] {
        let alone = case.of_tokens(token..token + 1).run(device, 1).unwrap();
        let own = case.args[LISTS].of_tokens(&all[LISTS], token..token + 1);
        assert!(own.as_ref() == Some(&alone[LISTS]), "token {token} has another list alone");
    }
    // The same bits with as many workgroups as tokens, and in one step of several tokens.
    let few = case.of_tokens(58..64);
    assert!(
        case.args[LISTS].of_tokens(&all[LISTS], 58..64) == Some(few.run(device, 6).unwrap()[LISTS].clone())
    );
}

/// Pools of positions: lengths around complete pools and around the number of chosen positions, prompts, and the sizes of GLM-5.3-Flash.
pub fn pools(device: &mut dyn Device) {
    let mut random = Random::new(6);
    for (ty, pool, most) in [
        (GgmlType::F16, 4, 16),
        (GgmlType::F32, 2, 10),
        (GgmlType::BF16, 8, 8),
        (GgmlType::Q8_0, 4, 12),
        (GgmlType::Q5_1, 2, 14),
        (GgmlType::Q4_0, 4, 8),
    ] {
        let shape = Shape { heads: 5, k_len: 32, most, pool };
        let at = |p: usize| p..p + 1;
        let few = (0..=pool).map(|p| at(most + p - 1)).chain([at(0), at(pool - 1), at(700)]);
        let sequences: Vec<Range<usize>> = few.chain(std::iter::once(3..60)).collect();
        if ty.is_quantised() {
            check(device, &floats(&mut random, ty, shape, &sequences));
        } else {
            exact(&mut random, ty, shape, &sequences).check_with_tokens_alone(device);
        }
        check(device, &floats(&mut random, ty, shape, &[900..903, 30..31]));
    }
    let shape = Shape { heads: 32, k_len: 128, most: 2048, pool: 4 };
    check(device, &floats(&mut random, GgmlType::F16, shape, &[2500..2506, 2049..2052, 900..901]));
}

/// Schedules that the heuristic does not choose.
pub fn every_layout(device: &mut dyn Device) {
    let mut random = Random::new(4);
    let shape = Shape { heads: 6, k_len: 48, most: 37, pool: 1 };
    let case = exact(&mut random, GgmlType::F16, shape, &[300..303, 20..21, 36..38]);
    for (lanes, upcast) in [(256, 1), (64, 3), (128, 8), (32, 8)] {
        let chunk = lanes * upcast;
        let layout = format!("lanes {lanes}; indexer.lanes reduce 1 upcast {upcast} chunk {chunk}");
        let [in_turn, spread] =
            ["", " spread"].map(|spread| case.check_with(device, &format!("{layout}{spread}")));
        assert!(in_turn[LISTS] == spread[LISTS], "{layout}: other lists when chunks have workgroups");
    }
}

/// More positions than the lanes of a workgroup hold, with candidates and without: as many as are chosen or few more, ties across slices,
/// no key that differs, a shortest slice, and pools. Lists are those of workgroups that read all keys.
pub fn candidates(device: &mut dyn Device) {
    let mut random = Random::new(7);
    // There are fewer blocks than chosen positions in the second, and in the shortest contexts of the last.
    for (lanes, upcast, pool, most) in [(32, 2, 1, 20), (32, 2, 1, 300), (64, 1, 1, 100), (32, 8, 2, 22)] {
        let held = 64 * lanes;
        let shape = Shape { heads: 2, k_len: 8, most, pool };
        let sequences: Vec<Range<usize>> = [held - 1, held, held + 1, held + 4 * lanes, 2 * held + 77]
            .into_iter()
            .map(|seen| pool * seen - 1..pool * seen)
            .chain(std::iter::once(40..41))
            .collect();
        let layout =
            format!("lanes {lanes}; indexer.lanes reduce 1 upcast {upcast} chunk {}", lanes * upcast);
        let lists = |device: &mut dyn Device, case: &Case| {
            let [in_turn, spread, narrow] = ["", " spread", " spread narrow"]
                .map(|how| case.check_with(device, &format!("{layout}{how}")).swap_remove(LISTS));
            assert!(in_turn == spread && spread == narrow, "{layout}: other lists");
        };
        lists(device, &exact(&mut random, GgmlType::F16, shape, &sequences));
        // The highest scores are in a few slices.
        let mut rows = 0.0;
        let rising = &mut |random: &mut Random| {
            rows += 1.0;
            if random.below(3) == 0 { 1.0 } else { (rows / 256.0f32).floor() % 97.0 }
        };
        lists(device, &of_values(&mut random, (GgmlType::F32, shape), &sequences, rising));
        lists(device, &of_values(&mut random, (GgmlType::F16, shape), &sequences, &mut |_| 1.0));
    }
    // The heuristic's schedule.
    let shape = Shape { heads: 2, k_len: 64, most: 2048, pool: 1 };
    check(device, &floats(&mut random, GgmlType::F16, shape, &[19_999..20_000, 3000..3001]));
}

/// Scores on matrix units, by schedules that the heuristic does not choose: numbers of heads that fill no tile, keys of an odd and of an
/// even number of steps, and pools. Sums are exact, or the lists of all schedules are the same.
pub fn layouts_on_units(device: &mut dyn Device) {
    let mut random = Random::new(8);
    for (heads, k_len, most, pool) in [(1, 32, 37, 1), (5, 96, 33, 1), (16, 64, 64, 1), (33, 128, 20, 4)] {
        let shape = Shape { heads, k_len, most, pool };
        let sequences = [300..303, 20..21, 36..38, 2600..2601];
        let cases = [exact, floats].map(|of| of(&mut random, GgmlType::F16, shape, &sequences));
        for (case, is_exact) in cases.iter().zip([true, false]) {
            let mut first: Option<Vec<u8>> = None;
            for (lanes, upcast) in [(256, 1), (64, 3), (128, 4), (32, 2)] {
                let layout =
                    format!("lanes {lanes}; indexer.units upcast {upcast} chunk {}", lanes / 4 * upcast);
                for how in ["", " spread", " spread narrow"] {
                    let layout = format!("{layout}{how}");
                    let found = match is_exact {
                        true => case.check_with(device, &layout),
                        false => case.run_with(device, &layout),
                    };
                    let first = first.get_or_insert_with(|| found[LISTS].clone());
                    assert!(*first == found[LISTS], "{layout}: other lists");
                }
            }
        }
        check(device, &cases[1]);
    }
}

/// Positions and pages in the data are not trusted: nothing outside of the state is read, and other tokens are not affected.
pub fn wild_positions(device: &mut dyn Device) {
    let mut random = Random::new(5);
    let shape = Shape { heads: 3, k_len: 32, most: 10, pool: 1 };
    let mut case = exact(&mut random, GgmlType::F16, shape, &[20..21, 60..61, 40..41, 50..51]);
    let right = case.check(device);
    let own = |found: &[Vec<u8>]| found[LISTS][3 * 10 * 4..].to_vec();
    let first = case.args[FIRST].floats(&case.args[FIRST].bytes)[3] as i32;
    for (param, last) in [(POS, 50), (FIRST, first)] {
        let wild = Arg::i32(&[-1, i32::MAX, i32::MIN, last]).per_token(1);
        let sound = std::mem::replace(&mut case.args[param], wild);
        let found = case.run(device, 4).unwrap();
        assert!(own(&found) == own(&right), "wild positions changed another token's list");
        case.args[param] = sound;
    }
    let pages: Vec<i32> =
        (0..case.args[PAGES].values).map(|p| [-7, i32::MAX, i32::MIN, 1 << 29][p % 4]).collect();
    case.args[PAGES] = Arg::i32(&pages);
    case.run(device, 4).unwrap();
}

//! Walks over the rows of sequences, which carry a state from row to row.
//!
//! Where every operation is defined to the bit, results are compared with `==`. The delta rule has sums, whose order a device chooses:
//! its results stay within their bars, and have the same bits for any steps and company.

use weft_device::{Device, DeviceError};
use weft_kern::{
    Access, Anchor, Binary, DeltaRule, Dim, F32, Format, Instr, KEPT, Param, Reduce, Scan, ScanRule,
    ScanState, Unary, View,
};

use crate::arg::Arg;
use crate::case::{Case, load_of, part, store_to, view};
use crate::data::Random;

/// A sequence's rows in a step, the state that it begins with, and the one that it writes.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    rows: usize,
    from: i32,
    to: i32,
    /// The number of rows after which the state is written, and of kept rows that it begins with.
    certain: usize,
    kept: usize,
}

/// One whose rows are all certain.
const fn on(rows: usize, from: i32, to: i32) -> Sequence {
    Sequence { rows, from, to, certain: rows, kept: 0 }
}

/// A sequence with guesses, after the kept rows of the step before.
const fn guess(rows: usize, from: i32, to: i32, [certain, kept]: [usize; 2]) -> Sequence {
    Sequence { rows, from, to, certain, kept }
}

/// States that there is room for.
const STATES: usize = 12;

/// The parameters: five operands at most, the state, the lists, and the results.
const STATE: usize = 5;
const LISTS: usize = 6;
const Y: usize = 11;

/// The size of a test: heads, and the values of each.
#[derive(Clone, Copy, Debug)]
struct Size {
    rule: Rule,
    heads: usize,
    cols: usize,
}

/// A recurrence, and the sizes of its operands.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Rule {
    Decay,
    Convolution { taps: usize },
    Delta { keys: usize, inner: usize, channels: bool, tiled: bool, corrects: bool },
}

impl Size {
    /// The values of a row of the results.
    const fn width(self) -> usize {
        self.heads * self.cols
    }

    /// The layout of a sequence's state.
    fn layout(self) -> ScanState {
        let (width, kept) = match self.rule {
            Rule::Decay => (self.cols, self.cols + 1),
            Rule::Convolution { taps } => ((taps - 1) * self.cols, self.cols),
            Rule::Delta { inner, channels, .. } => {
                (inner * self.cols, inner + self.cols + if channels { inner } else { 1 } + 1)
            }
        };
        ScanState { heads: self.heads, width, kept }
    }

    /// The values of a sequence in the states.
    fn state(self) -> usize {
        self.layout().values().unwrap()
    }

    /// The values of each operand for a token; weights have none.
    fn operands(self) -> Vec<usize> {
        match self.rule {
            Rule::Decay => vec![self.width(), self.heads],
            Rule::Convolution { .. } => vec![self.width(), 0],
            Rule::Delta { keys, inner, channels, .. } => {
                let decays = if channels { self.heads * inner } else { self.heads };
                vec![keys * inner, keys * inner, self.width(), decays, self.heads]
            }
        }
    }

    /// The operands of `tokens` rows, and the weights.
    fn rows(self, random: &mut Random, tokens: usize) -> Vec<Vec<f32>> {
        let mut all: Vec<Vec<f32>> = self.operands().iter().map(|n| random.floats(tokens * n)).collect();
        let decays = |all: &mut Vec<f32>| all.iter_mut().for_each(|v| *v = 0.5 + 0.5 * v.abs().min(1.0));
        match self.rule {
            Rule::Decay => decays(&mut all[1]),
            Rule::Convolution { taps } => all[1] = random.floats(self.width() * taps),
            Rule::Delta { inner, .. } => {
                decays(&mut all[3]);
                decays(&mut all[4]);
                // Keys and queries are short, as those that are normalised.
                for operand in [0, 1] {
                    all[operand].iter_mut().for_each(|v| *v /= (inner as f32).sqrt());
                }
            }
        }
        all
    }

    /// The operands of some rows.
    fn part(self, all: &[Vec<f32>], rows: std::ops::Range<usize>) -> Vec<Vec<f32>> {
        let each = all.iter().zip(self.operands());
        each.map(|(all, n)| if n == 0 { all.clone() } else { all[rows.start * n..rows.end * n].to_vec() })
            .collect()
    }

    /// A scan whose results are stored as they are.
    fn case(self, rows: &[Vec<f32>], states: &[f32], sequences: &[Sequence]) -> Case {
        let Size { heads, cols, .. } = self;
        let body = vec![Instr::Acc(0), store_to(Y, &[heads * cols, cols], 0)];
        let anchor = self.scan(view(0, &[heads * cols, cols], 1));
        let args = self.args(rows, states, sequences);
        // The roundings of the sums, and of the states that rows pass.
        let roundings = match self.rule {
            Rule::Delta { inner, .. } => 16 + 2 * inner + 4 * (tokens(sequences) + KEPT),
            _ => 0,
        };
        Case::new(
            vec![part(&[Dim::T, Dim::Const(heads)], cols, anchor, body)],
            args,
            tokens(sequences),
            roundings,
        )
    }

    /// The anchor; `x` is the first operand of rules that have one a head.
    fn scan(self, x: View) -> Anchor {
        let Size { heads, cols, .. } = self;
        let rule = match self.rule {
            Rule::Decay => ScanRule::Decay { x, decay: view(1, &[heads, 1], 0) },
            Rule::Convolution { taps } => ScanRule::Convolution { x, w: 1, taps },
            Rule::Delta { keys, inner, channels, tiled, corrects } => {
                let decays = if channels { inner } else { 1 };
                ScanRule::Delta(Box::new(DeltaRule {
                    q: view(0, &[keys * inner, inner], 1),
                    k: view(1, &[keys * inner, inner], 1),
                    v: view(2, &[heads * cols, cols], 1),
                    decay: view(3, &[heads * decays, decays], usize::from(channels)),
                    beta: view(4, &[heads, 1], 0),
                    keys,
                    inner,
                    channels,
                    tiled,
                    corrects,
                }))
            }
        };
        let [ends, from, to, certain, kept] = [0, 1, 2, 3, 4].map(|list| LISTS + list);
        Anchor::Scan(Box::new(Scan { rule, state: STATE, ends, from, to, certain, kept, heads }))
    }

    fn args(self, rows: &[Vec<f32>], states: &[f32], sequences: &[Sequence]) -> Vec<Arg> {
        let mut end = 0;
        let ends = sequences.iter().map(|sequence| {
            end += sequence.rows as i32;
            end
        });
        let ends: Vec<i32> = ends.collect();
        let list = |of: fn(&Sequence) -> i32| Arg::i32(&sequences.iter().map(of).collect::<Vec<_>>());
        // Rules with fewer operands leave the others unread.
        let operands = (0..STATE).map(|i| Arg::f32(rows.get(i).map_or(&[0.0], Vec::as_slice)));
        let y = Arg::out(Format::F32, tokens(sequences) * self.width());
        let lists = [
            Arg::i32(&ends),
            list(|s| s.from),
            list(|s| s.to),
            list(|s| s.certain as i32),
            list(|s| s.kept as i32),
        ];
        operands.chain([Arg::state(states)]).chain(lists).chain([y]).collect()
    }

    /// Walks one sequence from state 0 in steps of `most` rows. Returns the states and all results.
    fn walk(self, device: &mut dyn Device, all: &[Vec<f32>], tokens: usize, most: usize) -> [Vec<u8>; 2] {
        let mut states = vec![0.0; STATES * self.state()];
        let mut y = Vec::new();
        for begin in (0..tokens).step_by(most) {
            let rows = begin..tokens.min(begin + most);
            let from = if begin == 0 { -1 } else { 3 };
            let case = self.case(&self.part(all, rows.clone()), &states, &[on(rows.len(), from, 3)]);
            let found = self.check(device, &case);
            states = case.args[STATE].floats(&found[STATE]);
            y.extend_from_slice(&found[Y]);
        }
        [Arg::f32(&states[3 * self.state()..][..self.layout().proper().unwrap()]).bytes, y]
    }

    /// Walks one sequence from state 0 in steps of a certain row and `depth` guesses, of which `right` gives the number that are right
    /// in each step. Returns its state and all results.
    fn walk_with_guesses(
        self,
        device: &mut dyn Device,
        all: &[Vec<f32>],
        (tokens, depth): (usize, usize),
        mut right: impl FnMut() -> usize,
    ) -> [Vec<u8>; 2] {
        let mut random = Random::new(36);
        let mut states = random.floats(STATES * self.state());
        let (mut y, mut done, mut kept, mut to) = (Vec::new(), 0, 0, 3);
        while done < tokens {
            // The last step has one row and no guesses, so that its state is that after all rows.
            let right = right().min((tokens - done).saturating_sub(2));
            let depth = if done + 1 == tokens { 0 } else { depth };
            let mut rows = self.part(all, done..done + 1 + right);
            let wrong = self.rows(&mut random, depth - right);
            for ((rows, wrong), n) in rows.iter_mut().zip(&wrong).zip(self.operands()) {
                rows.extend(wrong.iter().take(if n == 0 { 0 } else { usize::MAX }));
            }
            let from = if done == 0 { -1 } else { to };
            to = 7 - to;
            let case = self.case(&rows, &states, &[guess(1 + depth, from, to, [1, kept])]);
            let found = self.check(device, &case);
            states = case.args[STATE].floats(&found[STATE]);
            y.extend_from_slice(&found[Y][..4 * (1 + right) * self.width()]);
            done += 1 + right;
            kept = right;
        }
        assert_eq!(kept, 0);
        [Arg::f32(&states[to as usize * self.state()..][..self.layout().proper().unwrap()]).bytes, y]
    }

    /// Runs a case, whose results have to be the interpreter's, or within their bars if there are sums.
    fn check(self, device: &mut dyn Device, case: &Case) -> Vec<Vec<u8>> {
        let found = case.check(device);
        let exact = !matches!(self.rule, Rule::Delta { .. });
        let results = case.oracle().into_iter().enumerate().filter(|(p, _)| exact && [STATE, Y].contains(p));
        for (p, expected) in results {
            assert!(found[p] == expected, "p{p} has other bits\n{:?}", case.kernel);
        }
        found
    }
}

fn tokens(sequences: &[Sequence]) -> usize {
    sequences.iter().map(|sequence| sequence.rows).sum()
}

const fn decay(heads: usize, cols: usize) -> Size {
    Size { rule: Rule::Decay, heads, cols }
}

const fn convolution(heads: usize, cols: usize, taps: usize) -> Size {
    Size { rule: Rule::Convolution { taps }, heads, cols }
}

const fn delta(heads: usize, cols: usize, keys: usize, inner: usize) -> Size {
    Size { rule: Rule::Delta { keys, inner, channels: false, tiled: false, corrects: true }, heads, cols }
}

/// The same without the delta rule's correction.
const fn linear(heads: usize, cols: usize, keys: usize, inner: usize) -> Size {
    Size { rule: Rule::Delta { keys, inner, channels: false, tiled: false, corrects: false }, heads, cols }
}

/// The same with value heads that are tiled, and a decay for each key channel.
const fn tiled(size: Size) -> Size {
    match size.rule {
        Rule::Delta { keys, inner, .. } => {
            Size { rule: Rule::Delta { keys, inner, channels: true, tiled: true, corrects: true }, ..size }
        }
        _ => size,
    }
}

const SIZES: [Size; 17] = [
    decay(1, 1),
    decay(3, 5),
    decay(5, 32),
    decay(2, 129),
    decay(16, 128),
    convolution(1, 1, 2),
    convolution(3, 40, 4),
    convolution(2, 129, 3),
    delta(1, 1, 1, 1),
    delta(6, 5, 2, 16),
    delta(2, 64, 1, 128),
    tiled(delta(6, 7, 2, 17)),
    tiled(delta(4, 16, 4, 33)),
    delta(3, 4, 3, 40),
    linear(6, 5, 2, 16),
    linear(4, 64, 1, 128),
    linear(3, 7, 3, 17),
];

/// One of each rule.
const SOME: [Size; 5] = [SIZES[1], SIZES[6], SIZES[9], SIZES[11], SIZES[14]];

/// Sequences that begin, go on in place, fork, leave their state as it was, or have guesses.
const COMPANY: [&[Sequence]; 6] = [
    &[on(1, -1, 0)],
    &[on(1, 4, 4), on(1, -1, 8), on(1, 2, 3)],
    &[on(7, 1, 2), on(1, 5, 6), on(64, -1, 0)],
    &[
        on(17, 1, 1),
        on(1, 7, 3),
        on(2, 7, 4),
        on(1, -1, 0),
        on(5, -1, 2),
        on(1, 8, 8),
        on(3, 9, 5),
        on(33, 6, 6),
    ],
    &[guess(1, 1, 2, [1, 3])],
    &[
        guess(5, 1, 2, [1, 2]),
        guess(1, 5, 6, [1, 4]),
        guess(3, -1, 0, [2, 0]),
        guess(24, 9, 3, [17, 1]),
        guess(2, 10, 10, [1, 0]),
        guess(7, 11, 4, [3, 4]),
    ],
];

/// Heads and values of any number, and sequences of any length.
pub fn sequences_side_by_side(device: &mut dyn Device) {
    let mut random = Random::new(31);
    for size in SIZES {
        for sequences in COMPANY {
            let rows = size.rows(&mut random, tokens(sequences));
            let states = random.floats(STATES * size.state());
            size.check(device, &size.case(&rows, &states, sequences));
        }
    }
}

/// A sequence has the same bits however its rows are cut into steps.
pub fn any_steps_have_the_same_bits(device: &mut dyn Device) {
    let mut random = Random::new(32);
    for size in SOME {
        let rows = size.rows(&mut random, 71);
        let whole = size.walk(device, &rows, 71, 71);
        for most in [1, 7, 64] {
            assert!(size.walk(device, &rows, 71, most) == whole, "{size:?}: steps of {most} give other bits");
        }
    }
}

/// Any numbers of certain and of kept rows.
pub fn any_rows_are_kept(device: &mut dyn Device) {
    let mut random = Random::new(37);
    for size in SIZES {
        for _ in 0..3 {
            let sequences: Vec<Sequence> = (0..1 + random.below(4) as i32)
                .map(|q| {
                    let rows = 1 + random.below(9);
                    let from = if random.below(4) == 0 { -1 } else { 2 * q };
                    let kept = if from < 0 { 0 } else { random.below(KEPT + 1) };
                    guess(rows, from, 2 * q + 1, [1 + random.below(rows), kept])
                })
                .collect();
            let rows = size.rows(&mut random, tokens(&sequences));
            let states = random.floats(STATES * size.state());
            size.check(device, &size.case(&rows, &states, &sequences));
        }
    }
}

/// A sequence has the same bits with guesses that are right or wrong, and without.
pub fn guesses_change_no_bit(device: &mut dyn Device) {
    let mut random = Random::new(38);
    for size in SOME {
        let rows = size.rows(&mut random, 13);
        let whole = size.walk(device, &rows, 13, 13);
        for depth in 1..=KEPT {
            for right in 0..=depth {
                let found = size.walk_with_guesses(device, &rows, (13, depth), || right);
                assert!(found == whole, "{size:?}: {right} of {depth} guesses give other bits");
            }
            let found = size.walk_with_guesses(device, &rows, (13, depth), || random.below(depth + 1));
            assert!(found == whole, "{size:?}: some of {depth} guesses give other bits");
        }
    }
}

/// A sequence has the bits that it has alone.
pub fn company_changes_no_bit(device: &mut dyn Device) {
    let mut random = Random::new(33);
    for (size, sequences) in SOME.iter().flat_map(|size| [(*size, COMPANY[3]), (*size, COMPANY[5])]) {
        let states = random.floats(STATES * size.state());
        let all = size.rows(&mut random, tokens(sequences));
        let together = size.check(device, &size.case(&all, &states, sequences));
        let (mut begin, width) = (0, size.width());
        for sequence in sequences {
            let own = begin..begin + sequence.rows;
            let case = size.case(&size.part(&all, own.clone()), &states, &[*sequence]);
            let alone = size.check(device, &case);
            assert!(alone[Y] == together[Y][4 * own.start * width..4 * own.end * width], "{size:?}");
            let to = sequence.to as usize;
            let state = 4 * to * size.state()..4 * (to + 1) * size.state();
            assert!(alone[STATE][state.clone()] == together[STATE][state], "{size:?}");
            begin = own.end;
        }
    }
}

/// Rows that lie apart in memory, and a row program that needs whole rows: a gated norm.
pub fn a_row_program_over_parts_of_rows(device: &mut dyn Device) {
    let mut random = Random::new(34);
    for size in [decay(3, 40), convolution(3, 40, 4)] {
        let (sequences, wide) = (COMPANY[2], 2 * size.width() + 7);
        let tokens = tokens(sequences);
        let mut all = size.rows(&mut random, tokens);
        all[0] = random.floats(tokens * wide);
        let anchor = size.scan(View { param: 0, offset: 3, strides: vec![wide, 2 * size.cols], step: 2 });
        let body = vec![
            Instr::Acc(0),
            Instr::Binary(Binary::Mul, 0, 0),
            Instr::Reduce(Reduce::Sum, 1),
            Instr::Const(F32(1.0)),
            Instr::Binary(Binary::Add, 2, 3),
            Instr::Unary(Unary::Rsqrt, 4),
            Instr::Binary(Binary::Mul, 0, 5),
            load_of(Y + 1, &[size.width(), size.cols], size.cols),
            Instr::Unary(Unary::Silu, 7),
            Instr::Binary(Binary::Mul, 6, 8),
            store_to(Y, &[size.width(), size.cols], 9),
        ];
        let states = random.floats(STATES * size.state());
        let mut args = size.args(&all, &states, sequences);
        args.push(Arg::f32(&random.floats(tokens * size.width())));
        let rows = [Dim::T, Dim::Const(size.heads)];
        Case::new(vec![part(&rows, size.cols, anchor, body)], args, tokens, 64).check(device);
    }
}

/// Lists that are not sound are an error, and write nothing.
pub fn hostile_lists_are_refused(device: &mut dyn Device) {
    let mut random = Random::new(35);
    for size in SOME {
        let rows = size.rows(&mut random, 4);
        let states = random.floats(STATES * size.state());
        let sound = size.case(&rows, &states, &[on(3, 1, 2), on(1, -1, 0)]);
        size.check(device, &sound);
        let most = STATES as i32;
        for (list, values) in [
            (0, [3, 5]),
            (0, [3, 3]),
            (0, [0, 4]),
            (0, [4, 4]),
            (0, [5, 4]),
            (0, [-1, 4]),
            (1, [most, -1]),
            (1, [1, 2]),
            (2, [2, 2]),
            (2, [most, 0]),
            (2, [-1, 0]),
            (2, [i32::MAX, 0]),
            (3, [0, 1]),
            (3, [4, 1]),
            (3, [3, -1]),
            (4, [KEPT as i32 + 1, 0]),
            (4, [-1, 0]),
            (4, [0, 1]),
        ] {
            let mut case = sound.clone();
            case.args[LISTS + list] = Arg::i32(&values);
            let refused = case.run(device, case.tokens);
            let is_index = matches!(refused, Err(DeviceError::Index { .. }));
            assert!(is_index, "{size:?}, list {list} = {values:?}: {refused:?}");
        }
        let state = Param { access: Access::Write, format: Format::F32 };
        let mut wrong = sound.kernel.clone();
        wrong.params[STATE] = state;
        let values: Vec<usize> = sound.args.iter().map(|arg| arg.values).collect();
        let refused = weft_kern::verify_call(&wrong, &values, &sound.sizes());
        assert!(refused.is_err(), "a state that is only written");
    }
}

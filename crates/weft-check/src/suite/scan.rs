//! Walks over the rows of sequences, which carry a state from row to row.
//!
//! Every operation of a scan is defined to the bit, so results are compared with `==`.

use weft_device::{Device, DeviceError};
use weft_kern::{
    Access, Anchor, Binary, Dim, F32, Format, Instr, Param, Recurrence, Reduce, Scan, Unary, View,
};

use crate::arg::Arg;
use crate::case::{Case, load_of, part, store_to, view};
use crate::data::Random;

/// A sequence's rows in a step, the state that it begins with, and the one that it writes.
type Sequence = (usize, i32, i32);

/// States that there is room for.
const STATES: usize = 12;

/// The parameters.
const STATE: usize = 2;
const Y: usize = 6;

/// The size of a test: heads, and the values of each.
#[derive(Clone, Copy)]
struct Size {
    heads: usize,
    cols: usize,
}

impl Size {
    const fn width(self) -> usize {
        self.heads * self.cols
    }

    /// Rows, and a decay for each head.
    fn rows(self, random: &mut Random, tokens: usize) -> (Vec<f32>, Vec<f32>) {
        let decay = random.floats(tokens * self.heads).iter().map(|v| 0.5 + 0.5 * v.abs()).collect();
        (random.floats(tokens * self.width()), decay)
    }

    /// A scan whose results are stored as they are.
    fn case(self, x: &[f32], decay: &[f32], states: &[f32], sequences: &[Sequence]) -> Case {
        let Size { heads, cols } = self;
        let rows = [Dim::T, Dim::Const(heads)];
        let body = vec![Instr::Acc(0), store_to(Y, &[heads * cols, cols], 0)];
        let anchor = self.scan(view(0, &[heads * cols, cols], 1));
        Case::new(
            vec![part(&rows, cols, anchor, body)],
            self.args(x, decay, states, sequences),
            tokens(sequences),
            0,
        )
    }

    fn scan(self, x: View) -> Anchor {
        Anchor::Scan(Box::new(Scan {
            rule: Recurrence::Decay,
            x,
            decay: view(1, &[self.heads, 1], 0),
            state: STATE,
            ends: 3,
            from: 4,
            to: 5,
            heads: self.heads,
        }))
    }

    fn args(self, x: &[f32], decay: &[f32], states: &[f32], sequences: &[Sequence]) -> Vec<Arg> {
        let mut end = 0;
        let ends = sequences.iter().map(|(rows, ..)| {
            end += *rows as i32;
            end
        });
        let ends: Vec<i32> = ends.collect();
        let list = |of: fn(&Sequence) -> i32| Arg::i32(&sequences.iter().map(of).collect::<Vec<_>>());
        let y = Arg::out(Format::F32, tokens(sequences) * self.width());
        vec![
            Arg::f32(x),
            Arg::f32(decay),
            Arg::state(states),
            Arg::i32(&ends),
            list(|s| s.1),
            list(|s| s.2),
            y,
        ]
    }

    /// Walks one sequence from state 0 in steps of `most` rows. Returns the states and all results.
    fn walk(self, device: &mut dyn Device, x: &[f32], decay: &[f32], most: usize) -> [Vec<u8>; 2] {
        let mut states = vec![0.0; STATES * self.width()];
        let (mut y, tokens) = (Vec::new(), decay.len() / self.heads);
        for begin in (0..tokens).step_by(most) {
            let rows = begin..tokens.min(begin + most);
            let of = |all: &[f32], n: usize| all[rows.start * n..rows.end * n].to_vec();
            let from = if begin == 0 { -1 } else { 3 };
            let (x, decay) = (of(x, self.width()), of(decay, self.heads));
            let case = self.case(&x, &decay, &states, &[(rows.len(), from, 3)]);
            let found = exact(device, &case);
            states = case.args[STATE].floats(&found[STATE]);
            y.extend_from_slice(&found[Y]);
        }
        [Arg::f32(&states).bytes, y]
    }
}

fn tokens(sequences: &[Sequence]) -> usize {
    sequences.iter().map(|(rows, ..)| rows).sum()
}

/// Runs a case, whose results have to be the interpreter's.
fn exact(device: &mut dyn Device, case: &Case) -> Vec<Vec<u8>> {
    let found = case.check(device);
    for (p, expected) in case.oracle().into_iter().enumerate().filter(|(p, _)| [STATE, Y].contains(p)) {
        assert!(found[p] == expected, "p{p} has other bits\n{:?}", case.kernel);
    }
    found
}

const SIZES: [Size; 5] = [
    Size { heads: 1, cols: 1 },
    Size { heads: 3, cols: 5 },
    Size { heads: 5, cols: 32 },
    Size { heads: 2, cols: 129 },
    Size { heads: 16, cols: 128 },
];

/// Sequences that begin, go on in place, fork, leave their state as it was, or have no rows.
const COMPANY: [&[Sequence]; 4] = [
    &[(1, -1, 0)],
    &[(1, 4, 4), (1, -1, 8), (1, 2, 3)],
    &[(7, 1, 2), (0, 5, 6), (64, -1, 0)],
    &[(17, 1, 1), (1, 7, 3), (2, 7, 4), (1, -1, 0), (5, -1, 2), (1, 8, 8), (3, 9, 5), (33, 6, 6)],
];

/// Heads and values of any number, and sequences of any length.
pub fn sequences_side_by_side(device: &mut dyn Device) {
    let mut random = Random::new(31);
    for size in SIZES {
        for sequences in COMPANY {
            let (x, decay) = size.rows(&mut random, tokens(sequences));
            let states = random.floats(STATES * size.width());
            exact(device, &size.case(&x, &decay, &states, sequences));
        }
    }
}

/// A sequence has the same bits however its rows are cut into steps.
pub fn any_steps_have_the_same_bits(device: &mut dyn Device) {
    let mut random = Random::new(32);
    for size in [SIZES[1], SIZES[2]] {
        let (x, decay) = size.rows(&mut random, 71);
        let whole = size.walk(device, &x, &decay, 71);
        for most in [1, 7, 64] {
            assert!(size.walk(device, &x, &decay, most) == whole, "steps of {most} give other bits");
        }
    }
}

/// A sequence has the bits that it has alone.
pub fn company_changes_no_bit(device: &mut dyn Device) {
    let mut random = Random::new(33);
    let size = SIZES[2];
    let (sequences, states) = (COMPANY[3], random.floats(STATES * size.width()));
    let (x, decay) = size.rows(&mut random, tokens(sequences));
    let together = exact(device, &size.case(&x, &decay, &states, sequences));
    let (mut begin, width) = (0, size.width());
    for (rows, from, to) in sequences {
        let own = begin..begin + rows;
        let (x, decay) =
            (&x[own.start * width..own.end * width], &decay[own.start * size.heads..own.end * size.heads]);
        let alone = exact(device, &size.case(x, decay, &states, &[(*rows, *from, *to)]));
        assert!(alone[Y] == together[Y][4 * own.start * width..4 * own.end * width]);
        let state = 4 * *to as usize * width..4 * (*to as usize + 1) * width;
        assert!(alone[STATE][state.clone()] == together[STATE][state]);
        begin = own.end;
    }
}

/// Rows that lie apart in memory, and a row program that needs whole rows: a gated norm.
pub fn a_row_program_over_parts_of_rows(device: &mut dyn Device) {
    let mut random = Random::new(34);
    let size = Size { heads: 3, cols: 40 };
    let (sequences, wide) = (COMPANY[2], 2 * size.width() + 7);
    let tokens = tokens(sequences);
    let (_, decay) = size.rows(&mut random, tokens);
    let x = random.floats(tokens * wide);
    let anchor = size.scan(View { param: 0, offset: 3, strides: vec![wide, 2 * size.cols], step: 2 });
    let body = vec![
        Instr::Acc(0),
        Instr::Binary(Binary::Mul, 0, 0),
        Instr::Reduce(Reduce::Sum, 1),
        Instr::Const(F32(1.0)),
        Instr::Binary(Binary::Add, 2, 3),
        Instr::Unary(Unary::Rsqrt, 4),
        Instr::Binary(Binary::Mul, 0, 5),
        load_of(7, &[size.width(), size.cols], size.cols),
        Instr::Unary(Unary::Silu, 7),
        Instr::Binary(Binary::Mul, 6, 8),
        store_to(Y, &[size.width(), size.cols], 9),
    ];
    let states = random.floats(STATES * size.width());
    let mut args = size.args(&x, &decay, &states, sequences);
    args.push(Arg::f32(&random.floats(tokens * size.width())));
    let rows = [Dim::T, Dim::Const(size.heads)];
    Case::new(vec![part(&rows, size.cols, anchor, body)], args, tokens, 64).check(device);
}

/// Lists that are not sound are an error, and write nothing.
pub fn hostile_lists_are_refused(device: &mut dyn Device) {
    let mut random = Random::new(35);
    let size = SIZES[1];
    let (x, decay) = size.rows(&mut random, 4);
    let states = random.floats(STATES * size.width());
    let sound = size.case(&x, &decay, &states, &[(3, 1, 2), (1, -1, 0)]);
    exact(device, &sound);
    let most = STATES as i32;
    for (list, values) in [
        (3, [3, 5]),
        (3, [3, 3]),
        (3, [5, 4]),
        (3, [-1, 4]),
        (4, [most, -1]),
        (4, [1, 2]),
        (5, [2, 2]),
        (5, [most, 0]),
        (5, [-1, 0]),
        (5, [i32::MAX, 0]),
    ] {
        let mut case = sound.clone();
        case.args[list] = Arg::i32(&values);
        let refused = case.run(device, case.tokens);
        assert!(matches!(refused, Err(DeviceError::Index { .. })), "list {list} = {values:?}: {refused:?}");
    }
    let state = Param { access: Access::Write, format: Format::F32 };
    let mut wrong = sound.kernel.clone();
    wrong.params[STATE] = state;
    let values: Vec<usize> = sound.args.iter().map(|arg| arg.values).collect();
    assert!(weft_kern::verify_call(&wrong, &values, &sound.sizes()).is_err(), "a state that is only written");
}

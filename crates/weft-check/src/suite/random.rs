//! Random row programs after random anchors. Each is rendered and right, or refused with a reason.

use weft_device::{Device, DeviceError};
use weft_kern::{
    Anchor, Binary, Dim, Factor, Format, Instr, Part, Pick, Product, Prologue, Reduce, RopeStyle, Unary,
    ValueId,
};
use weft_quant::GgmlType;

use crate::arg::Arg;
use crate::case::{Case, constant, load_of, matrices, part, store_to, view};
use crate::data::{BLOCK_TYPES, Random};

/// A kernel being grown.
struct Grower {
    random: Random,
    tokens: usize,
    heads: usize,
    args: Vec<Arg>,
    roundings: usize,
}

impl Grower {
    fn strides(&self, len: usize) -> Vec<usize> {
        vec![self.heads * len, len]
    }

    fn floats(&mut self, len: usize) -> Instr {
        let values = self.random.floats(self.tokens * self.heads * len);
        let ty = [GgmlType::F32, GgmlType::F16, GgmlType::BF16][self.random.below(3)];
        self.args.push(Arg::floats_of(ty, &values));
        load_of(self.args.len() - 1, &self.strides(len), len)
    }

    /// A row program of whole rows or of independent columns, which ends with values worth storing.
    fn body(&mut self, mut body: Vec<Instr>, cols: usize, across: bool, prologue: bool) -> Vec<Instr> {
        let lens = |body: &[Instr]| part(&[], cols, Anchor::Map, body.to_vec()).lens();
        for _ in 0..2 {
            let load = if prologue { self.shared(cols) } else { self.floats(cols) };
            body.push(load);
        }
        for _ in 0..8 {
            let lens = lens(&body);
            let is_ids: Vec<bool> = body.iter().map(|i| matches!(i, Instr::TopK { .. })).collect();
            let is_load: Vec<bool> = body.iter().map(|i| matches!(i, Instr::Load { .. })).collect();
            let pick = |random: &mut Random, fits: &dyn Fn(ValueId) -> bool| {
                let all: Vec<ValueId> = (0..lens.len()).filter(|v| fits(*v) && !is_ids[*v]).collect();
                all[random.below(all.len())]
            };
            let x = pick(&mut self.random, &|_| true);
            let next = match self.random.below(if across { 11 } else { 6 }) {
                0 | 1 => {
                    let ops = [Unary::Neg, Unary::Sigmoid, Unary::Silu, Unary::Cos, Unary::Sin];
                    Instr::Unary(ops[self.random.below(5)], x)
                }
                2..=4 => {
                    let y = pick(&mut self.random, &|y| lens[y] == lens[x] || lens[y] == 1 || lens[x] == 1);
                    let ops = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Max, Binary::Min];
                    Instr::Binary(ops[self.random.below(5)], x, y)
                }
                5 => constant(self.random.float()),
                6 => Instr::Reduce(Reduce::Max, x),
                7 => {
                    body.push(Instr::Reduce(Reduce::Sum, x));
                    Instr::Unary(Unary::Sigmoid, body.len() - 1)
                }
                8 if !prologue && lens[x] > 2 && lens[x].is_multiple_of(2) => {
                    let half = lens[x] / 2;
                    let angles = [self.floats(half), self.floats(half)];
                    body.extend(angles);
                    let style = RopeStyle::ALL[self.random.below(2)];
                    Instr::Rope { style, x, cos: body.len() - 2, sin: body.len() - 1 }
                }
                // The largest of values that are known exactly.
                _ => {
                    let from = pick(&mut self.random, &|v| is_load[v]);
                    body.push(Instr::TopK { x: from, k: 1 + self.random.below(lens[from].min(5)) });
                    let from = pick(&mut self.random, &|v| lens[v] == lens[from]);
                    Instr::Take { from, ids: body.len() - 1 }
                }
            };
            body.push(next);
        }
        body
    }

    /// A row of each token's own, as prologues read them.
    fn shared(&mut self, len: usize) -> Instr {
        let values = self.random.floats(self.tokens * len);
        self.args.push(Arg::f32(&values));
        load_of(self.args.len() - 1, &[len], len)
    }

    /// Adds stores of up to four values, in random formats that their lengths allow.
    fn stores(&mut self, body: &mut Vec<Instr>, cols: usize, across: bool) {
        let lens = part(&[], cols, Anchor::Map, body.clone()).lens();
        for v in (0..lens.len()).rev().filter(|v| across || lens[*v] == cols).take(4) {
            let len = lens[v];
            let halves = [GgmlType::F16, GgmlType::BF16][self.random.below(2)];
            let format = match self.random.below(4) {
                _ if matches!(body[v], Instr::TopK { .. }) => Format::I32,
                0 if len.is_multiple_of(32) => [Format::Q8]
                    .into_iter()
                    .chain(BLOCK_TYPES.map(Format::Ggml))
                    .nth(self.random.below(4))
                    .unwrap(),
                1 => Format::Ggml(halves),
                _ => Format::F32,
            };
            self.args.push(Arg::out(format, self.tokens * self.heads * len));
            let strides = self.strides(len);
            body.push(store_to(self.args.len() - 1, &strides, v));
        }
    }

    fn dot(&mut self, cols: usize) -> (Anchor, Option<Prologue>) {
        let types = [GgmlType::Q4_0, GgmlType::Q5_1, GgmlType::Q8_0, GgmlType::F32, GgmlType::F16];
        let ty = types[self.random.below(types.len())];
        let transposed = self.random.below(4) == 0 && (!ty.is_quantised() || cols.is_multiple_of(32));
        let len = [32, 64, 160][self.random.below(3)];
        let (n, k) = if transposed { (len, cols) } else { (cols, len) };
        let (pick, count) = match self.random.below(3) {
            0 => (Pick::Axis(1), self.heads),
            1 => {
                let ids: Vec<i32> =
                    (0..self.tokens * self.heads).map(|_| self.random.below(4) as i32).collect();
                self.args.push(Arg::i32(&ids));
                (Pick::Ids(view(self.args.len() - 1, &[self.heads, 1], 0)), 4)
            }
            _ => (Pick::Only, 1),
        };
        let bytes = self.random.weight(ty, count * n * k);
        self.args.push(Arg::weight(ty, count * n, k, bytes));
        let w = matrices(self.args.len() - 1, pick, count, n, k);
        let prologue = (self.random.below(2) == 0).then(|| {
            let body = self.body(Vec::new(), len, true, true);
            let lens = part(&[], len, Anchor::Map, body.clone()).lens();
            let value = (0..lens.len()).rev().find(|v| lens[*v] == len).unwrap();
            Prologue { body, value }
        });
        let x = match &prologue {
            Some(_) => Factor::Prologue,
            None => {
                let values = self.random.floats(self.tokens * self.heads * len);
                let x = if transposed { Arg::f32(&values) } else { Arg::activations(ty, &values) };
                self.args.push(x);
                Factor::View(view(self.args.len() - 1, &self.strides(len), 1))
            }
        };
        // Values that a prologue rounds may be a step off.
        self.roundings += if prologue.is_some() && ty.is_quantised() { 1 << 17 } else { 1 << 9 };
        (Anchor::Dot(vec![Product { x, w, transposed }]), prologue)
    }

    fn part(&mut self) -> Part {
        let cols = [1, 2, 6, 32, 45, 64, 96, 257][self.random.below(8)];
        let across = self.random.below(2) == 0;
        let (anchor, prologue, start) = match self.random.below(3) {
            0 => {
                let (anchor, prologue) = self.dot(cols);
                (anchor, prologue, vec![Instr::Acc(0)])
            }
            _ => (if across { Anchor::Reduce } else { Anchor::Map }, None, Vec::new()),
        };
        let mut body = self.body(start, cols, across, false);
        self.stores(&mut body, cols, across);
        let rows = vec![Dim::T, Dim::Const(self.heads)];
        Part { rows, cols, prologue, anchor, body }
    }
}

/// Random kernels of one or two parts.
pub fn random_kernels(device: &mut dyn Device) {
    let (mut ran, mut refused) = (0, 0);
    for seed in 0..200 {
        let mut random = Random::new(seed + 1);
        let (tokens, heads) = (1 + random.below(9), 1 + random.below(3));
        let mut grower = Grower { random, tokens, heads, args: Vec::new(), roundings: 1 << 10 };
        let parts: Vec<Part> = (0..1 + seed % 2).map(|_| grower.part()).collect();
        let case = Case::new(parts, grower.args, tokens, grower.roundings);
        let case = Case { least: 1.0, ..case };
        match case.run(device, tokens) {
            Ok(found) => {
                case.seen_by(device).compare(&found);
                ran += 1;
            }
            Err(DeviceError::Kernel { why, .. }) => {
                assert!(why.contains("adjacent pairs"), "{why}");
                refused += 1;
            }
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
    assert!(ran > 80 && refused > 0, "{ran} ran, {refused} were refused");
}

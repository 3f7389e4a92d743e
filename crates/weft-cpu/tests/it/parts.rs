//! Parts side by side: against the interpreter, and to the bit against each part alone.

use crate::support::data::Random;
use crate::support::{
    Arg, Case, Devices, attention, compile, constant, dot, kernel_of, load, load_of, matrices, part, read,
    roundings, run_all, store_to, view,
};
use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{Device, DeviceError};
use weft_kern::{
    Anchor, Attend, Binary, Cached, Dim, F32, Factor, Format, Indexed, Instr, Part, Pick, Product, Prologue,
    Reduce, Sizes, Unary,
};
use weft_quant::GgmlType;

/// Parts and their arguments, put together one by one.
struct Parts {
    random: Random,
    tokens: usize,
    args: Vec<Arg>,
    parts: Vec<Part>,
}

impl Parts {
    fn new(seed: u64, tokens: usize) -> Parts {
        Parts { random: Random::new(seed), tokens, args: Vec::new(), parts: Vec::new() }
    }

    fn arg(&mut self, arg: Arg) -> usize {
        self.args.push(arg);
        self.args.len() - 1
    }

    fn floats(&mut self, per_token: usize) -> usize {
        let values = self.random.floats(self.tokens * per_token);
        self.arg(Arg::f32(&values).per_token(per_token))
    }

    fn out(&mut self, format: Format, per_token: usize) -> usize {
        self.arg(Arg::out(format, self.tokens * per_token).per_token(per_token))
    }

    fn weight(&mut self, ty: GgmlType, rows: usize, row_len: usize) -> usize {
        let bytes = self.random.weight(ty, rows * row_len);
        self.arg(Arg::weight(ty, rows, row_len, bytes))
    }

    /// `y = x · wᵀ`.
    fn dot(mut self, ty: GgmlType, n: usize, k: usize) -> Parts {
        let x = Arg::activations(ty, &self.random.floats(self.tokens * k)).per_token(k);
        let (x, w, y) = (self.arg(x), self.weight(ty, n, k), self.out(Format::F32, n));
        let anchor = dot(view(x, &[k], 1), matrices(w, Pick::Only, 1, n, k), false);
        self.parts.push(part(&[Dim::T], n, anchor, vec![Instr::Acc(0), store_to(y, &[n], 0)]));
        self
    }

    /// A router after a prologue: rows that cannot be divided.
    fn router(mut self, n: usize, len: usize, k: usize) -> Parts {
        let (x, w, bias) = (self.floats(len), self.weight(GgmlType::F32, n, len), self.random.floats(n));
        let bias = self.arg(Arg::f32(&bias));
        let (ids, weights) = (self.out(Format::I32, k), self.out(Format::F32, k));
        let body = vec![
            Instr::Acc(0),
            Instr::Unary(Unary::Sigmoid, 0),
            load_of(bias, &[0], n),
            Instr::Binary(Binary::Add, 1, 2),
            Instr::TopK { x: 3, k },
            Instr::Take { from: 1, ids: 4 },
            Instr::Reduce(Reduce::Sum, 5),
            Instr::Binary(Binary::Div, 5, 6),
            store_to(ids, &[k], 4),
            store_to(weights, &[k], 7),
        ];
        let product =
            Product { x: Factor::Prologue, w: matrices(w, Pick::Only, 1, n, len), transposed: false };
        let mut router = part(&[Dim::T], n, Anchor::Dot(vec![product]), body);
        let scale = vec![load_of(x, &[len], len), constant(3.0), Instr::Binary(Binary::Mul, 0, 1)];
        router.prologue = Some(Prologue { body: scale, value: 2 });
        self.parts.push(router);
        self
    }

    /// x + 1, rounded.
    fn map(mut self, cols: usize) -> Parts {
        let (x, y, z) = (self.floats(cols), self.out(Format::F32, cols), self.out(Format::Q8, cols));
        let body = vec![
            load_of(x, &[cols], cols),
            constant(1.0),
            Instr::Binary(Binary::Add, 0, 1),
            store_to(y, &[cols], 2),
            store_to(z, &[cols], 2),
        ];
        self.parts.push(part(&[Dim::T], cols, Anchor::Map, body));
        self
    }

    /// Rows stored by index.
    fn cache(mut self, cols: usize, rows: usize) -> Parts {
        let x = self.floats(cols);
        let numbers = self.random.distinct(self.tokens, rows);
        let numbers = self.arg(Arg::i32(&numbers).per_token(1));
        let state = self.arg(Arg::out(Format::Ggml(GgmlType::F16), rows * cols));
        let indexed = Some(Indexed { index: view(numbers, &[1], 0), stride: cols });
        let store = Instr::Store { value: 0, view: view(state, &[0], 1), indexed };
        self.parts.push(part(&[Dim::T], cols, Anchor::Map, vec![load_of(x, &[cols], cols), store]));
        self
    }

    /// Attention of tokens of one sequence that end at `last`.
    fn attend(mut self, heads: usize, len: usize, last: usize) -> Parts {
        let (q, tokens) = (self.floats(heads * len), self.tokens);
        let state = self.random.floats((last + 1) * len);
        let state = self.arg(Arg::f32(&state));
        let pos: Vec<i32> = (0..tokens).map(|t| (last - t) as i32).collect();
        let pos = self.arg(Arg::i32(&pos).per_token(1));
        let first = self.arg(Arg::i32(&vec![0; tokens]).per_token(1));
        let pages = self.arg(Arg::i32(&[0]));
        let y = self.out(Format::F32, heads * len);
        let rows = Cached { param: state, offset: 0, row_stride: len, head_stride: 0 };
        let attend = Attend {
            q: view(q, &[heads * len, len], 1),
            k: rows,
            v: rows,
            pos,
            first,
            pages,
            window: None,
            sinks: None,
            list: None,
            most_pages: None,
            scale: F32(0.3),
            heads,
            kv_heads: 1,
            k_len: len,
            page: last + 1,
        };
        let body = vec![Instr::Acc(0), store_to(y, &[heads * len, len], 0)];
        let axes = [Dim::T, Dim::Const(heads)];
        self.parts.push(part(&axes, len, Anchor::Attend(Box::new(attend)), body));
        self
    }

    fn case(self, roundings: usize) -> Case {
        Case::new(kernel_of(self.parts), self.args, self.tokens, roundings)
    }
}

#[test]
fn parts_of_every_kind() {
    let mut devices = Devices::all();
    let roundings = 200 + roundings(GgmlType::F16, 100);
    for tokens in [1, 2, 17] {
        for (seed, parts) in [
            Parts::new(1, tokens).dot(GgmlType::Q4_0, 70, 64).dot(GgmlType::F16, 33, 100),
            // Very unequal parts, in any order.
            Parts::new(2, tokens).map(32).dot(GgmlType::Q4_K, 700, 512).map(32),
            Parts::new(3, tokens).dot(GgmlType::Q8_0, 1, 32).attend(3, 40, 90).dot(GgmlType::Q5_1, 300, 320),
            // Parts that cannot be divided: large next to small, small next to large, two of them.
            Parts::new(4, tokens).dot(GgmlType::Q4_0, 64, 64).router(64, 200, 4),
            Parts::new(5, tokens).router(9, 10, 2).dot(GgmlType::Q4_0, 640, 256),
            Parts::new(6, tokens).router(64, 100, 6).map(64).router(33, 128, 3),
            Parts::new(7, tokens).cache(48, 20).attend(5, 16, 33).router(16, 31, 4).map(96),
            Parts::new(8, tokens).cache(7, 40).cache(19, 40).dot(GgmlType::IQ4_NL, 40, 64),
        ]
        .into_iter()
        .enumerate()
        {
            let mut case = parts.case(roundings);
            attention::round(&mut case);
            assert!(case.kernel.parts.len() > 1, "{seed}");
            devices.check(&case);
        }
    }
}

#[test]
fn parts_have_the_bits_that_they_have_alone() {
    for tokens in [1, 5, 40] {
        let parts = Parts::new(9, tokens).router(64, 256, 6).dot(GgmlType::Q4_0, 300, 256).cache(64, 50);
        let Parts { args, parts, .. } = parts.attend(4, 24, 70).map(160).dot(GgmlType::F32, 50, 70);
        let all: Vec<usize> = (0..args.len()).collect();
        let alone: Vec<_> = parts.iter().map(|part| (kernel_of(vec![part.clone()]), &all[..])).collect();
        let together = [(kernel_of(parts.clone()), &all[..])];
        let mut reversed = parts.clone();
        reversed.reverse();
        let reversed = [(kernel_of(reversed), &all[..])];
        for threads in [1, 2, 7] {
            let mut device = CpuDevice::new(CpuOptions { threads: Some(threads), isa: None }).unwrap();
            let expected = run_all(&mut device, &args, &alone, tokens);
            for kernels in [&together, &reversed] {
                let found = run_all(&mut device, &args, kernels, tokens);
                assert!(found == expected, "{tokens} tokens on {threads} threads");
            }
        }
    }
}

#[test]
fn a_part_without_rows_in_a_step_leaves_the_others_theirs() {
    let mut device = CpuDevice::new(CpuOptions { threads: Some(3), isa: None }).unwrap();
    let mut parts = Parts::new(10, 4).dot(GgmlType::Q4_0, 40, 32).map(32);
    parts.parts[0].rows = vec![Dim::R];
    let case = parts.case(0);
    let args = load(&mut device, &case);
    for (max_rows, rows) in [(4, 4), (4, 0), (0, 0)] {
        let max = Sizes::of(4).rows(max_rows);
        let kernels = vec![std::sync::Arc::new(case.kernel.clone())];
        let launches = vec![weft_device::KernelLaunch { kernel: 0, args: args.clone() }];
        let program = device.compile(&weft_device::Program { max, kernels, launches }).unwrap();
        for (arg, region) in case.args.iter().zip(&args).filter(|(a, _)| a.row_len.is_none()) {
            device.write(region.buffer, 0, &arg.bytes).unwrap();
        }
        device.replay(program, &Sizes { rows, ..max }).unwrap();
        let [dot, map] = [2, 4].map(|p| read(&device, args[p].buffer, 4));
        assert_eq!([dot == [0xff; 4], map == [0xff; 4]], [rows == 0, false], "{rows} of {max_rows} rows");
    }
}

#[test]
fn a_bad_number_in_any_part_is_a_fault_of_the_kernel() {
    for threads in [1, 2, 5] {
        let mut device = CpuDevice::new(CpuOptions { threads: Some(threads), isa: None }).unwrap();
        let case = Parts::new(11, 3).dot(GgmlType::Q4_0, 900, 256).cache(8, 10).attend(2, 8, 20).case(0);
        let args = load(&mut device, &case);
        let program = compile(&mut device, &case, &args).unwrap();
        // The numbers of rows to store, the positions, the pages.
        for (param, bad) in
            [(4, &[1, 2, 1][..]), (4, &[0, 1, 10]), (8, &[20, 19, -1]), (8, &[21, 20, 19]), (10, &[1])]
        {
            device.write(args[param].buffer, 0, &Arg::i32(bad).bytes).unwrap();
            let error = device.replay(program, &case.sizes()).unwrap_err();
            assert_eq!(error, DeviceError::Index { kernel: "tested".into() }, "p{param}: {bad:?}");
            device.write(args[param].buffer, 0, &case.args[param].bytes).unwrap();
            device.replay(program, &case.sizes()).unwrap();
        }
    }
}

#[test]
fn parts_that_meet_are_refused() {
    let mut device = CpuDevice::new(CpuOptions { threads: Some(2), isa: None }).unwrap();
    // The second part writes what the first writes, or reads it.
    let refused = |device: &mut CpuDevice, change: &dyn Fn(&mut Part)| {
        let mut parts = Parts::new(12, 2).map(32).map(32);
        change(&mut parts.parts[1]);
        let case = parts.case(0);
        let args = load(device, &case);
        let error = compile(device, &case, &args).unwrap_err();
        assert!(matches!(error, DeviceError::Program { launch: 0, .. }), "{error}");
    };
    refused(&mut device, &|part| {
        let Instr::Store { view, .. } = &mut part.body[3] else { panic!("a store") };
        view.param = 1;
    });
    refused(&mut device, &|part| {
        let Instr::Load { view, .. } = &mut part.body[0] else { panic!("a load") };
        view.param = 1;
    });
}

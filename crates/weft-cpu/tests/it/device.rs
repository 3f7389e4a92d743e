//! The device's edge cases: what it refuses, indices out of bounds, and replays of a program at any sizes.

use std::sync::Arc;

use crate::support::data::Random;
use crate::support::{
    Arg, Case, compile, constant, dot, kernel, load, load_of, matrices, product, read, store_to, view,
};
use weft_cpu::{CpuDevice, CpuOptions, Isa};
use weft_device::{
    BufferId, Checkpoints, Device, DeviceError, KernelLaunch, Program, ProgramId, Region, Weight, WeightBytes,
};
use weft_kern::{Anchor, Attend, Binary, Cached, Dim, F32, Format, Indexed, Instr, Pick, Sizes, Sum};
use weft_quant::GgmlType;

fn device() -> CpuDevice {
    CpuDevice::new(CpuOptions { threads: Some(3), isa: None }).unwrap()
}

fn tokens(tokens: usize) -> Sizes {
    Sizes::of(tokens)
}

/// Copies rows of 8 values.
fn copy(rows: usize) -> Case {
    let args = vec![Arg::f32(&Random::new(1).floats(rows * 8)).per_token(8), Arg::out(Format::F32, rows * 8)];
    let body = vec![load_of(0, &[8], 8), store_to(1, &[8], 0)];
    Case::new(kernel(&[Dim::T], 8, Anchor::Map, body), args, rows, 0)
}

#[test]
fn options_are_checked() {
    for threads in [0, 100_000] {
        let error = CpuDevice::new(CpuOptions { threads: Some(threads), isa: None }).unwrap_err();
        assert!(error.to_string().contains(&threads.to_string()), "{error}");
    }
    for isa in Isa::ALL {
        let made = CpuDevice::new(CpuOptions { threads: Some(2), isa: Some(isa) });
        match made {
            Ok(device) => assert_eq!(device.caps().name, format!("cpu ({isa}), 2 threads")),
            Err(error) => assert!(!isa.is_available() && error.to_string().contains(isa.name()), "{error}"),
        }
    }
    let default = CpuDevice::new(CpuOptions::default()).unwrap();
    assert_eq!(default.caps().threads, std::thread::available_parallelism().unwrap().get());
}

#[test]
fn the_host_reaches_only_what_there_is() {
    let mut device = device();
    let buffer = device.alloc(100).unwrap();
    assert_eq!(read(&device, buffer, 100), [0; 100]);
    device.write(buffer, 90, &[1; 10]).unwrap();
    assert_eq!(read(&device, buffer, 100)[89..92], [0, 1, 1]);
    for (buffer, offset, len) in [(buffer, 91, 10), (buffer, usize::MAX, 1), (BufferId(9), 0, 1)] {
        assert!(matches!(device.write(buffer, offset, &vec![0; len]), Err(DeviceError::Usage(_))));
        assert!(matches!(device.read(buffer, offset, &mut vec![0; len]), Err(DeviceError::Usage(_))));
    }
    assert!(matches!(device.alloc(usize::MAX), Err(DeviceError::Memory { bytes: usize::MAX, .. })));

    let bytes = Arc::new(vec![0u8; 18]) as WeightBytes;
    let weight = Weight { ty: GgmlType::Q4_0, rows: 1, row_len: 32, bytes, tiles: None };
    assert!(matches!(device.pack(Weight { rows: 2, ..weight.clone() }), Err(DeviceError::Weight { .. })));
    let packed = device.pack(weight).unwrap();
    let error = device.read(packed, 0, &mut [0]).unwrap_err();
    assert!(error.to_string().contains("only kernels can read"), "{error}");
}

#[test]
fn programs_are_replayed_at_any_size_up_to_theirs() {
    let (mut device, case) = (device(), copy(17));
    let args = load(&mut device, &case);
    let program = compile(&mut device, &case, &args).unwrap();
    for n in [0, 1, 5, 17] {
        device.write(args[1].buffer, 0, &case.args[1].bytes).unwrap();
        device.replay(program, &tokens(n)).unwrap();
        let found = read(&device, args[1].buffer, 17 * 32);
        assert_eq!(found[..n * 32], case.args[0].bytes[..n * 32]);
        assert!(found[n * 32..].iter().all(|b| *b == 0xff), "nothing beyond {n} rows is written");
    }
    assert!(matches!(device.replay(program, &tokens(18)), Err(DeviceError::Usage(_))));
    assert!(matches!(device.replay(ProgramId(7), &tokens(1)), Err(DeviceError::Usage(_))));
}

/// Programs point into buffers: no program may outlive one of its buffers, whatever mark is restored.
#[test]
fn programs_go_before_the_buffers_they_point_into() {
    let (mut device, case) = (device(), copy(17));
    let runs = |device: &mut CpuDevice, program| device.replay(program, &tokens(17));
    let gone = |found| matches!(found, Err(DeviceError::Usage(_)));
    let make = |device: &mut CpuDevice, pairs: usize| {
        let args: Vec<_> = (0..pairs).map(|_| load(device, &case)).collect();
        args.iter().map(|args| compile(device, &case, args).unwrap()).collect::<Vec<ProgramId>>()
    };
    let kept = make(&mut device, 1)[0];
    let early = device.mark();
    make(&mut device, 2);
    let late = device.mark();
    device.rewind(early);
    // Six buffers before the first of these programs: `late` counts two of the programs, and four of the buffers.
    let others = make(&mut device, 3);
    device.rewind(late);
    assert!(others.into_iter().all(|program| gone(runs(&mut device, program))));
    runs(&mut device, kept).unwrap();
    // Everything from before the mark stays.
    let again = make(&mut device, 1)[0];
    let now = device.mark();
    make(&mut device, 1);
    device.rewind(now);
    assert_eq!(device.mark(), now);
    runs(&mut device, again).unwrap();
    device.rewind(early);
    assert!(gone(runs(&mut device, again)));
    runs(&mut device, kept).unwrap();
}

#[test]
fn launches_see_what_the_ones_before_wrote() {
    let mut device = device();
    let n = 96;
    let values = Random::new(2).floats(n * n);
    // b = aᵀ + 1, a = bᵀ + 1, …: every thread reads what all threads wrote in the launch before.
    let transposed = Instr::Load { view: view(0, &[1], n), indexed: None, len: n };
    let body = vec![transposed, constant(1.0), Instr::Binary(Binary::Add, 0, 1), store_to(1, &[n], 2)];
    let args = vec![Arg::f32(&values), Arg::out(Format::F32, n * n)];
    let case = Case::new(kernel(&[Dim::Const(n)], n, Anchor::Map, body), args, 1, 0);
    let [a, b] = load(&mut device, &case)[..] else { panic!("two arguments") };
    let launches =
        (0..200).map(|i| KernelLaunch { kernel: 0, args: if i % 2 == 0 { vec![a, b] } else { vec![b, a] } });
    let program =
        Program { max: Sizes::default(), kernels: vec![Arc::new(case.kernel)], launches: launches.collect() };
    let program = device.compile(&program).unwrap();
    let expected: Vec<f32> = values.iter().map(|v| (0..200).fold(*v, |v, _| v + 1.0)).collect();
    for _ in 0..3 {
        device.write(a.buffer, 0, &case.args[0].bytes).unwrap();
        device.replay(program, &Sizes::default()).unwrap();
        assert!(case.args[0].floats(&read(&device, a.buffer, n * n * 4)) == expected);
    }
}

/// Why a program of one launch is refused.
fn refusal(device: &mut CpuDevice, case: &Case, args: &[Region]) -> String {
    match compile(device, case, args) {
        Err(DeviceError::Program { launch: 0, kernel, why }) if kernel == "tested" => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn programs_that_could_harm_are_refused() {
    let (mut device, case) = (device(), copy(4));
    let [x, y] = load(&mut device, &case)[..] else { panic!("two arguments") };
    let mut refused = |args: [Region; 2], why: &str| {
        let found = refusal(&mut device, &case, &args);
        assert!(found.contains(why), "{found}");
    };
    refused([x, Region { buffer: BufferId(77), ..y }], "does not exist");
    refused([x, Region { values: 33, ..y }], "33 values");
    refused([x, Region { offset: 64, ..y }], "at byte 64");
    refused([x, Region { offset: 63, ..y }], "multiple of 64");
    refused([x, Region { offset: usize::MAX - 63, ..y }], "at byte");
    refused([x, Region { values: 31, ..y }], "reaches value");
    refused([x, x], "overlap");
    let weight = Arg { row_len: Some(8), ..case.args[0].clone() };
    let weight = load(&mut device, &Case { args: vec![weight; 2], ..case.clone() })[1];
    assert!(refusal(&mut device, &case, &[x, weight]).contains("weight"));

    let with = |body: Vec<Instr>| {
        let mut case = case.clone();
        case.kernel.parts[0].body = body;
        case
    };
    let meeting = with(vec![load_of(0, &[8], 8), store_to(1, &[7], 0)]);
    assert!(refusal(&mut device, &meeting, &[x, y]).contains("same place"));
    let mut deep = case.clone();
    deep.kernel.parts[0].rows = vec![Dim::Const(1); 5];
    deep.kernel.parts[0].body = vec![load_of(0, &[0; 5], 8), store_to(1, &[0; 5], 0)];
    assert!(refusal(&mut device, &deep, &[x, y]).contains("5 axes"));
    let i64s = Arg::read(Format::Ggml(GgmlType::I64), 32, vec![0; 256]);
    let odd = Case::new(case.kernel.clone(), vec![i64s, case.args[1].clone()], 4, 0);
    let args = load(&mut device, &odd);
    assert!(refusal(&mut device, &odd, &args).contains("cannot decode"));
}

#[test]
fn launches_that_never_have_a_row_are_skipped() {
    let (mut device, case) = (device(), copy(4));
    let args = load(&mut device, &case);
    let program = Program {
        max: Sizes::default(),
        kernels: vec![Arc::new(case.kernel)],
        launches: vec![KernelLaunch { kernel: 0, args }],
    };
    let program = device.compile(&program).unwrap();
    device.replay(program, &Sizes::default()).unwrap();
}

/// Replays a case as it is, and then with each of some bad numbers in an argument; the device must say so, write
/// nothing it should not, and work again with good ones.
fn faults(case: &Case, param: usize, bad: &[&[i32]]) {
    let mut device = device();
    let args = load(&mut device, case);
    let program = compile(&mut device, case, &args).unwrap();
    for numbers in bad {
        device.write(args[param].buffer, 0, &Arg::i32(numbers).bytes).unwrap();
        let error = device.replay(program, &case.sizes()).unwrap_err();
        assert_eq!(error, DeviceError::Index { kernel: "tested".into() }, "{numbers:?}");
    }
    device.write(args[param].buffer, 0, &case.args[param].bytes).unwrap();
    device.replay(program, &case.sizes()).unwrap();
}

#[test]
fn bad_rows_of_a_table() {
    let args = vec![Arg::f32(&[1.0; 80]), Arg::i32(&[0, 9, 3]), Arg::out(Format::F32, 24)];
    let indexed = Some(Indexed { index: view(1, &[1], 0), stride: 8 });
    let body = vec![Instr::Load { view: view(0, &[0], 1), indexed, len: 8 }, store_to(2, &[8], 0)];
    let case = Case::new(kernel(&[Dim::T], 8, Anchor::Map, body), args, 3, 0);
    faults(&case, 1, &[&[0, 10, 3], &[-1, 0, 0], &[0, 0, i32::MAX], &[0, 0, i32::MIN]]);
}

#[test]
fn bad_rows_of_a_state() {
    let args = vec![Arg::f32(&[1.0; 24]), Arg::i32(&[0, 9, 3]), Arg::out(Format::F32, 80)];
    let indexed = Some(Indexed { index: view(1, &[1], 0), stride: 8 });
    let body = vec![load_of(0, &[8], 8), Instr::Store { value: 0, view: view(2, &[0], 1), indexed }];
    let case = Case::new(kernel(&[Dim::T], 8, Anchor::Map, body), args, 3, 0);
    // The last would let two threads write one row.
    faults(&case, 1, &[&[0, 10, 3], &[-1, 0, 0], &[0, 1, i32::MAX], &[4, 2, 4]]);
}

#[test]
fn bad_choices() {
    let args = vec![Arg::f32(&[1.0; 10]), Arg::i32(&[0, 9, 3]), Arg::out(Format::F32, 3)];
    let take = Instr::Take { from: 0, ids: 1 };
    let body = vec![load_of(0, &[0], 10), load_of(1, &[1], 1), take, store_to(2, &[1], 2)];
    let case = Case::new(kernel(&[Dim::T], 10, Anchor::Map, body), args, 3, 0);
    faults(&case, 1, &[&[0, 10, 3], &[-1, 0, 0], &[0, 1, i32::MAX], &[0, 1, i32::MIN]]);
}

#[test]
fn choices_that_are_no_numbers() {
    let ids = [0.0, -0.0, 9.0];
    let args = vec![Arg::f32(&[1.0; 10]), Arg::f32(&ids), Arg::out(Format::F32, 3)];
    let take = Instr::Take { from: 0, ids: 1 };
    let body = vec![load_of(0, &[0], 10), load_of(1, &[0], 3), take, store_to(2, &[0], 2)];
    let case = Case::new(kernel(&[Dim::Const(1)], 10, Anchor::Map, body), args, 1, 0);
    let mut device = device();
    let args = load(&mut device, &case);
    let program = compile(&mut device, &case, &args).unwrap();
    device.replay(program, &case.sizes()).unwrap();
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.5, -1.0, -0.1, 10.0, 1e30] {
        for at in 0..3 {
            let mut ids = ids;
            ids[at] = bad;
            device.write(args[1].buffer, 0, &Arg::f32(&ids).bytes).unwrap();
            let error = device.replay(program, &case.sizes()).unwrap_err();
            assert_eq!(error, DeviceError::Index { kernel: "tested".into() }, "{bad}");
        }
    }
}

#[test]
fn bad_experts() {
    let args = vec![
        Arg::f32(&[1.0; 12]),
        Arg::weight(GgmlType::F32, 5 * 2, 4, vec![0; 5 * 32]),
        Arg::i32(&[0, 4, 3]),
        Arg::out(Format::F32, 6),
    ];
    let w = matrices(1, Pick::Ids(view(2, &[1], 0)), 5, 2, 4);
    let body = vec![Instr::Acc(0), store_to(3, &[2], 0)];
    let case = Case::new(kernel(&[Dim::T], 2, dot(view(0, &[4], 1), w, false), body), args, 3, 0);
    faults(&case, 2, &[&[0, 5, 3], &[-1, 0, 0], &[0, 1, i32::MAX]]);
}

/// A number that is a matrix of one product and none of another.
#[test]
fn bad_experts_of_one_product_of_two() {
    for counts in [[5, 3], [3, 5]] {
        let weight = |count: usize| Arg::weight(GgmlType::F32, count * 2, 4, vec![0; count * 32]);
        let args = vec![
            Arg::f32(&[1.0; 12]),
            weight(counts[0]),
            weight(counts[1]),
            Arg::i32(&[0, 2, 1]),
            Arg::out(Format::F32, 6),
        ];
        let of = |p: usize| matrices(p + 1, Pick::Ids(view(3, &[1], 0)), counts[p], 2, 4);
        let products = [0, 1].map(|p| product(view(0, &[4], 1), of(p))).to_vec();
        let body = vec![Instr::Acc(0), Instr::Acc(1), Instr::Binary(Binary::Add, 0, 1), store_to(4, &[2], 2)];
        let case = Case::new(kernel(&[Dim::T], 2, Anchor::Dot(products), body), args, 3, 0);
        faults(&case, 3, &[&[0, 3, 1], &[4, 0, 0], &[0, 0, 5], &[-1, 0, 0]]);
    }
}

#[test]
fn bad_experts_of_a_sum() {
    let args = vec![
        Arg::f32(&[1.0; 12]),
        Arg::weight(GgmlType::F32, 5 * 2, 4, vec![0; 5 * 32]),
        Arg::i32(&[0, 4, 3, 3, 2, 1]),
        Arg::f32(&[1.0; 6]),
        Arg::out(Format::F32, 6),
    ];
    let sum = Sum { terms: 2, ids: view(2, &[2], 1), weights: view(3, &[2], 1), apart: 0 };
    let w = matrices(1, Pick::Sum(Box::new(sum)), 5, 2, 4);
    let body = vec![Instr::Acc(0), store_to(4, &[2], 0)];
    let case = Case::new(kernel(&[Dim::T], 2, dot(view(0, &[4], 1), w, false), body), args, 3, 0);
    faults(&case, 2, &[&[0, 5, 3, 3, 2, 1], &[0, 1, 2, 3, 4, -1], &[0, 1, 2, i32::MAX, 4, 0]]);
}

#[test]
fn bad_positions_and_pages() {
    let args = vec![
        Arg::f32(&[1.0; 8]),
        Arg::f32(&[1.0; 4 * 16]),
        Arg::i32(&[5, 9]),
        Arg::i32(&[0, 1]),
        Arg::i32(&[3, 0, 1, 2]),
        Arg::out(Format::F32, 8),
    ];
    let rows = Cached { param: 1, offset: 0, row_stride: 4, head_stride: 4 };
    let attend = Attend {
        q: view(0, &[4, 4], 1),
        k: rows,
        v: rows,
        pos: 2,
        first: 3,
        pages: 4,
        scale: F32(1.0),
        heads: 1,
        kv_heads: 1,
        k_len: 4,
        page: 4,
        window: None,
        sinks: None,
        list: None,
        most_pages: None,
    };
    let anchor = Anchor::Attend(Box::new(attend));
    let body = vec![Instr::Acc(0), store_to(5, &[4, 4], 0)];
    let case = Case::new(kernel(&[Dim::T, Dim::Const(1)], 4, anchor, body), args, 2, 0);
    faults(&case, 2, &[&[5, -1], &[i32::MIN, 0], &[5, 12], &[16, 0], &[i32::MAX, i32::MAX]]);
    faults(&case, 3, &[&[0, -1], &[0, 2], &[i32::MAX, 0], &[0, i32::MIN]]);
    faults(&case, 4, &[&[3, 4, 1, 2], &[-1, 0, 1, 2], &[3, i32::MAX, 1, 2]]);
}

#[test]
fn a_fault_ends_the_step_and_names_its_kernel() {
    let mut device = device();
    let gather = |cols: usize, name: &str| {
        let args = vec![Arg::f32(&[1.0; 64]), Arg::i32(&[1]), Arg::out(Format::F32, cols)];
        let indexed = Some(Indexed { index: view(1, &[0], 0), stride: 8 });
        let body = vec![Instr::Load { view: view(0, &[0], 1), indexed, len: cols }, store_to(2, &[0], 0)];
        let mut case = Case::new(kernel(&[Dim::Const(1)], cols, Anchor::Map, body), args, 1, 0);
        case.kernel.name = name.into();
        case
    };
    let cases = [gather(8, "first"), gather(4, "second"), gather(2, "third")];
    let args: Vec<_> = cases.iter().map(|case| load(&mut device, case)).collect();
    let program = device
        .compile(&Program {
            max: Sizes::default(),
            kernels: cases.iter().map(|case| Arc::new(case.kernel.clone())).collect(),
            launches: args
                .iter()
                .enumerate()
                .map(|(kernel, args)| KernelLaunch { kernel, args: args.clone() })
                .collect(),
        })
        .unwrap();
    let bad = 8i32.to_le_bytes();
    device.write(args[1][1].buffer, 0, &bad).unwrap();
    let second = DeviceError::Index { kernel: "second".into() };
    assert_eq!(device.replay(program, &Sizes::default()).unwrap_err(), second);
    let written = |case: usize| read(&device, args[case][2].buffer, 4) != [0xff; 4];
    assert_eq!([0, 1, 2].map(written), [true, false, false]);
    device.write(args[2][1].buffer, 0, &bad).unwrap();
    assert_eq!(device.replay(program, &Sizes::default()).unwrap_err(), second);
}

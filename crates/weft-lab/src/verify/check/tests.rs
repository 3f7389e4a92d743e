//! Single launches: attention to many positions, 8-bit caches.

use std::sync::Arc;

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{KernelLaunch, Program};
use weft_kern::parse_plan;
use weft_quant::GgmlType;
use weft_random::Random;

use super::*;
use crate::verify::findings::Fault;

/// Runs `check` on a plan of one launch on the CPU. All its buffers are given, except the last, which is zero.
fn alone(text: &str, given: Vec<Vec<u8>>, check: impl FnOnce(&Launch<'_>, &mut CpuDevice, &Sizes)) {
    let plan = parse_plan(text).unwrap();
    let sizes = plan.max;
    let mut device = CpuDevice::new(CpuOptions { threads: Some(2), isa: None }).unwrap();
    let room = plan.buffers.last().unwrap().bytes(&sizes).unwrap();
    let args: Vec<Region> = (given.into_iter().chain([vec![0; room]]).zip(&plan.buffers))
        .map(|(bytes, buffer)| {
            let id = device.alloc(bytes.len()).unwrap();
            device.write(id, 0, &bytes).unwrap();
            Region { buffer: id, offset: 0, values: buffer.values(&sizes).unwrap() }
        })
        .collect();
    let kernel = &plan.kernels[0];
    let launches = vec![KernelLaunch { kernel: 0, args: args.clone() }];
    let program = Program { max: sizes, kernels: vec![Arc::new(kernel.clone())], launches };
    let program = device.compile(&program).unwrap();
    let weights = BTreeMap::new();
    check(&Launch { program, kernel, args: &args, weights: &weights, most: 0 }, &mut device, &sizes);
}

/// Compares one value: the interpreter's, its error, and the device's.
#[test]
fn a_number_instead_of_nan_is_a_difference() {
    const TEXT: &str = "plan p T=1 R=1 S=32 P=1 arena=0 {
b0 = input x : f32[T, 1]
b1 = output y : f32[T, 1]
kernel k {
  p0 read f32
  p1 write f32
  rows [T] cols 1
  map
  v0 = load 1 p0[0; 1; 1]
  v1 = store v0 p1[0; 1; 1]
}
call k b0 b1
}
";
    let plan = parse_plan(TEXT).unwrap();
    let checked = |expected: f32, error: f64, found: f32| {
        let bytes = [expected, found].map(f32::to_le_bytes);
        let buffers = bytes.each_ref().map(|bytes| {
            let buffer = interp::Buffer::from_bytes(Format::Ggml(GgmlType::F32), 1, bytes);
            [buffer.unwrap()]
        });
        let [oracle, found] = &buffers;
        let compare = Compare { kernel: &plan.kernels[0], origins: &[], args: &[], oracle, found };
        let place = || Place { param: 0, part: 0, row: vec![0], column: 0 };
        let mut checked = Checked::default();
        compare.value(0, 0, Format::F32, &Bar { value: expected, error }, place, &mut checked);
        checked
    };
    let (nan, unknown) = (f32::NAN, f64::INFINITY);
    for (expected, error, found, says) in [
        (1.0, 0.1, 1.05, "compared"),
        (1.0, 0.1, 1.5, "off"),
        (1.0, 0.1, nan, "off"),
        (nan, f64::NAN, 1.0, "off"),
        (nan, unknown, 1.0, "off"),
        (nan, f64::NAN, nan, "no number"),
        (nan, unknown, nan, "no number"),
        (1.0, unknown, 7.0, "unknown"),
        (1.0, unknown, nan, "unknown"),
    ] {
        let Checked { compared, unknown, faults, .. } = checked(expected, error, found);
        let said = match &faults[..] {
            [] if unknown == 1 => "unknown",
            [] => "compared",
            [Fault { kind: FaultKind::Value(worst), count: 1 }] if worst.share() > 1.0 => "off",
            [Fault { kind: FaultKind::NotNumber(_), count: 1 }] => "no number",
            other => panic!("{other:?}"),
        };
        assert_eq!((said, compared + unknown), (says, 1), "{expected} ± {error}, {found}");
    }
}

/// Numbers from −1 to 1, with some outliers larger by 6, as in models.
fn floats(seed: u64, n: usize) -> Vec<f32> {
    let mut random = Random::new(seed);
    let outlier = |i: usize| if i % 61 == 7 { 6.0 } else { 0.0 };
    (0..n).map(|i| random.signed() + outlier(i)).collect()
}

fn bytes<const N: usize, T>(values: impl IntoIterator<Item = T>, of: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.into_iter().flat_map(of).collect()
}

/// Two tokens of three heads attend to 300 positions: several blocks, several pages.
#[test]
fn attention_to_many_positions_stays_within_narrow_bars() {
    const TEXT: &str = "plan p T=2 R=1 S=320 P=10 arena=0 {
b0 = input q : f32[T, 3, 64]
b1 = state k : f16[S, 64]
b2 = input pos : i32[T]
b3 = input first : i32[T]
b4 = input pages : i32[P]
b5 = output y : f32[T, 3, 48]
kernel attend {
  p0 read f32
  p1 read f16
  p2 read i32
  p3 read i32
  p4 read i32
  p5 write f32
  rows [T, 3] cols 48
  attend q=p0[0; 192, 64; 1] k=p1[0; 64, 64; 1] v=p1[0; 64, 64; 1] pos=p2 first=p3 pages=p4 scale=0.125 heads=3 kv_heads=1 k_len=64 page=32
  v0 = acc 0
  v1 = store v0 p5[0; 144, 48; 1]
}
call attend b0 b1 b2 b3 b4 b5
}
";
    let mut halves = vec![0; 320 * 64 * 2];
    weft_quant::encode(GgmlType::F16, &floats(3, 320 * 64), &mut halves).unwrap();
    let ints = |ints: Vec<i32>| bytes(ints, i32::to_le_bytes);
    let query = bytes(floats(4, 2 * 3 * 64), f32::to_le_bytes);
    let pages = ints((0..10).rev().collect());
    alone(
        TEXT,
        vec![query, halves, ints(vec![299, 130]), ints(vec![0, 0]), pages],
        |launch, device, sizes| {
            let (checked, error) = launch.check(device, sizes).unwrap();
            assert!(
                error.is_none() && checked.faults.is_empty() && checked.compared == 2 * 3 * 48,
                "{checked:?}"
            );
            let worst = checked.worst.unwrap();
            println!("attention: error {:.3} of {worst}", worst.share());
            assert!(worst.share() > 0.0 && worst.bound < 0.05, "{worst}");

            // A page that does not exist: the interpreter and the device both refuse it.
            device.write(launch.args[4].buffer, 0, &10i32.to_le_bytes()).unwrap();
            let (checked, error) = launch.check(device, sizes).unwrap();
            let [Fault { kind: FaultKind::Index { oracle: Some(why), device: true }, .. }] =
                &checked.faults[..]
            else {
                panic!("{checked:?}")
            };
            assert!(error.is_some() && why.contains("320"), "{why}");
        },
    );
}

/// Rows stored in blocks whose scale is a half, after an exponential that devices round differently.
#[test]
fn caches_of_8_bits_are_compared_block_by_block() {
    const TEXT: &str = "plan p T=40 R=1 S=64 P=2 arena=0 {
b0 = input x : f32[T, 96]
b1 = input slots : i32[T]
b2 = state kv : q8_0[S, 96]
kernel store {
  p0 read f32
  p1 read i32
  p2 write q8_0
  rows [T] cols 96
  map
  v0 = load 96 p0[0; 96; 1]
  v1 = exp v0
  v2 = store v1 p2[0; 0; 1] @ p1[0; 1; 0] * 96
}
call store b0 b1 b2
}
";
    let slots = bytes((0..40).map(|t| (t * 7 + 3) % 64), i32::to_le_bytes);
    alone(TEXT, vec![bytes(floats(5, 40 * 96), f32::to_le_bytes), slots], |launch, device, sizes| {
        let (checked, _) = launch.check(device, sizes).unwrap();
        assert!(checked.faults.is_empty() && checked.compared == 40 * 96, "{checked:?}");
        let mut untouched = vec![0; 34];
        device.read(launch.args[2].buffer, 33 * 3 * 34, &mut untouched).unwrap();
        assert_eq!(untouched, [0; 34], "slot 33 is no token's, and is put back");
    });
}

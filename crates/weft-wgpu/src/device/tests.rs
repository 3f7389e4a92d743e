//! Hand-written shaders, and a lost device.

use std::sync::Arc;

use weft_device::{KernelLaunch, Region};
use weft_gpu::{Binds, apart, slots};
use weft_kern::{Dim, Machine, parse_plan};
use weft_render::{Grid, Groups, Memory, Shader};

use super::*;
use crate::compile::prepare;

mod chains;
mod dots;

/// `p1[i] = p0[i] + tokens`; both are in one buffer.
const TEXT: &str = "
@group(0) @binding(0) var<uniform> args: vec4<u32>;
@group(0) @binding(1) var<uniform> sizes: vec4<u32>;
@group(0) @binding(2) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(4)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < args.y { words[args.z + id.x] = words[args.x + id.x] + sizes.x; }
}";

/// A kernel with two parameters.
const KERNEL: &str = "plan by_hand T=8 R=0 S=0 P=0 arena=0 {
b0 = input x : i32[4]
b1 = output y : i32[4]
kernel add {
  p0 read i32
  p1 write i32
  rows [T] cols 1
  map
  v0 = load 1 p0[0; 0; 1]
  v1 = store v0 p1[0; 0; 1]
}
call add b0 b1
}
";

fn open(test: &str) -> Option<GpuDevice> {
    match crate::adapters().first() {
        Some(adapter) => Some(GpuDevice::open(adapter, &OpenOptions::default()).unwrap()),
        None if std::env::var_os("WEFT_TEST_ADAPTER").is_some() => panic!("{test}: no GPU"),
        None => {
            eprintln!("{test} skipped: no GPU");
            None
        }
    }
}

/// A program that adds the number of tokens to four words, `twice` times two and once more, and the buffer that they are in.
fn by_hand(device: &mut GpuDevice, twice: usize) -> BufferId {
    let kernel = Arc::new(parse_plan(KERNEL).unwrap().kernels.remove(0));
    let arena = device.alloc(192).unwrap();
    let region = |offset| Region { buffer: arena, offset, values: 4 };
    let launch = |from, to| KernelLaunch { kernel: 0, args: vec![region(from), region(to)] };
    let more = (0..twice).flat_map(|_| [launch(64, 128), launch(128, 64)]);
    let launches: Vec<KernelLaunch> = std::iter::once(launch(0, 64)).chain(more).collect();
    let max = Sizes::of(8);
    let program = Program { max, kernels: vec![kernel], launches };
    assert_eq!(slots(&program, 0, |_| None, Binds::WGSL).0.of, [0, 0]);
    let shader = Shader {
        name: "by hand".into(),
        source: TEXT.into(),
        entry: "main".into(),
        slots: vec![true],
        lanes: 4,
        shared_bytes: 0,
        scratch_bytes: 0,
        needs_spirv: false,
        own_architecture: false,
        sizes_read: [true; 4],
        memory: Memory::default(),
        dependent: false,
        releases_early: false,
        given: None,
        grid: Grid {
            wide: 8,
            parts: vec![Groups { axis: Dim::T, inner: 4, tile: 4, more: 0, times: 1, chunks: None }],
        },
    };
    let GpuDevice { context, canary, scheduler, buffers, pipelines, programs, .. } = device;
    pipelines.make(context, [&shader].into_iter(), 2).unwrap();
    let rendered: Arc<[Shader]> = Arc::new([shader]);
    let shaders = vec![rendered; program.launches.len()];
    programs.push(
        prepare((context, canary), (&program, scheduler), &apart(&shaders), buffers, pipelines).unwrap(),
    );
    arena
}

#[test]
fn each_launch_sees_what_the_one_before_it_wrote() {
    // Each launch is estimated to take 2.9 ms, so a submission has eleven.
    let slow = Machine { launch_ns: 2_900_000, ..Machine::default() };
    for (limited, submissions) in [(None, 1), (Some(slow), 273)] {
        let Some(mut device) = open("launches") else { return };
        device.context.limited = limited;
        launches_in_order(device, submissions);
    }
}

fn launches_in_order(mut device: GpuDevice, submissions: usize) {
    // More launches than a query set has room for.
    let arena = by_hand(&mut device, 1500);
    assert_eq!(device.programs[0].segments.len(), submissions);
    let start: Vec<u8> = (0..4u32).flat_map(u32::to_le_bytes).collect();
    device.write(arena, 0, &start).unwrap();
    let mut timings = Timings::default();
    for (tokens, timed) in [(3, false), (1, true), (8, false), (0, false), (5, true)] {
        let sizes = Sizes::of(tokens);
        let mut before = [0; 16];
        device.read(arena, 64, &mut before).unwrap();
        if timed {
            device.replay_timed(ProgramId(0), &sizes, &mut timings).unwrap();
            assert_eq!((timings.workers(), timings.launches()), (1, 3001));
            let mut end = 0;
            for launch in 0..timings.launches() {
                let span = timings.span(0, launch);
                assert!(end <= span.begin && span.begin <= span.done && span.done <= span.free);
                end = span.free;
            }
            assert!(end > 0, "no time passed");
        } else {
            device.replay(ProgramId(0), &sizes).unwrap();
        }
        let mut out = [0; 16];
        device.read(arena, 64, &mut out).unwrap();
        let expected: Vec<u8> = (0..4u32).flat_map(|i| (i + 3001 * tokens as u32).to_le_bytes()).collect();
        // Without tokens nothing is launched.
        assert_eq!(out.as_slice(), if tokens == 0 { &before[..] } else { &expected }, "{tokens} tokens");
    }
}

/// Some drivers end work that takes too long, and report that it is done.
#[test]
fn a_step_that_ends_early_is_an_error_and_stays_one() {
    for whole_launches in [false, true] {
        let Some(mut device) = open("steps that end early") else { return };
        let arena = by_hand(&mut device, 2);
        let sizes = Sizes::of(3);
        let mut out = [0; 16];
        for _ in 0..5 {
            device.replay(ProgramId(0), &sizes).unwrap();
        }
        device.read(arena, 64, &mut out).unwrap();
        device.write(arena, 2, &[0; 3]).unwrap();
        // The fault: the next step runs its launches at most, and is not counted.
        let mut encoder = device.context.device.create_command_encoder(&Default::default());
        if whole_launches {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            let dispatch = &device.programs[0].launches[0][0];
            pass.set_pipeline(&dispatch.pipeline);
            pass.set_bind_group(0, &dispatch.bindings, &[]);
            pass.dispatch_workgroups(1, 1, 1);
        }
        device.programs[0].next = vec![encoder.finish()];
        device.programs[0].encoded_for = Some(sizes);
        device.replay(ProgramId(0), &sizes).unwrap();
        device.wait().unwrap();
        for _ in 0..2 {
            let read = device.read(arena, 64, &mut out);
            let Err(DeviceError::Incomplete { completed, submitted, .. }) = read else { panic!("{read:?}") };
            assert_eq!(submitted - completed, 1);
            // Neither a step that runs nor a write of part of a word makes the bytes valid.
            device.replay(ProgramId(0), &sizes).unwrap();
            let written = device.write(arena, 2, &[0; 3]);
            assert!(matches!(written, Err(DeviceError::Incomplete { .. })), "{written:?}");
        }
    }
}

#[test]
fn free_memory_is_what_is_left() {
    let Some(mut device) = open("free memory") else { return };
    device.memory = Some(1000);
    device.alloc(300).unwrap();
    device.alloc(5).unwrap();
    assert_eq!(device.free_memory(), Some(695));
    device.alloc(5000).unwrap();
    assert_eq!(device.free_memory(), Some(0));
    device.memory = None;
    assert_eq!(device.free_memory(), None);
}

#[test]
fn a_text_that_does_not_compile_is_an_error() {
    let Some(mut device) = open("wrong texts") else { return };
    let shader = Shader {
        name: "wrong".into(),
        source: "fn main() { let x: u32 = 1.5; }".into(),
        entry: "main".into(),
        slots: vec![],
        lanes: 1,
        shared_bytes: 0,
        scratch_bytes: 0,
        needs_spirv: false,
        own_architecture: false,
        sizes_read: [true; 4],
        memory: Memory::default(),
        dependent: false,
        releases_early: false,
        given: None,
        grid: Grid { wide: 1, parts: vec![] },
    };
    let made = device.pipelines.make(&device.context, [&shader].into_iter(), 1);
    assert!(matches!(&made, Err(DeviceError::Refused { what, .. }) if what.contains("wrong")), "{made:?}");
}

#[test]
fn a_device_that_is_gone_says_so_and_goes_on_saying_so() {
    let Some(mut device) = open("lost devices") else { return };
    let buffer = device.alloc(64).unwrap();
    let nothing = Program { max: Sizes::default(), kernels: vec![], launches: vec![] };
    let program = device.compile(&nothing).unwrap();
    device.context.device.destroy();
    // wgpu reports it at the next poll; it reports a driver's own losses at once.
    let _ = device.context.device.poll(wgpu::PollType::Poll);
    for _ in 0..2 {
        let mut out = [0; 4];
        let all = [
            device.alloc(64).map(drop),
            device.write(buffer, 0, &[1; 4]),
            device.read(buffer, 0, &mut out),
            device.replay(program, &Sizes::default()),
            device.compile(&nothing).map(drop),
        ];
        for result in all {
            assert!(matches!(result, Err(DeviceError::Lost { .. })), "{result:?}");
        }
    }
}

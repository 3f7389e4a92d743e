//! Timed replays: every thread, every launch, in order.

use std::sync::Arc;

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{Device, DeviceError, KernelLaunch, Program, Region, Span, Timing, Timings};
use weft_kern::{Access, Anchor, Dim, F32, Format, Indexed, Instr, Kernel, Param, Part, Sizes, View};

const THREADS: usize = 3;
const MAX: Sizes = Sizes::of(40);

fn param(access: Access, format: Format) -> Param {
    Param { access, format }
}

fn view(param: usize, stride: usize) -> View {
    View { param, offset: 0, strides: vec![stride], step: 0 }
}

/// Writes a number for every row, where an index says.
fn scatter(rows: Dim) -> Arc<Kernel> {
    let indexed = Some(Indexed { index: view(0, 1), stride: 1 });
    let body = vec![Instr::Const(F32(1.0)), Instr::Store { value: 0, view: view(1, 0), indexed }];
    let part = Part { rows: vec![rows], cols: 1, prologue: None, anchor: Anchor::Map, body };
    let params = vec![param(Access::Read, Format::I32), param(Access::Write, Format::F32)];
    Arc::new(Kernel { name: "scatter".into(), params, parts: vec![part], texts: Vec::new() })
}

#[test]
fn every_thread_is_timed_at_every_launch_that_has_rows() {
    let mut device = CpuDevice::new(CpuOptions { threads: Some(THREADS), isa: None }).unwrap();
    let [ids, out] = [40 * 4, 40 * 4].map(|bytes| device.alloc(bytes).unwrap());
    let numbers: Vec<u8> = (0..40i32).flat_map(i32::to_le_bytes).collect();
    device.write(ids, 0, &numbers).unwrap();
    let args = [ids, out].map(|buffer| Region { buffer, offset: 0, values: 40 }).to_vec();
    // The second launch never has rows, and the device leaves it out.
    let launches = [0, 1, 0, 0].map(|kernel| KernelLaunch { kernel, args: args.clone() });
    let program =
        Program { max: MAX, kernels: vec![scatter(Dim::T), scatter(Dim::R)], launches: launches.to_vec() };
    let program = device.compile(&program).unwrap();
    let mut timings = Timings::default();
    for tokens in [40, 7, 0] {
        device.replay_timed(program, &Sizes { tokens, ..MAX }, &mut timings).unwrap();
        assert_eq!((timings.workers(), timings.launches()), (THREADS, 4));
        for worker in 0..THREADS {
            let [first, none, second, third] = [0, 1, 2, 3].map(|launch| timings.span(worker, launch));
            assert_eq!(none, Span::default());
            for (span, before) in [(first, first.begin), (second, first.free), (third, second.free)] {
                assert_eq!(span.begin, before, "no gaps");
                assert!(span.begin <= span.done && span.done <= span.free, "{span:?}");
            }
        }
        for launch in [0, 2, 3] {
            let spans: Vec<Span> = (0..THREADS).map(|worker| timings.span(worker, launch)).collect();
            let last = spans.iter().map(|span| span.done).max();
            assert!(
                spans.iter().all(|span| Some(span.free) >= last),
                "no worker is free before the last is done"
            );
        }
    }
    // A fault is also reported in a timed replay, and the program can be run again.
    device.write(ids, 0, &99i32.to_le_bytes()).unwrap();
    let fault = device.replay_timed(program, &MAX, &mut timings);
    assert!(matches!(fault, Err(DeviceError::Index { .. })), "{fault:?}");
    device.write(ids, 0, &0i32.to_le_bytes()).unwrap();
    device.replay_timed(program, &MAX, &mut timings).unwrap();
}

//! A step allocates no memory, neither in the engine nor in the device, on any thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_engine::EngineOptions;
use weft_engine::inspect::{Batch, Runner, StepTimings};

/// The system allocator, with a counter.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are forwarded unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`, and all memory comes from the system allocator.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn steps_allocate_nothing() {
    // One with rows for tokens, and one that also has states of whole sequences.
    ["glm-tiny-q4_k_m", "qwen35-tiny-q4_k_m"].into_iter().for_each(steps_of);
}

fn steps_of(fixture: &str) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let fixture = fixtures.join(fixture).with_extension("gguf");
    let options = EngineOptions::default().threads(2).context(128);
    let mut runner = Runner::load(&fixture, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    let seq = runner.new_sequence();
    let mut batch = Batch::new();
    // The batch grows once, and belongs to the caller.
    (0..40).for_each(|t| batch.push(seq, t, t % 8 == 0));
    let mut timings = StepTimings::default();
    let warm_up = runner.new_sequence();
    let mut one = Batch::new();
    one.push(warm_up, 0, true);
    // The first timed step allocates its marks.
    runner.step_timed(&one, &mut timings).unwrap();
    runner.free(warm_up);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    assert!(before > 100, "the counter does not work");
    runner.step(&batch).unwrap();
    for token in 0..60 {
        batch.clear();
        batch.push(seq, token, true);
        runner.step(&batch).unwrap();
    }
    for token in 0..20 {
        batch.clear();
        batch.push(seq, token, true);
        runner.step_timed(&batch, &mut timings).unwrap();
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
}

//! A step allocates nothing: not the engine, not the device, on no thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_engine::{Batch, EngineOptions, Runner, StepTimings};

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract, and all memory comes from the system's allocator.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn steps_allocate_nothing() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_k_m.gguf");
    let options = EngineOptions::default().threads(2).context(128);
    let mut engine = Runner::load(&fixture, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    let seq = engine.new_sequence();
    let mut batch = Batch::new();
    // The batch itself is the caller's; it grows once.
    (0..40).for_each(|t| batch.push(seq, t, t % 8 == 0));
    let mut timings = StepTimings::default();
    let warm_up = engine.new_sequence();
    let mut one = Batch::new();
    one.push(warm_up, 0, true);
    // The first timed step makes room for its marks.
    engine.step_timed(&one, &mut timings).unwrap();
    engine.free(warm_up);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    assert!(before > 100, "nothing is counted");
    engine.step(&batch).unwrap();
    for token in 0..60 {
        batch.clear();
        batch.push(seq, token, true);
        engine.step(&batch).unwrap();
    }
    for token in 0..20 {
        batch.clear();
        batch.push(seq, token, true);
        engine.step_timed(&batch, &mut timings).unwrap();
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
}

//! A failure ends one generation, with a reason, and leaves nothing wrong behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{BufferId, Device, DeviceError, Forward, ProgramId};
use weft_engine::{
    Engine, EngineOptions, Error, Event, Failure, FailureKind, Finish, LogitProcessor, Model, Request,
    Sampling, Speculate,
};
use weft_ir::Sizes;
use weft_quant::GgmlType;

use crate::support::Fixture;

fn fixture() -> Fixture {
    Fixture::load("glm-tiny-q4_k_m")
}

fn options(context: usize) -> EngineOptions {
    EngineOptions::default().threads(2).context(context).batch(16)
}

fn greedy(prompt: &[u32], tokens: usize) -> Request {
    Request::new(prompt).ignore_end(true).max_tokens(tokens).sampling(Sampling::greedy())
}

fn uncached(prompt: &[u32], tokens: usize) -> Request {
    greedy(prompt, tokens).cache(false)
}

/// An engine with a context of 128 tokens on a device that `wrap` puts in front of the CPU.
fn engine<D: Device + 'static>(fixture: &Fixture, wrap: impl FnOnce(CpuDevice) -> D) -> Engine {
    let cpu = CpuDevice::new(CpuOptions { threads: Some(2), ..CpuOptions::default() }).unwrap();
    let model = Model::open(&fixture.path, GgmlType::F16).unwrap();
    Engine::new(model, Box::new(wrap(cpu)), &options(128)).unwrap()
}

/// Fails one read, after as many others as it is told.
struct FailsToRead(CpuDevice, Arc<AtomicI64>);

impl Forward for FailsToRead {
    fn inner(&self) -> &dyn Device {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.0
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        if self.1.fetch_sub(1, Ordering::SeqCst) == 0 {
            return Err(DeviceError::Memory { device: "test".into(), bytes: out.len() });
        }
        self.0.read(buffer, offset, out)
    }
}

#[test]
fn rows_that_could_not_be_copied_are_not_cached() {
    let fixture = fixture();
    let fail = Arc::new(AtomicI64::new(-1));
    let mut engine = engine(&fixture, |cpu| FailsToRead(cpu, Arc::clone(&fail)));
    let expected = engine.complete(greedy(&fixture.tokens, 5).logprobs(1)).unwrap();
    fail.store(0, Ordering::SeqCst);
    assert!(engine.complete(greedy(&fixture.tokens, 5)).is_err());
    assert!(fail.load(Ordering::SeqCst) < 0, "rows of the cached page were read to be copied");
    // Takes three of the four pages, the least recently used first.
    let other: Vec<u32> = (0..90).collect();
    engine.complete(uncached(&other, 2)).unwrap();
    let again = engine.complete(greedy(&fixture.tokens, 5).logprobs(1)).unwrap();
    assert_eq!(again.tokens, expected.tokens);
}

/// A step that fails while it checks guesses leaves none of them in a page.
#[test]
fn a_step_that_fails_among_guesses_leaves_no_pages() {
    let fixture = fixture();
    let fail = Arc::new(AtomicI64::new(-1));
    let mut engine = engine(&fixture, |cpu| FailsToRead(cpu, Arc::clone(&fail)));
    engine.speculate(&Speculate::Lookup).unwrap();
    let request = || greedy(&fixture.tokens, 40).logprobs(1);
    let expected = engine.complete(request()).unwrap();
    for reads in 0..12 {
        fail.store(reads, Ordering::SeqCst);
        let failed = engine.complete(request()).is_err();
        fail.store(-1, Ordering::SeqCst);
        assert_eq!((failed || reads > 4, engine.stats().pages_held), (true, 0), "{reads} reads");
        assert_eq!(engine.complete(request()).unwrap().tokens, expected.tokens);
    }
    assert!(engine.stats().speculation.accepted > 0);
}

/// Skips a replay and reports the failure with the next write, as a device may that replays asynchronously.
struct FailsLate {
    cpu: CpuDevice,
    /// The number of replays before the one that fails.
    replays: Arc<AtomicI64>,
    failed: bool,
}

impl Forward for FailsLate {
    fn inner(&self) -> &dyn Device {
        &self.cpu
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.cpu
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        if self.replays.fetch_sub(1, Ordering::SeqCst) == 0 {
            self.failed = true;
            return Ok(());
        }
        self.cpu.replay(program, sizes)
    }

    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        if std::mem::take(&mut self.failed) {
            return Err(DeviceError::Memory { device: "test".into(), bytes: 0 });
        }
        self.cpu.write(buffer, offset, bytes)
    }
}

#[test]
fn failures_that_are_reported_late_leave_no_pages() {
    let fixture = fixture();
    let prompt = [fixture.tokens.as_slice(), &fixture.tokens].concat();
    let right = options(128).open(&fixture.path).unwrap().complete(greedy(&prompt, 5).logprobs(1)).unwrap();
    let replays = Arc::new(AtomicI64::new(-1));
    let mut engine = engine(&fixture, |cpu| FailsLate { cpu, replays: Arc::clone(&replays), failed: false });
    // The second of the prompt's four chunks, whose page the third chunk finds recorded.
    replays.store(1, Ordering::SeqCst);
    assert!(engine.complete(greedy(&prompt, 5)).is_err());
    assert_eq!(engine.complete(greedy(&prompt, 5).logprobs(1)).unwrap().tokens, right.tokens);
}

#[test]
fn generations_outside_a_failed_batch_continue() {
    let fixture = fixture();
    let fail = Arc::new(AtomicI64::new(-1));
    let mut engine = engine(&fixture, |cpu| FailsToRead(cpu, Arc::clone(&fail)));
    let expected = engine.complete(uncached(&fixture.tokens, 5)).unwrap().text;
    // Two share the first step.
    let [first, _second] = [0, 1].map(|_| engine.push(uncached(&fixture.tokens, 5)).unwrap());
    let mut waiting = engine.push(uncached(&fixture.tokens, 5)).unwrap();
    fail.store(0, Ordering::SeqCst);
    while first.finish().is_none() {
        assert_eq!(engine.step().is_err(), first.finish().is_some());
    }
    while engine.step().unwrap() {}
    let mut text = String::new();
    while let Some(event) = waiting.poll() {
        if let Event::Text(more) = event {
            text += &more;
        }
    }
    assert_eq!((waiting.finish(), text), (Some(Finish::Length), expected));
    assert_eq!(engine.stats().pages_held, 0);
}

/// A device can fail when some rows of a step's logits have been taken already.
#[test]
fn later_rows_of_logits_can_fail() {
    let fixture = fixture();
    let fail = Arc::new(AtomicI64::new(-1));
    let mut engine = engine(&fixture, |cpu| FailsToRead(cpu, Arc::clone(&fail)));
    let request = || uncached(&fixture.tokens, 2).prompt_logprobs(1);
    let expected = engine.complete(request()).unwrap();
    let [failed, _other] = [0, 1].map(|_| engine.push(request()).unwrap());
    let mut waiting = engine.push(uncached(&fixture.tokens, 2)).unwrap();
    // The first step wants eight rows of each, and computes eight at once.
    fail.store(1, Ordering::SeqCst);
    while failed.finish().is_none() {
        assert_eq!(engine.step().is_err(), failed.finish().is_some());
    }
    let Some(Finish::Failed(Failure { kind: FailureKind::Device, .. })) = failed.finish() else {
        panic!("{:?}", failed.finish())
    };
    while engine.step().unwrap() {}
    assert_eq!(std::iter::from_fn(|| waiting.poll()).last(), Some(Event::Finished(Finish::Length)));
    let again = engine.complete(request()).unwrap();
    assert_eq!((again.prompt, again.tokens), (expected.prompt, expected.tokens));
    assert_eq!(engine.stats().pages_held, 0);
}

#[test]
fn a_dropped_engine_ends_its_generations() {
    let fixture = fixture();
    let mut engine = options(128).open(&fixture.path).unwrap();
    let mut generation = engine.push(greedy(&fixture.tokens, 9)).unwrap();
    engine.step().unwrap();
    drop(engine);
    let last = std::iter::from_fn(|| generation.poll()).last();
    assert_eq!(
        last,
        Some(Event::Finished(Finish::Failed(Failure::new(FailureKind::Closed, "the engine was closed"))))
    );
}

/// The behaviour of a test's processor.
#[derive(Clone, Copy)]
enum Does {
    ForbidAll,
    Fail,
    Panic,
    PanicLater,
}

impl LogitProcessor for Does {
    fn process(&mut self, _: &[u32], _: usize, logits: &mut [f32]) -> Result<(), String> {
        match self {
            Does::ForbidAll => logits.fill(f32::NEG_INFINITY),
            Does::Fail => return Err("no token fits the grammar".into()),
            Does::Panic => panic!("a bug in a grammar"),
            Does::PanicLater => {}
        }
        Ok(())
    }

    fn chosen(&mut self, _: u32) {
        panic!("a bug in a grammar");
    }
}

#[test]
fn a_processor_fails_only_its_own_generation() {
    let fixture = fixture();
    let mut engine = options(128).sequences(2).batch(64).open(&fixture.path).unwrap();
    let expected = engine.complete(greedy(&fixture.tokens, 5).logprobs(1)).unwrap();
    let random = Sampling::default().temperature(1.0);
    for (does, kind, why) in [
        (
            Does::ForbidAll,
            FailureKind::NothingAllowed,
            "the request's constraints allow no token at all here",
        ),
        (Does::Fail, FailureKind::Processor, "no token fits the grammar"),
        (Does::Panic, FailureKind::Processor, "a logit processor panicked"),
        (Does::PanicLater, FailureKind::Processor, "a logit processor panicked"),
    ] {
        for sampling in [Sampling::greedy(), random] {
            let bad = greedy(&fixture.tokens[1..], 5).sampling(sampling).processor(does);
            let bad = engine.push(bad).unwrap();
            let good = engine.complete(greedy(&fixture.tokens, 5).logprobs(1)).unwrap();
            assert_eq!(good.tokens, expected.tokens);
            assert_eq!(bad.finish(), Some(Finish::Failed(Failure::new(kind, why))));
        }
    }
    assert_eq!(engine.stats().pages_held, 0);
}

#[test]
fn parameters_that_are_not_finite_are_refused() {
    let fixture = fixture();
    let mut engine = options(128).open(&fixture.path).unwrap();
    for (name, set) in [
        ("temperature", (|s, x| s.temperature = x) as fn(&mut Sampling, f32)),
        ("top_p", |s, x| s.top_p = x),
        ("min_p", |s, x| s.min_p = x),
        ("repeat_penalty", |s, x| s.repeat_penalty = x),
        ("presence_penalty", |s, x| s.presence_penalty = x),
        ("frequency_penalty", |s, x| s.frequency_penalty = x),
    ] {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut sampling = Sampling::default();
            set(&mut sampling, value);
            let error = engine.push(greedy(&fixture.tokens, 1).sampling(sampling)).unwrap_err();
            let Error::Batch(why) = error else { panic!("{error}") };
            assert_eq!(why, format!("{name} is {value}: expected a finite number"));
        }
    }
}

/// Fails to commit buffers for lack of memory, and records their number.
struct FailsToCommit(CpuDevice, Arc<AtomicI64>);

impl Forward for FailsToCommit {
    fn inner(&self) -> &dyn Device {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.0
    }

    fn commit(&mut self, buffers: &[BufferId]) -> Result<(), DeviceError> {
        self.1.store(buffers.len() as i64, Ordering::SeqCst);
        Err(DeviceError::Memory { device: "test".into(), bytes: 1 })
    }
}

#[test]
fn too_little_memory_for_the_kv_cache_is_found_at_the_start() {
    let fixture = fixture();
    let committed = Arc::new(AtomicI64::new(0));
    let open = |commit| {
        let cpu = CpuDevice::new(CpuOptions { threads: Some(1), ..CpuOptions::default() }).unwrap();
        let model = Model::open(&fixture.path, GgmlType::F16).unwrap();
        let device = FailsToCommit(cpu, Arc::clone(&committed));
        Engine::new(model, Box::new(device), &options(128).commit(commit))
    };
    assert!(open(false).is_ok());
    assert_eq!(committed.load(Ordering::SeqCst), 0);
    let Err(error) = open(true) else { panic!("the engine has no KV cache") };
    assert!(error.is_out_of_memory(), "{error}");
    assert!(committed.load(Ordering::SeqCst) > 0);
}

//! Samples have the tokens that they name and no others: on a clock that counts tokens, every rate is one
//! token a second.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use weft_device::{BufferId, Device, DeviceError, Forward, NullDevice, ProgramId};
use weft_engine::Model;
use weft_engine::inspect::PlansId;
use weft_kern::Sizes;
use weft_quant::GgmlType;

use super::*;
use crate::ablate::{Rig, Way};

/// A device that takes a second for each token of a step, computes nothing, and computes it late: when
/// somebody waits for it.
struct Counts {
    null: NullDevice,
    clock: Clock,
    /// Seconds of the launches that have been submitted and not been waited for.
    submitted: AtomicU64,
}

/// The seconds so far.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

impl Counts {
    fn end(&self) {
        self.clock.0.fetch_add(self.submitted.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Forward for Counts {
    fn inner(&self) -> &dyn Device {
        &self.null
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.null
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        self.end();
        self.null.read(buffer, offset, out)
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        // The head computes rows of logits, the body tokens.
        let tokens = if sizes.rows == 0 { sizes.tokens as u64 } else { 0 };
        self.submitted.fetch_add(tokens, Ordering::Relaxed);
        self.null.replay(program, sizes)
    }

    fn wait(&mut self) -> Result<(), DeviceError> {
        self.end();
        Ok(())
    }
}

/// A model whose layers have a window of 7 tokens, and one without windows.
const MODELS: [&str; 2] = ["gemma3-odd-q8_0", "glm-tiny-q4_0"];

fn model(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/{name}.gguf"));
    Model::open(&path, GgmlType::F16).unwrap()
}

fn counts(clock: &Clock) -> Box<dyn Device> {
    let (null, submitted) = (NullDevice::default(), AtomicU64::new(0));
    Box::new(Counts { null, clock: clock.clone(), submitted })
}

#[test]
fn samples_of_a_benchmark_have_the_tokens_that_they_name() {
    let options = BenchOptions {
        prefill: 150,
        decode: 40,
        // Within a page, with a few rows more than whole pages, and many pages that the next sample evicts.
        depths: [0, 9, 66, 700].into(),
        parallel: [1, 3].into(),
        guesses: [0].into(),
        speculate: Speculate::Off,
        repeat: 2,
        vocabulary: usize::MAX,
    };
    for name in MODELS {
        let clock = Clock::default();
        let engine = small(options.context(), 3).batch(64);
        let mut engine = Engine::new(model(name), counts(&clock), &engine).unwrap();
        let (now, cancel, mut unseen) = (|| clock.now(), AtomicBool::new(false), |_, _| {});
        let mut settings = settings(&engine, &options);
        Run::new(&mut engine, &options, &now, &cancel, &mut unseen)
            .all(&options, &mut settings, &mut |_| Ok(()))
            .unwrap();
        assert_eq!(settings.len(), 4 * (1 + 2));
        for Setting { phase, depth, sequences, rates, .. } in settings {
            assert_eq!(rates.all(), [1.0; 2], "{name}: {phase:?} of {sequences} at {depth}");
        }
        // Most contexts came from the prefix cache: computing them for each sample would take several times
        // as long.
        let seconds = clock.now().as_secs();
        println!("{name}: {seconds} tokens");
        assert!(seconds < 15_000, "{name}: {seconds} tokens were computed");
    }
}

#[test]
fn pairs_of_samples_have_the_tokens_that_they_name() {
    for name in MODELS {
        let clock = Clock::default();
        let options = small(900, 1).batch(64);
        let go_on = &mut |_| ControlFlow::Continue(());
        let mut runner = Runner::new(model(name), counts(&clock), &options, go_on).unwrap();
        let (now, cancel, mut unseen) = (|| clock.now(), AtomicBool::new(false), |_, _| {});
        let way = |at_once| Way { plans: PlansId::LOADED, at_once };
        let [base, change] = [64, 32].map(way);
        for depth in [0, 9, 700] {
            let mut rig = Rig::new(&mut runner, depth, 0, &now, &cancel, &mut unseen).unwrap();
            for number in 0..3 {
                for (phase, tokens) in [(Phase::Prefill, 150), (Phase::Decode, 40)] {
                    let rates = rig.pair(base, change, phase, tokens, number).unwrap();
                    assert_eq!(rates, (1.0, 1.0), "{name}: {phase:?} at {depth}");
                }
            }
            rig.end();
        }
    }
}

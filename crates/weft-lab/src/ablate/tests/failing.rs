//! Changes that compute something else or fail: a device that fails in programs compiled after a model was loaded.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{Device, DeviceError, Forward, Program, ProgramId};
use weft_engine::{EngineOptions, Model};
use weft_kern::{Access, Sizes};

use super::*;

/// The most tokens of a step; there are plans for steps of 1, of 16 and of this many.
const BATCH: usize = 32;

/// Programs of a model as loaded: body and head for each size of step.
const LOADED: usize = 6;

/// The plans that a program belongs to.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Of {
    /// 0 is the model as loaded, 1 the first variant compiled after that.
    variant: usize,
    /// The most tokens of its steps.
    tokens: usize,
}

/// The fault of a program when it is replayed.
enum Wrong {
    Nothing,
    Values,
    Refused,
}

type OnReplay = Box<dyn FnMut(Of) -> Wrong + Send>;

/// A device that fails.
struct Failing {
    device: CpuDevice,
    programs: BTreeMap<ProgramId, (Of, Program)>,
    variants: usize,
    on_replay: OnReplay,
}

impl Forward for Failing {
    fn inner(&self) -> &dyn Device {
        &self.device
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.device
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        let id = self.device.compile(program)?;
        let place = id.0 as usize;
        // The programs of a variant take the place of the last one, which has been dropped, unless that was kept.
        self.variants += usize::from(place >= LOADED && (place - LOADED).is_multiple_of(LOADED));
        let variant = if place < LOADED { 0 } else { self.variants };
        self.programs.insert(id, (Of { variant, tokens: program.max.tokens }, program.clone()));
        Ok(id)
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        let (of, Program { kernels, launches, .. }) = &self.programs[&program];
        match (self.on_replay)(*of) {
            Wrong::Nothing => self.device.replay(program, sizes),
            Wrong::Refused => Err(DeviceError::Usage("this step is refused".into())),
            Wrong::Values => {
                self.device.replay(program, sizes)?;
                let last = launches.last().unwrap();
                let params = kernels[last.kernel].params.iter().zip(&last.args);
                let (_, region) =
                    params.into_iter().find(|(param, _)| param.access == Access::Write).unwrap();
                self.device.write(region.buffer, region.offset, &50f32.to_le_bytes())
            }
        }
    }
}

fn failing(context: usize, on_replay: impl FnMut(Of) -> Wrong + Send + 'static) -> Runner {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf");
    let options = EngineOptions::default().context(context).sequences(2).batch(BATCH);
    let device = Failing {
        device: CpuDevice::new(CpuOptions { threads: Some(2), isa: None }).unwrap(),
        programs: BTreeMap::new(),
        variants: 0,
        on_replay: Box::new(on_replay),
    };
    let model = Model::open(&fixture, options.kv).unwrap();
    Runner::new(model, Box::new(device), &options, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn short() -> AblateOptions {
    AblateOptions { prefill: BATCH, decode: 1, depth: 0, pairs: 1, ..options() }
}

/// Every plan of a change is compared: for one token, which replies run, for a few, and for prompts.
#[test]
fn wrong_plans_of_any_size_of_step_do_not_pass() {
    for wrong in [0, 1, 16, BATCH] {
        let mut runner = failing(short().context(), move |of| match of {
            Of { variant: 1, tokens } if tokens == wrong => Wrong::Values,
            _ => Wrong::Nothing,
        });
        let changes = [off("fuse.tail")];
        let found = ablate(&mut runner, &changes, &short(), &AtomicBool::new(false), &mut |_, _| {}).unwrap();
        let Outcome::Measured(gate, _) = &found.rows[0].outcome else { panic!("{found:?}") };
        assert_eq!(gate.passes, wrong == 0, "steps of {wrong}: {gate:?}");
        assert_eq!(found.rows[0].outcome.verdict() == Verdict::Drop, wrong != 0);
    }
}

/// Prompts of two steps, of which one change of three refuses the second.
#[test]
fn a_change_that_cannot_be_run_is_refused_and_the_others_are_measured() {
    let options = AblateOptions { prefill: BATCH + 8, decode: 0, ..short() };
    let mut replays = 0;
    // There is only room for one sample, so none may be left behind.
    let mut runner = failing(options.context(), move |of| {
        let second = of == (Of { variant: 2, tokens: 16 });
        replays += u32::from(second);
        // Body and head, of eight tokens, are compared first.
        if second && replays > 2 { Wrong::Refused } else { Wrong::Nothing }
    });
    let changes = [off("fuse.tail"), off("fuse.beside"), off("hoist.steps")];
    let mut told = Vec::new();
    let found = ablate(&mut runner, &changes, &options, &AtomicBool::new(false), &mut |done, total| {
        told.push((done, total));
    });
    let rows = found.unwrap().rows;
    let [Outcome::Measured(..), Outcome::Refused(why), Outcome::Measured(..)] =
        [0, 1, 2].map(|i| rows[i].outcome.clone())
    else {
        panic!("{rows:?}")
    };
    assert!(why.contains("this step is refused"), "{why}");
    assert!(told.is_sorted() && told.last() == Some(&(6, 6)), "{told:?}");
}

#[test]
fn a_base_that_cannot_be_run_is_an_error() {
    let broken = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&broken);
    let mut runner = failing(short().context(), move |of| match of.variant {
        0 if told.load(Ordering::Relaxed) => Wrong::Refused,
        _ => Wrong::Nothing,
    });
    let mut on = |done, _| broken.store(done >= 4, Ordering::Relaxed);
    let changes = [off("fuse.tail"), off("fuse.beside")];
    let found = ablate(&mut runner, &changes, &short(), &AtomicBool::new(false), &mut on);
    let error = found.unwrap_err();
    assert!(matches!(&error, Error::Engine(why) if why.to_string().contains("refused")), "{error}");
}

#[test]
fn a_change_that_fails_on_top_of_kept_ones_is_refused() {
    let options = short();
    let mut runner = failing(options.context(), |of| match of.variant {
        1 => Wrong::Refused,
        _ => Wrong::Nothing,
    });
    let (cancel, mut last) = (AtomicBool::new(false), (0, 0));
    let mut on = |done, total| last = (done, total);
    let began = Instant::now();
    let now = || began.elapsed();
    let rig = Rig::new(&mut runner, 0, 0, &now, &cancel, &mut on).unwrap();
    let (rule, phases) = (Rule::new(2, 1), options.phases());
    let mut trial = Trial { rig, options: &options, phases, rule, each: 4 };
    let loaded = trial.loaded().unwrap();
    trial.rig.expect(4);
    let refused = trial.beside(&loaded, &[off("fuse.tail")], off("fuse.beside")).unwrap();
    assert!(matches!(&refused, Outcome::Refused(why) if why.contains("refused")), "{refused:?}");
    trial.rig.end();
    assert_eq!(last, (4, 4));
}

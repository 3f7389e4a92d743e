//! Optimising a tiny model on a device whose clock counts kernel launches.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{Device, DeviceError, Forward, Program, ProgramId};
use weft_engine::inspect::switches_of;
use weft_engine::{DeviceChoice, EngineOptions, Mode, Model, decision};
use weft_kern::Sizes;

use super::*;
use crate::ablate::kept_together;

/// A device that counts the launches it runs.
struct Counting {
    device: CpuDevice,
    launches: BTreeMap<ProgramId, u64>,
    ran: Arc<AtomicU64>,
}

impl Forward for Counting {
    fn inner(&self) -> &dyn Device {
        &self.device
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.device
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        let id = self.device.compile(program)?;
        self.launches.insert(id, program.launches.len() as u64);
        Ok(id)
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        self.ran.fetch_add(self.launches[&program], Ordering::Relaxed);
        self.device.replay(program, sizes)
    }
}

fn options(switches: &Switches) -> AblateOptions {
    AblateOptions {
        prefill: 6,
        decode: 2,
        depth: 3,
        pairs: 8,
        switches: switches.clone(),
        golden: None,
        most_kl: 0.01,
        combine: false,
    }
}

/// Optimises a model with these decisions. A launch takes a microsecond, whatever it does.
fn run(switches: &Switches, changes: &[Change], cancel_after: u64) -> Optimized {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf");
    let wanted = options(switches);
    let own = EngineOptions::default().context(optimize_context(&wanted)).sequences(2).batch(8);
    let own = own.switches(switches.clone());
    let ran = Arc::new(AtomicU64::new(0));
    let device = Counting {
        device: CpuDevice::new(CpuOptions { threads: Some(2), isa: None }).unwrap(),
        launches: BTreeMap::new(),
        ran: Arc::clone(&ran),
    };
    let model = Model::open(&fixture, own.kv).unwrap();
    let report = &mut |_| ControlFlow::Continue(());
    let mut verifier = Verifier::new(model, Box::new(device), &own, report).unwrap();
    let now = || Duration::from_micros(ran.load(Ordering::Relaxed));
    let cancel = AtomicBool::new(false);
    let mut told = 0;
    let found = optimize_by(&mut verifier, changes, &wanted, &now, &cancel, &mut |_| {
        told += 1;
        cancel.store(told > cancel_after, Ordering::Relaxed);
    });
    found.unwrap()
}

fn named(keep: &[TunedDecision]) -> Vec<String> {
    keep.iter().map(|one| format!("{}={}", one.decision.name, one.mode.name())).collect()
}

fn all(base: &Switches) -> Vec<Change> {
    Change::all(base, &DeviceChoice::default())
}

/// Fewer launches are faster by this clock, so what fuses less than the compiler could is found.
#[test]
fn what_wins_is_confirmed_and_a_second_run_finds_nothing_new() {
    let mut base = Switches::default();
    for name in ["fuse.beside", "fuse.tail"] {
        base.set(decision(name).unwrap(), Mode::Off);
    }
    let first = run(&base, &all(&base), u64::MAX);
    assert_eq!(first.end, OptimizeEnd::Confirmed, "{:?}", first.confirmed);
    let found = named(&first.keep);
    assert!(
        ["fuse.beside=on", "fuse.tail=on"].iter().all(|name| found.contains(&name.to_string())),
        "{found:?}"
    );
    let verified = first.verification.as_ref().unwrap();
    assert!(verified.launches.len() > 10 && verified.steps.len() == 5, "{:?}", verified.steps);
    let json = first.json();
    assert_eq!((&json["optimized"], &json["verification"]["faults"]), (&"confirmed".into(), &json!([])));
    assert_eq!(json["keep"].as_array().unwrap().len(), found.len());
    assert!(json["confirmed"]["decode"]["gain"]["low"].as_f64().unwrap() > 0.0, "{}", json["confirmed"]);

    let kept = kept_together(&[], &first.keep);
    assert!(!named(&kept).contains(&"fuse.tail=on".into()), "a default need not be kept");
    let base = switches_of(&kept).on_top_of(&Switches::default());
    let second = run(&base, &all(&base), u64::MAX);
    assert_eq!((second.end, named(&second.keep)), (OptimizeEnd::Nothing, Vec::new()));
    assert_eq!((second.confirmed, second.verification), (None, None));
}

#[test]
fn what_won_before_an_interruption_is_kept() {
    let mut base = Switches::default();
    base.set(decision("fuse.beside").unwrap(), Mode::Off);
    let changes = Change::of(decision("fuse.beside").unwrap(), &base);
    let whole = run(&base, &changes, u64::MAX);
    assert_eq!((whole.end, named(&whole.keep)), (OptimizeEnd::Confirmed, vec!["fuse.beside=on".into()]));
    let mut ends = Vec::new();
    for cancel_after in 0..30 {
        let found = run(&base, &changes, cancel_after);
        let is_tried = found.ablation.rows.len() == 1;
        assert_eq!(named(&found.keep).len(), usize::from(is_tried), "after {cancel_after}: {:?}", found.end);
        ends.push(found.end);
    }
    assert!(ends.contains(&OptimizeEnd::Interrupted), "{ends:?}");
}

#[test]
fn gains_must_be_certain() {
    use crate::ablate::{Distance, Gain, Gate, Measured};
    use crate::bench::Phase;
    let one = |low: f64, high: f64| {
        let gain = Gain { median: (low + high) / 2.0, low, high };
        Measured { phase: Phase::Decode, tokens: 1, kernels: [9, 9], pairs: Vec::new(), gain }
    };
    let near = Distance { mean_kl: 0.0, max_kl: 0.0, greedy: 1.0 };
    let outcome = |passes, phases| {
        Outcome::Measured(Gate { same_bits: passes, from_base: near, from_golden: None, passes }, phases)
    };
    for (found, certain) in [
        (outcome(true, vec![one(0.01, 0.05), one(-0.01, 0.01)]), true),
        (outcome(true, vec![one(-0.01, 0.05), one(-0.01, 0.01)]), false),
        (outcome(true, vec![one(0.03, 0.05), one(-0.05, -0.03)]), false),
        (outcome(true, vec![one(f64::NAN, f64::NAN)]), false),
        (outcome(false, vec![one(0.03, 0.05)]), false),
        (Outcome::Same, false),
        (Outcome::Refused("no memory".into()), false),
    ] {
        assert_eq!(found.is_certain_gain(), certain, "{found:?}");
    }
}

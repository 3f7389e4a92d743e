//! Ablation: measures what each decision is worth, one change at a time against the base, in one process.
//!
//! The model is compiled a second time with the change, on the same weights, cache and threads. Its logits are compared with the
//! base's; then the two are sampled in turns until the [`Rule`] has a verdict. A change that gains more than 2 % and computes the
//! same is kept.

mod change;
mod gate;
mod keep;
mod pairs;
mod rule;

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde_json::{Value, json};
use weft_engine::Switches;
use weft_engine::inspect::{Departure, PlansId, Runner};
use weft_random::Random;

use crate::OnProgress;
use crate::bench::Phase;
use crate::clock::Now;
use crate::error::Error;
use crate::host::Host;
use crate::json::joined;
use crate::schedules::schedules;
use gate::logits;
pub(crate) use pairs::{Rig, Way};

pub use change::Change;
pub use gate::{Distance, Gate, Golden};
pub use keep::kept_together;
pub use pairs::Measured;
pub use rule::{Gain, MARGIN, Rule, Verdict};

/// Tokens whose logits are compared, unless golden ones are given.
const GATE_TOKENS: usize = 32;

/// Options of an ablation.
#[derive(Clone, PartialEq, Debug)]
pub struct AblateOptions {
    /// Tokens of a prompt in a sample; 0 to measure none.
    pub prefill: usize,
    /// Tokens of a reply in a sample; 0 to measure none.
    pub decode: usize,
    /// Tokens in the cache before each sample.
    pub depth: usize,
    /// The most pairs of samples of each phase.
    pub pairs: usize,
    /// The decisions that the engine was loaded with.
    pub switches: Switches,
    /// Logits that are known to be right.
    pub golden: Option<Golden>,
    /// The largest mean divergence from the base that a change may have, in nats, if there are no golden logits.
    pub most_kl: f64,
    /// Whether the winners are combined.
    pub combine: bool,
}

impl AblateOptions {
    /// The context that the runner must have room for, in tokens. It must have room for two sequences.
    pub fn context(&self) -> usize {
        let gate = self.golden.as_ref().map_or(GATE_TOKENS, |golden| golden.tokens.len());
        self.depth.saturating_add(self.prefill.max(self.decode)).max(gate)
    }

    fn phases(&self) -> Vec<(Phase, usize)> {
        let all = [(Phase::Decode, self.decode), (Phase::Prefill, self.prefill)];
        all.into_iter().filter(|(_, tokens)| *tokens > 0).collect()
    }
}

/// The results of all changes.
#[derive(Clone, PartialEq, Debug)]
pub struct Ablation {
    /// The machine.
    pub host: Host,
    /// The rule that made the verdicts.
    pub rule: Rule,
    /// The number of changes to try.
    pub changes: usize,
    /// The changes, in the order they were tried.
    pub rows: Vec<Row>,
    /// The winners combined, if requested.
    pub combined: Option<Combined>,
    /// Whether it was cancelled; then only finished changes are included.
    pub interrupted: bool,
}

/// A change and its outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The change.
    pub change: Change,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The outcome of a change.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// The compiler makes the same kernels with and without it.
    Same,
    /// It cannot be compiled or run, and why.
    Refused(String),
    /// It was measured.
    Measured(Gate, Vec<Measured>),
}

/// The winners, combined one by one, the largest gain first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Combined {
    /// Each winner, measured on top of those kept before it.
    pub tried: Vec<Row>,
    /// Those that were kept.
    pub kept: Vec<Change>,
    /// All that were kept, against the base; `None` if none was.
    pub together: Option<Outcome>,
}

impl Outcome {
    /// The verdict on the change. One that computes something else is dropped, however fast.
    pub fn verdict(&self) -> Verdict {
        let Outcome::Measured(gate, phases) = self else { return Verdict::Undecided };
        let any = |verdict| phases.iter().any(|one| one.gain.verdict() == verdict);
        match (any(Verdict::Keep), any(Verdict::Drop)) {
            _ if !gate.passes => Verdict::Drop,
            (true, false) => Verdict::Keep,
            (false, true) => Verdict::Drop,
            _ => Verdict::Undecided,
        }
    }

    /// Why, in a few words.
    pub fn why(&self) -> String {
        let (gate, phases) = match self {
            Outcome::Same => return "the kernels are the same".into(),
            Outcome::Refused(why) => return why.clone(),
            Outcome::Measured(gate, phases) => (gate, phases),
        };
        if !gate.passes {
            return "its logits differ".into();
        }
        let said = |verdict, word: &str| {
            let decided = phases.iter().filter(|one| one.gain.verdict() == verdict);
            let names: Vec<&str> = decided.map(|one| one.phase.name()).collect();
            (!names.is_empty()).then(|| format!("{word} in {}", names.join(" and ")))
        };
        let decided = [said(Verdict::Keep, "gains"), said(Verdict::Drop, "loses")];
        let decided: Vec<String> = decided.into_iter().flatten().collect();
        if !decided.is_empty() {
            return decided.join(", ");
        }
        if phases.iter().any(|one| one.gain.low.is_nan()) {
            return "too few samples".into();
        }
        let percent = 100.0 * MARGIN;
        match phases.iter().all(|one| one.gain.is_settled()) {
            true => format!("does less than {percent} %"),
            false => "not certain".into(),
        }
    }

    /// The largest median gain of the phases.
    fn gain(&self) -> f64 {
        let Outcome::Measured(_, phases) = self else { return f64::NAN };
        phases.iter().map(|one| one.gain.median).fold(f64::NAN, f64::max)
    }

    pub(crate) fn json(&self) -> Value {
        let mut json = json!({ "verdict": self.verdict().name(), "why": self.why() });
        if let Outcome::Measured(gate, phases) = self {
            json["logits"] = gate.json();
            phases.iter().for_each(|one| json[one.phase.name()] = one.json());
        }
        json
    }
}

impl Row {
    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let Row { change, outcome } = self;
        let json = json!({ "change": change.to_string(), "knob": change.knob(), "about": change.about() });
        joined(json, outcome.json())
    }
}

impl Ablation {
    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let Ablation { host, rule, changes, combined, interrupted, .. } = self;
        let rows = |rows: &[Row]| rows.iter().map(Row::json).collect::<Value>();
        let combined = combined.as_ref().map(|Combined { tried, kept, together }| {
            json!({
                "tried": rows(tried),
                "kept": kept.iter().map(Change::to_string).collect::<Vec<_>>(),
                "together": together.as_ref().map(Outcome::json),
            })
        });
        json!({
            "machine": host.json(),
            "rule": { "margin": MARGIN, "looks": rule.looks(), "confidence": rule.confidence() },
            "changes": changes,
            "rows": rows(&self.rows),
            "combined": combined,
            "interrupted": interrupted,
        })
    }
}

/// Tries changes, one at a time. `on` is told the number of samples taken and their maximum; `cancel` is checked before every step.
///
/// # Errors
/// If the runner has no room or a step of the base fails. A change that cannot be compiled or run is an outcome, not an error; so is
/// cancellation.
pub fn ablate(
    runner: &mut Runner,
    changes: &[Change],
    options: &AblateOptions,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Ablation, Error> {
    let began = Instant::now();
    ablate_by(runner, changes, options, &|| began.elapsed(), cancel, on)
}

/// Tries changes, by a given clock.
pub(crate) fn ablate_by(
    runner: &mut Runner,
    changes: &[Change],
    options: &AblateOptions,
    now: Now<'_>,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Ablation, Error> {
    let phases = options.phases();
    let rule = Rule::new(phases.len(), options.pairs);
    let each = 2 * (options.pairs * phases.len()) as u64;
    let mut rows = Vec::with_capacity(changes.len());
    let mut combined = None;
    let rig = Rig::new(runner, options.depth, each * changes.len() as u64, now, cancel, on);
    let tried = rig.and_then(|rig| {
        let mut trial = Trial { rig, options, phases, rule: rule.clone(), each };
        let tried = trial.all(changes, &mut rows).and_then(|()| {
            if !options.combine {
                return Ok(());
            }
            trial.combine(&rows, combined.insert(Combined::default()))
        });
        trial.rig.end();
        tried
    });
    let interrupted = matches!(tried, Err(Error::Interrupted));
    if !interrupted {
        tried?;
    }
    let changes = changes.len();
    Ok(Ablation { host: Host::this(), rule, changes, rows, combined, interrupted })
}

/// Measures changes once more, all together.
pub(crate) fn together(
    runner: &mut Runner,
    changes: &[Change],
    options: &AblateOptions,
    now: Now<'_>,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Outcome, Error> {
    let phases = options.phases();
    let rule = Rule::new(phases.len(), options.pairs);
    let each = 2 * (options.pairs * phases.len()) as u64;
    let rig = Rig::new(runner, options.depth, each, now, cancel, on)?;
    let mut trial = Trial { rig, options, phases, rule, each };
    let measured = trial.loaded().and_then(|base| trial.outcome(&base, changes));
    trial.rig.end();
    measured
}

/// The base that changes are compared with.
struct Base {
    way: Way,
    switches: Switches,
    departures: Vec<&'static Departure>,
    /// The logits of the gate's tokens.
    logits: Vec<f32>,
}

/// A running ablation.
struct Trial<'a> {
    rig: Rig<'a>,
    options: &'a AblateOptions,
    phases: Vec<(Phase, usize)>,
    rule: Rule,
    /// The most samples of a change.
    each: u64,
}

impl Trial<'_> {
    fn all(&mut self, changes: &[Change], rows: &mut Vec<Row>) -> Result<(), Error> {
        let base = self.loaded()?;
        for &change in changes {
            rows.push(Row { change, outcome: self.outcome(&base, &[change])? });
        }
        Ok(())
    }

    /// The base as the model was loaded.
    fn loaded(&mut self) -> Result<Base, Error> {
        // No more than the prompt has, so that half of it is fewer.
        let at_once = self.rig.runner.batch().min(self.options.prefill.max(1));
        self.base(Way { plans: PlansId::LOADED, at_once }, self.options.switches.clone(), Vec::new())
    }

    fn base(
        &mut self,
        way: Way,
        switches: Switches,
        departures: Vec<&'static Departure>,
    ) -> Result<Base, Error> {
        let logits = self.logits(way)?;
        Ok(Base { way, switches, departures, logits })
    }

    fn logits(&mut self, way: Way) -> Result<Vec<f32>, Error> {
        self.rig.turn_to(way)?;
        let runner = &mut *self.rig.runner;
        let (prefill, batch) = (self.options.prefill, runner.batch());
        // A kept change applies to prompts too, measured or not.
        let at_once = if prefill == 0 { batch } else { way.at_once };
        match &self.options.golden {
            Some(golden) => logits(runner, &golden.tokens, golden.tokens.len(), at_once),
            None => {
                let vocab = runner.model().graph().config.vocab;
                let mut random = Random::new(0);
                // A whole prompt step, as it is measured, but no more logits than needed.
                let count = GATE_TOKENS.max(prefill.min(batch));
                let tokens: Vec<u32> = (0..count).map(|_| random.below(vocab) as u32).collect();
                logits(runner, &tokens, GATE_TOKENS, at_once)
            }
        }
    }

    /// Measures changes, applied together, against a base.
    fn outcome(&mut self, base: &Base, changes: &[Change]) -> Result<Outcome, Error> {
        let end = self.rig.taken() + self.each;
        let (switches, at_once) = changed(base, changes);
        let departures = [base.departures.clone(), departures(changes)].concat();
        // Schedules are not part of plans, so equal plans may still differ.
        let even_if_same = changes == [Change::Nothing] || departures != base.departures;
        let outcome = match self.add_plans(&switches, &departures) {
            Err(error) => Ok(Outcome::Refused(error.to_string())),
            Ok(plans) => {
                let way = Way { plans, at_once };
                let measured = self.measure(base, way, even_if_same);
                self.rig.runner.drop_plans();
                match measured {
                    // An error of the base is not the change's outcome.
                    Err(Error::Engine(why)) if self.rig.is_at(way) => Ok(Outcome::Refused(why.to_string())),
                    measured => measured,
                }
            }
        };
        if outcome.is_ok() {
            self.rig.skip_to(end);
        }
        outcome
    }

    /// Compiles the model with other decisions, and with schedules that depart from the device's choice.
    fn add_plans(
        &mut self,
        switches: &Switches,
        departures: &[&'static Departure],
    ) -> Result<PlansId, weft_engine::Error> {
        let runner = &mut *self.rig.runner;
        if departures.is_empty() {
            return runner.add_plans(switches);
        }
        schedules(runner.device_mut())?.depart(departures);
        let plans = runner.add_plans(switches);
        schedules(runner.device_mut())?.depart(&[]);
        plans
    }

    fn measure(&mut self, base: &Base, way: Way, even_if_same: bool) -> Result<Outcome, Error> {
        let same = self.rig.runner.same_plans(base.way.plans, way.plans)? && base.way.at_once == way.at_once;
        if same && !even_if_same {
            return Ok(Outcome::Same);
        }
        let found = self.logits(way)?;
        let AblateOptions { golden, most_kl, .. } = self.options;
        let vocab = self.rig.runner.model().graph().config.vocab;
        let gate = Gate::new(&base.logits, &found, vocab, golden.as_ref(), *most_kl);
        let measured = self.rig.compare(base.way, way, &self.phases, &self.rule)?;
        Ok(Outcome::Measured(gate, measured))
    }

    /// Combines the winners, the largest gain first. Each is kept if it still wins on top of those before it.
    fn combine(&mut self, rows: &[Row], combined: &mut Combined) -> Result<(), Error> {
        let mut winners: Vec<&Row> = rows.iter().filter(|r| r.outcome.verdict() == Verdict::Keep).collect();
        winners.sort_by(|a, b| b.outcome.gain().total_cmp(&a.outcome.gain()));
        if winners.is_empty() {
            return Ok(());
        }
        // Each once more, and all of them together.
        let more = self.each * (winners.len() as u64 + 1);
        self.rig.expect(more);
        let end = self.rig.taken() + more;
        let loaded = self.loaded()?;
        for winner in winners {
            let row =
                Row { change: winner.change, outcome: self.beside(&loaded, &combined.kept, winner.change)? };
            if row.outcome.verdict() == Verdict::Keep {
                combined.kept.push(row.change);
            }
            combined.tried.push(row);
        }
        if !combined.kept.is_empty() {
            combined.together = Some(self.outcome(&loaded, &combined.kept)?);
        }
        self.rig.skip_to(end);
        Ok(())
    }

    /// Measures a change on top of those that were kept.
    fn beside(&mut self, loaded: &Base, kept: &[Change], change: Change) -> Result<Outcome, Error> {
        let end = self.rig.taken() + self.each;
        let (switches, at_once) = changed(loaded, kept);
        let departures = departures(kept);
        let tried = match self.add_plans(&switches, &departures) {
            Err(error) => Err(error.into()),
            Ok(plans) => {
                let base = self.base(Way { plans, at_once }, switches, departures);
                let tried = base.and_then(|base| self.outcome(&base, &[change]));
                self.rig.runner.drop_plans();
                tried
            }
        };
        match tried {
            // The kept changes may fail as well.
            Err(Error::Engine(why)) => {
                self.rig.skip_to(end);
                Ok(Outcome::Refused(why.to_string()))
            }
            tried => tried,
        }
    }
}

/// The decisions after some changes, and the tokens of a prompt computed at once.
fn changed(base: &Base, changes: &[Change]) -> (Switches, usize) {
    let mut switches = base.switches.clone();
    changes.iter().for_each(|change| change.apply(&mut switches));
    let half = changes.contains(&Change::HalfBatch);
    (switches, if half { base.way.at_once.div_ceil(2) } else { base.way.at_once })
}

/// The departures from the device's own schedules after some changes.
fn departures(changes: &[Change]) -> Vec<&'static Departure> {
    let departures = changes.iter().filter_map(|change| match change {
        Change::Schedule(departure) => Some(*departure),
        _ => None,
    });
    departures.collect()
}

#[cfg(test)]
mod tests;

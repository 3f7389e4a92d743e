//! Autotuning: finds faster schedules by timing every kernel inside real steps, verifies them, and saves them.
//!
//! A step is compiled with one candidate schedule for *each* kernel and run in turns with the base; the device's clock times every
//! kernel. So all kernels are tuned at once, on weights that come from memory as in real use, and a round costs no more than it would
//! for one kernel. Apparent winners are timed again, all together, and must be faster by more than the [`MARGIN`](crate::MARGIN)
//! beyond their confidence interval; then the interpreter checks each, as [`Verifier`] does. Only the device knows what a schedule is.
//!
//! Where launches overlap or run as one, the time of one by itself does not show what a step gains: a kernel that is faster alone may
//! leave less room for the next one to begin early. There the launches' times only propose schedules, and [whole steps](steps) decide.
//!
//! Steps of one token come first, and may change the order of sums; larger steps follow that order, since results must be
//! batch-invariant. An order that several kernels share is not changed: it may gain for one and lose for another.

mod found;
mod measure;
mod report;
mod search;
mod site;
mod steps;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use weft_device::Scheduled;
use weft_engine::inspect::{Launch, PlansId, Runner, StepShape};
use weft_random::Random;

use crate::ablate::{Measured, Rig, Rule, Verdict, Way};
use crate::bench::Phase;
use crate::clock::Now;
use crate::error::Error;
use crate::host::Host;
use crate::schedules::schedules_of;
use crate::verify::{Verifier, VerifyOptions};
use measure::Sampler;
use search::{PAIRS, Search};
use site::Site;

pub use found::{Candidate, TuneEnd, TuneOutcome, Tuned, TunedKernel};

/// Tokens of the step that represents those of a few.
const FEW: usize = 8;

/// Tokens that are run to verify: a prompt of some, [`FEW`] together, and one.
const VERIFIED: usize = 33;

/// Columns of each product that are compared.
const COLUMNS: usize = 256;

/// Tokens of a reply in a sample of whole steps.
const REPLY: usize = 4;

/// Options of tuning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TuneOptions {
    /// How long to search. Confirming and verifying what was found takes extra time.
    pub time: Duration,
    /// The beam width: how many schedules of each kernel are kept to try their neighbours.
    pub beam: usize,
    /// Tokens in the cache before each step.
    pub depth: usize,
    /// Tokens of a prompt computed at once; 0 to tune for replies only.
    pub prefill: usize,
}

impl TuneOptions {
    /// The context that the runner must have room for, in tokens.
    pub fn context(&self) -> usize {
        self.depth.saturating_add(self.prefill.max(FEW).max(REPLY)).max(VERIFIED)
    }
}

/// The progress of tuning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TuneProgress {
    /// Trying schedules: seconds so far, of how many.
    Searching(u64, u64),
    /// Comparing kernels with the interpreter: kernels so far, of how many.
    Verifying(u64, u64),
    /// Timing whole steps: samples or schedules so far, of at most how many.
    Measuring(u64, u64),
}

/// A callback that is told the progress of tuning.
pub type OnTuning<'a> = &'a mut dyn FnMut(TuneProgress);

/// Searches faster schedules for a model on a device that can be tuned. `cancel` is checked before every step.
///
/// # Errors
/// [`DeviceError::Unsupported`](weft_device::DeviceError::Unsupported) if the device has no schedules to vary or cannot time
/// single launches; an error if the runner has no room, a step fails, or the file cannot be written. [`Error::Interrupted`] if
/// cancelled; then nothing is saved.
pub fn tune(
    verifier: &mut Verifier,
    options: &TuneOptions,
    cancel: &AtomicBool,
    on: OnTuning<'_>,
) -> Result<Tuned, Error> {
    let began = Instant::now();
    tune_by(verifier, options, &|| began.elapsed(), cancel, on)
}

/// Like [`tune`], with whole steps timed by the clock `now`.
fn tune_by(
    verifier: &mut Verifier,
    options: &TuneOptions,
    now: Now<'_>,
    cancel: &AtomicBool,
    on: OnTuning<'_>,
) -> Result<Tuned, Error> {
    schedules_of(verifier.runner_mut())?;
    let (searched, base) = (Duration::ZERO, PlansId::LOADED);
    let mut tuner = Tuner { verifier, options, now, cancel, on, searched, base, rounds: 0 };
    let tuned = tuner.all();
    tuner.drop_base();
    tuned
}

/// A running search.
struct Tuner<'a> {
    verifier: &'a mut Verifier,
    options: &'a TuneOptions,
    now: Now<'a>,
    cancel: &'a AtomicBool,
    on: OnTuning<'a>,
    /// The time spent searching.
    searched: Duration,
    /// The plans with the schedules found so far.
    base: PlansId,
    rounds: u64,
}

impl Tuner<'_> {
    fn runner(&mut self) -> &mut Runner {
        self.verifier.runner_mut()
    }

    /// The sizes of step, the smallest first, with the fraction of the time at which tuning of each ends. Those without are not tuned,
    /// but follow the others.
    fn shapes(&mut self) -> [(StepShape, Option<f64>); 3] {
        let TuneOptions { depth, prefill, .. } = *self.options;
        let batch = self.runner().batch();
        let (few, most) = (FEW.min(batch), prefill.min(batch));
        let shape = |tokens| StepShape { tokens, depth, logits: 1 };
        // People wait for replies, so these get most of the time.
        match most > few {
            true => [(shape(1), Some(0.5)), (shape(few), Some(0.65)), (shape(most), Some(1.0))],
            false => [(shape(1), Some(0.75)), (shape(few), Some(1.0)), (shape(batch), None)],
        }
    }

    fn all(&mut self) -> Result<Tuned, Error> {
        let shapes = self.shapes();
        let mut sites: Vec<Site> = Vec::new();
        for (shape, _) in &shapes {
            let launches = self.runner().launches(shape);
            // Two sizes of step may have the same plans.
            if launches.iter().all(|launch| !sites.iter().any(|site| site.is(launch))) {
                sites.extend(site::sites(schedules_of(self.runner())?, shape, &launches));
            }
        }
        for (shape, until) in shapes {
            if let Some(until) = until {
                self.tune(shape, until, &mut sites)?;
            }
        }
        self.verify(&mut sites)?;
        let (mut steps, mut end) = (Vec::new(), TuneEnd::Nothing);
        if sites.iter().any(|site| site.outcome == TuneOutcome::Faster) {
            steps = self.whole()?;
            let slower = steps.iter().any(|step| step.gain.verdict() == Verdict::Drop);
            let saved = |runner| schedules_of(runner)?.save().map_err(|error| Error::Engine(error.into()));
            end = if slower { TuneEnd::Slower } else { TuneEnd::Kept(saved(self.runner())?) };
        }
        let kernels = sites.into_iter().map(Site::told).collect();
        Ok(Tuned { host: Host::this(), kernels, steps, rounds: self.rounds, end })
    }

    /// Tunes the kernels of one size of step, and makes all sizes follow.
    fn tune(&mut self, shape: StepShape, until: f64, sites: &mut [Site]) -> Result<(), Error> {
        let mut own: Vec<&mut Site> = sites.iter_mut().filter(|site| site.tokens == shape.tokens).collect();
        if own.is_empty() {
            return Ok(());
        }
        let schedules = schedules_of(self.verifier.runner_mut())?;
        let all: Vec<BTreeSet<String>> = own.iter().map(|site| site.sums(schedules)).collect();
        for (site, sums) in own.iter_mut().zip(&all) {
            let is_shared = |sums: &&String| all.iter().filter(|other| other.contains(*sums)).count() > 1;
            let free = sums.iter().filter(|sums| shape.tokens == 1 && !is_shared(sums)).cloned().collect();
            site.begin(schedules, free);
        }
        let mut sampler = Sampler::new(self.verifier.runner_mut(), shape, self.cancel)?;
        let (before, time, began) = (self.searched, self.options.time, Instant::now());
        let deadline = began + time.mul_f64(until).saturating_sub(before);
        let on = &mut *self.on;
        let (base, beam) = (self.base, self.options.beam);
        let by_steps = schedules_of(sampler.runner)?.judged_by_steps();
        // However slow the machine is, something is tried.
        let least = u64::from(self.rounds == 0 && !time.is_zero());
        let mut search = Search { sampler: &mut sampler, base, beam, deadline, least, rounds: 0 };
        let searched = search.run(&mut own, &mut || {
            let searched = (before + began.elapsed()).min(time);
            on(TuneProgress::Searching(searched.as_secs(), time.as_secs()));
        });
        self.searched += began.elapsed();
        let confirmed = match searched {
            Ok(()) if !by_steps => search.confirm(&mut own).map(Some),
            searched => searched.map(|()| None),
        };
        self.rounds += search.rounds;
        sampler.end();
        let found = match confirmed? {
            Some(found) => found,
            None => self.decide(shape, &mut own)?,
        };
        self.keep(&found)
    }

    /// Makes all sizes of step follow these schedules.
    fn keep(&mut self, found: &[Scheduled]) -> Result<(), Error> {
        if found.is_empty() {
            return Ok(());
        }
        self.drop_base();
        schedules_of(self.runner())?.keep(found);
        self.base = self.runner().add_recompiled(PlansId::LOADED, None)?;
        Ok(())
    }

    fn drop_base(&mut self) {
        if self.base != PlansId::LOADED {
            self.runner().drop_plans();
            self.base = PlansId::LOADED;
        }
    }

    /// Checks every kernel whose schedule has changed against the interpreter, and drops wrong schedules.
    fn verify(&mut self, sites: &mut [Site]) -> Result<(), Error> {
        for round in 0.. {
            let schedules = schedules_of(self.verifier.runner_mut())?;
            let now: Vec<String> = sites.iter().map(|site| site.now(schedules)).collect();
            for (site, now) in sites.iter_mut().zip(&now) {
                let dropped = site.best.as_ref().is_some_and(|best| best.schedule != *now);
                if site.outcome == TuneOutcome::Faster && dropped {
                    site.outcome =
                        TuneOutcome::Wrong("its order of sums was dropped because of another kernel".into());
                }
            }
            let changed: Vec<bool> = sites.iter().zip(&now).map(|(site, now)| site.loaded != *now).collect();
            if !changed.contains(&true) {
                return Ok(());
            }
            let mut wrong = self.faults(sites, &changed)?;
            if wrong.is_empty() {
                return Ok(());
            }
            // Dropping one kernel's schedule may change another with the same sums. If that does not end, all are dropped.
            let is_last = round == sites.len();
            if is_last {
                let why = "it was wrong in combination with others".to_string();
                wrong = (0..sites.len()).filter(|i| changed[*i]).map(|i| (i, why.clone())).collect();
            }
            let back: Vec<Scheduled> = wrong.iter().map(|(i, _)| sites[*i].with(&sites[*i].loaded)).collect();
            wrong.into_iter().for_each(|(i, why)| sites[i].outcome = TuneOutcome::Wrong(why));
            self.keep(&back)?;
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// Returns the changed kernels that are wrong, and why.
    fn faults(&mut self, sites: &[Site], changed: &[bool]) -> Result<Vec<(usize, String)>, Error> {
        let base = self.base;
        let runner = self.verifier.runner_mut();
        runner.use_plans(base)?;
        let (vocab, mut random) = (runner.model().graph().config.vocab, Random::new(1));
        let tokens: Vec<u32> = (0..VERIFIED).map(|_| random.below(vocab) as u32).collect();
        let own = || sites.iter().zip(changed).filter(|(_, changed)| **changed).map(|(site, _)| site);
        let of_interest = |launch: &Launch| own().any(|site| site.is(launch));
        let options = VerifyOptions { all: false, columns: COLUMNS };
        let on = &mut *self.on;
        let found =
            self.verifier.verify_some(&tokens, &options, &of_interest, self.cancel, &mut |done, of| {
                on(TuneProgress::Verifying(done, of));
            })?;
        let mut wrong: Vec<(usize, String)> = Vec::new();
        for launch in &found.launches {
            let Some(why) = launch.faults().next() else { continue };
            let shape = StepShape { tokens: launch.tokens, depth: 0, logits: launch.tokens.min(FEW) };
            let step = self.verifier.runner().launches(&shape);
            let named = |one: &&Launch| one.kernel() == launch.kernel && one.segment == launch.segment;
            let culprit = step.iter().find(named);
            let is_culprit = |i: &usize| changed[*i] && culprit.is_some_and(|culprit| sites[*i].is(culprit));
            // An unchanged kernel suffers from another one's fault: suspect all changed ones of such steps, or else all.
            let class = culprit.map(|culprit| culprit.work().1.tokens);
            let in_class = |i: &usize| changed[*i] && Some(sites[*i].class()) == class;
            let mut suspects: Vec<usize> = (0..sites.len()).filter(is_culprit).collect();
            if suspects.is_empty() {
                suspects = (0..sites.len()).filter(in_class).collect();
            }
            if suspects.is_empty() {
                suspects = (0..sites.len()).filter(|i| changed[*i]).collect();
            }
            for i in suspects {
                if wrong.iter().all(|(known, _)| *known != i) {
                    wrong.push((i, why.clone()));
                }
            }
        }
        Ok(wrong)
    }

    /// Times whole steps with the old and the new schedules, in turns.
    fn whole(&mut self) -> Result<Vec<Measured>, Error> {
        let TuneOptions { depth, prefill, .. } = *self.options;
        let at_once = self.runner().batch();
        let phases = [(Phase::Decode, REPLY), (Phase::Prefill, prefill)];
        let phases: Vec<(Phase, usize)> = phases.into_iter().filter(|(_, tokens)| *tokens > 0).collect();
        let rule = Rule::new(phases.len(), PAIRS);
        let samples = 2 * (PAIRS * phases.len()) as u64;
        let on = &mut *self.on;
        let mut tell = |done, of| on(TuneProgress::Measuring(done, of));
        let mut rig = Rig::new(self.verifier.runner_mut(), depth, samples, self.now, self.cancel, &mut tell)?;
        let ways = [PlansId::LOADED, self.base].map(|plans| Way { plans, at_once });
        let measured = rig.compare(ways[0], ways[1], &phases, &rule);
        rig.end();
        measured
    }
}

#[cfg(test)]
mod tests;

//! Optimising a model on a device: tries every change, combines those that win, measures them again and verifies every kernel.
//!
//! This is what a person would do by hand with `ablate`, `bench` and `verify`. What it finds is worth keeping only if it wins a
//! second time, in fresh pairs of samples, and if the interpreter agrees with every kernel.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use weft_engine::Switches;
use weft_engine::inspect::TunedDecision;
use weft_random::Random;

use crate::ablate::{AblateOptions, Ablation, Change, Outcome, Verdict, ablate_by, together};
use crate::clock::Now;
use crate::error::Error;
use crate::verify::{Verification, Verifier, VerifyOptions};

/// Tokens that are run to verify: a prompt of some, eight together, and one.
const VERIFIED: usize = 33;

/// The progress of optimising.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptimizeProgress {
    /// Trying changes: samples so far, of at most how many.
    Trying(u64, u64),
    /// Measuring what won again: samples so far, of at most how many.
    Confirming(u64, u64),
    /// Comparing kernels with the interpreter: kernels so far, of how many.
    Verifying(u64, u64),
}

/// A callback that is told the progress of optimising.
pub type OnOptimizing<'a> = &'a mut dyn FnMut(OptimizeProgress);

/// The outcome for the changes that won.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OptimizeEnd {
    /// No decision wins.
    Nothing,
    /// They won again, and every kernel is right.
    Confirmed,
    /// They did not win again in fresh samples.
    Unconfirmed,
    /// A kernel computes something else; the first fault.
    Wrong(String),
    /// It was cancelled. Changes that had won until then are kept, unconfirmed.
    Interrupted,
}

/// The result of optimising.
#[derive(Clone, PartialEq, Debug)]
pub struct Optimized {
    /// Every change, and the winners combined.
    pub ablation: Ablation,
    /// The winners measured again, all together against the base; `None` if there were none.
    pub confirmed: Option<Outcome>,
    /// The check of every kernel with the winners; `None` if it was not made.
    pub verification: Option<Verification>,
    /// The outcome for them.
    pub end: OptimizeEnd,
    /// The decisions to keep.
    pub keep: Vec<TunedDecision>,
}

impl OptimizeEnd {
    /// The end in a word.
    pub fn name(&self) -> &'static str {
        match self {
            OptimizeEnd::Nothing => "nothing",
            OptimizeEnd::Confirmed => "confirmed",
            OptimizeEnd::Unconfirmed => "unconfirmed",
            OptimizeEnd::Wrong(_) => "wrong",
            OptimizeEnd::Interrupted => "interrupted",
        }
    }
}

impl Optimized {
    /// Everything as JSON. Of the verification, only its extent and its faults.
    pub fn json(&self) -> Value {
        let Optimized { ablation, confirmed, verification, end, keep } = self;
        let keep = keep.iter().map(|TunedDecision { decision, mode, why }| {
            json!({ "change": format!("{}={}", decision.name, mode.name()), "why": why })
        });
        let verification = verification.as_ref().map(|found| {
            json!({
                "steps": found.steps,
                "checked": found.launches.len(),
                "of": found.of,
                "faults": found.faults().collect::<Vec<_>>(),
            })
        });
        let own = json!({
            "optimized": end.name(),
            "confirmed": confirmed.as_ref().map(Outcome::json),
            "verification": verification,
            "keep": keep.collect::<Value>(),
        });
        crate::json::joined(ablation.json(), own)
    }
}

/// Returns the context that the runner must have room for, in tokens. It must have room for two sequences.
pub fn optimize_context(options: &AblateOptions) -> usize {
    options.context().max(VERIFIED)
}

/// Tries changes, combines those that win, and checks the result. `cancel` is read before every step.
///
/// # Errors
/// If the runner has no room, or a step of the base fails. Cancellation is a result, not an error.
pub fn optimize(
    verifier: &mut Verifier,
    changes: &[Change],
    options: &AblateOptions,
    cancel: &AtomicBool,
    on: OnOptimizing<'_>,
) -> Result<Optimized, Error> {
    let began = Instant::now();
    optimize_by(verifier, changes, options, &|| began.elapsed(), cancel, on)
}

/// Optimises by a given clock.
fn optimize_by(
    verifier: &mut Verifier,
    changes: &[Change],
    options: &AblateOptions,
    now: Now<'_>,
    cancel: &AtomicBool,
    on: OnOptimizing<'_>,
) -> Result<Optimized, Error> {
    let options = AblateOptions { combine: true, ..options.clone() };
    let trying = &mut |done, of| on(OptimizeProgress::Trying(done, of));
    let ablation = ablate_by(verifier.runner_mut(), changes, &options, now, cancel, trying)?;
    let keep = ablation.winners();
    let end = if ablation.interrupted { OptimizeEnd::Interrupted } else { OptimizeEnd::Nothing };
    let mut optimized = Optimized { ablation, confirmed: None, verification: None, end, keep };
    if optimized.keep.is_empty() || optimized.ablation.interrupted {
        return Ok(optimized);
    }
    let found = check(verifier, &mut optimized, &options, now, cancel, on);
    match found {
        Ok(end) => optimized.end = end,
        Err(Error::Interrupted) => optimized.end = OptimizeEnd::Interrupted,
        Err(error) => return Err(error),
    }
    if matches!(optimized.end, OptimizeEnd::Unconfirmed | OptimizeEnd::Wrong(_)) {
        optimized.keep.clear();
    }
    Ok(optimized)
}

/// Measures the winners again, and verifies every kernel.
fn check(
    verifier: &mut Verifier,
    optimized: &mut Optimized,
    options: &AblateOptions,
    now: Now<'_>,
    cancel: &AtomicBool,
    on: OnOptimizing<'_>,
) -> Result<OptimizeEnd, Error> {
    let changes: Vec<Change> =
        optimized.keep.iter().map(|one| Change::Decision(one.decision, one.mode)).collect();
    let confirming = &mut |done, of| on(OptimizeProgress::Confirming(done, of));
    let again = together(verifier.runner_mut(), &changes, options, now, cancel, confirming)?;
    let wins = optimized.confirmed.insert(again).is_certain_gain();
    if !wins {
        return Ok(OptimizeEnd::Unconfirmed);
    }
    let mut switches = options.switches.clone();
    optimized.keep.iter().for_each(|one| switches.set(one.decision, one.mode));
    let verifying = &mut |done, of| on(OptimizeProgress::Verifying(done, of));
    let found = verify(verifier, &switches, cancel, verifying)?;
    let fault = found.faults().next();
    optimized.verification = Some(found);
    Ok(fault.map_or(OptimizeEnd::Confirmed, OptimizeEnd::Wrong))
}

/// Verifies the kernels that the model has with other decisions.
fn verify(
    verifier: &mut Verifier,
    switches: &Switches,
    cancel: &AtomicBool,
    on: crate::OnProgress<'_>,
) -> Result<Verification, Error> {
    if cancel.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    let runner = verifier.runner_mut();
    let plans = runner.add_plans(switches)?;
    let (vocab, mut random) = (runner.model().graph().config.vocab, Random::new(1));
    let tokens: Vec<u32> = (0..VERIFIED).map(|_| random.below(vocab) as u32).collect();
    let chosen = runner.use_plans(plans);
    let found = chosen
        .map_err(Error::from)
        .and_then(|()| verifier.verify(&tokens, &VerifyOptions::default(), cancel, on));
    verifier.runner_mut().drop_plans();
    found
}

impl Outcome {
    /// Whether some phase is certainly faster and none is slower by more than the margin.
    fn is_certain_gain(&self) -> bool {
        let Outcome::Measured(gate, phases) = self else { return false };
        let is_faster = phases.iter().any(|one| one.gain.low > 0.0);
        gate.passes && is_faster && phases.iter().all(|one| one.gain.verdict() != Verdict::Drop)
    }
}

#[cfg(test)]
mod tests;

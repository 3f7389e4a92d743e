//! Whether a device computes what kernels mean: launch by launch, on a model's own activations.
//!
//! The engine runs a step with a witness in front of its device. For each launch to be checked, the interpreter
//! ([`weft_kern::interp`]) gets exactly the bits that the device gets, so that errors do not add up from launch to launch. The
//! result is compared within a bound derived, for every value, from the rounding of its own computation ([`weft_kern::Bar`]). There is no
//! tolerance to choose: a wrong value shows as soon as rounding cannot explain it, and is named by kernel, layer, parameter, row
//! and column.
//!
//! The interpreter is slow, so by default it computes only some columns of each product, and only the first, the middle and the
//! last of equal layers. Whether everything was written that should be, and nothing else, is checked in all columns.

mod check;
mod findings;
mod sample;
mod witness;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use weft_device::Device;
use weft_engine::inspect::{Batch, Launch, Runner, StepShape};
use weft_engine::{EngineOptions, Model, OnReport};

use crate::OnProgress;
use crate::error::Error;
use witness::{Shared, StepCheck, Witness};

pub use findings::{Checked, Difference, Fault, FaultKind, Place};

/// Tokens of the step before the last, as when several sequences are decoded together.
const FEW: usize = 8;

/// Time between two reports of progress.
const TICK: Duration = Duration::from_millis(50);

/// The extent of a verification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyOptions {
    /// Check every layer, not only some of equal ones.
    pub all: bool,
    /// Columns of each product that are compared; 0 for all.
    pub columns: usize,
}

impl Default for VerifyOptions {
    fn default() -> VerifyOptions {
        VerifyOptions { all: false, columns: 256 }
    }
}

/// A launch that was checked.
#[derive(Clone, PartialEq, Debug)]
pub struct Verified {
    /// Tokens of the step it is of.
    pub tokens: usize,
    /// The kernel's name.
    pub kernel: String,
    /// The part of the model it is in: `embed`, `layer 3`, `head`.
    pub segment: String,
    /// The binding of each of its parameters.
    pub arguments: Vec<String>,
    /// The result.
    pub checked: Checked,
}

/// The result of verifying.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Verification {
    /// Tokens of each step that was run.
    pub steps: Vec<usize>,
    /// Every launch that was checked, in order. (Launches of the head, once for each time it ran.)
    pub launches: Vec<Verified>,
    /// Launches of all steps, checked or not.
    pub of: usize,
}

impl Verified {
    /// The mistakes: sentences that name the place.
    pub fn faults(&self) -> impl Iterator<Item = String> {
        self.checked.faults.iter().map(|fault| {
            let Verified { tokens, kernel, segment, .. } = self;
            let param =
                fault.kind.param().and_then(|p| Some(format!(", p{p} being {}", self.arguments.get(p)?)));
            let param = param.unwrap_or_default();
            format!("`{kernel}` in {segment}, step of {tokens}{param}: {fault}")
        })
    }

    fn json(&self) -> Value {
        let Checked { values, compared, unknown, worst, .. } = &self.checked;
        let worst = worst.as_ref().map(|worst| {
            let Place { param, part, row, column } = &worst.place;
            json!({
                "share_of_bound": worst.share(),
                "param": param,
                "argument": self.arguments.get(*param),
                "part": part,
                "row": row,
                "column": column,
                "expected": worst.expected,
                "found": worst.found,
                "bound": worst.bound,
            })
        });
        json!({
            "step": self.tokens,
            "kernel": self.kernel,
            "segment": self.segment,
            "values": values,
            "compared": compared,
            "unknown": unknown,
            "worst": worst,
            "faults": self.faults().collect::<Vec<_>>(),
        })
    }
}

impl Verification {
    /// Every fault.
    pub fn faults(&self) -> impl Iterator<Item = String> {
        self.launches.iter().flat_map(Verified::faults)
    }

    /// Everything as JSON.
    pub fn json(&self) -> Value {
        json!({
            "steps": self.steps,
            "launches_of": self.of,
            "faults": self.faults().collect::<Vec<_>>(),
            "launches": self.launches.iter().map(Verified::json).collect::<Value>(),
        })
    }
}

/// A model that can be verified.
pub struct Verifier {
    runner: Runner,
    shared: Arc<Shared>,
}

impl Verifier {
    /// Opens a file and the device of the options, and compiles the model for it. `report` is told how far loading is.
    ///
    /// # Errors
    /// Those of [`Runner::load`].
    pub fn load(
        path: &Path,
        options: &EngineOptions,
        report: OnReport<'_>,
    ) -> Result<Verifier, weft_engine::Error> {
        let model = Model::open_with(path, options)?;
        let device = options.open_device()?;
        Verifier::new(model, device, options, report)
    }

    /// Compiles a model for an open device.
    ///
    /// # Errors
    /// Those of [`Runner::new`].
    pub fn new(
        model: Model,
        device: Box<dyn Device>,
        options: &EngineOptions,
        report: OnReport<'_>,
    ) -> Result<Verifier, weft_engine::Error> {
        let shared = Arc::new(Shared::default());
        let witness = Box::new(Witness::new(device, Arc::clone(&shared)));
        Ok(Verifier { runner: Runner::new(model, witness, options, report)?, shared })
    }

    /// The engine.
    pub fn runner(&self) -> &Runner {
        &self.runner
    }

    /// The engine, for computing what is not checked.
    pub(crate) fn runner_mut(&mut self) -> &mut Runner {
        &mut self.runner
    }

    /// How tokens are cut into steps: the last one alone, as when text is generated; up to eight before it together; and all before
    /// those as a prompt, in as many steps as the engine's batch size makes of it.
    pub fn steps(&self, tokens: usize) -> Vec<usize> {
        let few = tokens.saturating_sub(1).min(FEW);
        let prompt = tokens.saturating_sub(1 + FEW);
        let batch = self.runner.batch();
        let whole = (0..prompt).step_by(batch).map(|from| batch.min(prompt - from));
        let few = (0..few).step_by(batch).map(|from| batch.min(few - from));
        whole.chain(few).chain((tokens > 0).then_some(1)).collect()
    }

    /// Runs tokens through the model and checks launches. `on` is told how many have been checked; `cancel` ends it.
    ///
    /// A fault is not an error but part of the result. After an index out of bounds a device's values are void, and no step follows.
    ///
    /// # Errors
    /// If there are no tokens, too many or unknown ones, or the device fails; [`Error::Interrupted`] if cancelled.
    pub fn verify(
        &mut self,
        tokens: &[u32],
        options: &VerifyOptions,
        cancel: &AtomicBool,
        on: OnProgress<'_>,
    ) -> Result<Verification, Error> {
        self.verify_some(tokens, options, &|_| true, cancel, on)
    }

    /// The same, for launches that are `of_interest` only.
    pub(crate) fn verify_some(
        &mut self,
        tokens: &[u32],
        options: &VerifyOptions,
        of_interest: &dyn Fn(&Launch) -> bool,
        cancel: &AtomicBool,
        on: OnProgress<'_>,
    ) -> Result<Verification, Error> {
        if tokens.is_empty() {
            return Err(weft_engine::Error::Batch("there are no tokens to verify with".into()).into());
        }
        let mut planned = Vec::new();
        let mut depth = 0;
        for tokens in self.steps(tokens.len()) {
            let shape = StepShape { tokens, depth, logits: tokens.min(FEW) };
            let launches = self.runner.launches(&shape);
            let mut wanted = chosen(&launches, options.all);
            wanted.iter_mut().zip(&launches).for_each(|(wanted, launch)| *wanted &= of_interest(launch));
            planned.push((shape, launches, wanted));
            depth += tokens;
        }
        let of = planned.iter().map(|(_, launches, _)| launches.len()).sum();
        let total = planned.iter().flat_map(|(.., wanted)| wanted).filter(|wanted| **wanted).count() as u64;
        let mut verification = Verification { of, ..Verification::default() };
        self.shared.done.store(0, Ordering::Relaxed);
        self.shared.cancel.store(false, Ordering::Relaxed);
        let seq = self.runner.new_sequence();
        let mut left = tokens;
        for (shape, launches, wanted) in planned {
            let (now, later) = left.split_at(shape.tokens);
            left = later;
            let mut batch = Batch::new();
            let silent = now.len() - shape.logits;
            now.iter().enumerate().for_each(|(i, token)| batch.push(seq, *token, i >= silent));
            let body = self.runner.launches(&StepShape { logits: 0, ..shape }).len();
            *self.shared.step() = StepCheck::new(wanted, body, options.columns);
            let done = self.run(&batch, cancel, &mut |done| on(done, total));
            let found = std::mem::take(&mut *self.shared.step()).found;
            verification.steps.push(shape.tokens);
            verification.launches.extend(found.into_iter().map(|(at, checked)| Verified {
                tokens: shape.tokens,
                kernel: launches[at].kernel().into(),
                segment: launches[at].segment.clone(),
                arguments: launches[at].arguments(),
                checked,
            }));
            match done {
                Ok(()) => {}
                Err(_) if cancel.load(Ordering::Relaxed) => {
                    self.runner.free(seq);
                    return Err(Error::Interrupted);
                }
                Err(weft_engine::Error::Device(weft_device::DeviceError::Index { .. }))
                    if verification.faults().next().is_some() =>
                {
                    break;
                }
                Err(error) => {
                    self.runner.free(seq);
                    return Err(error.into());
                }
            }
        }
        self.runner.free(seq);
        Ok(verification)
    }

    /// Runs a step on another thread, so that this one can report progress.
    fn run(
        &mut self,
        batch: &Batch,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(u64),
    ) -> Result<(), weft_engine::Error> {
        let Verifier { runner, shared } = self;
        std::thread::scope(|scope| {
            let step = scope.spawn(|| runner.step(batch).map(|_| ()));
            while !step.is_finished() {
                on(shared.done.load(Ordering::Relaxed));
                if cancel.load(Ordering::Relaxed) {
                    shared.cancel.store(true, Ordering::Relaxed);
                }
                std::thread::sleep(TICK);
            }
            let done = step.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            on(shared.done.load(Ordering::Relaxed));
            done
        })
    }
}

/// Which launches are checked: of equal segments, the first, the middle and the last.
fn chosen(launches: &[Launch], all: bool) -> Vec<bool> {
    // Segments, as the ranges of their launches.
    let mut segments: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, launch) in launches.iter().enumerate() {
        match segments.last_mut() {
            Some(last) if launches[last.start].segment == launch.segment => last.end = i + 1,
            _ => segments.push(i..i + 1),
        }
    }
    let alike = |a: &std::ops::Range<usize>, b: &std::ops::Range<usize>| {
        a.len() == b.len() && a.clone().zip(b.clone()).all(|(a, b)| launches[a].is_like(&launches[b]))
    };
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    for (i, segment) in segments.iter().enumerate() {
        match kinds.iter_mut().find(|kind| alike(&segments[kind[0]], segment)) {
            Some(kind) => kind.push(i),
            None => kinds.push(vec![i]),
        }
    }
    let some: BTreeSet<usize> =
        kinds.iter().flat_map(|kind| [0, kind.len() / 2, kind.len() - 1].map(|i| kind[i])).collect();
    let wanted = segments.iter().enumerate();
    wanted
        .flat_map(|(i, segment)| segment.clone().map(move |_| i))
        .map(|i| all || some.contains(&i))
        .collect()
}

#[cfg(test)]
mod tests;

//! Where the time of a step goes: every launch timed inside the replay, on every thread, and held against what it takes at least.
//!
//! Steps with the clock and steps without are computed in turns, so that what the clock itself costs is known; tokens are drawn from the
//! vocabulary, as for [`bench()`](crate::bench()). Figures are medians over the steps, launch by launch. A launch's time is the mean over the
//! threads of what passed between the beginnings of it and of the next: so the times of all launches add up to that of the replay, and none
//! counts twice. It is work and waiting: for slower threads, and for the barrier.

mod clock;
mod record;
mod report;
mod rows;
mod trace;

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use weft_device::Roof;
use weft_engine::inspect::{Batch, Launch, Runner, SeqId, StepShape, StepTimings};
use weft_random::Random;

use crate::OnProgress;
use crate::error::Error;
use crate::host::Host;
use crate::meter::Meter;
use crate::roofs::Roofs;
use crate::samples::Samples;
use record::Recorder;

pub use clock::{Clock, Worker};
pub use record::{Slice, Timeline};
pub(crate) use rows::at_least;
pub use rows::{Row, Timed};

/// How often the machine is measured, evenly among the steps.
const ROOF_SAMPLES: usize = 5;

/// Launches of a kernel that does nothing, to know what one costs, and how often all of them are timed.
const EMPTY: [usize; 2] = [256, 20];

/// What is profiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileOptions {
    /// Steps with the clock, and as many without.
    pub steps: usize,
    /// How many tokens are in the cache before each step.
    pub depth: usize,
    /// Tokens computed at once: 1 for decoding, more for a prompt. The last gives logits.
    pub tokens: usize,
}

impl ProfileOptions {
    /// Tokens of a sequence that the engine must have room for.
    pub fn context(&self) -> usize {
        self.depth.saturating_add(self.tokens)
    }

    /// Tokens that are computed in all: the depth, two steps that do not count for each time the machine was measured, and two to warm up.
    fn total(&self) -> u64 {
        let steps = 2 * (self.steps + ROOF_SAMPLES.min(self.steps) + 1) as u64;
        (self.depth as u64).saturating_add(steps.saturating_mul(self.tokens as u64))
    }
}

/// What was measured. Times are in seconds.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The machine.
    pub host: Host,
    /// What the device could do meanwhile.
    pub roofs: Roofs,
    /// What a step computes.
    pub shape: StepShape,
    /// How long each step without the clock took.
    pub plain: Samples,
    /// How long each step with it took.
    pub timed: Samples,
    /// For each step with the clock and the one without beside it, how much longer it took: 0.01 is 1 %.
    pub overhead: Samples,
    /// Where the time went in all.
    pub clock: Clock,
    /// What each thread did.
    pub workers: Vec<Worker>,
    /// Every launch, in order.
    pub launches: Vec<Timed>,
    /// When each thread was where in the fastest step.
    pub timeline: Timeline,
    /// What a launch takes that does nothing.
    pub empty_launch: f64,
    /// Plans that are equal and were made apart.
    pub plans_made_twice: Vec<(String, String)>,
}

impl Profile {
    /// Tokens a second, without the clock.
    pub fn tokens_per_second(&self) -> f64 {
        self.shape.tokens as f64 / self.plain.median()
    }
}

/// Profiles a loaded model, and measures its device with `meter`. `on` is told between steps how many tokens are computed; `cancel` is looked
/// at before every step.
///
/// # Errors
/// If the engine has no room, its device no clock for launches, or a step fails; [`Error::Interrupted`] if it was cancelled.
pub fn profile(
    engine: &mut Runner,
    meter: &mut Meter,
    options: &ProfileOptions,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Profile, Error> {
    let shape = StepShape { tokens: options.tokens, depth: options.depth, logits: 1 };
    let launches = engine.launches(&shape);
    let seq = engine.new_sequence();
    let mut steps =
        Steps { engine, seq, batch: Batch::new(), random: Random::new(0), cancel, done: 0, options, on };
    let measured = steps.all(meter, launches);
    engine.free(seq);
    measured
}

/// A model whose steps are being timed.
struct Steps<'a> {
    engine: &'a mut Runner,
    seq: SeqId,
    batch: Batch,
    random: Random,
    cancel: &'a AtomicBool,
    /// Tokens computed.
    done: u64,
    options: &'a ProfileOptions,
    on: OnProgress<'a>,
}

impl Steps<'_> {
    fn all(&mut self, meter: &mut Meter, launches: Vec<Launch>) -> Result<Profile, Error> {
        let ProfileOptions { steps, depth, tokens } = *self.options;
        let mut timings = StepTimings::default();
        // Whoever has no clock says so before anything long begins.
        self.one(Some(&mut timings))?;
        self.engine.truncate(self.seq, 0);
        self.fill(depth)?;
        self.one(None)?;
        let threads = NonZeroUsize::new(self.engine.device().threads).unwrap_or(NonZeroUsize::MIN);
        let mut roofs = Roofs::new(threads);
        let mut recorder = Recorder::new(launches.len(), steps);
        let [mut plain, mut timed, mut overhead] = [const { Samples::new() }; 3];
        let mut sampled = 0;
        for step in 0..steps {
            if step * ROOF_SAMPLES.min(steps) >= sampled * steps {
                sampled += 1;
                meter.sample(self.engine.device_mut(), &mut roofs, &[Roof::Read, Roof::Dot, Roof::MulAdd])?;
                // Wakes the threads, and fills the caches again with what steps have there.
                self.one(None)?;
                self.one(Some(&mut timings))?;
            }
            let mut seconds = [0.0; 2];
            // What comes second may find more in the caches: each comes first as often.
            for which in [step % 2, (step + 1) % 2] {
                seconds[which] = if which == 0 { self.one(None)? } else { self.one(Some(&mut timings))? };
            }
            recorder.step(&timings);
            plain.push(seconds[0]);
            timed.push(seconds[1]);
            overhead.push(seconds[1] / seconds[0] - 1.0);
        }
        let empty_launch = self.empty_launch()?;
        let summary = recorder.summary();
        let launches = launches.into_iter().zip(summary.launches);
        Ok(Profile {
            host: Host::this(),
            launches: launches.map(|(launch, times)| Timed::new(launch, times, &roofs)).collect(),
            roofs,
            shape: StepShape { tokens, depth, logits: 1 },
            plain,
            timed,
            overhead,
            clock: summary.clock,
            workers: summary.workers,
            timeline: summary.timeline,
            empty_launch,
            plans_made_twice: self.engine.plans_made_twice(tokens),
        })
    }

    /// Fills the cache up to a depth.
    fn fill(&mut self, depth: usize) -> Result<(), Error> {
        let at_once = self.engine.batch();
        for begin in (0..depth).step_by(at_once) {
            self.draw(at_once.min(depth - begin), false)?;
            self.engine.step(&self.batch)?;
            self.tell();
        }
        Ok(())
    }

    /// Computes a step and takes it back. Returns how long it took.
    fn one(&mut self, timings: Option<&mut StepTimings>) -> Result<f64, Error> {
        let before = self.engine.len(self.seq);
        self.draw(self.options.tokens, true)?;
        let began = Instant::now();
        match timings {
            None => self.engine.step(&self.batch)?,
            Some(timings) => self.engine.step_timed(&self.batch, timings)?,
        };
        let seconds = began.elapsed().as_secs_f64();
        self.engine.truncate(self.seq, before);
        self.tell();
        Ok(seconds)
    }

    /// Draws the tokens of a step, unless somebody wants no more of them.
    fn draw(&mut self, tokens: usize, logits: bool) -> Result<(), Error> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let vocab = self.engine.model().graph().config.vocab;
        self.batch.clear();
        for left in (0..tokens).rev() {
            self.batch.push(self.seq, self.random.below(vocab) as u32, logits && left == 0);
        }
        Ok(())
    }

    fn tell(&mut self) {
        self.done += self.batch.len() as u64;
        (self.on)(self.done, self.options.total());
    }

    /// What a launch takes that does nothing: what many take beyond a single one.
    fn empty_launch(&mut self) -> Result<f64, Error> {
        let measured = self.empty_launches();
        self.engine.drop_parts();
        measured
    }

    fn empty_launches(&mut self) -> Result<f64, Error> {
        let [launches, times] = EMPTY;
        let parts = [1, 1 + launches].map(|launches| self.engine.empty_part(self.options.tokens, launches));
        let [one, many] = parts;
        let parts = [one?, many?];
        let mut samples = [const { Samples::new() }; 2];
        for _ in 0..times {
            for (part, samples) in parts.iter().zip(&mut samples) {
                samples.push(self.engine.replay_part(*part)?.as_secs_f64());
            }
        }
        let [one, many] = samples.map(|samples| samples.median());
        Ok((many - one).max(0.0) / launches as f64)
    }
}

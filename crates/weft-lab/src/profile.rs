//! Profiles: where the time of a step goes. Every launch is timed inside the replay, on every thread, and compared with the roofline.
//!
//! Timed and untimed steps alternate, so that the overhead of timing is known; tokens are random, as for [`bench()`](crate::bench()).
//! Figures are medians over the steps, launch by launch. The time of a launch is the time from its beginning to that of the next launch,
//! averaged over the threads, so that the times of all launches add up to the time of the replay. It consists of work and of waiting for
//! slower threads and for the barrier.

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

/// How often the device's limits are measured, evenly spread over the steps.
const ROOF_SAMPLES: usize = 5;

/// Launches of an empty kernel that measure the launch overhead, and how often all of them are timed.
const EMPTY: [usize; 2] = [256, 20];

/// Options of a profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileOptions {
    /// Timed steps; there are as many untimed ones.
    pub steps: usize,
    /// Tokens in the cache before each step.
    pub depth: usize,
    /// Tokens of a step: 1 for decode, more for prefill. The last one gives logits.
    pub tokens: usize,
}

impl ProfileOptions {
    /// The context that the runner must have room for, in tokens.
    pub fn context(&self) -> usize {
        self.depth.saturating_add(self.tokens)
    }

    /// Tokens computed in all: the depth, the steps, two to warm up, and two more to warm up after each measurement of the limits.
    fn total(&self) -> u64 {
        let steps = 2 * (self.steps + ROOF_SAMPLES.min(self.steps) + 1) as u64;
        (self.depth as u64).saturating_add(steps.saturating_mul(self.tokens as u64))
    }
}

/// The results of a profile. Times are in seconds.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The machine.
    pub host: Host,
    /// The device's limits, measured between the steps.
    pub roofs: Roofs,
    /// The shape of each step.
    pub shape: StepShape,
    /// The time of each untimed step.
    pub plain: Samples,
    /// The time of each timed step.
    pub timed: Samples,
    /// For each pair of a timed and an untimed step, how much longer the timed one took: 0.01 is 1 %.
    pub overhead: Samples,
    /// Where the time of a step went.
    pub clock: Clock,
    /// The time of each thread.
    pub workers: Vec<Worker>,
    /// Every launch, in order.
    pub launches: Vec<Timed>,
    /// The activity of each thread over time, in the fastest step.
    pub timeline: Timeline,
    /// The time of an empty launch.
    pub empty_launch: f64,
    /// Pairs of plans that are equal but were compiled twice.
    pub plans_made_twice: Vec<(String, String)>,
}

impl Profile {
    /// Tokens per second of the untimed steps.
    pub fn tokens_per_second(&self) -> f64 {
        self.shape.tokens as f64 / self.plain.median()
    }
}

/// Profiles a loaded model, and measures its device's limits with `meter`. `on` is called between steps with the number of tokens computed;
/// `cancel` is checked before every step.
///
/// # Errors
/// If the runner has no room, its device cannot time launches, or a step fails; [`Error::Interrupted`] if it was cancelled.
pub fn profile(
    runner: &mut Runner,
    meter: &mut Meter,
    options: &ProfileOptions,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Profile, Error> {
    let shape = StepShape { tokens: options.tokens, depth: options.depth, logits: 1 };
    let launches = runner.launches(&shape);
    let seq = runner.new_sequence();
    let mut steps =
        Steps { runner, seq, batch: Batch::new(), random: Random::new(0), cancel, done: 0, options, on };
    let measured = steps.all(meter, launches);
    runner.free(seq);
    measured
}

/// A profile in progress.
struct Steps<'a> {
    runner: &'a mut Runner,
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
        // A device that cannot time launches fails here, before anything long begins.
        self.one(Some(&mut timings))?;
        self.runner.truncate(self.seq, 0);
        self.fill(depth)?;
        self.one(None)?;
        let threads = NonZeroUsize::new(self.runner.device().threads).unwrap_or(NonZeroUsize::MIN);
        let mut roofs = Roofs::new(threads);
        let mut recorder = Recorder::new(launches.len(), steps);
        let [mut plain, mut timed, mut overhead] = [const { Samples::new() }; 3];
        let mut sampled = 0;
        for step in 0..steps {
            if step * ROOF_SAMPLES.min(steps) >= sampled * steps {
                sampled += 1;
                meter.sample(self.runner.device_mut(), &mut roofs, &[Roof::Read, Roof::Dot, Roof::MulAdd])?;
                // Wakes the threads and refills the caches.
                self.one(None)?;
                self.one(Some(&mut timings))?;
            }
            let mut seconds = [0.0; 2];
            // The second step may find more in the caches, so the order alternates.
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
            plans_made_twice: self.runner.plans_made_twice(tokens),
        })
    }

    /// Fills the cache up to a depth.
    fn fill(&mut self, depth: usize) -> Result<(), Error> {
        let at_once = self.runner.batch();
        for begin in (0..depth).step_by(at_once) {
            self.draw(at_once.min(depth - begin), false)?;
            self.runner.step(&self.batch)?;
            self.tell();
        }
        Ok(())
    }

    /// Computes a step and removes its tokens from the cache. Returns the seconds it took.
    fn one(&mut self, timings: Option<&mut StepTimings>) -> Result<f64, Error> {
        let before = self.runner.len(self.seq);
        self.draw(self.options.tokens, true)?;
        let began = Instant::now();
        let took = match timings {
            None => {
                self.runner.advance(&self.batch)?;
                began.elapsed()
            }
            Some(timings) => {
                self.runner.step_timed(&self.batch, timings)?;
                timings.wall()
            }
        };
        let seconds = took.as_secs_f64();
        self.runner.truncate(self.seq, before);
        self.tell();
        Ok(seconds)
    }

    /// Draws the tokens of a step.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the profile was cancelled.
    fn draw(&mut self, tokens: usize, logits: bool) -> Result<(), Error> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let vocab = self.runner.model().graph().config.vocab;
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

    /// The seconds of an empty launch: the time that each of many adds to that of one.
    fn empty_launch(&mut self) -> Result<f64, Error> {
        let measured = self.empty_launches();
        self.runner.drop_parts();
        measured
    }

    fn empty_launches(&mut self) -> Result<f64, Error> {
        let [launches, times] = EMPTY;
        let parts = [1, 1 + launches].map(|launches| self.runner.empty_part(self.options.tokens, launches));
        let [one, many] = parts;
        let parts = [one?, many?];
        let mut samples = [const { Samples::new() }; 2];
        for _ in 0..times {
            for (part, samples) in parts.iter().zip(&mut samples) {
                samples.push(self.runner.replay_part(*part)?.as_secs_f64());
            }
        }
        let [one, many] = samples.map(|samples| samples.median());
        Ok((many - one).max(0.0) / launches as f64)
    }
}

//! A kernel whose schedule is tuned, with the findings so far.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use weft_device::{Scheduled, Tuning};
use weft_engine::inspect::{Launch, StepShape};
use weft_kern::{Kernel, Sizes};

use super::found::{Candidate, TuneOutcome, TunedKernel};
use crate::samples::Samples;

/// The smallest gain of a generation of schedules for which the search continues, as a fraction of the rate: less may be noise.
const PROGRESS: f64 = 0.01;

/// A kernel that is slower alone than before by a larger fraction is not tried in whole steps.
const NEAR: f64 = 0.15;

/// A distinct kernel of steps of one size.
pub(super) struct Site {
    kernel: Arc<Kernel>,
    max: Sizes,
    /// The tokens of the step it was found in, and its launches there.
    pub(super) tokens: usize,
    launches: Vec<usize>,
    segment: String,
    /// Its schedule when the model was loaded.
    pub(super) loaded: String,
    /// Its schedule when its own search began: it may have to follow the order of sums found for smaller steps.
    before: String,
    /// The sums whose order may change.
    free: BTreeSet<String>,
    beam: Vec<Scored>,
    queue: VecDeque<String>,
    seen: BTreeSet<String>,
    /// The best gain when the current generation began; `None` before the first.
    generation: Option<f64>,
    pub(super) best: Option<Candidate>,
    pub(super) outcome: TuneOutcome,
}

/// A schedule that the search has timed.
struct Scored {
    schedule: String,
    gain: f64,
    /// Whether its neighbours have been queued.
    expanded: bool,
}

/// Returns the distinct kernels of a step that the device has schedules for.
pub(super) fn sites(schedules: &dyn Tuning, shape: &StepShape, launches: &[Launch]) -> Vec<Site> {
    let mut sites: Vec<Site> = Vec::new();
    for (at, launch) in launches.iter().enumerate() {
        let (kernel, max) = launch.work();
        if let Some(known) = sites.iter_mut().find(|site| site.is(launch)) {
            known.launches.push(at);
        } else if let Some(schedule) = schedules.schedule(kernel, max) {
            sites.push(Site {
                kernel: Arc::new(kernel.clone()),
                max: *max,
                tokens: shape.tokens,
                launches: vec![at],
                segment: launch.segment.clone(),
                loaded: schedule.clone(),
                before: schedule,
                free: BTreeSet::new(),
                beam: Vec::new(),
                queue: VecDeque::new(),
                seen: BTreeSet::new(),
                generation: None,
                best: None,
                outcome: TuneOutcome::Best,
            });
        }
    }
    sites
}

impl Site {
    /// Whether a launch runs this kernel, in steps of this size.
    pub(super) fn is(&self, launch: &Launch) -> bool {
        let (kernel, max) = launch.work();
        max.tokens == self.max.tokens && kernel.same_work(&self.kernel)
    }

    /// The most tokens of the steps it is compiled for.
    pub(super) fn class(&self) -> usize {
        self.max.tokens
    }

    /// Its current schedule.
    pub(super) fn now(&self, schedules: &dyn Tuning) -> String {
        schedules.schedule(&self.kernel, &self.max).unwrap_or_default()
    }

    /// The kernel with this schedule.
    pub(super) fn with(&self, schedule: &str) -> Scheduled {
        Scheduled { kernel: Arc::clone(&self.kernel), max: self.max, schedule: schedule.into() }
    }

    /// The sums that it computes.
    pub(super) fn sums(&self, schedules: &dyn Tuning) -> BTreeSet<String> {
        schedules.orders(&self.kernel, &self.loaded).into_iter().map(|order| order.sums).collect()
    }

    /// Begins the search. The order of `free` sums may change.
    pub(super) fn begin(&mut self, schedules: &dyn Tuning, free: BTreeSet<String>) {
        self.before = self.now(schedules);
        self.free = free;
        self.seen.insert(self.before.clone());
        self.beam = vec![Scored { schedule: self.before.clone(), gain: 0.0, expanded: false }];
    }

    /// Returns the next schedule to try, if one is promising.
    pub(super) fn next(&mut self, schedules: &dyn Tuning) -> Option<String> {
        if self.queue.is_empty() {
            let best = self.beam.first().map_or(0.0, |first| first.gain);
            if self.generation.is_some_and(|before| best < before + PROGRESS) {
                return None;
            }
            self.generation = Some(best);
            let orders = schedules.orders(&self.kernel, &self.before);
            for scored in self.beam.iter_mut().filter(|scored| !scored.expanded) {
                scored.expanded = true;
                for near in schedules.near(&self.kernel, &self.max, &scored.schedule) {
                    let follows = schedules
                        .orders(&self.kernel, &near)
                        .iter()
                        .all(|order| orders.contains(order) || self.free.contains(&order.sums));
                    if follows && self.seen.insert(near.clone()) {
                        self.queue.push_back(near);
                    }
                }
            }
        }
        self.queue.pop_front()
    }

    /// Records a schedule's gain, as a fraction of the rate, and keeps the best `beam` schedules.
    pub(super) fn score(&mut self, schedule: String, gain: f64, beam: usize) {
        let at = self.beam.partition_point(|scored| scored.gain >= gain);
        self.beam.insert(at, Scored { schedule, gain, expanded: false });
        self.beam.truncate(beam.max(1));
    }

    /// The schedule that seems best, with its apparent gain; `None` if it is the old one.
    pub(super) fn promising(&self) -> Option<(&str, f64)> {
        let first = self.beam.first().filter(|first| first.schedule != self.before)?;
        Some((&first.schedule, first.gain))
    }

    /// The schedules of the beam other than the old one that are not much slower by themselves, the best first.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &str> {
        let near = |scored: &&Scored| scored.schedule != self.before && scored.gain > -NEAR;
        self.beam.iter().filter(near).map(|scored| scored.schedule.as_str())
    }

    /// The median time of the kernel's launches in a step; `None` if none ran.
    pub(super) fn time(&self, seconds: &[f64]) -> Option<f64> {
        let own = self.launches.iter().filter_map(|at| seconds.get(*at).copied()).filter(|time| *time > 0.0);
        Some(own.collect::<Samples>().median()).filter(|median| median.is_finite())
    }

    pub(super) fn told(self) -> TunedKernel {
        TunedKernel {
            tokens: self.tokens,
            kernel: self.kernel.name.clone(),
            segment: self.segment,
            launches: self.launches.len(),
            tried: self.seen.len().saturating_sub(1 + self.queue.len()),
            before: self.before,
            best: self.best,
            outcome: self.outcome,
        }
    }
}

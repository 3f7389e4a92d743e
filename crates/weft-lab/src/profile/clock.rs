//! The clock that closes: work, waits and the host's own time are a step's, and what is left of it is shown.

use serde_json::{Value, json};

use crate::samples::Samples;

/// The times of one launch, in seconds: means over the threads, and the longest work of one.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Times {
    pub(super) busy: f64,
    pub(super) waiting: f64,
    pub(super) longest: f64,
}

/// A step, by the clock.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct StepRecord {
    pub(super) wall: f64,
    /// Outside of replays.
    pub(super) host: f64,
    pub(super) launches: Vec<Times>,
    /// For each thread, how long it worked and how long it waited between launches.
    pub(super) workers: Vec<[f64; 2]>,
}

/// Where the time of a step went, in seconds: medians, of the launches one by one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clock {
    /// All of it.
    pub wall: f64,
    /// Threads worked on launches, on average.
    pub kernels: f64,
    /// Threads waited between two launches, on average.
    pub waits: f64,
    /// Outside of replays: indices written, logits read.
    pub host: f64,
    /// How much of a step is one of these, 1 being all, in the middle one. What is not is the way into a replay and out of it.
    pub closes: f64,
}

/// What a thread did in a step, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Worker {
    /// It worked.
    pub busy: f64,
    /// It waited between two launches.
    pub waiting: f64,
}

impl Clock {
    /// `launches` are the medians.
    pub(super) fn new(steps: &[StepRecord], launches: &[Times]) -> Clock {
        let median = |of: fn(&StepRecord) -> f64| steps.iter().map(of).collect::<Samples>().median();
        let accounted = |step: &StepRecord| {
            let launches: f64 = step.launches.iter().map(|times| times.busy + times.waiting).sum();
            (launches + step.host) / step.wall
        };
        Clock {
            wall: median(|step| step.wall),
            kernels: launches.iter().map(|times| times.busy).sum(),
            waits: launches.iter().map(|times| times.waiting).sum(),
            host: median(|step| step.host),
            closes: median(accounted),
        }
    }

    /// What of the wall time is neither. Medians do not add up exactly: it can be less than nothing.
    pub fn residue(&self) -> f64 {
        self.wall - self.kernels - self.waits - self.host
    }

    pub(super) fn json(&self) -> Value {
        let Clock { wall, kernels, waits, host, closes } = self;
        json!({
            "wall_ms": wall * 1e3,
            "kernels_ms": kernels * 1e3,
            "waits_ms": waits * 1e3,
            "host_ms": host * 1e3,
            "residue_ms": self.residue() * 1e3,
            "closes": closes,
        })
    }
}

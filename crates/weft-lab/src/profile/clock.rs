//! Accounts for the time of a step: work, waiting, time on the host, and a residue that is shown.

use serde_json::{Value, json};

use crate::samples::Samples;

/// The times of a launch in seconds: means over the threads, and the work of the slowest.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Times {
    pub(super) busy: f64,
    pub(super) waiting: f64,
    pub(super) longest: f64,
}

/// The times of a step, in seconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct StepRecord {
    pub(super) wall: f64,
    /// Outside replays.
    pub(super) host: f64,
    pub(super) launches: Vec<Times>,
    /// For each thread, its work and its waiting between launches.
    pub(super) workers: Vec<[f64; 2]>,
}

/// Where the time of a step went, in seconds: medians over the steps, launch by launch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clock {
    /// The whole step.
    pub wall: f64,
    /// Work on launches, averaged over the threads.
    pub kernels: f64,
    /// Waiting between launches, averaged over the threads.
    pub waits: f64,
    /// Outside replays: writing indices, reading logits.
    pub host: f64,
    /// The fraction of a step that these account for (median). The rest is spent entering and leaving replays.
    pub closes: f64,
}

/// The time of a thread in a step, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Worker {
    /// Work on launches.
    pub busy: f64,
    /// Waiting between launches.
    pub waiting: f64,
}

impl Clock {
    /// Takes the medians of the steps; `launches` are those of the launches.
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

    /// The wall time that is not accounted for. Medians do not add up exactly, so it can be negative.
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

//! The types of the results of tuning.

use std::path::PathBuf;

use crate::ablate::{Gain, Measured};
use crate::host::Host;

/// The result of tuning.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuned {
    /// The machine.
    pub host: Host,
    /// Every distinct kernel of every size of step, with its best schedule.
    pub kernels: Vec<TunedKernel>,
    /// Whole steps with the old and the new schedules; empty if nothing was found.
    pub steps: Vec<Measured>,
    /// The number of times that a step was compiled with schedules to try.
    pub rounds: u64,
    /// The outcome.
    pub end: TuneEnd,
}

/// The outcome for the schedules that were found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TuneEnd {
    /// None was found that is certainly faster and correct.
    Nothing,
    /// They were saved to this file; `None` if the device has no folder for it.
    Kept(Option<PathBuf>),
    /// They were discarded, because whole steps are slower with them.
    Slower,
}

/// A kernel of steps of one size, and its schedules.
#[derive(Clone, PartialEq, Debug)]
pub struct TunedKernel {
    /// Tokens of the steps that were timed.
    pub tokens: usize,
    /// The kernel's name.
    pub kernel: String,
    /// The part of the model that launches it first.
    pub segment: String,
    /// How often a step launches it.
    pub launches: usize,
    /// Schedules that were tried.
    pub tried: usize,
    /// Its schedule before tuning.
    pub before: String,
    /// The schedule that seemed best, if it differs.
    pub best: Option<Candidate>,
    /// The outcome of the search.
    pub outcome: TuneOutcome,
}

/// A schedule that was timed against the kernel's own.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The schedule.
    pub schedule: String,
    /// Seconds of a launch in each pair, or of a whole step where launches overlap: with the old schedule, with this one.
    pub pairs: Vec<(f64, f64)>,
    /// The gain over all pairs.
    pub gain: Gain,
}

/// The outcome of the search for a kernel's schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TuneOutcome {
    /// No schedule tried is certainly faster.
    Best,
    /// The new schedule is faster, and the interpreter agrees with its results.
    Faster,
    /// The new schedule computes something else; the fault that verification found.
    Wrong(String),
}

//! Varying how a device schedules kernels, to find faster schedules.
//!
//! A schedule is text in a form of the device's own. A tuner passes such texts around and times the programs compiled with them; only the
//! device knows what they mean, and it offers legal ones only.

use std::path::PathBuf;
use std::sync::Arc;

use weft_kern::{Kernel, Sizes};

use crate::error::DeviceError;

/// A device whose schedules can be varied.
pub trait Tuning {
    /// The schedule of a kernel in programs for steps up to `max` while nothing is being tried: one that was kept, or the device's own
    /// choice. `None` if the device cannot run the kernel, or runs a text that it comes with.
    fn schedule(&self, kernel: &Kernel, max: &Sizes) -> Option<String>;

    /// Schedules one step away from this one, in one of its choices each. The device can run all of them.
    fn near(&self, kernel: &Kernel, max: &Sizes, schedule: &str) -> Vec<String>;

    /// The order in which a kernel with this schedule accumulates its sums. Results must be batch-invariant, bit for bit, so sums of one
    /// name need the same order in all kernels and for steps of all sizes. Nothing else in a schedule changes a bit.
    fn orders(&self, kernel: &Kernel, schedule: &str) -> Vec<Order>;

    /// Uses these schedules, whatever was kept, in programs compiled from now on; an empty list ends the trial. Meanwhile results need
    /// not be batch-invariant.
    fn try_out(&mut self, schedules: &[Scheduled]);

    /// Uses these schedules in programs compiled from now on. The order of sums they imply holds for all kernels with such sums; a
    /// schedule that contradicts an order kept for another kernel is not used.
    fn keep(&mut self, schedules: &[Scheduled]);

    /// Saves the kept schedules for the next time the device is opened. Returns the file; `None` if the device was opened without a
    /// folder.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if it cannot be written.
    fn save(&mut self) -> Result<Option<PathBuf>, DeviceError>;

    /// Whether the time of a single launch does not show the gain of a step: launches begin while those before them still run, or several
    /// run as one.
    fn judged_by_steps(&self) -> bool {
        false
    }

    /// Changes the schedules of programs compiled from now on in these ways, wherever that is legal; an empty list ends it.
    fn depart(&mut self, departures: &[&'static Departure]);
}

/// A kernel with its schedule in programs for steps up to `max`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scheduled {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// The largest step.
    pub max: Sizes,
    /// The schedule.
    pub schedule: String,
}

/// The order in which sums are accumulated.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Order {
    /// Which sums: `q4_0[2048, 768]`.
    pub sums: String,
    /// In which order: `reduce 8`.
    pub order: String,
}

/// A way in which all schedules of a device can differ from its own choice, to measure what that choice gains.
#[derive(PartialEq, Eq, Debug)]
pub struct Departure {
    /// Its name: `schedule.rows=1`.
    pub name: &'static str,
    /// The change, in a sentence.
    pub about: &'static str,
}

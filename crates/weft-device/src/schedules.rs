//! How a device lays kernels out, where that can be varied: the door for who looks for faster ways.
//!
//! A schedule is a text of the device's own. Whoever tunes passes texts around and times what comes of them; what they mean only the device knows,
//! and it offers none that is not legal.

use std::path::PathBuf;
use std::sync::Arc;

use weft_kern::{Kernel, Sizes};

use crate::device::DeviceError;

/// The schedules of a device's kernels.
pub trait Schedules {
    /// The schedule of a kernel in programs for steps up to `max`, as long as nothing is tried: one that was kept, or the device's own choice. `None`
    /// if the device cannot run the kernel.
    fn schedule(&self, kernel: &Kernel, max: &Sizes) -> Option<String>;

    /// Schedules that differ from this one in one step of one choice. The device can run all of them.
    fn near(&self, kernel: &Kernel, max: &Sizes, schedule: &str) -> Vec<String>;

    /// In what order a kernel with this schedule makes its sums. Bits must not depend on company, so sums of one name need one order, in all kernels
    /// and for all sizes of step; whatever else a schedule says changes no bit.
    fn orders(&self, kernel: &Kernel, schedule: &str) -> Vec<Order>;

    /// Has programs that are compiled from now on use these schedules, whatever was kept; of none, ends that. Nothing sees to it that bits stay
    /// independent of company meanwhile.
    fn try_out(&mut self, schedules: &[Scheduled]);

    /// Has programs that are compiled from now on use these schedules. What they say of the order of sums holds for all kernels that make such sums;
    /// a schedule that disagrees with what was kept of another is not used.
    fn keep(&mut self, schedules: &[Scheduled]);

    /// Writes what was kept to the disk, for the next time the device is opened. Where that is; `None` if there is no place for it.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if it cannot be written.
    fn save(&mut self) -> Result<Option<PathBuf>, DeviceError>;

    /// Has the schedules of programs that are compiled from now on depart from the device's own choice in these ways, wherever that is legal; of none,
    /// ends that.
    fn depart(&mut self, departures: &[&'static Departure]);
}

/// A kernel, and how it is laid out in programs for steps up to `max`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scheduled {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// The largest step.
    pub max: Sizes,
    /// How it is laid out.
    pub schedule: String,
}

/// In what order sums are made.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Order {
    /// Which sums: `q4_0[2048, 768]`.
    pub sums: String,
    /// In what order: `reduce 8`.
    pub order: String,
}

/// A way in which all schedules of a device can depart from its own choice: to find out what that choice is worth.
#[derive(PartialEq, Eq, Debug)]
pub struct Departure {
    /// Its name: `schedule.rows=1`.
    pub name: &'static str,
    /// What is otherwise, in a sentence.
    pub about: &'static str,
}

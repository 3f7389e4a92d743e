//! Access to abilities that a device may not have.

use weft_kern::Sizes;

use crate::checkpoints::{Checkpoints, Mark};
use crate::device::Device;
use crate::error::DeviceError;
use crate::ids::ProgramId;
use crate::timings::Timings;

impl Mark {
    /// The state of a device now; `None` if the device has no [`Checkpoints`].
    pub fn of(device: &mut dyn Device) -> Option<Mark> {
        device.checkpoints().map(Checkpoints::mark)
    }

    /// [Rewinds](Checkpoints::rewind) the device that this mark is of.
    pub fn restore(self, device: &mut dyn Device) {
        if let Some(checkpoints) = device.checkpoints() {
            checkpoints.rewind(self);
        }
    }
}

/// [`Timing::replay_timed`](crate::Timing::replay_timed) on a device that may not have it.
///
/// # Errors
/// [`DeviceError::Unsupported`] if it has not, and those of the replay.
pub fn replay_timed(
    device: &mut dyn Device,
    program: ProgramId,
    sizes: &Sizes,
    timings: &mut Timings,
) -> Result<(), DeviceError> {
    match device.timing() {
        Some(timing) => timing.replay_timed(program, sizes, timings),
        None => Err(DeviceError::Unsupported {
            device: device.caps().name.clone(),
            ability: "time single launches, so it cannot be profiled",
        }),
    }
}

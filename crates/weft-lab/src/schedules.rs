//! The schedules of a device, for tuning and ablation.

use weft_device::{Device, DeviceError, Tuning};
use weft_engine::inspect::Runner;

use crate::error::Error;

/// Returns a device's schedules.
///
/// # Errors
/// [`DeviceError::Unsupported`] if it has none.
pub fn schedules(device: &mut dyn Device) -> Result<&mut dyn Tuning, DeviceError> {
    let name = device.caps().name.clone();
    device.tuning().ok_or(DeviceError::Unsupported {
        device: name,
        ability: "be tuned: it has no schedules; use a GPU with --device gpu (`weft devices` lists them)",
    })
}

/// Returns the schedules of a runner's device.
pub(crate) fn schedules_of(runner: &mut Runner) -> Result<&mut dyn Tuning, Error> {
    schedules(runner.device_mut()).map_err(|error| Error::Engine(error.into()))
}

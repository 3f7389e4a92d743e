//! The meaning of wgpu's errors to the users of a device.

use weft_device::DeviceError;

/// An error of wgpu as one of `device`, where `what` needed `bytes` bytes.
pub(crate) fn of_wgpu(error: &wgpu::Error, device: &str, what: &str, bytes: usize) -> DeviceError {
    let device = device.to_string();
    match error {
        wgpu::Error::OutOfMemory { .. } => DeviceError::Memory { device, bytes },
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            DeviceError::Refused { device, what: what.into(), why: one_line(description) }
        }
    }
}

/// A driver's text as part of a sentence: on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

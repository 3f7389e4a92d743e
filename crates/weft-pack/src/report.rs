//! Progress reports, and the error of packing.

use std::ops::ControlFlow;

use weft_device::DeviceError;

/// The progress of packing and loading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// Cached weights are being checked.
    Checking {
        /// The number of bytes checked.
        done: u64,
        /// The number of bytes to check.
        total: u64,
    },
    /// Weights are being packed.
    Packing {
        /// The number of bytes packed.
        done: u64,
        /// The number of bytes to pack.
        total: u64,
    },
    /// A packed model is being unpacked.
    Unpacking {
        /// The number of bytes written.
        done: u64,
        /// The number of bytes to write.
        total: u64,
    },
    /// Packed weights are being given to the device. The caller of [`pack`](crate::pack) reports this.
    Loading {
        /// The number of bytes given to the device.
        done: u64,
        /// The number of bytes in all.
        total: u64,
    },
    /// A message for the user. Work continues.
    Note(String),
}

/// The callback for reports. Returning [`Break`](ControlFlow::Break) interrupts the work.
pub type OnReport<'a> = &'a mut dyn FnMut(Report) -> ControlFlow<()>;

/// The error of [`pack`](crate::pack).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// A weight cannot be packed, or there is not enough memory.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The callback interrupted packing. No unfinished files remain.
    #[error("loading was interrupted")]
    Interrupted,
}

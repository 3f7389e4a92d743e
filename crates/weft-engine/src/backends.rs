//! The devices that this build can run on: one line for each backend.
//!
//! A new device is its crate and a line here.

use std::io;
use std::path::Path;

use weft_cpu::CpuBackend;
use weft_device::{Backend, ReferenceBackend};
use weft_wgpu::GpuBackend;

/// Every backend, the default one first.
pub static BACKENDS: &[&dyn Backend] = &[&CpuBackend, &GpuBackend, &ReferenceBackend];

/// Removes the files that devices of this build keep in a folder: compiled kernels and tuned schedules. Returns how many bytes that frees.
///
/// # Errors
/// If the folder exists and cannot be read, or a file cannot be removed.
pub fn clear_device_files(folder: &Path) -> io::Result<u64> {
    BACKENDS.iter().try_fold(0, |freed, backend| Ok(freed + backend.clear(folder)?))
}

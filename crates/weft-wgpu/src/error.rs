//! Why no adapter could be opened, and what wgpu's errors mean to those who use a device.

use weft_device::DeviceError;

/// Why there is no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The machine has none, or no driver for it.
    #[error(
        "there is no graphics adapter: this machine has none, or no Vulkan driver (on Debian and Ubuntu, libvulkan1 with \
         mesa-vulkan-drivers, which also bring one in software); `--device cpu` needs none"
    )]
    None,
    /// None of that name.
    #[error(
        "no graphics adapter is called `{wanted}`; there are {}; any part of a name will do",
        quoted(there)
    )]
    Unknown {
        /// What was asked for.
        wanted: String,
        /// Those there are.
        there: Vec<String>,
    },
    /// Its driver refused.
    #[error("`{adapter}` cannot be opened: {why}")]
    Adapter {
        /// Its name.
        adapter: String,
        /// What the driver says.
        why: String,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What an error of wgpu is to whoever asked `device` for `what`, which takes `bytes`.
pub(crate) fn of_wgpu(error: &wgpu::Error, device: &str, what: &str, bytes: usize) -> DeviceError {
    let device = device.to_string();
    match error {
        wgpu::Error::OutOfMemory { .. } => DeviceError::Memory { device, bytes },
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            DeviceError::Refused { device, what: what.into(), why: one_line(description) }
        }
    }
}

/// A driver's text as part of a sentence.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

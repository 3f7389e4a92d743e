//! The error of models that are kept packed only.

use std::io;
use std::path::{Path, PathBuf};

use weft_device::DeviceError;

/// The error of opening, packing and unpacking models.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file is not a valid GGUF file, or the header that a packed model keeps of it is not.
    #[error(transparent)]
    File(#[from] weft_gguf::Error),
    /// A weight has no place in memory.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A file cannot be used.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The action that failed: `read`, `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A packed model cannot be used, and there is no other copy of it.
    #[error("{} {why}. It is the only copy of this model: `weft rm {name}` removes it, and `weft pull {name}` fetches it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem, as a predicate of the path.
        why: String,
        /// The model's name, or the path if that is lost.
        name: String,
    },
    /// A model cannot be packed or unpacked. Nothing was changed.
    #[error("{} {why}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why not, as a predicate to the path.
        why: String,
    },
    /// The callback interrupted the work. Nothing was changed.
    #[error("it was interrupted")]
    Interrupted,
}

impl ModelError {
    /// Converts an I/O error.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ModelError {
        move |source| ModelError::Io { action, path: path.into(), source }
    }
}

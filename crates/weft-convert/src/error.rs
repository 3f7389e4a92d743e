//! Errors, worded so that a person can act on them.

use std::io;
use std::path::{Path, PathBuf};

/// Why a model cannot be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The attempted action: `open`, `map`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file says what it must not say, lacks something, or does not fit the others.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file, or the folder if several do not fit together.
        path: PathBuf,
        /// What was expected and found, and what to do.
        problem: String,
    },
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The error for a problem with `path`.
pub(crate) fn refuse(path: &Path, problem: impl Into<String>) -> Error {
    Error::File { path: path.to_path_buf(), problem: problem.into() }
}

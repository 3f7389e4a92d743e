//! The cache folder: compiled pipelines and tuned schedules, a file each for every adapter and driver.

use std::path::Path;
use std::{fs, io};

/// How the names of files of compiled pipelines begin.
pub(crate) const PIPELINES: &str = "pipelines-";

/// How the names of files of schedules begin.
pub(crate) const SCHEDULES: &str = "schedules-";

/// Replaces a file, making its folder first if need be.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    weft_file::write(path, bytes)
}

/// Removes the compiled pipelines and schedules from a cache folder. Returns how many bytes that frees.
///
/// # Errors
/// If the folder exists and cannot be read, or a file in it cannot be removed.
pub(crate) fn clear(folder: &Path) -> io::Result<u64> {
    weft_file::remove_files(folder, |name| {
        [PIPELINES, SCHEDULES].iter().any(|prefix| name.starts_with(prefix))
    })
}

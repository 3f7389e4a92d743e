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
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut freed = 0;
    for entry in entries {
        let entry = entry?;
        let ours = |name: &str| [PIPELINES, SCHEDULES].iter().any(|prefix| name.starts_with(prefix));
        if entry.file_name().to_str().is_some_and(ours) {
            freed += entry.metadata()?.len();
            fs::remove_file(entry.path())?;
        }
    }
    Ok(freed)
}

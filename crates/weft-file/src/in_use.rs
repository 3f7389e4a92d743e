//! Files that a program uses: Windows neither replaces nor removes them while they are mapped, and says only that access is denied.

use std::path::Path;
use std::{fs, io};

/// Removes a file.
///
/// # Errors
/// If it cannot be removed; on Windows also if a program has mapped it, which the error then says.
pub fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).map_err(|error| told(error, path, "a program is using it"))
}

/// Gives a part file its target's name.
///
/// # Errors
/// If it cannot be renamed; on Windows also if a program has mapped the file that is there, which the error then says.
pub(crate) fn rename(part: &Path, target: &Path) -> io::Result<()> {
    fs::rename(part, target)
        .map_err(|error| told(error, target, "a program is using the file that would be replaced"))
}

/// The error, or `why` if it is the one of Windows for a file that is mapped.
fn told(error: io::Error, path: &Path, why: &str) -> io::Error {
    let is_writable =
        || fs::metadata(path).is_ok_and(|about| about.is_file() && !about.permissions().readonly());
    let in_use = cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied && is_writable();
    if in_use { io::Error::new(error.kind(), why) } else { error }
}

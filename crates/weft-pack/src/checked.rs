//! Notes about files that were checked since this machine was started, so that they need not be checked again.
//!
//! Checking 17 GB takes seconds at every start, and finds nothing new while neither the file nor the running system has changed: a
//! file that is changed has another time, and one that is replaced another inode. A note next to the file names all these.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The suffix of notes, after the name of the file.
pub(crate) const SUFFIX: &str = ".checked";

/// The path of the note about a file.
pub(crate) fn note(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(SUFFIX);
    path.with_file_name(name)
}

/// Whether this open file was checked since the machine was started, and has not changed.
pub(crate) fn is_checked(path: &Path, file: &File) -> bool {
    stamp(file).is_some_and(|stamp| fs::read_to_string(note(path)).is_ok_and(|known| known == stamp))
}

/// Notes that this open file has been checked. Failures are ignored: it is then checked again.
pub(crate) fn remember(path: &Path, file: &File) {
    if let Some(stamp) = stamp(file) {
        let _ = weft_file::write(&note(path), stamp.as_bytes());
    }
}

/// Forgets that a file has been checked.
pub(crate) fn forget(path: &Path) {
    let _ = fs::remove_file(note(path));
}

/// The boot of the machine and the file's place, size and time; `None` where the system does not report it.
#[cfg(target_os = "linux")]
fn stamp(file: &File) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    use std::time::UNIX_EPOCH;

    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let about = file.metadata().ok()?;
    let modified = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let (device, inode, len) = (about.dev(), about.ino(), about.len());
    Some(format!("{} {device} {inode} {len} {modified}\n", boot.trim()))
}

#[cfg(not(target_os = "linux"))]
fn stamp(_: &File) -> Option<String> {
    None
}

//! Part files: their names, the writer's lock, and removing abandoned ones.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

use crate::listing::entries;

/// The suffix of part files.
const SUFFIX: &str = ".part";

/// The number of random hexadecimal digits before the suffix, if the file is not resumable.
const DIGITS: usize = 16;

/// The most bytes of a target's name that the name of its part file repeats. File systems allow names of 255 bytes.
const MAX_NAME: usize = 200;

/// The number of names tried before giving up.
const TRIES: usize = 16;

/// The path of a part file beside `target`, with `tag` before its suffix.
///
/// # Errors
/// If the target has no file name.
pub(crate) fn path(target: &Path, tag: &str) -> io::Result<PathBuf> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name");
    let name = target.file_name().ok_or_else(no_name)?;
    let mut part = shortened(name);
    part.push(format!(".{tag}{SUFFIX}"));
    Ok(target.with_file_name(part))
}

fn shortened(name: &OsStr) -> OsString {
    if name.len() <= MAX_NAME {
        return name.to_os_string();
    }
    let name = name.to_string_lossy();
    name[..name.floor_char_boundary(MAX_NAME)].into()
}

/// Creates a new part file beside `target`, and locks it.
///
/// # Errors
/// If it cannot be created.
pub(crate) fn create(target: &Path, options: &OpenOptions) -> io::Result<(File, PathBuf)> {
    for _ in 0..TRIES {
        // Seeded by the operating system, unlike anything else in the standard library.
        let random = RandomState::new().build_hasher().finish();
        let path = path(target, &format!("{random:0DIGITS$x}"))?;
        let file = match options.clone().create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        // Between these two calls the file looks abandoned: `sweep` may have locked it, and may have removed it.
        let locked = lock(&file).is_ok();
        if locked && path.exists() {
            return Ok((file, path));
        }
    }
    Err(io::Error::other("cannot create a part file: other processes lock or remove each one"))
}

/// Opens a part file with `open`, which creates it if it is absent, and locks it.
///
/// # Errors
/// If it cannot be opened, or another writer has locked it.
pub(crate) fn open_locked(path: &Path, open: impl Fn(&Path) -> io::Result<File>) -> io::Result<File> {
    for _ in 0..TRIES {
        let file = open(path)?;
        lock(&file)?;
        // Between these two calls another writer may have committed the file: it is the target now, and complete.
        if is_at(&file, path)? {
            return Ok(file);
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "other processes are writing it"))
}

/// Whether `path` still leads to this open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let own = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (own.dev(), own.ino())))
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

/// Locks a part file for its writer. A file system without locks is not an error: on it, no part file ever looks abandoned.
///
/// # Errors
/// If another writer has locked it.
pub(crate) fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::WouldBlock, "another process is writing it"))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Removes the part files directly in `folder` that killed processes left behind, and returns how many bytes that frees.
///
/// Only files that are named like those of [`AtomicFile::create`](crate::AtomicFile::create) and not locked by a writer are
/// removed. Partial downloads stay, and so do files that cannot be removed.
///
/// # Errors
/// If the folder exists and cannot be read.
pub fn sweep(folder: &Path) -> io::Result<u64> {
    let mut freed = 0;
    for entry in entries(folder)? {
        if entry.file_name().to_str().is_some_and(is_part) {
            freed += remove_abandoned(&entry.path()).unwrap_or(0);
        }
    }
    Ok(freed)
}

/// Returns the size of the part files that [`sweep`] would remove.
///
/// # Errors
/// If the folder exists and cannot be read.
pub fn abandoned(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in entries(folder)? {
        if entry.file_name().to_str().is_some_and(is_part) {
            bytes += unlocked(&entry.path()).ok().flatten().map_or(0, |(_, bytes)| bytes);
        }
    }
    Ok(bytes)
}

/// Whether this is the name of a part file that is not resumable.
fn is_part(name: &str) -> bool {
    let tag = name.strip_suffix(SUFFIX).and_then(|rest| rest.rsplit_once('.'));
    tag.is_some_and(|(name, tag)| {
        let digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        !name.is_empty() && tag.len() == DIGITS && tag.bytes().all(digit)
    })
}

/// Removes a part file unless its writer is still alive. Returns the number of bytes freed.
fn remove_abandoned(path: &Path) -> io::Result<u64> {
    let Some((_locked, bytes)) = unlocked(path)? else { return Ok(0) };
    fs::remove_file(path)?;
    Ok(bytes)
}

/// Opens and locks a part file whose writer is gone, and returns it with its size.
fn unlocked(path: &Path) -> io::Result<Option<(File, u64)>> {
    // Checked first, because opening a pipe would block.
    let about = fs::symlink_metadata(path)?;
    if !about.is_file() {
        return Ok(None);
    }
    // Some network file systems only lock files that are open for writing.
    let file = OpenOptions::new().write(true).open(path)?;
    // Without locks, no file is known to be abandoned.
    if file.try_lock().is_err() {
        return Ok(None);
    }
    Ok(Some((file, about.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_part_files() {
        let path = |name: &str| path(Path::new(name), "0123456789abcdef").ok();
        assert_eq!(path("a/model.gguf").unwrap(), Path::new("a/model.gguf.0123456789abcdef.part"));
        let long = path(&"ü".repeat(120)).unwrap();
        assert_eq!(long, Path::new(&format!("{}.0123456789abcdef.part", "ü".repeat(100))));
        assert!(path("..").is_none());
        for (name, expected) in [
            ("a.0123456789abcdef.part", true),
            ("model-Q4_0.gguf.ffffffffffffffff.part", true),
            // A partial download, which can be resumed.
            ("a.gguf.01234567.part", false),
            ("a.0123456789ABCDEF.part", false),
            (".0123456789abcdef.part", false),
            ("0123456789abcdef.part", false),
            ("a.0123456789abcdef.part.gguf", false),
        ] {
            assert_eq!(is_part(name), expected, "{name}");
        }
    }
}

//! A file that takes its name only when it is complete. The [crate] documentation says what that guarantees.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::fault::{Stage, reach};
use crate::target::{Target, folder};
use crate::{in_use, part};

/// A file being written. [`commit`](AtomicFile::commit) puts it in place; dropping it discards it.
///
/// Writes are not buffered: wrap it in a [`BufWriter`](io::BufWriter) for small ones.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    /// `None` for a device or a pipe, which is written to directly.
    part: Option<Part>,
}

/// The file that holds the bytes until they are complete.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    target: PathBuf,
    /// Whether another process may continue it.
    resumable: bool,
}

impl AtomicFile {
    /// Begins a new file for `path`, in the same folder and with the permissions of the file that it replaces.
    ///
    /// A path to a device or a pipe is opened and written to directly.
    ///
    /// # Errors
    /// If the path is a folder or a broken symbolic link, or no file can be created in its folder.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        let target = match Target::of(path)? {
            Target::Stream => {
                return Ok(AtomicFile { file: OpenOptions::new().write(true).open(path)?, part: None });
            }
            Target::File(target) => target,
        };
        reach(Stage::Create)?;
        let mut options = OpenOptions::new();
        // Its contents may be checked before it is committed.
        options.read(true).write(true);
        let mode = mode(&target);
        restrict(&mut options, mode);
        let (file, path) = part::create(&target, &options)?;
        let created = AtomicFile { file, part: Some(Part { path, target, resumable: false }) };
        reach(Stage::Permissions)?;
        set_mode(&created.file, mode)?;
        Ok(created)
    }

    /// Begins a new file for `path`, or continues one that another process left unfinished. Its part file, `NAME.TAG.part`,
    /// stays until it is committed or [discarded](AtomicFile::discard). The position is at its beginning.
    ///
    /// The tag should identify the contents, so that part files of different versions are never mixed up.
    ///
    /// # Errors
    /// If the path cannot be a regular file, the part file cannot be opened, or another process is writing it
    /// ([`WouldBlock`](io::ErrorKind::WouldBlock)).
    pub fn resume(path: &Path, tag: &str) -> io::Result<AtomicFile> {
        let Target::File(target) = Target::of(path)? else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        };
        reach(Stage::Create)?;
        let path = part::path(&target, tag)?;
        let file = part::open_locked(&path, |path| {
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
        })?;
        Ok(AtomicFile { file, part: Some(Part { path, target, resumable: true }) })
    }

    /// The path of the part file; `None` if the bytes go to a device or a pipe.
    pub fn part_path(&self) -> Option<&Path> {
        self.part.as_ref().map(|part| part.path.as_path())
    }

    /// The open file, to check what has been written.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The size of the part file in bytes.
    ///
    /// # Errors
    /// If the file system cannot tell its size.
    pub fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Whether the part file is empty.
    ///
    /// # Errors
    /// If the file system cannot tell its size.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Truncates the part file, or extends it with zeros. The position does not change.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    /// Writes all of `bytes` at `offset`; several threads can do so at once. The position is undefined afterwards.
    ///
    /// # Errors
    /// If they cannot be written; some of them may have been written.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        reach(Stage::Write)?;
        write_all_at(&self.file, bytes, offset)
    }

    /// Syncs the bytes written so far to the disk, so that [`commit`](AtomicFile::commit) has less to do.
    ///
    /// # Errors
    /// If they cannot be written to the disk.
    pub fn sync_data(&self) -> io::Result<()> {
        reach(Stage::SyncFile)?;
        self.file.sync_data()
    }

    /// Puts the file in place without syncing it, for a cache whose files are verified by a checksum at each use. A process
    /// that is killed leaves the old file or the new one, whole; after a power failure, the file may be empty or damaged.
    ///
    /// # Errors
    /// If the file cannot be renamed. The old file is then still there.
    pub fn commit_unsynced(self) -> io::Result<()> {
        let Some(Part { path, target, .. }) = &self.part else { return Ok(()) };
        reach(Stage::Rename)?;
        in_use::rename(path, target)
    }

    /// Syncs the file to the disk and puts it in place, replacing the file that was there.
    ///
    /// # Errors
    /// If a step fails. The old file is then still there, unless only the folder could not be synced. A part file that can
    /// be resumed stays; others are removed.
    pub fn commit(self) -> io::Result<()> {
        let Some(Part { path, target, .. }) = &self.part else { return Ok(()) };
        reach(Stage::SyncFile)?;
        self.file.sync_all()?;
        // The target may have changed since it was checked.
        if fs::symlink_metadata(target).is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::other(
                "it was a regular file or absent when writing began, and is no longer",
            ));
        }
        reach(Stage::Rename)?;
        in_use::rename(path, target)?;
        reach(Stage::SyncFolder)?;
        sync_folder(folder(target))
    }

    /// Removes the part file, even if it could be resumed.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn discard(mut self) -> io::Result<()> {
        let Some(Part { path, .. }) = self.part.take() else { return Ok(()) };
        fs::remove_file(path)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        reach(Stage::Write)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Only files made by [`AtomicFile::resume`] can be read; others are open for writing only.
impl Read for AtomicFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(Part { path, resumable: false, .. }) = &self.part {
            // Fails after a commit, because the part file is gone. Any other that cannot be removed is left to `sweep`.
            let _ = fs::remove_file(path);
        }
        // Closing alone is not enough: a process that another thread is just starting has a copy of the open file until it
        // runs its own program, and the lock would last as long. Without locks this fails, and nothing is to be done.
        let _ = self.file.unlock();
    }
}

/// Replaces the file at `path` with these bytes: [`AtomicFile::create`], write, [`AtomicFile::commit`].
///
/// # Errors
/// If one of the three fails.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Syncs a folder to the disk, so that a rename in it survives a power failure.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        // Only Unix can open a folder to sync it.
        return Ok(());
    }
    let cannot = [io::ErrorKind::PermissionDenied, io::ErrorKind::InvalidInput, io::ErrorKind::Unsupported];
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // The folder is writable but not readable, or the file system cannot sync folders.
        Err(error) if cannot.contains(&error.kind()) => Ok(()),
        synced => synced,
    }
}

/// The permission bits of a file; `None` if the file does not exist or the system has no such bits.
#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    // Setuid and setgid were granted to the old contents, so they are left out.
    fs::metadata(path).ok().map(|found| found.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}

/// Limits the permissions that a file is created with, so that it is never open to more users than the old one.
#[cfg_attr(not(unix), expect(unused_variables, reason = "permissions are inherited from the folder"))]
fn restrict(options: &mut OpenOptions, mode: Option<u32>) {
    #[cfg(unix)]
    if let Some(mode) = mode {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(mode);
    }
}

/// Sets the permissions of a file, regardless of the umask.
#[cfg_attr(not(unix), expect(unused_variables, reason = "permissions are inherited from the folder"))]
fn set_mode(file: &File, mode: Option<u32>) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(mode) = mode {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt as _;
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! A file that takes its name only when it is complete. The [crate] documentation says what that guarantees.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::fault::{Stage, reach};
use crate::part;
use crate::target::{Target, folder};

/// A file being written. [`commit`](AtomicFile::commit) puts it in place; dropping it discards it.
///
/// Writes are not buffered: wrap it in a [`BufWriter`](io::BufWriter) for small ones.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    /// `None` for a device or a pipe, which is written to directly.
    part: Option<Part>,
}

/// Where the bytes are until they are complete.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    target: PathBuf,
    /// Whether another process may continue it.
    resumable: bool,
}

impl AtomicFile {
    /// Begins a file that is to be at `path`, in the same folder, with the permissions of the file that is there.
    ///
    /// A path to a device or a pipe is opened and written to directly.
    ///
    /// # Errors
    /// If the path is a folder or a broken link, or no file can be created beside it.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        let target = match Target::of(path)? {
            Target::Stream => {
                return Ok(AtomicFile { file: OpenOptions::new().write(true).open(path)?, part: None });
            }
            Target::File(target) => target,
        };
        reach(Stage::Create)?;
        let mut options = OpenOptions::new();
        options.write(true);
        let mode = mode(&target);
        restrict(&mut options, mode);
        let (file, path) = part::create(&target, &options)?;
        let created = AtomicFile { file, part: Some(Part { path, target, resumable: false }) };
        reach(Stage::Permissions)?;
        set_mode(&created.file, mode)?;
        Ok(created)
    }

    /// Begins a file that is to be at `path`, or continues what another process left of it: it is in `NAME.TAG.part`,
    /// which stays until it is committed or [discarded](AtomicFile::discard). The position is at its beginning.
    ///
    /// The tag should say which contents are meant, so that what is left of one version is never taken for another.
    ///
    /// # Errors
    /// If the path is no place for a file, the part file cannot be opened, or another process is writing it
    /// ([`WouldBlock`](io::ErrorKind::WouldBlock)).
    pub fn resume(path: &Path, tag: &str) -> io::Result<AtomicFile> {
        let Target::File(target) = Target::of(path)? else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        };
        reach(Stage::Create)?;
        let path = part::path(&target, tag)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        part::lock(&file)?;
        Ok(AtomicFile { file, part: Some(Part { path, target, resumable: true }) })
    }

    /// Where the bytes are now; `None` if they go to a device or a pipe.
    pub fn part_path(&self) -> Option<&Path> {
        self.part.as_ref().map(|part| part.path.as_path())
    }

    /// Bytes the part file has.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Whether the part file has no bytes.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the part file, or extends it with zeros. The position stays.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    /// Writes all of `bytes` at `offset`, from any thread. The position is undefined afterwards.
    ///
    /// # Errors
    /// If they cannot be written; some of them may have been.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        reach(Stage::Write)?;
        write_all_at(&self.file, bytes, offset)
    }

    /// Waits until the bytes written so far are on the disk, so that less is left to do for
    /// [`commit`](AtomicFile::commit).
    ///
    /// # Errors
    /// If the disk cannot take them.
    pub fn sync_data(&self) -> io::Result<()> {
        reach(Stage::SyncFile)?;
        self.file.sync_data()
    }

    /// Syncs the file to the disk and puts it in place, replacing the file that was there.
    ///
    /// # Errors
    /// If a step fails. Then the old file is still there, unless only the folder could not be synced. A part file that can
    /// be resumed stays, another is removed.
    pub fn commit(self) -> io::Result<()> {
        let Some(Part { path, target, .. }) = &self.part else { return Ok(()) };
        reach(Stage::SyncFile)?;
        self.file.sync_all()?;
        // It may have become something else since it was looked at.
        if fs::symlink_metadata(target).is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::other(
                "it was a regular file or nothing when writing began, and is no longer",
            ));
        }
        reach(Stage::Rename)?;
        fs::rename(path, target)?;
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

/// Of a file made by [`AtomicFile::resume`]; others are open for writing only.
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
            // After a commit there is none. Otherwise there is nobody to report a failure to, and `sweep` will find it.
            let _ = fs::remove_file(path);
        }
    }
}

/// Replaces the file at `path` by one with these bytes: [`AtomicFile::create`], write, [`AtomicFile::commit`].
///
/// # Errors
/// Theirs.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Makes sure that a rename in the folder is on the disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        // Only Unix lets one open a folder for that.
        return Ok(());
    }
    let cannot = [io::ErrorKind::PermissionDenied, io::ErrorKind::InvalidInput, io::ErrorKind::Unsupported];
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // A folder that may be written to and not read, or a file system that has no such call.
        Err(error) if cannot.contains(&error.kind()) => Ok(()),
        synced => synced,
    }
}

/// The permission bits of a file; `None` if there is none, or the system has none.
#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    // Not those that make a program run as its owner: the contents are new.
    fs::metadata(path).ok().map(|found| found.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}

/// Has a file created with no more permissions than these, so that at no time others can open it.
#[cfg_attr(not(unix), expect(unused_variables, reason = "permissions are inherited from the folder"))]
fn restrict(options: &mut OpenOptions, mode: Option<u32>) {
    #[cfg(unix)]
    if let Some(mode) = mode {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(mode);
    }
}

/// Gives a file exactly these permissions, whatever the user's mask took away.
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

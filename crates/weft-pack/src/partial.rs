//! A file in the making: it has its name only when it is whole, and is gone if it never is.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// What names of files in the making end in.
pub(crate) const SUFFIX: &str = ".partial";

/// A file that threads write to side by side. Dropping it removes it.
///
/// It is locked while it is written: one that is not locked was left by a program that was killed, and anybody may remove it.
pub(crate) struct Partial {
    file: File,
    path: PathBuf,
}

impl Partial {
    /// Creates one beside the file that it will be, with a name that no other has.
    pub(crate) fn create(target: &Path) -> io::Result<Partial> {
        // Two writers in one process must not meet in one file, either.
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let name = target.file_name().ok_or_else(|| io::Error::other("the path has no file name"))?;
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let mut own = name.to_os_string();
        own.push(format!(".{}-{serial}{SUFFIX}", std::process::id()));
        let path = target.with_file_name(own);
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        // Where the file system has no locks, nobody finds it unlocked.
        let _ = file.try_lock();
        Ok(Partial { file, path })
    }

    /// Writes at an offset.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset);
        #[cfg(not(unix))]
        return seek_write_all(&self.file, bytes, offset);
    }

    /// Waits until what was written so far is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Makes sure that all is on the disk, then gives the file its name, replacing what had it.
    pub(crate) fn commit(self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, target)?;
        // The new name too. Only Unix lets one open a folder for that.
        match target.parent() {
            Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
            _ => Ok(()),
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After a commit there is none; and if it cannot be removed there is nobody to tell.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(windows)]
fn seek_write_all(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
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

//! A file that appears under its name only when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Chunks the operating system gets are at least this long.
const BUFFER_BYTES: usize = 1 << 20;

/// Writes to a temporary file beside `path`; [`AtomicFile::commit`] puts it there, dropping it removes it.
pub(crate) struct AtomicFile {
    file: BufWriter<File>,
    temporary: PathBuf,
    path: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file, in the folder of `path` so that renaming it is atomic.
    pub(crate) fn create(path: &Path) -> io::Result<AtomicFile> {
        // Two writers of one path, in one process or in two, must not meet in one temporary file.
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let name = path.file_name().ok_or_else(|| io::Error::other("the path has no file name"))?;
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{serial}.partial", std::process::id()));
        let temporary = path.with_file_name(temporary);
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        Ok(AtomicFile {
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            temporary,
            path: path.to_path_buf(),
        })
    }

    /// Makes sure the bytes are on the disk, then gives the file its name, replacing what had it before.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        fs::rename(&self.temporary, &self.path)?;
        sync_folder(&self.path)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After a commit there is none; and if it cannot be removed there is nobody to tell.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Makes sure the new name is on the disk too. Only Unix lets one open a folder for that.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

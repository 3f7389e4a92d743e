//! A file that appears under its name only when it is complete. What is no file, such as a pipe or a device, cannot be
//! replaced and is written to as it stands.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Chunks the operating system gets are at least this long.
const BUFFER_BYTES: usize = 1 << 20;

/// Writes to a temporary file beside `path`; [`AtomicFile::commit`] puts it there, dropping it removes it.
pub(crate) struct AtomicFile {
    file: BufWriter<File>,
    /// Where the file is, and where it is to be; `None` for what is written to as it stands.
    renaming: Option<Renaming>,
}

struct Renaming {
    from: PathBuf,
    to: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file, in the folder of `path` so that renaming it is atomic. A link to a file is followed and
    /// stays.
    pub(crate) fn create(path: &Path) -> io::Result<AtomicFile> {
        let to = match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if found.is_file() => fs::canonicalize(path)?,
            Ok(_) => return Ok(AtomicFile::new(OpenOptions::new().write(true).open(path)?, None)),
            Err(_) if path.is_symlink() => return Err(io::Error::other("it is a link to what is not there")),
            Err(_) => path.to_path_buf(),
        };
        // Two writers of one path, in one process or in two, must not meet in one temporary file.
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let name = to.file_name().ok_or_else(|| io::Error::other("the path has no file name"))?;
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{serial}.partial", std::process::id()));
        let from = to.with_file_name(temporary);
        let file = OpenOptions::new().write(true).create_new(true).open(&from)?;
        Ok(AtomicFile::new(file, Some(Renaming { from, to })))
    }

    fn new(file: File, renaming: Option<Renaming>) -> AtomicFile {
        AtomicFile { file: BufWriter::with_capacity(BUFFER_BYTES, file), renaming }
    }

    /// Makes sure the bytes are on the disk, then gives the file its name, replacing what had it before.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        let Some(Renaming { from, to }) = &self.renaming else { return Ok(()) };
        self.file.get_ref().sync_all()?;
        fs::rename(from, to)?;
        sync_folder(to)
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
        if let Some(Renaming { from, .. }) = &self.renaming {
            // After a commit there is none; and if it cannot be removed there is nobody to tell.
            let _ = fs::remove_file(from);
        }
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

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(path: &Path) -> io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        file.write_all(b"new")?;
        file.commit()
    }

    #[test]
    fn links_stay_and_what_they_lead_to_is_replaced() {
        let folder = std::env::temp_dir().join(format!("weft-gguf-links-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [file, link, nowhere] = ["file", "link", "nowhere"].map(|name| folder.join(name));
        fs::write(&file, "before").unwrap();
        symlink("file", &link).unwrap();
        symlink("not there", &nowhere).unwrap();
        write(&link).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(write(&nowhere).unwrap_err().to_string().contains("a link to what is not there"));
        assert_eq!(write(&folder).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "nothing else is left");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_pipe_is_written_to_and_stays() {
        use std::io::Read as _;
        use std::os::unix::fs::FileTypeExt as _;

        let pipe = std::env::temp_dir().join(format!("weft-gguf-pipe-{}", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // Open for both, nobody waits for anybody.
        let mut reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        write(&pipe).unwrap();
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        let mut found = [0; 3];
        reader.read_exact(&mut found).unwrap();
        assert_eq!(&found, b"new");
        fs::remove_file(&pipe).unwrap();
    }
}

//! A file being downloaded: bytes are appended and hashed, and the file is renamed only if its size and SHA-256 are
//! right.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use weft_file::AtomicFile;

use crate::cache::Cache;
use crate::error::Error;
use crate::event::{Event, OnEvent, notify};
use crate::room;

/// The size of reads and writes.
const CHUNK: usize = 1 << 18;

/// The time between attempts to take a lock.
const POLL: Duration = Duration::from_millis(100);

/// The file that a download produces.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// In lower-case hexadecimal.
    pub(crate) sha256: String,
}

/// A file being downloaded, locked against other processes and threads.
///
/// Dropping it keeps the part file, to be resumed later.
pub(crate) struct Download {
    target: Target,
    /// The file's name, for events.
    name: String,
    file: AtomicFile,
    hash: Sha256,
    len: u64,
    /// Released last.
    _lock: Option<File>,
}

impl Download {
    /// Begins or resumes a download. Waits while another process is downloading the file. Returns `None` if the file is
    /// complete. `later` is the size of what has to be downloaded after it.
    ///
    /// # Errors
    /// If the cache cannot be written or has no room for all of it, or `on` cancels.
    pub(crate) fn begin(
        cache: &Cache,
        target: &Target,
        later: u64,
        on: OnEvent<'_>,
    ) -> Result<Option<Download>, Error> {
        if target.is_complete() {
            return Ok(None);
        }
        let name = target.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lock = lock(cache, target, &name, on)?;
        // The previous holder of the lock may just have finished the file.
        if target.is_complete() {
            return Ok(None);
        }
        let open = || {
            target.path.parent().map_or(Ok(()), fs::create_dir_all)?;
            // The beginning of the checksum in its name ties a part file to one version.
            AtomicFile::resume(&target.path, &target.sha256[..8])
        };
        let file = open().map_err(Error::io("write", &target.path))?;
        let target = target.clone();
        let mut download = Download { target, name, file, hash: Sha256::new(), len: 0, _lock: lock };
        download.hash_existing(on)?;
        download.check_room(later)?;
        Ok(Some(download))
    }

    /// Hashes the bytes that earlier calls downloaded.
    fn hash_existing(&mut self, on: OnEvent<'_>) -> Result<(), Error> {
        let total = self.file.len().map_err(self.cannot("read"))?;
        let mut buffer = vec![0; CHUNK];
        while self.len < total {
            let read = self.file.read(&mut buffer).map_err(self.cannot("read"))?;
            if read == 0 {
                break;
            }
            self.hash.update(&buffer[..read]);
            self.len += read as u64;
            notify(on, Event::Checking { file: &self.name, done: self.len, total })?;
        }
        if self.len > self.target.bytes { self.restart() } else { Ok(()) }
    }

    /// Checks that the disk has room for the rest of the file, and for `more` bytes.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if it has not.
    pub(crate) fn check_room(&self, more: u64) -> Result<(), Error> {
        let folder = self.target.path.parent().unwrap_or(&self.target.path);
        let rest = self.target.bytes.saturating_sub(self.len);
        room::check(&self.name, folder, rest.saturating_add(more))
    }

    /// The number of bytes downloaded so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The size of the complete file.
    pub(crate) fn total(&self) -> u64 {
        self.target.bytes
    }

    /// Discards all bytes downloaded so far.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn restart(&mut self) -> Result<(), Error> {
        self.hash = Sha256::new();
        self.len = 0;
        let emptied = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map_err(self.cannot("write")).map(|_| ())
    }

    /// Appends bytes from `source` until it ends or the file is complete. The inner result is the source's error, after
    /// which another source can continue.
    ///
    /// # Errors
    /// If the file cannot be written, or `on` cancels.
    pub(crate) fn append(
        &mut self,
        source: &mut dyn Read,
        on: OnEvent<'_>,
    ) -> Result<Result<(), io::Error>, Error> {
        let mut buffer = vec![0; CHUNK];
        while self.len < self.target.bytes {
            let most = usize::try_from(self.target.bytes - self.len).map_or(CHUNK, |left| left.min(CHUNK));
            let read = match source.read(&mut buffer[..most]) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Err(error)),
            };
            self.file.write_all(&buffer[..read]).map_err(self.cannot("write"))?;
            self.hash.update(&buffer[..read]);
            self.len += read as u64;
            notify(on, Event::Downloading { file: &self.name, done: self.len, total: self.target.bytes })?;
        }
        Ok(Ok(()))
    }

    /// Checks the file and renames it.
    ///
    /// # Errors
    /// [`Error::Checksum`] if its size or checksum is wrong; the part file is then deleted.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let Download { target: Target { path, bytes, sha256 }, file, hash, len, .. } = self;
        let mut found = String::new();
        for byte in hash.finalize() {
            let _ = write!(found, "{byte:02x}");
        }
        if len == bytes && found == sha256 {
            return file.commit().map_err(Error::io("write", &path));
        }
        // If this fails, the next attempt will find out that the part file is useless.
        let _ = file.discard();
        Err(Error::Checksum {
            path,
            bytes: len,
            sha256: found,
            expected_bytes: bytes,
            expected_sha256: sha256,
        })
    }

    fn cannot(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        Error::io(action, self.file.part_path().unwrap_or(&self.target.path))
    }
}

impl Target {
    /// Returns whether the file exists. It gets its name only after it has been checked.
    pub(crate) fn is_complete(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|data| data.is_file() && data.len() == self.bytes)
    }
}

/// Locks the file against other downloads for as long as the result lives. Returns `None` if the file system has no
/// locks.
fn lock(cache: &Cache, target: &Target, name: &str, on: OnEvent<'_>) -> Result<Option<File>, Error> {
    let folder = cache.locks();
    let open = || {
        fs::create_dir_all(&folder)?;
        OpenOptions::new().write(true).create(true).truncate(false).open(folder.join(&target.sha256))
    };
    let file = open().map_err(Error::io("write to the cache,", &folder))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => {
                notify(on, Event::Waiting { file: name })?;
                std::thread::sleep(POLL);
            }
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

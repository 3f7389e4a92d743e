//! A file being fetched: appended to, hashed on the way, and named only when it is what was promised.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use weft_file::AtomicFile;

use crate::cache::Cache;
use crate::error::Error;
use crate::event::{Event, OnEvent, tell};

/// Bytes taken at once.
const CHUNK: usize = 1 << 18;

/// Time between two looks at a lock that another process has.
const LOOK: Duration = Duration::from_millis(100);

/// What a file must be, and where it goes.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// In lower-case hexadecimal digits.
    pub(crate) sha256: String,
}

/// A file being fetched, by nobody else at the same time.
///
/// Dropping it keeps what is there, to be continued later.
pub(crate) struct Download {
    wanted: Wanted,
    /// The file's name, for events.
    name: String,
    file: AtomicFile,
    hash: Sha256,
    len: u64,
    /// Released last.
    _lock: Option<File>,
}

impl Download {
    /// Begins a file, or continues what is there of it; `None` if it is complete. Waits while another process is fetching it.
    ///
    /// # Errors
    /// If the cache cannot be written, or `on` cancels.
    pub(crate) fn claim(cache: &Cache, wanted: &Wanted, on: OnEvent<'_>) -> Result<Option<Download>, Error> {
        if wanted.is_there() {
            return Ok(None);
        }
        let name = wanted.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lock = lock(cache, wanted, &name, on)?;
        // Whoever had the lock may just have finished it.
        if wanted.is_there() {
            return Ok(None);
        }
        let open = || {
            wanted.path.parent().map_or(Ok(()), fs::create_dir_all)?;
            // With the beginning of the checksum in its name, what is left of one version is never taken for another.
            AtomicFile::resume(&wanted.path, &wanted.sha256[..8])
        };
        let file = open().map_err(Error::io("write", &wanted.path))?;
        let wanted = wanted.clone();
        let mut download = Download { wanted, name, file, hash: Sha256::new(), len: 0, _lock: lock };
        download.hash_what_is_there(on)?;
        Ok(Some(download))
    }

    fn hash_what_is_there(&mut self, on: OnEvent<'_>) -> Result<(), Error> {
        let total = self.file.len().map_err(self.cannot("read"))?;
        let mut buffer = vec![0; CHUNK];
        while self.len < total {
            let read = self.file.read(&mut buffer).map_err(self.cannot("read"))?;
            if read == 0 {
                break;
            }
            self.hash.update(&buffer[..read]);
            self.len += read as u64;
            tell(on, Event::Checking { file: &self.name, done: self.len, total })?;
        }
        if self.len > self.wanted.bytes { self.restart() } else { Ok(()) }
    }

    /// Bytes that are there.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes that will be there.
    pub(crate) fn total(&self) -> u64 {
        self.wanted.bytes
    }

    /// Forgets what is there.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn restart(&mut self) -> Result<(), Error> {
        self.hash = Sha256::new();
        self.len = 0;
        let emptied = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map_err(self.cannot("write")).map(|_| ())
    }

    /// Appends what comes from a source, until that ends or the file has its length. A source that breaks is no error here
    /// but a result: another may take over.
    ///
    /// # Errors
    /// If the file cannot be written, or `on` cancels.
    pub(crate) fn take(
        &mut self,
        source: &mut dyn Read,
        on: OnEvent<'_>,
    ) -> Result<Result<(), io::Error>, Error> {
        let mut buffer = vec![0; CHUNK];
        while self.len < self.wanted.bytes {
            let most = usize::try_from(self.wanted.bytes - self.len).map_or(CHUNK, |left| left.min(CHUNK));
            let read = match source.read(&mut buffer[..most]) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Err(error)),
            };
            self.file.write_all(&buffer[..read]).map_err(self.cannot("write"))?;
            self.hash.update(&buffer[..read]);
            self.len += read as u64;
            tell(on, Event::Downloading { file: &self.name, done: self.len, total: self.wanted.bytes })?;
        }
        Ok(Ok(()))
    }

    /// Checks the file and puts it in place.
    ///
    /// # Errors
    /// [`Error::Checksum`] if it is not what was wanted; then nothing of it stays.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let Download { wanted: Wanted { path, bytes, sha256 }, file, hash, len, .. } = self;
        let mut found = String::new();
        for byte in hash.finalize() {
            let _ = write!(found, "{byte:02x}");
        }
        if len == bytes && found == sha256 {
            return file.commit().map_err(Error::io("write", &path));
        }
        // If it stays, the next attempt finds out that it is of no use.
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
        Error::io(action, self.file.part_path().unwrap_or(&self.wanted.path))
    }
}

impl Wanted {
    /// Whether it is there: a file takes its name only after it has been checked.
    fn is_there(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|data| data.is_file() && data.len() == self.bytes)
    }
}

/// Keeps others from fetching the same file, as long as the result lives; `None` where the file system has no locks.
fn lock(cache: &Cache, wanted: &Wanted, name: &str, on: OnEvent<'_>) -> Result<Option<File>, Error> {
    let folder = cache.locks();
    let open = || {
        fs::create_dir_all(&folder)?;
        OpenOptions::new().write(true).create(true).truncate(false).open(folder.join(&wanted.sha256))
    };
    let file = open().map_err(Error::io("write to the cache,", &folder))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => {
                tell(on, Event::Waiting { file: name })?;
                std::thread::sleep(LOOK);
            }
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

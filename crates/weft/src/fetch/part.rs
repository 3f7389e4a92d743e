//! A file in the making: appended to, hashed on the way, and named only when it is what it should be.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use sha2::{Digest as _, Sha256};

use crate::cache::Cache;
use crate::out::note;
use crate::progress::{Progress, Unit};

/// Bytes taken at once.
const CHUNK: usize = 1 << 18;

/// What a file must be, and where it goes.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// In lower-case hexadecimal digits.
    pub(super) sha256: String,
}

/// A file in the making, which nobody else makes at the same time.
///
/// Dropping it keeps what is there, to go on with later.
pub(super) struct Part {
    wanted: Wanted,
    path: PathBuf,
    file: File,
    hash: Sha256,
    len: u64,
    progress: Progress,
    /// Let go last.
    _lock: Option<File>,
}

impl Part {
    /// Begins a file, or takes up where another run left off; `None` if it is there already. Waits while another program
    /// is fetching the same.
    pub(super) fn claim(cache: &Cache, wanted: &Wanted) -> anyhow::Result<Option<Part>> {
        if wanted.is_there() {
            return Ok(None);
        }
        let lock = lock(cache, wanted)?;
        // Whoever held the lock may just have finished it.
        if wanted.is_there() {
            return Ok(None);
        }
        let wanted = wanted.clone();
        let name = wanted.path.file_name().and_then(|name| name.to_str()).context("the file has no name")?;
        // With the beginning of the checksum in its name, what is left of one version is never taken for another.
        let path = wanted.path.with_file_name(format!("{name}.{}.part", &wanted.sha256[..8]));
        let progress = Progress::new(name, wanted.bytes, Unit::Bytes);
        let open = || {
            wanted.path.parent().map_or(Ok(()), fs::create_dir_all)?;
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)
        };
        let file = open().with_context(|| format!("cannot write {}", path.display()))?;
        let mut part = Part { wanted, path, file, hash: Sha256::new(), len: 0, progress, _lock: lock };
        part.resume()?;
        Ok(Some(part))
    }

    /// Hashes what an earlier run left.
    fn resume(&mut self) -> anyhow::Result<()> {
        let mut progress = Progress::new("checking what is there", self.wanted.bytes, Unit::Bytes);
        let there = self.file.metadata().and_then(|data| {
            let mut buffer = vec![0; CHUNK];
            while self.len < data.len() {
                let read = self.file.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                self.hash.update(&buffer[..read]);
                self.len += read as u64;
                progress.set(self.len);
            }
            Ok(self.len)
        });
        let there = there.with_context(|| format!("cannot read {}", self.path.display()))?;
        if there > self.wanted.bytes { self.restart() } else { Ok(()) }
    }

    /// Bytes that are there.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes that will be there.
    pub(super) fn total(&self) -> u64 {
        self.wanted.bytes
    }

    /// Forgets what is there.
    pub(super) fn restart(&mut self) -> anyhow::Result<()> {
        self.hash = Sha256::new();
        self.len = 0;
        let emptied = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(())
    }

    /// Appends what comes from a source, until that ends or the file has its length. A source that breaks is no error
    /// here, but returned: another may go on.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn take(&mut self, source: &mut dyn Read) -> anyhow::Result<io::Result<()>> {
        let mut buffer = vec![0; CHUNK];
        while self.len < self.wanted.bytes {
            let most = usize::try_from(self.wanted.bytes - self.len).map_or(CHUNK, |left| left.min(CHUNK));
            let read = match source.read(&mut buffer[..most]) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Err(error)),
            };
            self.file
                .write_all(&buffer[..read])
                .with_context(|| format!("cannot write {}", self.path.display()))?;
            self.hash.update(&buffer[..read]);
            self.len += read as u64;
            self.progress.set(self.len);
        }
        Ok(Ok(()))
    }

    /// Checks the file and gives it its name.
    ///
    /// # Errors
    /// If it is not what was wanted; then nothing of it stays.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        let Part { wanted, path, file, hash, len, .. } = self;
        let mut found = String::new();
        for byte in hash.finalize() {
            let _ = write!(found, "{byte:02x}");
        }
        if len != wanted.bytes || found != wanted.sha256 {
            drop(file);
            let _ = fs::remove_file(&path);
            let Wanted { bytes, sha256, .. } = wanted;
            bail!(
                "what came for {} is not what it should be and was deleted: {len} bytes with SHA-256 {found}, \
                 expected {bytes} bytes with {sha256}; try again, and if it happens again do not trust the source",
                wanted.path.display()
            );
        }
        let name = || {
            file.sync_all()?;
            fs::rename(&path, &wanted.path)
        };
        name().with_context(|| format!("cannot write {}", wanted.path.display()))
    }
}

impl Wanted {
    /// Whether it is there: a file gets its name only after it has been checked.
    fn is_there(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|data| data.is_file() && data.len() == self.bytes)
    }
}

/// Keeps others from making the same file, as long as the result lives; `None` where the file system has no locks.
fn lock(cache: &Cache, wanted: &Wanted) -> anyhow::Result<Option<File>> {
    let folder = cache.locks();
    let open = || {
        fs::create_dir_all(&folder)?;
        OpenOptions::new().write(true).create(true).truncate(false).open(folder.join(&wanted.sha256))
    };
    let file = open().with_context(|| format!("cannot write to the cache, {}", folder.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            note!("another program is fetching the same file; waiting for it");
            Ok(file.lock().is_ok().then_some(file))
        }
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

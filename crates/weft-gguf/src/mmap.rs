//! A model's bytes: a mapped file, or memory. This file has the only `unsafe` of this crate, and is the only place that maps
//! files.
//!
//! [`Gguf::open`](crate::Gguf::open) documents what mapping a file asks of everyone else.
#![allow(unsafe_code, reason = "mapping a file is unsafe, and this is the one place that does it")]

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use memmap2::Mmap;
#[cfg(unix)]
use memmap2::UncheckedAdvice;

use crate::error::Error;
use crate::restore::Restored;

/// The granularity of released pages: what Linux maps at one fault (`fault_around_bytes`), aligned alike.
#[cfg(any(unix, test))]
const GRANULE: usize = 64 << 10;

/// A file mapped for reading.
///
/// The [contract of a mapped file](crate::Gguf::open) holds: nobody may truncate or change the file while this is alive.
#[derive(Debug)]
pub struct MappedFile(Mmap);

impl MappedFile {
    /// Maps an open file as a whole.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn new(file: &File) -> io::Result<MappedFile> {
        // SAFETY: The mapping is private to this process and never written to through Rust. Nothing here can check that nobody
        // changes the file while it is alive; that is the documented contract of this type and of `Gguf::open`.
        unsafe { Mmap::map(file) }.map(MappedFile)
    }

    /// Asks for huge pages. This has no effect where the operating system has none for files.
    pub fn prefer_huge_pages(&self) {
        #[cfg(target_os = "linux")]
        let _ = self.0.advise(memmap2::Advice::HugePage);
    }

    /// Drops the pages of a range from this process's memory. They are read from the file again when they are touched.
    #[cfg(unix)]
    pub fn release(&self, range: Range<usize>) {
        // Round outward: a page too many costs a fault, one too few costs memory.
        let start = range.start - range.start % GRANULE;
        let end = range.end.next_multiple_of(GRANULE).min(self.0.len());
        if start < end {
            // SAFETY: "Don't need" discards what was written to private pages, which could change the contents of a slice.
            // Nothing is ever written to this mapping: what is discarded are copies of the file's contents, and by the contract
            // of this type the file has not changed, so every byte stays the same.
            let _ = unsafe { self.0.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start) };
        }
    }

    /// Does nothing: the system takes pages back itself.
    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "as on Unix")]
    pub fn release(&self, _range: Range<usize>) {}
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Identifies a state of a file, as far as the operating system can tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// When the file was last written.
    pub modified: Option<SystemTime>,
    /// Its inode number, where the file system has one.
    pub inode: Option<u64>,
}

impl Stamp {
    fn of(about: &fs::Metadata) -> Stamp {
        #[cfg(unix)]
        let inode = Some(std::os::unix::fs::MetadataExt::ino(about));
        #[cfg(not(unix))]
        let inode = None;
        Stamp { modified: about.modified().ok(), inode }
    }
}

/// The bytes of one file.
pub(crate) enum Mapping {
    File(MappedFile, Stamp),
    Memory(Arc<[u8]>),
}

impl Mapping {
    /// Maps the file at `path` for reading.
    pub(crate) fn open(path: &Path) -> Result<Mapping, Error> {
        let failed = |action, source| Error::Io { action, path: path.to_path_buf(), source };
        // Check before opening, because opening a named pipe would wait for a writer.
        let about = fs::metadata(path).map_err(|e| failed("open", e))?;
        if !about.is_file() {
            let kind = if about.is_dir() { "it is a folder" } else { "it is not a regular file" };
            return Err(failed("open", io::Error::other(kind)));
        }
        if about.len() == 0 {
            return Ok(Mapping::Memory(Arc::default()));
        }
        let file = File::open(path).map_err(|e| failed("open", e))?;
        Mapping::of(&file).map_err(|e| failed("map", e))
    }

    /// Maps an open file for reading.
    pub(crate) fn of(file: &File) -> io::Result<Mapping> {
        let about = file.metadata()?;
        Ok(Mapping::File(MappedFile::new(file)?, Stamp::of(&about)))
    }

    /// The state of the file; `None` for memory.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        match self {
            Mapping::File(_, stamp) => Some(*stamp),
            Mapping::Memory(_) => None,
        }
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Mapping::File(map, _) => map,
            Mapping::Memory(bytes) => bytes,
        }
    }
}

/// The bytes of a tensor, which keep their mapping alive. Cheap to clone.
///
/// The [contract of a mapped file](crate::Gguf::open) lasts as long. There is no guaranteed alignment in memory.
#[derive(Clone)]
pub struct TensorBytes(Source);

#[derive(Clone)]
enum Source {
    Mapped(Arc<Mapping>, Range<usize>),
    Restored(Arc<Restored>),
}

impl TensorBytes {
    /// The bytes of `mapping` in `range`.
    ///
    /// # Panics
    ///
    /// If the range reaches beyond the mapping, rather than at some later use.
    pub(crate) fn new(mapping: &Arc<Mapping>, range: Range<usize>) -> TensorBytes {
        assert!(
            mapping.get(range.clone()).is_some(),
            "{range:?} is outside of a mapping of {} bytes",
            mapping.len()
        );
        TensorBytes(Source::Mapped(Arc::clone(mapping), range))
    }

    /// Bytes that are restored when they are first read.
    pub(crate) fn restored(tensor: Restored) -> TensorBytes {
        TensorBytes(Source::Restored(Arc::new(tensor)))
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        match &self.0 {
            Source::Mapped(_, range) => range.len(),
            Source::Restored(tensor) => tensor.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops a part of these bytes from memory. They are read from the file again when they are touched. Has no effect on bytes
    /// that are not in a file. What lies beyond the end is ignored.
    pub fn release(&self, part: Range<usize>) {
        let Source::Mapped(mapping, range) = &self.0 else { return };
        let Mapping::File(map, _) = &**mapping else { return };
        let len = range.len();
        map.release(range.start + part.start.min(len)..range.start + part.end.min(len));
    }
}

impl AsRef<[u8]> for TensorBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for TensorBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Source::Mapped(mapping, range) => &mapping[range.clone()],
            Source::Restored(tensor) => tensor.bytes(),
        }
    }
}

impl fmt::Debug for TensorBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TensorBytes({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_bytes_are_read_again_when_touched() {
        let path = std::env::temp_dir().join(format!("weft-gguf-release-{}", std::process::id()));
        let written: Vec<u8> = (0..5 * GRANULE + 77).map(|i| (i / 251) as u8).collect();
        fs::write(&path, &written).unwrap();
        let mapping = Arc::new(Mapping::open(&path).unwrap());
        let bytes = TensorBytes::new(&mapping, 33..written.len() - 5);
        for part in [0..0, 0..1, GRANULE..GRANULE + 1, 0..bytes.len(), bytes.len()..usize::MAX, 7..usize::MAX]
        {
            assert!(*bytes == written[33..written.len() - 5]);
            bytes.release(part);
        }
        assert!(*bytes == written[33..written.len() - 5]);
        assert!(mapping.stamp().unwrap().modified.is_some());
        fs::remove_file(&path).unwrap();
        let memory = Arc::new(Mapping::Memory(written.clone().into()));
        TensorBytes::new(&memory, 0..written.len()).release(0..written.len());
        assert!(**memory == *written && memory.stamp().is_none());
    }
}

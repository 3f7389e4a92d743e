//! A model's bytes: a file mapped into memory, or memory itself. The only `unsafe` of this crate, and the only place that maps files.
//!
//! What mapping a file asks of everybody else is told at [`Gguf::open`](crate::Gguf::open).
#![allow(unsafe_code, reason = "mapping a file is unsafe, and this is the one place that does it")]

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use memmap2::{Mmap, UncheckedAdvice};

use crate::error::Error;

/// What pages are released in: as many as Linux maps at one fault (`fault_around_bytes`), aligned alike.
const GRANULE: usize = 64 << 10;

/// A file mapped for reading.
///
/// The [contract of a mapped file](crate::Gguf::open) holds for it: nobody may truncate or change the file while this lives.
#[derive(Debug)]
pub struct MappedFile(Mmap);

impl MappedFile {
    /// Maps all of an open file.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn new(file: &File) -> io::Result<MappedFile> {
        // SAFETY: the mapping is private to this process and never written to through Rust. That nobody
        // changes the file while it lives cannot be checked here; it is the documented contract of this type
        // and of `Gguf::open`.
        unsafe { Mmap::map(file) }.map(MappedFile)
    }

    /// Asks for huge pages. Where the operating system has none for files, nothing changes.
    pub fn prefer_huge_pages(&self) {
        #[cfg(target_os = "linux")]
        let _ = self.0.advise(memmap2::Advice::HugePage);
    }

    /// Takes the pages of a range out of this process's memory; they are read again from the file when they are next touched.
    fn release(&self, range: Range<usize>) {
        // A page too many costs a fault, one too few costs memory: outward.
        let start = range.start - range.start % GRANULE;
        let end = range.end.next_multiple_of(GRANULE).min(self.0.len());
        #[cfg(unix)]
        if start < end {
            // SAFETY: "don't need" throws away what was written to private pages, and can so change what a slice shows. Nothing
            // is ever written to this mapping: what is thrown away are copies of what the file holds, and by the contract of this
            // type the file has not changed, so every byte stays what it was.
            let _ = unsafe { self.0.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start) };
        }
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// What tells one state of a file from another, as far as the operating system knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// When it was last written.
    pub modified: Option<SystemTime>,
    /// Its number in its file system, where there are such.
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
        // Looked at before it is opened: opening a named pipe would wait for somebody to write to it.
        let about = fs::metadata(path).map_err(|e| failed("open", e))?;
        if !about.is_file() {
            let kind = if about.is_dir() { "it is a folder" } else { "it is not a regular file" };
            return Err(failed("open", io::Error::other(kind)));
        }
        if about.len() == 0 {
            return Ok(Mapping::Memory(Arc::default()));
        }
        let file = File::open(path).map_err(|e| failed("open", e))?;
        let about = file.metadata().map_err(|e| failed("open", e))?;
        let map = MappedFile::new(&file).map_err(|e| failed("map", e))?;
        Ok(Mapping::File(map, Stamp::of(&about)))
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

/// The bytes of a tensor, holding on to the mapping they lie in: cheap to clone, and good for as long as it
/// is kept.
///
/// The [contract of a mapped file](crate::Gguf::open) lasts as long. No alignment in memory is promised.
#[derive(Clone)]
pub struct TensorBytes {
    mapping: Arc<Mapping>,
    range: Range<usize>,
}

impl TensorBytes {
    /// The bytes of `mapping` in `range`.
    ///
    /// # Panics
    ///
    /// If the range reaches beyond the mapping; so that it is here and not at some later use.
    pub(crate) fn new(mapping: &Arc<Mapping>, range: Range<usize>) -> TensorBytes {
        assert!(
            mapping.get(range.clone()).is_some(),
            "{range:?} is outside of a mapping of {} bytes",
            mapping.len()
        );
        TensorBytes { mapping: Arc::clone(mapping), range }
    }

    /// Takes a part of these bytes out of memory, for now: whoever touches them again has them read from the file again. Bytes that are
    /// in no file stay. What lies beyond the end is ignored.
    pub fn release(&self, part: Range<usize>) {
        let Mapping::File(map, _) = &*self.mapping else { return };
        let len = self.range.len();
        map.release(self.range.start + part.start.min(len)..self.range.start + part.end.min(len));
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
        &self.mapping[self.range.clone()]
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
    fn released_bytes_are_there_again_when_they_are_read() {
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

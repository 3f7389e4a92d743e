//! A model's bytes: a file mapped into memory, or memory itself. The only `unsafe` of this crate.
//!
//! What mapping a file asks of everybody else is told at [`Gguf::open`](crate::Gguf::open).
#![allow(unsafe_code, reason = "mapping a file is unsafe, and this is the one place that does it")]

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use crate::error::Error;

/// The bytes of one file.
pub(crate) enum Mapping {
    File(memmap2::Mmap),
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
        // SAFETY: the mapping is private to this process and never written to through Rust. That nobody
        // changes the file while it lives cannot be checked here; it is the documented contract of
        // `Gguf::open`.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| failed("map", e))?;
        Ok(Mapping::File(map))
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Mapping::File(map) => map,
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

//! The storage of packed weights: a mapped file or anonymous memory.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use memmap2::{Mmap, MmapMut};
use weft_device::WeightBytes;
use weft_gguf::MappedFile;

/// The storage of packed weights.
pub(crate) enum Storage {
    /// A cache file.
    File {
        /// The mapped file.
        map: MappedFile,
        /// The file, locked as in use.
        _locked: File,
    },
    /// Anonymous memory, aligned to a page.
    Memory(Mmap),
}

impl Storage {
    /// Allocates zeroed memory, in huge pages if the operating system grants them.
    pub(crate) fn zeroed(bytes: usize) -> Option<MmapMut> {
        let memory = MmapMut::map_anon(bytes).ok()?;
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Some(memory)
    }

    /// Returns these ranges, which share the storage.
    pub(crate) fn slices(self, ranges: impl Iterator<Item = Range<usize>>) -> Vec<WeightBytes> {
        let storage = Arc::new(self);
        let slice = |range| Arc::new(Slice { storage: Arc::clone(&storage), range }) as WeightBytes;
        ranges.map(slice).collect()
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Storage::File { map, .. } => map,
            Storage::Memory(memory) => memory,
        }
    }
}

/// A range of a storage, which it keeps alive.
struct Slice {
    storage: Arc<Storage>,
    range: Range<usize>,
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        &self.storage.bytes()[self.range.clone()]
    }
}

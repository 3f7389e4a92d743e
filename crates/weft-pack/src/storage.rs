//! The memory of packed weights: a mapped file, or memory of this process alone.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use memmap2::{Mmap, MmapMut};
use weft_device::WeightBytes;
use weft_gguf::MappedFile;

/// Bytes at a fixed address.
pub(crate) enum Storage {
    /// A cache file.
    File {
        /// Its bytes.
        map: MappedFile,
        /// The file, locked as in use.
        _locked: File,
    },
    /// Memory, aligned to a page.
    Memory(Mmap),
}

impl Storage {
    /// Zeroed memory, in huge pages where the operating system grants them.
    pub(crate) fn zeroed(bytes: usize) -> Option<MmapMut> {
        let memory = MmapMut::map_anon(bytes).ok()?;
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Some(memory)
    }

    /// These parts of it.
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

/// A part of a storage, which it keeps alive.
struct Slice {
    storage: Arc<Storage>,
    range: Range<usize>,
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        &self.storage.bytes()[self.range.clone()]
    }
}

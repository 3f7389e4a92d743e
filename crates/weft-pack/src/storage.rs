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
///
/// A device with memory of its own drops a weight once it has copied it. Then the pages of the file go, too: on a machine
/// whose GPU shares its memory, the weights would otherwise be there twice.
struct Slice {
    storage: Arc<Storage>,
    range: Range<usize>,
}

impl Drop for Slice {
    fn drop(&mut self) {
        if let Storage::File { map, .. } = &*self.storage {
            map.release(self.range.clone());
        }
    }
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        &self.storage.bytes()[self.range.clone()]
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Bytes of a file that this process has in memory.
    fn resident(path: &std::path::Path) -> usize {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let of_file = maps.lines().skip_while(|line| !line.ends_with(path.to_str().unwrap()));
        let size = of_file.filter_map(|line| line.strip_prefix("Rss:")).next();
        1024 * size.map_or(0, |kb| kb.trim().trim_end_matches(" kB").parse().unwrap())
    }

    #[test]
    fn a_weight_that_nobody_holds_any_more_is_not_in_memory() {
        const HALF: usize = 1 << 20;
        let path = std::env::temp_dir().join(format!("weft-pack-storage-{}", std::process::id()));
        std::fs::write(&path, vec![7; 2 * HALF]).unwrap();
        // As the system writes it, where the folder is a link.
        let path = weft_file::canonical(&path).unwrap();
        let file = File::open(&path).unwrap();
        let storage = Storage::File { map: MappedFile::new(&file).unwrap(), _locked: file };
        let mut slices = storage.slices([0..HALF, HALF..2 * HALF].into_iter());
        let sum = |slice: &WeightBytes| (**slice).as_ref().iter().map(|byte| u64::from(*byte)).sum::<u64>();
        assert_eq!(slices.iter().map(sum).sum::<u64>(), 14 * HALF as u64);
        assert_eq!(resident(&path), 2 * HALF);
        drop(slices.pop());
        // A huge page of a file is dropped as a whole.
        assert!(resident(&path) <= HALF, "{} bytes", resident(&path));
        assert_eq!(sum(&slices[0]), 7 * HALF as u64);
        std::fs::remove_file(&path).unwrap();
    }
}

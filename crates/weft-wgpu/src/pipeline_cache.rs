//! What the driver made of earlier texts, kept in a file: the second start need not wait for its compiler again.
//!
//! The file is the driver's own, with a head before it: what it is, for which adapter and driver, and a checksum. One that is damaged, or of another
//! driver, counts as none. That it cannot be read or written is no error, since all it saves is time.

use std::fs;
use std::path::{Path, PathBuf};

use weft_render::checksum;
use wgpu::{PipelineCache, PipelineCacheDescriptor};

use crate::adapter::Adapter;
use crate::cache_folder::{PIPELINES, put};
use crate::context::Context;

/// The first bytes of a file, with the version of what follows.
const MAGIC: &[u8; 8] = b"weftgpu1";

/// A larger file is not read: all the texts of a model make less than a tenth of it.
const MOST: u64 = 256 << 20;

/// The file, and what is in it.
#[derive(Debug)]
pub(crate) struct CacheFile {
    cache: PipelineCache,
    path: PathBuf,
    /// The adapter and its driver, with its version.
    key: String,
    /// The checksum of the data that the file has.
    there: Option<u64>,
}

impl CacheFile {
    /// Reads the file of an adapter; `None` if it has no use for one.
    pub(crate) fn open(context: &Context, adapter: &Adapter, folder: &Path) -> Option<CacheFile> {
        if !context.device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let key = adapter.key();
        let path = folder.join(format!("{PIPELINES}{:016x}.bin", checksum(key.as_bytes())));
        let small = fs::metadata(&path).is_ok_and(|file| file.len() <= MOST);
        let file = small.then(|| fs::read(&path).ok()).flatten();
        let data = file.as_deref().and_then(|file| open(file, &key));
        let create = || {
            let described = PipelineCacheDescriptor { label: None, data, fallback: true };
            // SAFETY: the data are what `get_data` returned, by the checksum over all of it and by this adapter's and driver's names. Somebody who
            // forges that may as well replace this program: the folder is the user's own.
            unsafe { context.device.create_pipeline_cache(&described) }
        };
        let cache = context.checked("a pipeline cache", 0, create).ok()?;
        let there = data.map(checksum);
        Some(CacheFile { cache, path, key, there })
    }

    /// For the compiler.
    pub(crate) fn cache(&self) -> &PipelineCache {
        &self.cache
    }

    /// Replaces the file, unless it has all there is.
    pub(crate) fn write(&mut self) {
        let Some(data) = self.cache.get_data() else { return };
        let sum = Some(checksum(&data));
        if std::mem::replace(&mut self.there, sum) == sum {
            return;
        }
        // All that it saves is time.
        let _ = put(&self.path, &seal(&data, &self.key));
    }
}

/// Data with their head: magic, checksum of all that follows, length of the key, key.
fn seal(data: &[u8], key: &str) -> Vec<u8> {
    let mut rest = (key.len() as u64).to_le_bytes().to_vec();
    rest.extend(key.as_bytes());
    rest.extend(data);
    [MAGIC.as_slice(), &checksum(&rest).to_le_bytes(), &rest].concat()
}

/// The data of a file; `None` if it is not whole or another's.
fn open<'f>(file: &'f [u8], key: &str) -> Option<&'f [u8]> {
    let rest = file.strip_prefix(MAGIC)?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    if u64::from_le_bytes(*sum) != checksum(rest) {
        return None;
    }
    let (len, rest) = rest.split_first_chunk::<8>()?;
    let (found, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    (found == key.as_bytes()).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_is_opened_and_nothing_else() {
        let file = seal(b"data", "card 1");
        assert_eq!(open(&file, "card 1"), Some(b"data".as_slice()));
        assert_eq!(open(&file, "card 2"), None);
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert_eq!(open(&damaged, "card 1"), None, "byte {at}");
            assert_eq!(open(&file[..at], "card 1"), None, "only {at} bytes");
        }
    }
}

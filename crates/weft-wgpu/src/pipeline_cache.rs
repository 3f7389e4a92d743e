//! Compiled pipelines, kept in a file so that the next start need not wait for the driver's
//! compiler.
//!
//! The file holds the driver's own data after a header: format, adapter, driver, and a checksum. A
//! file that is damaged, or of another driver, is ignored. Failing to read or write it is not an
//! error, since it only saves time.

use std::fs;
use std::path::{Path, PathBuf};

use weft_gpu::{PIPELINES, put};
use weft_render::checksum;
use wgpu::{PipelineCache, PipelineCacheDescriptor};

use crate::adapter::Adapter;
use crate::context::Context;

/// The first bytes of a file: the format and its version.
const MAGIC: &[u8; 8] = b"weftgpu1";

/// Larger files are not read; all the pipelines of a model take less than a tenth of this.
const MOST: u64 = 256 << 20;

/// The file of one adapter and driver, and its contents.
#[derive(Debug)]
pub(crate) struct CacheFile {
    cache: PipelineCache,
    path: PathBuf,
    /// The adapter, and its driver with its version.
    key: String,
    /// The checksum of the data in the file.
    there: Option<u64>,
}

impl CacheFile {
    /// Reads an adapter's file; `None` if the adapter has no pipeline cache.
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
            // SAFETY: these are bytes that `get_data` returned, by a checksum over all of them and
            // by the names of this adapter and driver. Whoever could forge them could as well
            // replace this program: the folder belongs to the user.
            unsafe { context.device.create_pipeline_cache(&described) }
        };
        let cache = context.checked("a pipeline cache", 0, create).ok()?;
        let there = data.map(checksum);
        Some(CacheFile { cache, path, key, there })
    }

    /// For the driver's compiler.
    pub(crate) fn cache(&self) -> &PipelineCache {
        &self.cache
    }

    /// Replaces the file, unless it is up to date.
    pub(crate) fn write(&mut self) {
        let Some(data) = self.cache.get_data() else { return };
        let sum = Some(checksum(&data));
        if std::mem::replace(&mut self.there, sum) == sum {
            return;
        }
        // The file only saves time.
        let _ = put(&self.path, &seal(&data, &self.key));
    }
}

/// Data after their header: format, checksum of what follows, length of the key, key.
fn seal(data: &[u8], key: &str) -> Vec<u8> {
    let mut rest = (key.len() as u64).to_le_bytes().to_vec();
    rest.extend(key.as_bytes());
    rest.extend(data);
    [MAGIC.as_slice(), &checksum(&rest).to_le_bytes(), &rest].concat()
}

/// A file's data; `None` if it is damaged or has another key.
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

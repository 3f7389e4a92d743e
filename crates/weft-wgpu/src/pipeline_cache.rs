//! Compiled pipelines, kept in a file so that the next start need not wait for the driver's
//! compiler.
//!
//! The file holds the driver's own data, under the adapter and driver as its key.

use std::path::Path;

use weft_gpu::{PIPELINES, SealedFile};
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
    file: SealedFile,
    /// The checksum of the data in the file.
    there: Option<u64>,
}

impl CacheFile {
    /// Reads an adapter's file; `None` if the adapter has no pipeline cache.
    pub(crate) fn open(context: &Context, adapter: &Adapter, folder: &Path) -> Option<CacheFile> {
        if !context.device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let file = SealedFile::new(folder, PIPELINES, MAGIC, adapter.key());
        let found = file.read(MOST);
        let data = found.as_deref();
        let create = || {
            let described = PipelineCacheDescriptor { label: None, data, fallback: true };
            // SAFETY: these are bytes that `get_data` returned, by a checksum over all of them and
            // by the names of this adapter and driver. Whoever could forge them could as well
            // replace this program: the folder belongs to the user.
            unsafe { context.device.create_pipeline_cache(&described) }
        };
        let cache = context.checked("a pipeline cache", 0, create).ok()?;
        let there = data.map(checksum);
        Some(CacheFile { cache, file, there })
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
        let _ = self.file.write(&data);
    }
}

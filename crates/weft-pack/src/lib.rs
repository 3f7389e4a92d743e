//! Weights in a device's own layout: packed once with all cores, then mapped from a file of the cache, which processes share.
//!
//! What a layout is, a device says ([`Packing`]); which weights it is wanted for, the compiled plans say. [`pack`] finds them in the
//! [`PackCache`], or packs them into it, or where there is no cache, no room or no permission, into memory. Which of these it was changes no
//! byte. A file of the cache is never believed: its header and every block are checked each time, which also brings it into
//! memory, and one that is damaged, foreign or outdated is made anew.
//!
//! The pages of the model's own file are released as they are packed, so that at no time both are in memory.
#![forbid(unsafe_code)]

mod cache;
mod cached_weights;
mod checksum;
mod file;
mod header;
mod identity;
mod layout;
mod storage;
mod work;

use std::convert::Infallible;
use std::ops::ControlFlow;

use weft_device::{DeviceError, Packing, WeightBytes};
use weft_gguf::Gguf;

pub use cache::{PackCache, Packed, PackedOf};
pub use identity::fingerprint;
pub use layout::SourceWeight;

use cached_weights::CachedWeights;
use layout::{BLOCK, Layout};
use storage::Storage;

/// What packing is at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// Bytes of packed weights from the cache that were checked, of all.
    Checking {
        /// Bytes done.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// Bytes packed, of all.
    Packing {
        /// Bytes done.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// Bytes of packed weights given to the device, of all. Packing is over by then: it is told by who does that.
    Loading {
        /// Bytes done.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// Something for the user to know, a sentence. All goes on.
    Note(String),
}

/// Is told what packing is at, and says whether to go on.
pub type OnReport<'a> = &'a mut dyn FnMut(Report) -> ControlFlow<()>;

/// Why weights were not packed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// The device's error for a weight that does not fit, or for memory that is not there.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Whoever was told about the progress did not want it to go on. Nothing is left behind.
    #[error("loading was interrupted")]
    Interrupted,
}

/// The tiles of weights, in their order, on as many `threads`. With a cache, those of `model` are kept in it, and taken from it if they are
/// there.
///
/// # Errors
/// [`PackError`]. What is wrong with the cache is no error: weights are then packed anew, or in memory.
pub fn pack(
    packing: &'static dyn Packing,
    sources: &[SourceWeight],
    threads: usize,
    cache: Option<(&PackCache, &Gguf)>,
    report: OnReport<'_>,
) -> Result<Vec<WeightBytes>, PackError> {
    let layout = Layout::new(packing, sources)?;
    if layout.len() == 0 {
        return Ok(sources.iter().map(|_| std::sync::Arc::new([]) as WeightBytes).collect());
    }
    if let Some((cache, model)) = cache
        && let Some(cached) = CachedWeights::new(cache, model, &layout, threads)
        && let Some(tiles) = cached.tiles(report)?
    {
        return Ok(tiles);
    }
    in_memory(&layout, threads, report)
}

/// Packs into memory of this process.
fn in_memory(
    layout: &Layout<'_>,
    threads: usize,
    report: OnReport<'_>,
) -> Result<Vec<WeightBytes>, PackError> {
    let bytes = layout.len();
    let no_memory = || DeviceError::Memory { device: "packed weights".into(), bytes };
    let mut memory = Storage::zeroed(bytes).ok_or_else(no_memory)?;
    let fill = |(block, out): (usize, &mut [u8]), tile: &mut Vec<u8>| {
        layout.fill(block, out, tile);
        Ok::<(), Infallible>(())
    };
    let total = bytes as u64;
    let mut progress =
        |blocks: usize| report(Report::Packing { done: ((blocks * BLOCK) as u64).min(total), total });
    work::each(threads, memory.chunks_mut(BLOCK).enumerate(), Vec::new, fill, &mut progress)
        .map_err(|_| PackError::Interrupted)?;
    let memory = memory.make_read_only().map_err(|_| no_memory())?;
    Ok(Storage::Memory(memory).slices(layout.places().iter().map(|place| place.range.clone())))
}

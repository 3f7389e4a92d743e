//! Packs weights into a device's layout on all cores, and caches them in files that processes map and share.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//!
//! use weft_device::{Packing, RowsOf16, Weight};
//! use weft_pack::{SourceWeight, pack};
//! use weft_quant::GgmlType;
//!
//! let rows: Vec<u8> = (0..32 * 18).map(|i| i as u8).collect(); // 32 rows of one Q4_0 block
//! let weight = Weight { ty: GgmlType::Q4_0, rows: 32, row_len: 32, bytes: Arc::new(rows), tiles: None };
//! let source = SourceWeight { name: "blk.0.attn_q.weight".into(), weight, mapped: None };
//!
//! let tiles = pack(&RowsOf16, &[source], 2, None, &mut |_| ControlFlow::Continue(()))?;
//! let tile = RowsOf16.tile(GgmlType::Q4_0, 32).expect("products read Q4_0 in tiles");
//! assert_eq!((*tiles[0]).as_ref().len(), 2 * tile.bytes); // 16 rows each
//! # Ok::<(), weft_pack::PackError>(())
//! ```
//!
//! A device defines its layout, a [`Packing`]; the compiled plans say which weights need it. [`pack`] takes them from the
//! [`PackCache`], or packs them into it; without a cache, disk space or permission it packs into memory. The bytes are the same
//! in each case. A cache file is trusted only once its header and every block have been verified since the machine was started
//! (on Linux; elsewhere at each use), which also reads the file into memory, and as long as its inode, size and time stay the
//! same. A damaged, foreign or outdated file is packed again. [`PackCache::verify`] checks a file whatever is known about it.
//!
//! Pages of the model's own file are released as they are packed, so the model is never in memory twice.
//!
//! A model can also be kept packed only, in one file instead of two: [`pack_model`] writes it, [`open_model`] opens it like any
//! GGUF file, and [`unpack_model`] gives the original back, byte for byte.
#![forbid(unsafe_code)]

mod as_is;
mod blocks;
mod bytes;
mod cache;
mod cached_weights;
mod checked;
mod checksum;
mod file;
mod header;
mod identity;
mod layout;
mod model_error;
mod model_header;
mod pack_model;
mod packed_model;
mod report;
mod storage;
mod unpack_model;
mod work;

use std::convert::Infallible;

use weft_device::{DeviceError, Packing, WeightBytes};
use weft_gguf::Gguf;

pub use cache::{PackCache, Packed, PackedOf};
pub use checksum::checksum;
pub use identity::{fingerprint, identity};
pub use layout::SourceWeight;
pub use model_error::ModelError;
pub use model_header::Form;
pub use pack_model::pack_model;
pub use packed_model::{check, is_packed_model, open_model, original_sums, originals, verify_model};
pub use report::{OnReport, PackError, Report};
pub use unpack_model::unpack_model;

use cached_weights::CachedWeights;
use layout::{BLOCK, Layout};
use packed_model::PackedModel;
use storage::Storage;

/// Packs weights on `threads` threads, and returns their tiles in the same order. With the model that they are from, tiles that a
/// [packed model](pack_model) has are taken from there, which must have been [checked](check). With a cache as well, the others
/// are loaded from it, or stored there first.
///
/// # Errors
/// [`PackError`]. A failure of the cache is not an error: the weights are then packed again, or in memory.
pub fn pack(
    packing: &'static dyn Packing,
    sources: &[SourceWeight],
    threads: usize,
    model: Option<(&Gguf, Option<&PackCache>)>,
    report: OnReport<'_>,
) -> Result<Vec<WeightBytes>, PackError> {
    let packed = model.and_then(|(model, _)| PackedModel::of(model));
    let packed = packed.filter(|packed| packed.packing().id() == packing.id());
    let Some(packed) = packed else { return pack_rows(packing, sources, threads, model, report) };
    let found: Vec<Option<WeightBytes>> =
        sources.iter().map(|source| packed.tiles(&source.name, &source.weight)).collect();
    let missing = sources.iter().zip(&found).filter(|(_, found)| found.is_none());
    let missing: Vec<SourceWeight> = missing.map(|(source, _)| source.clone()).collect();
    let mut missing = pack_rows(packing, &missing, threads, model, report)?.into_iter();
    Ok(found.into_iter().filter_map(|found| found.or_else(|| missing.next())).collect())
}

/// Packs weights from their rows, or takes them from the cache.
fn pack_rows(
    packing: &'static dyn Packing,
    sources: &[SourceWeight],
    threads: usize,
    model: Option<(&Gguf, Option<&PackCache>)>,
    report: OnReport<'_>,
) -> Result<Vec<WeightBytes>, PackError> {
    let layout = Layout::new(packing, sources)?;
    if layout.len() == 0 {
        return Ok(sources.iter().map(|_| std::sync::Arc::new([]) as WeightBytes).collect());
    }
    if let Some((model, Some(cache))) = model
        && let Some(cached) = CachedWeights::new(cache, model, packing.id(), &layout, threads)
        && let Some(tiles) = cached.tiles(report)?
    {
        return Ok(tiles);
    }
    in_memory(&layout, threads, report)
}

/// Packs into memory.
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

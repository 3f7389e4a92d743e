//! The identity of a model, without reading all of it: hashing 17 GB takes longer than packing them.

use std::ops::Range;
use std::time::UNIX_EPOCH;

use weft_gguf::{Adapter, FileInfo, Gguf, Stamp};

use crate::checksum::checksum;
use crate::packed_model::PackedModel;

/// The number of bytes read at the beginning and the end of every tensor.
const SAMPLE: usize = 4096;

/// The identity of a model's files, without those of [adapters](Gguf::adapters): they are not packed with it.
///
/// It covers each file's size, modification time, inode, metadata and tensor directory, and the first and last 4 KiB of
/// each tensor. So a file that was changed, replaced or downloaded again is another model, whatever its name. A copy
/// with the same modification time is another model too; the only cost is packing it again. The device number is left
/// out, because many file systems get a new one at every boot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity(pub(crate) u64);

impl Identity {
    /// The identity of a model, or `None` if it was not read from files.
    pub(crate) fn of(model: &Gguf) -> Option<Identity> {
        // A packed model is its original, bit for bit, so what was computed from one is right for the other.
        if let Some(packed) = PackedModel::of(model) {
            return Some(Identity(packed.header().identity));
        }
        // First, because the contents have to be read from disk.
        let own = 0..model.own_files();
        let stamps = stamps(model, own.clone())?;
        let mut facts = contents(model, own);
        facts.extend(stamps);
        Some(Identity(checksum_of(&facts)))
    }
}

/// When files were written, and their inodes; `None` if one was not read from a file.
fn stamps(model: &Gguf, files: Range<usize>) -> Option<Vec<u64>> {
    let stamps: Vec<Stamp> = model.files()[files].iter().map(|file| file.stamp).collect::<Option<_>>()?;
    let facts = stamps.into_iter().flat_map(|stamp| {
        let modified = stamp.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        [modified.map_or(0, |since| since.as_nanos() as u64), stamp.inode.unwrap_or(0)]
    });
    Some(facts.collect())
}

/// The number of a model with adapters, from that of the model without them.
fn adapted(own: u64, model: &Gguf, files: impl FnOnce(Range<usize>) -> Option<Vec<u64>>) -> Option<u64> {
    if model.adapters().is_empty() {
        return Some(own);
    }
    let mut facts = files(model.own_files()..model.own_files() + model.adapters().len())?;
    facts.push(own);
    facts.extend(model.adapters().iter().map(|Adapter { scale, .. }| u64::from(scale.to_bits())));
    Some(checksum_of(&facts))
}

/// Returns a number that identifies a model's files, for caches of what was computed from them: files that were changed,
/// replaced or downloaded again have another one, and so has a copy. `None` if the model was not read from files. Adapters that
/// always apply are part of it with their scales; those that [requests choose](Gguf::selectable) are not.
pub fn identity(model: &Gguf) -> Option<u64> {
    adapted(Identity::of(model)?.0, model, |files| {
        let stamps = stamps(model, files.clone())?;
        Some([contents(model, files), stamps].concat())
    })
}

/// Returns a number that identifies a model independently of where its files are and when they were written: a checksum
/// of their sizes, their metadata and tensor directories, and the first and last 4 KiB of each tensor. It is no
/// protection against forgery. Adapters that always apply are part of it with their scales, and those that
/// [requests choose](Gguf::selectable) are not.
pub fn fingerprint(model: &Gguf) -> u64 {
    let own = match PackedModel::of(model) {
        Some(packed) => packed.header().fingerprint,
        None => checksum_of(&contents(model, 0..model.own_files())),
    };
    adapted(own, model, |files| Some(contents(model, files))).unwrap_or(own)
}

/// The sizes of files, and checksums of their headers and of both ends of each tensor.
fn contents(model: &Gguf, files: Range<usize>) -> Vec<u64> {
    let mut facts: Vec<u64> = Vec::with_capacity(4 * model.files().len() + 2 * model.tensors().len());
    for (FileInfo { size, .. }, header) in
        model.files().iter().zip(model.headers()).take(files.end).skip(files.start)
    {
        facts.extend([*size, checksum(header)]);
    }
    for tensor in model.tensors().iter().filter(|tensor| files.contains(&tensor.file)) {
        let bytes = model.tensor_bytes(tensor);
        let sample = SAMPLE.min(bytes.len());
        facts.extend([checksum(&bytes[..sample]), checksum(&bytes[bytes.len() - sample..])]);
        // A page fault maps more than was read, which adds up over a thousand tensors.
        bytes.release(0..bytes.len());
    }
    facts
}

fn checksum_of(facts: &[u64]) -> u64 {
    let bytes: Vec<u8> = facts.iter().flat_map(|fact| fact.to_le_bytes()).collect();
    checksum(&bytes)
}

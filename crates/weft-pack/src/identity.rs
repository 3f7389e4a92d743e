//! The identity of a model, without reading all of it: hashing 17 GB takes longer than packing them.

use std::time::UNIX_EPOCH;

use weft_gguf::{FileInfo, Gguf, Stamp};

use crate::checksum::checksum;
use crate::packed_model::PackedModel;

/// The number of bytes read at the beginning and the end of every tensor.
const SAMPLE: usize = 4096;

/// The identity of a model's files.
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
        let stamps: Vec<Stamp> = model.files().iter().map(|file| file.stamp).collect::<Option<_>>()?;
        let mut facts = contents(model);
        for stamp in stamps {
            let modified = stamp.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            facts.extend([modified.map_or(0, |since| since.as_nanos() as u64), stamp.inode.unwrap_or(0)]);
        }
        Some(Identity(checksum_of(&facts)))
    }
}

/// Returns a number that identifies a model's files, for caches of what was computed from them: files that were changed,
/// replaced or downloaded again have another one, and so has a copy. `None` if the model was not read from files.
pub fn identity(model: &Gguf) -> Option<u64> {
    Identity::of(model).map(|identity| identity.0)
}

/// Returns a number that identifies a model independently of where its files are and when they were written: a checksum
/// of their sizes, their metadata and tensor directories, and the first and last 4 KiB of each tensor. It is no
/// protection against forgery.
pub fn fingerprint(model: &Gguf) -> u64 {
    if let Some(packed) = PackedModel::of(model) {
        return packed.header().fingerprint;
    }
    checksum_of(&contents(model))
}

/// The sizes of the files, and checksums of their headers and of both ends of each tensor.
fn contents(model: &Gguf) -> Vec<u64> {
    let mut facts: Vec<u64> = Vec::with_capacity(4 * model.files().len() + 2 * model.tensors().len());
    for (FileInfo { size, .. }, header) in model.files().iter().zip(model.headers()) {
        facts.extend([*size, checksum(header)]);
    }
    for tensor in model.tensors() {
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

//! What tells a model from any other, without reading all of it: a file of 17 GB takes longer to hash than to pack.

use std::time::UNIX_EPOCH;

use weft_gguf::{FileInfo, Gguf, Stamp};

use crate::checksum::checksum;

/// Bytes looked at at the beginning and at the end of every tensor.
const SAMPLE: usize = 4096;

/// The identity of a model's files.
///
/// Of each file it has the size, the time of the last change and the inode, and all that comes before the tensors: metadata and the tensor
/// directory. Of each tensor it has the first and the last 4 KiB. So a file that was changed, replaced or downloaded anew is another
/// model, whatever its name; one that was copied with its times is one too, which costs packing it again and nothing else. The device's
/// number is left out: many file systems have a new one at every start of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity(pub(crate) u64);

impl Identity {
    /// The identity of a model; `None` if it was not read from files.
    pub(crate) fn of(model: &Gguf) -> Option<Identity> {
        // First, for they are at hand: contents are read from the disk.
        let stamps: Vec<Stamp> = model.files().iter().map(|file| file.stamp).collect::<Option<_>>()?;
        let mut facts = contents(model);
        for stamp in stamps {
            let modified = stamp.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            facts.extend([modified.map_or(0, |since| since.as_nanos() as u64), stamp.inode.unwrap_or(0)]);
        }
        Some(Identity(checksum_of(&facts)))
    }
}

/// What tells a model from others wherever it lies and whenever it was copied: what its identity for the cache is made of, but for times and
/// inodes. It finds models that are not the same, and no forgery.
pub fn fingerprint(model: &Gguf) -> u64 {
    checksum_of(&contents(model))
}

/// Sizes of the files, checksums of what comes before the tensors, and of the ends of each tensor.
fn contents(model: &Gguf) -> Vec<u64> {
    let mut facts: Vec<u64> = Vec::with_capacity(4 * model.files().len() + 2 * model.tensors().len());
    for (FileInfo { size, .. }, header) in model.files().iter().zip(model.headers()) {
        facts.extend([*size, checksum(header)]);
    }
    for tensor in model.tensors() {
        let bytes = model.tensor_bytes(tensor);
        let sample = SAMPLE.min(bytes.len());
        facts.extend([checksum(&bytes[..sample]), checksum(&bytes[bytes.len() - sample..])]);
        // More is mapped at a fault than is looked at, and of a thousand tensors that is a lot.
        bytes.release(0..bytes.len());
    }
    facts
}

fn checksum_of(facts: &[u64]) -> u64 {
    let bytes: Vec<u8> = facts.iter().flat_map(|fact| fact.to_le_bytes()).collect();
    checksum(&bytes)
}

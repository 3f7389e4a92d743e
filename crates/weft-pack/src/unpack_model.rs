//! Writing the files that a packed model was made from, byte for byte.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use weft_file::AtomicFile;
use weft_gguf::{Gguf, Piece};

use crate::model_error::ModelError;
use crate::packed_model::PackedModel;
use crate::report::{OnReport, Report};

/// The number of bytes that are restored at once, by all threads.
const CHUNK: usize = 32 << 20;

/// Restores the files that a packed model was made from, in `folder`, and returns their paths. They get their names only after the
/// SHA-256 of each is what it was before packing. The packed model is not touched.
///
/// # Errors
/// [`ModelError::Refused`] if the model is not packed, or a file is there already; [`ModelError::Damaged`] if a file would not be what it
/// was; [`ModelError::Io`]; [`ModelError::Interrupted`].
pub fn unpack_model(
    model: &Gguf,
    folder: &Path,
    threads: usize,
    report: OnReport<'_>,
) -> Result<Vec<PathBuf>, ModelError> {
    let Some(packed) = PackedModel::of(model) else {
        let path = model.files().first().map_or(folder, |file| &file.path);
        return Err(ModelError::Refused { path: path.into(), why: "is not packed".into() });
    };
    let originals = &packed.header().files;
    let paths: Vec<PathBuf> = originals.iter().map(|file| folder.join(&file.name)).collect();
    let total = originals.iter().map(|file| file.size).sum();
    let mut done = 0;
    let mut files = Vec::with_capacity(paths.len());
    for (at, (original, path)) in originals.iter().zip(&paths).enumerate() {
        let mut file = AtomicFile::create(path).map_err(ModelError::io("write", path))?;
        let mut hash = Sha256::new();
        let mut push = |bytes: &[u8]| {
            hash.update(bytes);
            done += bytes.len() as u64;
            file.write_all(bytes).map_err(ModelError::io("write", path))?;
            match report(Report::Unpacking { done, total }) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(ModelError::Interrupted),
            }
        };
        each_chunk(model, packed, at, threads, &mut push)?;
        let found: [u8; 32] = hash.finalize().into();
        if found != original.sha256 {
            let why = format!(
                "is damaged: {} would be restored with another SHA-256 than it had before packing",
                original.name.escape_debug()
            );
            return Err(packed.damaged(why));
        }
        files.push((file, path));
    }
    for (file, path) in files {
        file.commit().map_err(ModelError::io("write", path))?;
    }
    Ok(paths)
}

/// Passes all bytes of file number `file` to `push`, in order.
fn each_chunk(
    model: &Gguf,
    packed: &PackedModel,
    file: usize,
    threads: usize,
    push: &mut dyn FnMut(&[u8]) -> Result<(), ModelError>,
) -> Result<(), ModelError> {
    let other = model.other_bytes(file);
    let mut other = &other[..];
    let mut room = Vec::new();
    for piece in model.pieces(file) {
        match piece {
            Piece::Other(len) => {
                let (own, rest) = other.split_at(len as usize);
                push(own)?;
                other = rest;
            }
            Piece::Tensor(at) => {
                let tensor = &model.tensors()[at];
                let bytes = tensor.bytes as usize;
                if packed.has_rows(tensor) {
                    let rows = model.tensor_bytes(tensor);
                    for (i, chunk) in rows.chunks(CHUNK).enumerate() {
                        push(chunk)?;
                        rows.release(i * CHUNK..i * CHUNK + chunk.len());
                    }
                    continue;
                }
                let step = packed.step(tensor);
                let step = step * (CHUNK / step).max(1);
                for from in (0..bytes).step_by(step) {
                    room.clear();
                    room.resize(step.min(bytes - from), 0);
                    packed.restore_part(tensor, from, &mut room, threads);
                    push(&room)?;
                }
            }
        }
    }
    Ok(())
}

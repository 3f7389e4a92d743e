//! Packing a model so that the packed form is its only copy: it gets its name only after every tensor was restored from it and
//! found to be what the model's files have.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use sha2::{Digest as _, Sha256};
use weft_device::{Packing, Weight};
use weft_file::AtomicFile;
use weft_gguf::{FileBytes, Gguf, Piece, TensorInfo};

use crate::as_is::AsIs;
use crate::blocks::write_blocks;
use crate::identity::{fingerprint, identity};
use crate::layout::{BLOCK, Layout, PlacedWeight, SourceWeight};
use crate::model_error::ModelError;
use crate::model_header::{Form, ModelHeader, Original};
use crate::packed_model::PackedModel;
use crate::report::{OnReport, Report};
use crate::work::{self, Stop};

/// The number of bytes that are compared or hashed at once.
const CHUNK: usize = 1 << 20;

/// Packs all of a model into one file at `path`. `form` says how to store each tensor; those that the packing has no tiles for stay as
/// they are. `name` is the model's name for messages.
///
/// The file keeps every bit of the model's files. It appears at `path` only after all tensors have been restored from it and compared
/// with the model. The model's own files are not touched.
///
/// # Errors
/// [`ModelError::Refused`] if the model is packed already, was not read from files, or could not be restored exactly;
/// [`ModelError::Io`] if the file cannot be written; [`ModelError::Interrupted`]. Nothing remains at `path` then.
pub fn pack_model(
    model: &Gguf,
    name: &str,
    packing: &'static dyn Packing,
    form: &dyn Fn(&TensorInfo) -> Form,
    path: &Path,
    threads: usize,
    report: OnReport<'_>,
) -> Result<(), ModelError> {
    let refused = |why: &str| {
        let path = model.files().first().map_or(path, |file| &file.path);
        ModelError::Refused { path: path.into(), why: why.into() }
    };
    if PackedModel::of(model).is_some() {
        return Err(refused("is packed already"));
    }
    let identity = identity(model).ok_or_else(|| refused("was not read from a file"))?;
    let mut sources = Vec::with_capacity(model.tensors().len());
    let mut forms = Vec::with_capacity(model.tensors().len());
    for tensor in model.tensors() {
        let source = source(model, tensor).ok_or_else(|| refused("is too large for this machine"))?;
        let has_tiles = packing.tile(tensor.ty, source.weight.row_len).is_some();
        forms.push(if has_tiles { form(tensor) } else { Form::Rows });
        sources.push(source);
    }
    let as_is: &'static dyn Packing = &AsIs;
    let stored = sources.iter().zip(&forms).flat_map(|(source, form)| {
        let packings: &[_] = match form {
            Form::Rows => &[as_is],
            Form::Tiles => &[packing],
            Form::Both => &[as_is, packing],
        };
        packings.iter().map(move |packing| (*packing, source)).collect::<Vec<_>>()
    });
    let layout = Layout::of_forms(stored)?;
    let files = model.files().iter().enumerate().map(|(at, file)| {
        let name = file.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Original { name: name.into(), size: file.size, sha256: [0; 32], other: model.other_bytes(at) }
    });
    let mut header = ModelHeader {
        fingerprint: fingerprint(model),
        identity,
        name: name.into(),
        packing: packing.id().into(),
        files: files.collect(),
        forms,
        data: layout.len(),
        sums: vec![0; layout.len().div_ceil(BLOCK)],
    };
    let start = header.encode().len().next_multiple_of(BLOCK);
    let file = AtomicFile::create(path).map_err(ModelError::io("write", path))?;
    let mut packed = |done, total| report(Report::Packing { done, total });
    let written = write_blocks(&file, start as u64, &layout, threads, &mut packed);
    header.sums = written.map_err(|stop| match stop {
        Stop::Interrupted => ModelError::Interrupted,
        Stop::Failed(error) => ModelError::io("write", path)(error),
    })?;
    let map = FileBytes::of(file.file()).map_err(ModelError::io("map", path))?;
    let hashes = compare(model, &layout, &map[start..], threads, report)?;
    let hashes = hashes.map_err(|name| {
        refused(&format!(
            "stays as it is: its tensor `{}` would not be restored exactly",
            name.escape_debug()
        ))
    })?;
    header.files.iter_mut().zip(hashes).for_each(|(file, hash)| file.sha256 = hash);
    file.write_all_at(&header.encode(), 0).map_err(ModelError::io("write", path))?;
    if ModelHeader::parse(&map) != Ok((header, start)) {
        return Err(refused("stays as it is: the header of its packed form cannot be read back"));
    }
    drop(map);
    file.commit().map_err(ModelError::io("write", path))
}

/// A tensor as a weight.
fn source(model: &Gguf, tensor: &TensorInfo) -> Option<SourceWeight> {
    let bytes = model.tensor_bytes(tensor);
    let weight = Weight {
        ty: tensor.ty,
        rows: usize::try_from(tensor.shape[1..].iter().product::<u64>()).ok()?,
        row_len: usize::try_from(tensor.shape[0]).ok()?,
        bytes: Arc::new(bytes.clone()),
        tiles: None,
    };
    Some(SourceWeight { name: tensor.name.clone(), weight, mapped: Some(bytes) })
}

/// Restores all tensors and compares them with the model's, while another thread hashes the model's files. Returns the hashes, or the
/// name of a tensor that differs.
fn compare(
    model: &Gguf,
    layout: &Layout<'_>,
    data: &[u8],
    threads: usize,
    report: OnReport<'_>,
) -> Result<Result<Vec<[u8; 32]>, String>, ModelError> {
    let places = layout.places();
    let items = places.iter().flat_map(|place| place.chunks(CHUNK).map(move |tiles| (place, tiles)));
    let (count, total) = (items.clone().count().max(1), layout.len() as u64);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let hashes = scope.spawn(|| hash_files(model, &stop));
        let mut progress = |done: usize| {
            report(Report::Checking {
                done: (done as u128 * u128::from(total) / count as u128) as u64,
                total,
            })
        };
        let restore = |(place, tiles): (&PlacedWeight<'_>, _), room: &mut Vec<u8>| {
            if place.restores(data, tiles, room) { Ok(()) } else { Err(place.source.name.clone()) }
        };
        let compared = work::each(threads, items, Vec::new, restore, &mut progress);
        stop.store(compared.is_err(), Ordering::Relaxed);
        let hashes = hashes.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match compared {
            Ok(()) => Ok(Ok(hashes)),
            Err(Stop::Interrupted) => Err(ModelError::Interrupted),
            Err(Stop::Failed(name)) => Ok(Err(name)),
        }
    })
}

/// The SHA-256 of each file of a model; of no use once `stop` is set.
fn hash_files(model: &Gguf, stop: &AtomicBool) -> Vec<[u8; 32]> {
    let mut hashes = Vec::with_capacity(model.files().len());
    for file in 0..model.files().len() {
        let mut hash = Sha256::new();
        let other = model.other_bytes(file);
        let mut other = &other[..];
        for piece in model.pieces(file) {
            match piece {
                Piece::Other(len) => {
                    let (own, rest) = other.split_at(len as usize);
                    hash.update(own);
                    other = rest;
                }
                Piece::Tensor(at) => {
                    let bytes = model.tensor_bytes(&model.tensors()[at]);
                    for (i, chunk) in bytes.chunks(CHUNK).enumerate() {
                        if stop.load(Ordering::Relaxed) {
                            return hashes;
                        }
                        hash.update(chunk);
                        bytes.release(i * CHUNK..i * CHUNK + chunk.len());
                    }
                }
            }
        }
        hashes.push(hash.finalize().into());
    }
    hashes
}

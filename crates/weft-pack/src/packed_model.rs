//! A packed model: the only copy of a model, in a device's layout. Its tensors can be read in tiles, and restored as its GGUF
//! files had them.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_device::{Packing, Weight, WeightBytes};
use weft_gguf::{FileBytes, Gguf, Restore, StoredPart, TensorBytes, TensorInfo};

use crate::as_is::AsIs;
use crate::blocks::check_blocks;
use crate::checked;
use crate::layout::{Place, place};
use crate::model_error::ModelError;
use crate::model_header::{Form, MAGIC, ModelHeader, Original};
use crate::work::{self, Stop};

/// The number of bytes that a thread restores at once.
const CHUNK: usize = 1 << 20;

/// An open packed model.
pub(crate) struct PackedModel {
    path: PathBuf,
    file: File,
    map: FileBytes,
    /// Without the bytes of [`Original::other`], which the GGUF reader has.
    header: ModelHeader,
    /// The offset of the data.
    start: usize,
    packing: &'static dyn Packing,
    tensors: BTreeMap<String, Tensor>,
    /// Whether its data have been checked.
    checked: AtomicBool,
}

/// Where a tensor is in the file.
struct Tensor {
    rows: Option<Range<usize>>,
    tiles: Option<Place>,
}

/// Opens a model: a GGUF file, or one that was [packed](crate::pack_model) in one of these layouts. Of the latter, the header is
/// checked here, and the data by [`check`].
///
/// # Errors
/// If the file cannot be read, or is not valid.
pub fn open_model(path: &Path, packings: &[&'static dyn Packing]) -> Result<Gguf, ModelError> {
    if !is_packed_model(path) {
        return Ok(Gguf::open(path)?);
    }
    let file = File::open(path).map_err(ModelError::io("open", path))?;
    let map = FileBytes::of(&file).map_err(ModelError::io("map", path))?;
    map.prefer_huge_pages();
    let damaged = |why: &str, name: &str| {
        let (why, name) =
            (why.to_string(), if name.is_empty() { path.display().to_string() } else { name.to_string() });
        ModelError::Damaged { path: path.into(), why, name }
    };
    let (mut header, start) = ModelHeader::parse(&map).map_err(|why| damaged(&why.to_string(), ""))?;
    let packing = packings.iter().find(|packing| packing.id() == header.packing);
    let packing = *packing.ok_or_else(|| ModelError::Refused {
        path: path.into(),
        why: format!(
            "was packed in the layout `{}`, which this version does not know: unpack it with the version that packed it",
            header.packing.escape_debug()
        ),
    })?;
    let part = |original: &mut Original| StoredPart {
        path: path.into(),
        size: original.size,
        other: std::mem::take(&mut original.other),
    };
    let parts = header.files.iter_mut().map(part).collect();
    let bytes = map.clone();
    Gguf::stored(&bytes, parts, |model| {
        let name = header.name.clone();
        let tensors = places(model.tensors(), &header, start, packing);
        let tensors = tensors.ok_or_else(|| damaged("has data that do not match its tensors", &name))?;
        let rows = tensors.iter().map(|tensor| tensor.rows.clone()).collect();
        let names = model.tensors().iter().map(|tensor| tensor.name.clone());
        let tensors = names.zip(tensors).collect();
        let checked = AtomicBool::new(false);
        let model = PackedModel { path: path.into(), file, map, header, start, packing, tensors, checked };
        Ok((rows, Arc::new(model) as Arc<dyn Restore>))
    })
}

/// Returns whether a file is a packed model, by its first bytes.
pub fn is_packed_model(path: &Path) -> bool {
    let mut magic = [0; MAGIC.len()];
    // Opening a pipe would wait for a writer.
    fs::metadata(path).is_ok_and(|about| about.is_file())
        && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == MAGIC
}

/// The names of the GGUF files that a packed model was made from, if the model is packed.
pub fn originals(model: &Gguf) -> Option<Vec<String>> {
    let packed = PackedModel::of(model)?;
    Some(packed.header.files.iter().map(|file| file.name.clone()).collect())
}

/// The SHA-256 checksums of the GGUF files that a packed model was made from, if the model is packed.
pub fn original_sums(model: &Gguf) -> Option<Vec<[u8; 32]>> {
    let packed = PackedModel::of(model)?;
    Some(packed.header.files.iter().map(|file| file.sha256).collect())
}

/// Checks the data of a packed model on `threads` threads, unless that has been done since the machine was started. Does nothing
/// for other models. `on` receives the bytes done and in total.
///
/// # Errors
/// [`ModelError::Damaged`]; [`ModelError::Interrupted`] if `on` interrupts it.
pub fn check(
    model: &Gguf,
    threads: usize,
    on: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<(), ModelError> {
    let Some(packed) = PackedModel::of(model) else { return Ok(()) };
    if packed.checked.load(Ordering::Relaxed) || checked::is_checked(&packed.path, &packed.file) {
        return Ok(());
    }
    packed.check_all(threads, on)
}

/// Checks all data of a packed model, even if that was done before. Does nothing for other models.
///
/// # Errors
/// Those of [`check`].
pub fn verify_model(
    model: &Gguf,
    threads: usize,
    on: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<(), ModelError> {
    let Some(packed) = PackedModel::of(model) else { return Ok(()) };
    checked::forget(&packed.path);
    packed.check_all(threads, on)
}

/// The places of all tensors in a file, whose data begin at `start`. `None` if they do not match the data.
fn places(
    tensors: &[TensorInfo],
    header: &ModelHeader,
    start: usize,
    packing: &dyn Packing,
) -> Option<Vec<Tensor>> {
    if tensors.len() != header.forms.len() {
        return None;
    }
    let mut end = 0;
    let mut places = Vec::with_capacity(tensors.len());
    for (tensor, form) in tensors.iter().zip(&header.forms) {
        let row_len = usize::try_from(tensor.shape[0]).ok()?;
        let rows = usize::try_from(tensor.shape[1..].iter().product::<u64>()).ok()?;
        let mut next = |packing: &dyn Packing| -> Option<Place> {
            let place = place(packing, tensor.ty, rows, row_len, end)?;
            end = place.range.end;
            Some(Place { range: start.checked_add(place.range.start)?..start.checked_add(end)?, ..place })
        };
        let as_it_was = if *form == Form::Tiles { None } else { Some(next(&AsIs)?.range) };
        let tiles = if *form == Form::Rows { None } else { Some(next(packing)?) };
        places.push(Tensor { rows: as_it_was, tiles });
    }
    (end == header.data).then_some(places)
}

impl PackedModel {
    /// The packed model that a model was opened from.
    pub(crate) fn of(model: &Gguf) -> Option<&PackedModel> {
        let restorer: &dyn Any = model.restorer()?;
        restorer.downcast_ref()
    }

    pub(crate) fn header(&self) -> &ModelHeader {
        &self.header
    }

    pub(crate) fn packing(&self) -> &'static dyn Packing {
        self.packing
    }

    /// The tiles of a weight, if it is packed with this shape.
    pub(crate) fn tiles(&self, name: &str, weight: &Weight) -> Option<WeightBytes> {
        let tiles = self.tensors.get(name)?.tiles.as_ref()?;
        let Weight { ty, rows, row_len, .. } = *weight;
        let same = (tiles.ty, tiles.rows, tiles.row_len) == (ty, rows, row_len);
        same.then(|| Arc::new(Tiles(self.map.slice(tiles.range.clone()))) as WeightBytes)
    }

    /// The error that the file is not what it was.
    pub(crate) fn damaged(&self, why: String) -> ModelError {
        ModelError::Damaged { path: self.path.clone(), why, name: self.header.name.clone() }
    }

    fn check_all(
        &self,
        threads: usize,
        on: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        check_blocks(&self.map, self.start, &self.header.sums, threads, on).map_err(|stop| match stop {
            Stop::Interrupted => ModelError::Interrupted,
            Stop::Failed(at) => self.damaged(format!("is damaged at byte {at} or after it")),
        })?;
        self.checked.store(true, Ordering::Relaxed);
        checked::remember(&self.path, &self.file);
        Ok(())
    }

    /// Restores a part of a tensor that is in tiles, from byte `from` on, which is the first of a tile.
    pub(crate) fn restore_part(&self, tensor: &TensorInfo, from: usize, out: &mut [u8], threads: usize) {
        let Some(tiles) = self.tensors.get(&tensor.name).and_then(|tensor| tensor.tiles.as_ref()) else {
            return;
        };
        let step = tiles.step * (CHUNK / tiles.step).max(1);
        let first = from / tiles.step;
        let restore = |(i, out): (usize, &mut [u8]), _: &mut ()| {
            let first = first + i * (step / tiles.step);
            tiles.restore(self.packing, &self.map, first, out);
            Ok::<(), std::convert::Infallible>(())
        };
        let go_on = &mut |_| ControlFlow::Continue(());
        let _ = work::each(threads, out.chunks_mut(step).enumerate(), || (), restore, go_on);
    }

    /// The number of bytes of a tensor's tiles, restored.
    pub(crate) fn step(&self, tensor: &TensorInfo) -> usize {
        let tiles = self.tensors.get(&tensor.name).and_then(|tensor| tensor.tiles.as_ref());
        tiles.map_or(1, |tiles| tiles.step)
    }

    /// Whether a tensor is there as it was.
    pub(crate) fn has_rows(&self, tensor: &TensorInfo) -> bool {
        self.tensors.get(&tensor.name).is_some_and(|tensor| tensor.rows.is_some())
    }
}

/// The tiles of a weight, whose pages go when a device drops it.
struct Tiles(TensorBytes);

impl AsRef<[u8]> for Tiles {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        self.0.release(0..self.0.len());
    }
}

impl Restore for PackedModel {
    fn restore(&self, tensor: &TensorInfo) -> Vec<u8> {
        let mut out = vec![0; tensor.bytes as usize];
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        self.restore_part(tensor, 0, &mut out, threads);
        out
    }
}

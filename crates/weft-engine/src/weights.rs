//! A model's weights, taken in by a device: packed in its own layout where a product multiplies by them, else as the file has them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_device::{BufferId, Device, Weight, WeightBytes};
use weft_fuse::Fusion;
use weft_gguf::{Gguf, TensorInfo};
use weft_models::Segment;
use weft_pack::{OnReport, PackCache, Source, pack};

use crate::error::Error;

/// The plans of each segment, for every size of step.
pub(crate) type Classes = [Vec<Arc<Fusion>>];

/// What a segment multiplies by in a step of any size, by its names in the segment.
pub(crate) fn multiplied(classes: &Classes, segment: usize) -> BTreeSet<&str> {
    classes.iter().flat_map(|fusions| fusions[segment].plan.multiplied_weights()).collect()
}

/// Has the device take in every tensor that a segment uses, once.
pub(crate) fn take_in(
    device: &mut dyn Device,
    gguf: &Gguf,
    segments: &[Segment],
    classes: &Classes,
    cache: Option<&PackCache>,
    report: OnReport<'_>,
) -> Result<BTreeMap<String, BufferId>, Error> {
    let mut tensors: BTreeMap<&str, (&TensorInfo, bool)> = BTreeMap::new();
    for (i, segment) in segments.iter().enumerate() {
        let packed = multiplied(classes, i);
        for (own, name) in &segment.weights {
            if let Some(tensor) = gguf.tensor(name) {
                tensors.entry(name).or_insert((tensor, false)).1 |= packed.contains(own.as_str());
            }
        }
    }
    let mut taken = BTreeMap::new();
    let mut sources = Vec::new();
    for (name, (tensor, multiplied)) in tensors {
        let size = |n: u64| usize::try_from(n).map_err(|_| Error::Option(format!("`{name}` is too large")));
        let bytes = gguf.tensor_bytes(tensor);
        let weight = Weight {
            ty: tensor.ty,
            rows: size(tensor.shape[1..].iter().product())?,
            row_len: size(tensor.shape[0])?,
            bytes: Arc::new(bytes.clone()),
        };
        if multiplied && has_tiles(device, &weight) {
            sources.push(Source { name: name.into(), weight, mapped: Some(bytes) });
        } else {
            taken.insert(name.to_string(), device.pack(weight)?);
        }
    }
    let buffers = take_in_packed(device, &sources, cache.map(|cache| (cache, gguf)), report)?;
    taken.extend(sources.into_iter().map(|source| source.name).zip(buffers));
    Ok(taken)
}

/// Whether a device wants a weight that is multiplied by in a layout of its own.
pub(crate) fn has_tiles(device: &dyn Device, weight: &Weight) -> bool {
    device.packing().is_some_and(|packing| packing.tile(weight.ty, weight.row_len).is_some())
}

/// Packs weights that [have tiles](has_tiles), and has the device take them in.
pub(crate) fn take_in_packed(
    device: &mut dyn Device,
    sources: &[Source],
    cache: Option<(&PackCache, &Gguf)>,
    report: OnReport<'_>,
) -> Result<Vec<BufferId>, Error> {
    let tiles: Vec<WeightBytes> = match device.packing() {
        Some(packing) => pack(packing, sources, device.caps().threads, cache, report)?,
        None => Vec::new(),
    };
    let packed =
        sources.iter().zip(tiles).map(|(source, tiles)| device.pack_tiles(source.weight.clone(), tiles));
    Ok(packed.collect::<Result<_, _>>()?)
}

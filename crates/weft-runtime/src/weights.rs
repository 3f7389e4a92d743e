//! Loading a model's weights into a device: packed into its own layout if a product multiplies by them, otherwise as
//! they are in the file.

pub(crate) mod packed_models;
pub(crate) mod products;
pub(crate) mod sides;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_device::{BufferId, Caps, Device, DeviceError, Side, Weight, WeightBytes};
use weft_fuse::Fusion;
use weft_gguf::{Gguf, TensorInfo};
use weft_models::Segment;
use weft_pack::{OnReport, PackCache, Report, SourceWeight, pack};

use crate::error::Error;
use crate::plans::Sections;

/// For every class of steps, the fusions of all segments.
pub(crate) type Classes = [Vec<Arc<Fusion>>];

/// The side of each tensor, by its name in the file.
type TensorSides<'a> = BTreeMap<&'a str, Option<Side>>;

/// The names of the weights that a segment multiplies by in a step of any size.
pub(crate) fn multiplied(classes: &Classes, segment: usize) -> BTreeSet<&str> {
    classes.iter().flat_map(|fusions| fusions[segment].plan.multiplied_weights()).collect()
}

/// Loads every tensor that a segment uses into the device, once. Adapters, and what only the layer that predicts one token more
/// uses, are packed in memory: the packed form of a model is the same with and without them. `second` is the number of segments that are on
/// a second device.
pub(crate) fn load(
    device: &mut dyn Device,
    gguf: &Gguf,
    (segments, sections, second): (&[Segment], Sections, usize),
    classes: &Classes,
    cache: Option<&PackCache>,
    report: OnReport<'_>,
) -> Result<BTreeMap<String, BufferId>, Error> {
    weft_pack::check(gguf, device.caps().threads, &mut |done, total| {
        report(Report::Checking { done, total })
    })?;
    let of_model = sections.of_model();
    let sides = sides::of_tensors(second, segments);
    let mut taken = BTreeMap::new();
    for (range, cache) in [(0..of_model, cache), (0..segments.len(), None)] {
        let mut tensors: BTreeMap<&str, (&TensorInfo, bool)> = BTreeMap::new();
        for i in range {
            let packed = multiplied(classes, i);
            let own = &segments[i].weights;
            for (own, name) in own.iter().filter(|(_, name)| !taken.contains_key(name.as_str())) {
                let wanted = |tensor: &&TensorInfo| cache.is_none() || gguf.adapter_of(tensor).is_none();
                if let Some(tensor) = gguf.tensor(name).filter(wanted) {
                    tensors.entry(name).or_insert((tensor, false)).1 |= packed.contains(own.as_str());
                }
            }
        }
        let loaded = load_tensors(device, gguf, (tensors, &sides), cache, report, &mut taken);
        sides::place(device, None);
        loaded?;
    }
    Ok(taken)
}

/// Loads tensors, packed if a product multiplies by them.
fn load_tensors(
    device: &mut dyn Device,
    gguf: &Gguf,
    (tensors, sides): (BTreeMap<&str, (&TensorInfo, bool)>, &TensorSides<'_>),
    cache: Option<&PackCache>,
    report: OnReport<'_>,
    taken: &mut BTreeMap<String, BufferId>,
) -> Result<(), Error> {
    let mut sources = Vec::new();
    let mut plain = Vec::new();
    for (name, (tensor, multiplied)) in tensors {
        let size = |n: u64| usize::try_from(n).map_err(|_| Error::Option(format!("`{name}` is too large")));
        let bytes = gguf.tensor_bytes(tensor);
        let weight = Weight {
            ty: tensor.ty,
            rows: size(tensor.shape[1..].iter().product())?,
            row_len: size(tensor.shape[0])?,
            bytes: Arc::new(bytes.clone()),
            tiles: None,
        };
        check_size(device, name, &weight)?;
        let own = if multiplied && has_tiles(device, &weight) { &mut sources } else { &mut plain };
        own.push(SourceWeight { name: name.into(), weight, mapped: Some(bytes) });
    }
    for SourceWeight { name, weight, mapped } in plain {
        let held = Arc::clone(&weight.bytes);
        sides::place(device, sides.get(name.as_str()).copied().flatten());
        let buffer = device.pack(weight).map_err(of_weight(&name))?;
        // A device with its own memory has copied the weight, so its pages can be released.
        if let (1, Some(bytes)) = (Arc::strong_count(&held), mapped) {
            bytes.release(0..bytes.len());
        }
        taken.insert(name, buffer);
    }
    let buffers = load_packed(device, &sources, Some((gguf, cache, sides)), report)?;
    taken.extend(sources.into_iter().map(|source| source.name).zip(buffers));
    Ok(())
}

/// Returns whether the device has its own layout for a weight that products multiply by.
pub(crate) fn has_tiles(device: &dyn Device, weight: &Weight) -> bool {
    device.caps().packing.is_some_and(|packing| packing.tile(weight.ty, weight.row_len).is_some())
}

/// Checks that a weight is not too large for the device, before anything is packed or loaded.
fn check_size(device: &dyn Device, name: &str, weight: &Weight) -> Result<(), Error> {
    let Weight { ty, rows, row_len, ref bytes, .. } = *weight;
    let tile = device.caps().packing.and_then(|packing| packing.tile(ty, row_len));
    let tiles = tile.map(|tile| rows.div_ceil(tile.rows).saturating_mul(tile.bytes));
    let bytes = tiles.unwrap_or_else(|| (**bytes).as_ref().len());
    let Caps { name: device, largest_weight: largest, .. } = device.caps();
    if bytes <= *largest {
        return Ok(());
    }
    Err(of_weight(name)(DeviceError::TooLarge { device: device.clone(), bytes, largest: *largest }))
}

/// Adds the name of a weight to a device's error.
fn of_weight(name: &str) -> impl Fn(DeviceError) -> Error {
    move |source| Error::Weight { name: name.into(), source }
}

/// Packs weights that [have tiles](has_tiles), of a model or computed, and loads them into the device. The tiles of each are dropped
/// once it is loaded.
pub(crate) fn load_packed(
    device: &mut dyn Device,
    sources: &[SourceWeight],
    model: Option<(&Gguf, Option<&PackCache>, &TensorSides<'_>)>,
    report: OnReport<'_>,
) -> Result<Vec<BufferId>, Error> {
    let tiles: Vec<WeightBytes> = match device.caps().packing {
        Some(packing) => {
            let model = model.map(|(gguf, cache, _)| (gguf, cache));
            pack(packing, sources, device.caps().threads, model, report)?
        }
        None => Vec::new(),
    };
    let total = tiles.iter().map(|tiles| (**tiles).as_ref().len() as u64).sum();
    let mut done = 0;
    let mut buffers = Vec::with_capacity(sources.len());
    for (SourceWeight { name, weight, .. }, tiles) in sources.iter().zip(tiles) {
        if report(Report::Loading { done, total }).is_break() {
            return Err(Error::Interrupted);
        }
        done += (*tiles).as_ref().len() as u64;
        if let Some((.., sides)) = model {
            sides::place(device, sides.get(name.as_str()).copied().flatten());
        }
        buffers.push(device.pack(Weight { tiles: Some(tiles), ..weight.clone() }).map_err(of_weight(name))?);
    }
    // The steps that follow take time too, and are not loading.
    if done > 0 && report(Report::Loading { done, total }).is_break() {
        return Err(Error::Interrupted);
    }
    Ok(buffers)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::path::Path;

    use weft_device::NullDevice;
    use weft_fuse::Options;
    use weft_ir::Sizes;
    use weft_models::BuildOptions;

    use super::*;
    use crate::plans;

    #[test]
    fn a_weight_too_large_for_the_device_is_named_before_any_is_loaded() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf");
        let gguf = Gguf::open(&fixture).unwrap();
        let model = weft_models::build(&gguf, &BuildOptions::default()).unwrap();
        let max = Sizes::of(1).rows(1).slots(64).pages(2);
        let options = Options { max, ..Options::default() };
        let (segments, sections) =
            plans::segments(&model, None, &options.switches, false, (None, None)).unwrap();
        let classes = [plans::plan(&segments, &options, None).unwrap()];
        let largest = gguf.tensors().iter().max_by_key(|tensor| gguf.tensor_bytes(tensor).len()).unwrap();
        let bytes = gguf.tensor_bytes(largest).len();
        for (limit, fits) in [(bytes, true), (bytes - 1, false)] {
            let mut device = NullDevice::with_largest_buffer(limit);
            let go_on = &mut |_| ControlFlow::Continue(());
            let loaded = load(&mut device, &gguf, (&segments, sections, 0), &classes, None, go_on);
            assert_eq!(device.bytes() > 0, fits);
            match loaded {
                Ok(_) => assert!(fits),
                Err(Error::Weight {
                    name,
                    source: DeviceError::TooLarge { bytes: asked, largest: limit, .. },
                }) => {
                    assert!(!fits && asked > limit);
                    assert_eq!(gguf.tensor_bytes(gguf.tensor(&name).unwrap()).len(), bytes);
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

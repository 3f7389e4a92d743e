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
use crate::planned::Planned;
use crate::plans::offload;
use crate::plans::streamed::{self, Stack};

/// For every class of steps, the fusions of all segments.
pub(crate) type Classes = [Vec<Arc<Fusion>>];

/// The tensors of a model on a device, by their names in the file.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tensors {
    whole: BTreeMap<String, BufferId>,
    /// The first matrices of stacks of which the other device has all.
    first: BTreeMap<String, BufferId>,
    /// Stacks of the other device where they are read in turn.
    streamed: BTreeMap<String, BufferId>,
    /// Stacks of which some matrices are in slots.
    in_slots: BTreeMap<String, Weight>,
}

/// A stack of matrices of which some are in slots.
#[derive(Clone, Debug)]
pub(crate) struct InSlots {
    /// All of them.
    pub(crate) weight: Weight,
    /// The rows of a matrix.
    pub(crate) rows: usize,
    /// The slots.
    pub(crate) slots: BufferId,
    /// Where the others are read in turn.
    pub(crate) streamed: Option<BufferId>,
}

impl Tensors {
    /// The weights of a segment, by their names in its graph.
    pub(crate) fn of(&self, segment: &Segment) -> BTreeMap<String, BufferId> {
        let first: BTreeMap<&str, usize> = offload::first_matrices(&segment.graph).collect();
        let of = |own: &str| if first.contains_key(own) { &self.first } else { &self.whole };
        segment.weights.iter().map(|(own, tensor)| (own.clone(), of(own)[tensor])).collect()
    }

    /// For each layer whose experts are in slots, their stacks.
    pub(crate) fn in_slots(&self, segments: &[Segment]) -> Vec<Vec<InSlots>> {
        let mut layers: Vec<(usize, Vec<InSlots>)> = Vec::new();
        for (i, Stack { tensor, rows, .. }) in streamed::stacks(segments) {
            let Some((weight, slots)) = self.in_slots.get(tensor).zip(self.first.get(tensor)) else {
                continue;
            };
            let streamed = self.streamed.get(tensor).copied();
            let own = InSlots { weight: weight.clone(), rows, slots: *slots, streamed };
            match layers.last_mut().filter(|(segment, _)| *segment == i) {
                Some((_, layer)) => layer.push(own),
                None => layers.push((i, vec![own])),
            }
        }
        layers.into_iter().map(|(_, layer)| layer).collect()
    }

    /// Those of its weights that are read in turn.
    pub(crate) fn streamed(&self, segment: &Segment) -> BTreeMap<String, BufferId> {
        let stacks = streamed::stacks(std::slice::from_ref(segment)).into_iter();
        stacks.map(|(_, stack)| (stack.own.to_string(), self.streamed[stack.tensor])).collect()
    }
}

/// The places of tensors on two devices.
struct Places<'a> {
    /// The side of each tensor, by its name in the file; `None` for both.
    sides: BTreeMap<&'a str, Option<Side>>,
    /// The number of first matrices that the first side has of a tensor, if the second has all.
    first: BTreeMap<&'a str, usize>,
    /// The stacks that the first side reads in turn, by the tensor's name.
    streamed: BTreeMap<&'a str, Stack<'a>>,
    /// Whether first matrices are in slots, and others may take their places.
    in_slots: bool,
}

impl<'a> Places<'a> {
    fn new(Planned { segments, sides, streamed, slots, .. }: &'a Planned) -> Places<'a> {
        let stacks = if streamed.is_some() { streamed::stacks(segments) } else { Vec::new() };
        let streamed: BTreeMap<&str, Stack<'_>> =
            stacks.into_iter().map(|(_, stack)| (stack.tensor, stack)).collect();
        let mut first = BTreeMap::new();
        for segment in segments {
            for (name, count) in offload::first_matrices(&segment.graph) {
                let tensor = segment.weights.iter().find(|(own, _)| own == name);
                first.extend(tensor.map(|(_, tensor)| (tensor.as_str(), count)));
            }
        }
        let mut sides = sides::of_tensors(sides, segments);
        if !streamed.is_empty() {
            // Both sides read what else these segments have.
            let offloaded = segments.iter().filter(|segment| offload::side(segment) == Side::Second);
            let tensors = offloaded.flat_map(|segment| &segment.weights).map(|(_, tensor)| tensor.as_str());
            sides
                .extend(tensors.filter(|tensor| !streamed.contains_key(tensor)).map(|tensor| (tensor, None)));
        }
        Places { sides, first, streamed, in_slots: slots.is_some() }
    }

    /// Loads a weight of so many matrices to its place.
    fn load(
        &self,
        device: &mut dyn Device,
        name: &str,
        matrices: usize,
        weight: Weight,
        taken: &mut Tensors,
    ) -> Result<(), Error> {
        if let Some(count) = self.first.get(name) {
            sides::place(device, Some(Side::First));
            let packing = device.caps().packing.and_then(|packing| packing.tile(weight.ty, weight.row_len));
            let part = weight.part(0..weight.rows / matrices.max(1) * count, packing);
            let slots = device.pack(part).map_err(of_weight(name))?;
            taken.first.insert(name.into(), slots);
            if let (true, Some(streaming)) = (self.in_slots, device.streaming()) {
                streaming.prepare(slots, &weight).map_err(of_weight(name))?;
                taken.in_slots.insert(name.into(), weight.clone());
            }
        }
        sides::place(device, self.sides.get(name).copied().flatten());
        taken.whole.insert(name.into(), device.pack(weight.clone()).map_err(of_weight(name))?);
        if let (Some(stack), Some(placement)) = (self.streamed.get(name), device.placement()) {
            let read = stack.unread * stack.rows..weight.rows;
            let view = placement.stream(weight, stack.slot, &[read]).map_err(of_weight(name))?;
            taken.streamed.insert(name.into(), view);
        }
        Ok(())
    }
}

/// The names of the weights that a segment multiplies by in a step of any size.
pub(crate) fn multiplied(classes: &Classes, segment: usize) -> BTreeSet<&str> {
    classes.iter().flat_map(|fusions| fusions[segment].plan.multiplied_weights()).collect()
}

/// Loads every tensor that a segment uses into the device, once. Adapters, and what only the layer that predicts one token more
/// uses, are packed in memory: the packed form of a model is the same with and without them.
pub(crate) fn load(
    device: &mut dyn Device,
    gguf: &Gguf,
    planned: &Planned,
    cache: Option<&PackCache>,
    report: OnReport<'_>,
) -> Result<Tensors, Error> {
    weft_pack::check(gguf, device.caps().threads, &mut |done, total| {
        report(Report::Checking { done, total })
    })?;
    let Planned { segments, sections, fusions: classes, .. } = planned;
    let of_model = sections.of_model();
    let places = Places::new(planned);
    let mut taken = Tensors::default();
    for (range, cache) in [(0..of_model, cache), (0..segments.len(), None)] {
        let mut tensors: BTreeMap<&str, (&TensorInfo, bool)> = BTreeMap::new();
        for i in range {
            let packed = multiplied(classes, i);
            let own = &segments[i].weights;
            for (own, name) in own.iter().filter(|(_, name)| !taken.whole.contains_key(name.as_str())) {
                let wanted = |tensor: &&TensorInfo| cache.is_none() || tensor.file < gguf.own_files();
                if let Some(tensor) = gguf.tensor(name).filter(wanted) {
                    tensors.entry(name).or_insert((tensor, false)).1 |= packed.contains(own.as_str());
                }
            }
        }
        let loaded = load_tensors(device, gguf, (tensors, &places), cache, report, &mut taken);
        sides::place(device, None);
        loaded?;
    }
    Ok(taken)
}

/// Loads tensors, packed if a product multiplies by them.
fn load_tensors(
    device: &mut dyn Device,
    gguf: &Gguf,
    (tensors, places): (BTreeMap<&str, (&TensorInfo, bool)>, &Places<'_>),
    cache: Option<&PackCache>,
    report: OnReport<'_>,
    taken: &mut Tensors,
) -> Result<(), Error> {
    let matrices = |tensor: &TensorInfo| tensor.shape.get(2).map_or(1, |n| usize::try_from(*n).unwrap_or(1));
    let counts: BTreeMap<&str, usize> =
        tensors.iter().map(|(name, (tensor, _))| (*name, matrices(tensor))).collect();
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
        places.load(device, &name, counts[name.as_str()], weight, taken)?;
        // A device with its own memory has copied the weight, so its pages can be released.
        if let (1, Some(bytes)) = (Arc::strong_count(&held), mapped) {
            bytes.release(0..bytes.len());
        }
    }
    load_packed(device, &sources, Some((gguf, cache)), report, |device, name, weight| {
        places.load(device, name, counts[name], weight, taken)
    })
}

/// Returns whether the device has its own layout for a weight that products multiply by.
pub(crate) fn has_tiles(device: &dyn Device, weight: &Weight) -> bool {
    device.caps().packing.is_some_and(|packing| packing.tile(weight.ty, weight.row_len).is_some())
}

/// Checks that a weight is not too large for the device, before anything is packed or loaded.
fn check_size(device: &dyn Device, name: &str, weight: &Weight) -> Result<(), Error> {
    let Weight { ty, rows, row_len, ref bytes, .. } = *weight;
    let tile = device.caps().packing.and_then(|packing| packing.tile(ty, row_len));
    let tiles = tile.map(|tile| tile.bytes_of(rows).unwrap_or(usize::MAX));
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

/// Packs weights that [have tiles](has_tiles), of a model or computed, and has each loaded into the device. The tiles of each are dropped
/// once it is loaded.
pub(crate) fn load_packed(
    device: &mut dyn Device,
    sources: &[SourceWeight],
    model: Option<(&Gguf, Option<&PackCache>)>,
    report: OnReport<'_>,
    mut load: impl FnMut(&mut dyn Device, &str, Weight) -> Result<(), Error>,
) -> Result<(), Error> {
    let tiles: Vec<WeightBytes> = match device.caps().packing {
        Some(packing) => pack(packing, sources, device.caps().threads, model, report)?,
        None => Vec::new(),
    };
    let total = tiles.iter().map(|tiles| (**tiles).as_ref().len() as u64).sum();
    let mut done = 0;
    for (SourceWeight { name, weight, .. }, tiles) in sources.iter().zip(tiles) {
        if report(Report::Loading { done, total }).is_break() {
            return Err(Error::Interrupted);
        }
        done += (*tiles).as_ref().len() as u64;
        load(device, name, Weight { tiles: Some(tiles), ..weight.clone() })?;
    }
    // The steps that follow take time too, and are not loading.
    if done > 0 && report(Report::Loading { done, total }).is_break() {
        return Err(Error::Interrupted);
    }
    Ok(())
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

    #[test]
    fn a_weight_too_large_for_the_device_is_named_before_any_is_loaded() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf");
        let gguf = Gguf::open(&fixture).unwrap();
        let model = weft_models::build(&gguf, &BuildOptions::default()).unwrap();
        let max = Sizes::of(1).rows(1).slots(64).pages(2);
        let options = Options { max, ..Options::default() };
        let planned = Planned::new(&model, None, &options, (64, None, (None, None)), vec![1]).unwrap();
        let largest = gguf.tensors().iter().max_by_key(|tensor| gguf.tensor_bytes(tensor).len()).unwrap();
        let bytes = gguf.tensor_bytes(largest).len();
        for (limit, fits) in [(bytes, true), (bytes - 1, false)] {
            let mut device = NullDevice::with_largest_buffer(limit);
            let go_on = &mut |_| ControlFlow::Continue(());
            let loaded = load(&mut device, &gguf, &planned, None, go_on);
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

//! Computes the memory that a model needs on a device, before it is loaded.

pub(crate) mod before;
pub(crate) mod dry;
pub(crate) mod experts;
pub(crate) mod layers;
pub(crate) mod need;
pub(crate) mod open;
pub(crate) mod search;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use weft_device::{BufferId, Device, Packing, Side, SourceText};
use weft_fuse::Options;
use weft_ir::Sizes;
use weft_models::ModelGraph;

use crate::devices::machines::cost_model;
use crate::error::Error;
use crate::fit::dry::Dry;
use crate::fit::need::MemoryNeed;
use crate::options::RuntimeOptions;
use crate::planned::Planned;
use crate::sizes::Room;

/// Computes the memory that a model needs on a device, with these options. The device and threads of `options` are ignored.
///
/// # Errors
/// If an option is not valid for the model, or the model cannot be compiled.
pub fn memory_need(
    model: &ModelGraph,
    device: &dyn Device,
    options: &RuntimeOptions,
) -> Result<MemoryNeed, Error> {
    let room = Room::of(options, model, &device.caps().hardware)?;
    let costs = cost_model(&device.caps().hardware, options.device_folder());
    let switches = options.switches.clone();
    let compile = Options { max: room.max, switches, costs, ..Options::default() };
    of(&Planned::of_all_steps(model, None, &compile, &room)?, &room.max, device)
}

/// A device, as far as the memory of a model depends on it.
pub(crate) struct On<'a> {
    name: &'a str,
    free: Option<u64>,
    packing: Option<&'a dyn Packing>,
    text: Option<&'a dyn SourceText>,
}

impl<'a> On<'a> {
    /// A device that is one.
    pub(crate) fn device(device: &'a dyn Device) -> On<'a> {
        let caps = device.caps();
        On { name: &caps.name, free: device.free_memory(), packing: caps.packing, text: device.text() }
    }
}

/// The memory that the parts of a model need on each of two devices that are one; none if the device is one.
pub(crate) fn of_divided(
    planned: &Planned,
    max: &Sizes,
    device: &mut dyn Device,
) -> Result<Vec<MemoryNeed>, Error> {
    // Weights are laid out in one way for both.
    let packing = device.caps().packing;
    let Some(placement) = device.placement() else { return Ok(Vec::new()) };
    let on = |side| On {
        name: placement.name_of(side),
        free: placement.free_memory_of(side),
        packing,
        text: placement.text_of(side),
    };
    Side::ALL.map(|side| of_sides(planned, max, &on(side), side)).into_iter().collect()
}

/// The memory that plans for steps of up to `max` need.
pub(crate) fn of(planned: &Planned, max: &Sizes, device: &dyn Device) -> Result<MemoryNeed, Error> {
    Ok(of_all(planned, max, &On::device(device))?.0)
}

/// The memory that plans for steps of up to `max` need on a device, and the linked model.
fn of_all(planned: &Planned, max: &Sizes, on: &On<'_>) -> Result<(MemoryNeed, Dry), Error> {
    let dry = Dry::new(planned, max, on.packing)?;
    let plain = planned.plain.as_ref().map(|plain| Dry::new(plain, max, on.packing)).transpose()?;
    let linked = || std::iter::once(&dry).chain(&plain);
    let programs = linked().flat_map(|dry| &dry.classes).flat_map(|class| {
        class.all_programs().chain(class.predictor.as_ref().map(|predictor| &predictor.program))
    });
    let weights = |id| dry.weights.get(&id).copied();
    let scratch = on.text.map(|text| programs.map(|program| text.scratch_bytes(program, &weights)));
    let values: u64 = linked().map(|dry| dry.value_bytes).sum();
    let need = MemoryNeed {
        device: on.name.to_string(),
        tokens: max.slots,
        weights: dry.weight_bytes,
        cache: dry.cache_bytes,
        states: dry.state_bytes,
        slots: planned.states.unwrap_or(0),
        values: values + scratch.map_or(0, |each| each.sum()),
        free: on.free,
    };
    Ok((need, dry))
}

/// The memory that the segments on one of two sides need on its device.
pub(crate) fn of_sides(planned: &Planned, max: &Sizes, on: &On<'_>, side: Side) -> Result<MemoryNeed, Error> {
    let (all, dry) = of_all(planned, max, on)?;
    let own = dry.segments.iter().zip(&planned.sides).filter(|(_, of)| **of == side).map(|(own, _)| own);
    let (others, slots) = &dry.streamed;
    let others = (others.clone(), [0; 2]);
    let mut need = of_segments(own.chain(std::iter::once(&others)), &dry, &all);
    if side == Side::First {
        need.weights += slots;
    }
    Ok(need)
}

/// The memory that some segments need, of a model that needs `all`.
fn of_segments<'a>(
    segments: impl Iterator<Item = &'a (Vec<BufferId>, [u64; 2])>,
    dry: &Dry,
    all: &MemoryNeed,
) -> MemoryNeed {
    let (mut ids, [mut cache, mut states]) = (BTreeSet::new(), [0, 0]);
    for (own, [rows, slots]) in segments {
        ids.extend(own.iter().copied());
        cache += rows;
        states += slots;
    }
    let weights = ids.iter().filter_map(|id| dry.weights.get(id)).sum();
    MemoryNeed { weights, cache, states, ..all.clone() }
}

/// The memory that the last layers of a model need with the head, for each number of them from all down to none.
pub(crate) fn of_last_layers(
    planned: &Planned,
    max: &Sizes,
    layers: usize,
    device: &dyn Device,
) -> Result<Vec<MemoryNeed>, Error> {
    let (all, dry) = of_all(planned, max, &On::device(device))?;
    let part = |first_layer: usize| {
        let first = planned.sections.before_layer(&planned.segments, first_layer);
        of_segments(dry.segments[first..].iter(), &dry, &all)
    };
    // All layers include the embedding, which has the second device if there is one.
    Ok(std::iter::once(all.clone()).chain((1..=layers).map(part)).collect())
}

/// Checks that a model's plans fit in a device's free memory, if the device knows how much there is.
///
/// # Errors
/// [`Error::Memory`] if they do not.
pub(crate) fn check(planned: &Planned, max: &Sizes, device: &dyn Device) -> Result<(), Error> {
    if device.free_memory().is_none() {
        return Ok(());
    }
    let need = of(planned, max, device)?;
    if need.missing() > 0 { Err(Error::Memory(Box::new(need))) } else { Ok(()) }
}

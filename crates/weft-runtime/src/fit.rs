//! Computes the memory that a model needs on a device, before it is loaded.

pub(crate) mod dry;
pub(crate) mod layers;
pub(crate) mod need;

use std::collections::BTreeSet;

use weft_device::{BufferId, Device};
use weft_fuse::Options;
use weft_ir::Sizes;
use weft_models::ModelGraph;

use crate::compile::Planned;
use crate::devices::machines::cost_model;
use crate::error::Error;
use crate::fit::dry::Dry;
use crate::fit::need::MemoryNeed;
use crate::options::RuntimeOptions;
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

/// The memory that plans for steps of up to `max` need.
fn of(planned: &Planned, max: &Sizes, device: &dyn Device) -> Result<MemoryNeed, Error> {
    Ok(of_all(planned, max, device)?.0)
}

/// The same, and the model as it is linked.
fn of_all(planned: &Planned, max: &Sizes, device: &dyn Device) -> Result<(MemoryNeed, Dry), Error> {
    let dry = Dry::new(planned, max, device.caps().packing)?;
    let programs = dry.classes.iter().flat_map(|class| {
        class.all_programs().chain(class.predictor.as_ref().map(|predictor| &predictor.program))
    });
    let weights = |id| dry.weights.get(&id).copied();
    let scratch = device.text().map(|text| programs.map(|program| text.scratch_bytes(program, &weights)));
    let need = MemoryNeed {
        device: device.caps().name.clone(),
        tokens: max.slots,
        weights: dry.weight_bytes,
        cache: dry.cache_bytes,
        states: dry.state_bytes,
        slots: planned.states.unwrap_or(0),
        values: dry.value_bytes + scratch.map_or(0, |each| each.sum()),
        free: device.free_memory(),
    };
    Ok((need, dry))
}

/// The memory that the last layers of a model need with the head, for each number of them from all down to none.
pub(crate) fn of_last_layers(
    planned: &Planned,
    max: &Sizes,
    layers: usize,
    device: &dyn Device,
) -> Result<Vec<MemoryNeed>, Error> {
    let (all, dry) = of_all(planned, max, device)?;
    let part = |first_layer: usize| {
        let first = planned.sections.before_layer(&planned.segments, first_layer);
        let segments = &dry.segments[first..];
        let ids: BTreeSet<BufferId> = segments.iter().flat_map(|(ids, _)| ids.iter().copied()).collect();
        let weights = ids.iter().filter_map(|id| dry.weights.get(id)).sum();
        let [mut cache, mut states] = [0, 0];
        for (_, [rows, slots]) in segments {
            cache += rows;
            states += slots;
        }
        MemoryNeed { weights, cache, states, ..all.clone() }
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

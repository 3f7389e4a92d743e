//! Linking a model without a device: the programs that it would run, and the memory that it would need.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_device::{BufferId, Device, Instance, NullDevice, Packing};
use weft_ir::{Sizes, StateKind};
use weft_kern::{Buffer, Format, Source};

use crate::compile::{Class, State, bind_states, class, inputs};
use crate::error::Error;
use crate::planned::Planned;
use crate::plans::slots::SlotBuffers;
use crate::plans::{offload, streamed};

/// A model, linked without a device.
#[derive(Debug)]
pub(crate) struct Dry {
    /// The programs of each class of steps, as a device would compile them.
    pub(crate) classes: Vec<Class>,
    /// The buffers that hold weights, with their bytes in the layout of a device.
    pub(crate) weights: BTreeMap<BufferId, u64>,
    /// Bytes of all weights in that layout.
    pub(crate) weight_bytes: u64,
    /// Bytes of the KV cache.
    pub(crate) cache_bytes: u64,
    /// Bytes of states of whole sequences.
    pub(crate) state_bytes: u64,
    /// The weights of each segment, and the bytes of its part of the KV cache and of states of whole sequences.
    pub(crate) segments: Vec<(Vec<BufferId>, [u64; 2])>,
    /// Bytes of all other buffers: a step's inputs, and values between kernels.
    pub(crate) value_bytes: u64,
    /// If offloaded experts are streamed: the other weights of their segments, which both devices have, and the bytes of the slots for
    /// those that are read in turn.
    pub(crate) streamed: (Vec<BufferId>, u64),
}

impl Dry {
    /// Links plans for steps of up to `max`, for a device that packs weights like this.
    ///
    /// # Errors
    /// If plans do not fit together.
    pub(crate) fn new(planned: &Planned, max: &Sizes, packing: Option<&dyn Packing>) -> Result<Dry, Error> {
        let mut device = NullDevice::default();
        let mut inputs = inputs(&mut device, max, planned.window.as_ref(), planned.optional())?;
        let slots = planned.slots.map(|layout| SlotBuffers::new(&mut device, layout, max)).transpose()?;
        inputs.extend(slots.iter().flat_map(SlotBuffers::inputs));
        let kept = SlotBuffers::kept(slots.as_ref(), &planned.segments);
        let (mut tensors, mut states) = (BTreeMap::new(), BTreeMap::new());
        let mut weights = BTreeMap::new();
        let (mut unpacked_bytes, mut cache_bytes, mut state_bytes) = (0, 0, 0);
        let mut bound = Vec::with_capacity(planned.segments.len());
        let mut in_segments = Vec::with_capacity(planned.segments.len());
        let stacks =
            if planned.streamed.is_some() { streamed::stacks(&planned.segments) } else { Vec::new() };
        let mut on_both = Vec::new();
        for (i, segment) in planned.segments.iter().enumerate() {
            let mut own = BTreeMap::new();
            let plans = planned.fusions.iter().map(|fusions| &fusions[i].plan);
            for (name, buffer) in plans.flat_map(|plan| plan.buffers.iter()).filter_map(weight) {
                if own.contains_key(name) {
                    continue;
                }
                // A parameter that is computed has no name in the file. The first matrices of a stack are a weight of their own.
                let in_file = segment.weights.iter().find(|(own, _)| own == name);
                let first = offload::first_matrices(&segment.graph).any(|(own, _)| own == name);
                let key =
                    in_file.map_or((name, Some(i), first), |(_, tensor)| (tensor.as_str(), None, first));
                let id = match tensors.get(&key) {
                    Some(known) => *known,
                    None => {
                        let bytes = buffer.bytes(max).unwrap_or(usize::MAX);
                        let id = device.alloc(bytes)?;
                        unpacked_bytes += bytes as u64;
                        weights.insert(id, packed_bytes(buffer, packing).unwrap_or(bytes as u64));
                        tensors.insert(key, id);
                        id
                    }
                };
                own.insert(name.to_string(), id);
            }
            if stacks.iter().any(|(segment, _)| *segment == i) {
                let is_stack = |name: &str| stacks.iter().any(|(of, stack)| *of == i && stack.own == name);
                on_both.extend(own.iter().filter(|(name, _)| !is_stack(name)).map(|(_, id)| *id));
            }
            let (before, ids) = (device.bytes(), own.values().copied().collect());
            bound.push((own, bind_states(&mut device, segment, max, &mut states)?));
            let all = (device.bytes() - before) as u64;
            let slots = slot_bytes(&states) * planned.states.unwrap_or(0) as u64 - state_bytes;
            cache_bytes += all - slots;
            state_bytes += slots;
            in_segments.push((ids, [all - slots, slots]));
        }
        let mut classes = Vec::with_capacity(planned.steps.len());
        for (&tokens, fusions) in planned.steps.iter().zip(&planned.fusions) {
            let parts = fusions.iter().zip(&bound).zip(planned.segments.iter().zip(&kept));
            let instances = parts.map(|((fusion, (weights, states)), (segment, kept))| Instance {
                plan: Arc::clone(&fusion.plan),
                weights: weights.clone(),
                states: states.clone(),
                columns: segment.columns.iter().cloned().collect(),
                kept: kept.clone(),
                beside: offload::is_offloaded(&segment.graph),
            });
            let instances: Vec<Instance> = instances.collect();
            classes.push(class(
                &mut device,
                (tokens, planned.short_contexts),
                &instances,
                planned.sections,
                &inputs,
            )?);
        }
        let value_bytes = device.bytes() as u64 - unpacked_bytes - cache_bytes - state_bytes;
        let weight_bytes = weights.values().sum();
        Ok(Dry {
            classes,
            weights,
            weight_bytes,
            cache_bytes,
            state_bytes,
            segments: in_segments,
            value_bytes,
            streamed: (on_both, streamed::slot_bytes(&stacks, packing)),
        })
    }
}

/// The bytes of a slot: a row of every state of whole sequences.
fn slot_bytes(states: &BTreeMap<String, State>) -> u64 {
    let of_sequences = states.values().filter(|state| state.kind == StateKind::PerSequence);
    of_sequences.map(|state| state.row_bytes as u64).sum()
}

/// A plan's buffer with its name, if it is a weight.
fn weight(buffer: &Buffer) -> Option<(&str, &Buffer)> {
    match &buffer.source {
        Source::Weight(name) => Some((name, buffer)),
        _ => None,
    }
}

/// Bytes of a weight in tiles, if it has any.
pub(crate) fn packed_bytes(buffer: &Buffer, packing: Option<&dyn Packing>) -> Option<u64> {
    let Format::Ggml(ty) = buffer.format else { return None };
    let row_len = buffer.shape.last()?;
    let tile = packing?.tile(ty, row_len)?;
    let rows = buffer.shape.known_count()? / row_len.max(1);
    Some(tile.bytes_of(rows)? as u64)
}

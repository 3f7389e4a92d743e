//! Experts in slots: those that tokens choose often take the places of those that are chosen least.
//!
//! Between two steps, the choices of the one before are counted, experts that have arrived in their slots are entered in the tables, and
//! others set out. An expert that is on its way, or has left its slot, is computed by the CPU. No table changes within a step, and no
//! placement changes a bit.

use std::ops::Range;

use weft_device::{Device, RowsCopied};
use weft_models::Segment;

use crate::compile::Shared;
use crate::devices::uses::KeptUses;
use crate::error::Error;
use crate::plans::offload::before_layer;
use crate::plans::slots::{SlotBuffers, SlotLayout};
use crate::weights::InSlots;

/// The most tokens of a step whose choices are counted: longer ones choose most experts.
const COUNTED: usize = 32;

/// Copies of a step take this many seconds at most, beside its computation.
const COPYING: f64 = 0.5e-3;

/// How much more an expert was chosen lately than the one whose slot it takes: else those that are chosen as often as each other would
/// change places all the time.
const MORE: f32 = 1.5;

/// What a choice counts for after a step, compared with a new one.
const KEPT: f32 = 0.97;

/// The counts at which all are made smaller.
const LARGE: f32 = 1e20;

/// Which experts are in slots.
#[derive(Debug)]
pub(crate) struct ExpertSlots {
    buffers: SlotBuffers,
    layers: Vec<Layer>,
    /// The tables, and whether the device has others: it gets both, or computes no step.
    resident: Vec<i32>,
    offloaded: Vec<i32>,
    changed: bool,
    /// What a choice of the next step counts for.
    count: f32,
    /// The most experts that set out after a step.
    most: usize,
    /// The tokens of the last step, if its choices are known.
    tokens: usize,
    /// Those of a layer, as bytes.
    bytes: Vec<u8>,
    /// Experts that could set out: what they count more than those whose slots they would take, the layer, and the expert.
    wanted: Vec<(f32, usize, usize)>,
    /// Those that do: the layer, the slot and the expert.
    leaving: Vec<(usize, usize, usize)>,
    /// A table, as bytes.
    table: Vec<u8>,
    /// The rows of experts without slots.
    rows: Vec<Range<usize>>,
    used: SlotUse,
    /// Where counts are kept for the next run.
    kept: Option<KeptUses>,
}

/// How often experts were in slots.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SlotUse {
    /// Experts that tokens chose, in steps whose choices are counted.
    pub chosen: u64,
    /// Those of them that were in slots.
    pub found: u64,
    /// Bytes that were copied to slots.
    pub copied: u64,
}

/// A layer.
#[derive(Debug)]
struct Layer {
    stacks: Vec<InSlots>,
    /// The expert in each slot.
    has: Vec<Option<usize>>,
    /// How often each expert was chosen lately.
    counts: Vec<f32>,
    /// The slot that an expert is on its way to, and the expert.
    coming: Option<(usize, usize)>,
}

impl ExpertSlots {
    /// The experts that the last run used most in slots, else the first ones, as they were loaded. `None` if the model has none. `kept` is
    /// asked where the counts of a layer's experts are kept, only if there are slots: it identifies the model, which reads parts of it.
    ///
    /// # Errors
    /// Those of the device.
    pub(crate) fn new(
        device: &mut dyn Device,
        shared: &Shared,
        segments: &[Segment],
        kept: impl FnOnce(usize) -> Option<KeptUses>,
    ) -> Result<Option<ExpertSlots>, Error> {
        let Some(buffers) = shared.slots else { return Ok(None) };
        let SlotLayout { layers, experts, slots, chosen } = buffers.layout;
        let stacks = shared.in_slots(segments);
        if stacks.len() != layers {
            return Ok(None);
        }
        let rate = device.placement().map(|placement| placement.rate()).transpose()?.flatten().unwrap_or(0.0);
        let of_expert = stacks.first().map_or(0, |layer| layer.iter().map(bytes).sum::<u64>());
        let most = (rate * COPYING / of_expert.max(1) as f64).round().clamp(1.0, layers as f64);
        let layer = |stacks| Layer {
            stacks,
            has: (0..slots).map(Some).collect(),
            counts: vec![0.0; experts],
            coming: None,
        };
        let none = experts as i32;
        let mut all = ExpertSlots {
            layers: stacks.into_iter().map(layer).collect(),
            resident: vec![none; buffers.layout.table()],
            offloaded: vec![none; buffers.layout.table()],
            changed: true,
            count: 1.0,
            most: most as usize,
            tokens: 0,
            bytes: vec![0; 4 * COUNTED * chosen],
            wanted: Vec::with_capacity(layers * COUNTED * chosen),
            leaving: Vec::with_capacity(layers),
            table: Vec::with_capacity(4 * buffers.layout.table()),
            rows: Vec::with_capacity(experts),
            used: SlotUse::default(),
            kept: kept(experts),
            buffers,
        };
        for layer in 0..layers {
            (0..experts).for_each(|expert| all.enter(layer, expert, (expert < slots).then_some(expert)));
        }
        all.begin_as_kept(device)?;
        all.write(device)?;
        Ok(Some(all))
    }

    /// Brings the experts into slots that the last run used most.
    fn begin_as_kept(&mut self, device: &mut dyn Device) -> Result<(), Error> {
        let counts = self.kept.as_ref().map(KeptUses::read).unwrap_or_default();
        for (layer, counts) in counts.into_iter().enumerate().take(self.layers.len()) {
            let slots = self.layers[layer].has.len();
            let mut best: Vec<usize> = (0..counts.len()).filter(|expert| counts[*expert] > 0.0).collect();
            best.sort_by(|a, b| counts[*b].total_cmp(&counts[*a]));
            best.truncate(slots);
            self.layers[layer].counts = counts;
            let (there, mut missing): (Vec<usize>, Vec<usize>) =
                best.into_iter().partition(|expert| *expert < slots);
            for slot in (0..slots).filter(|slot| !there.contains(slot)) {
                let Some(expert) = missing.pop() else { break };
                if let Some(before) = self.layers[layer].has[slot].replace(expert) {
                    self.enter(layer, before, None);
                }
                self.copy(device, (layer, slot, expert))?;
                self.enter(layer, expert, Some(slot));
            }
            for stack in &self.layers[layer].stacks {
                if let Some(streaming) = device.streaming() {
                    streaming.wait_for(stack.slots)?;
                }
            }
            self.stream_others(device, layer)?;
        }
        Ok(())
    }

    /// How often experts were in slots so far.
    pub(crate) fn used(&self) -> SlotUse {
        self.used
    }

    /// Notes that a step of so many tokens begins. `counts` if the CPU computes offloaded experts in it.
    pub(crate) fn begins(&mut self, tokens: usize, counts: bool) {
        self.tokens = if counts && tokens <= COUNTED { tokens } else { 0 };
    }

    /// Prepares the next step, when the one before has been computed.
    ///
    /// # Errors
    /// Those of the device.
    pub(crate) fn next_step(&mut self, device: &mut dyn Device) -> Result<(), Error> {
        self.enter_arrived(device)?;
        self.wanted.clear();
        if self.tokens > 0 {
            self.count(device)?;
            self.tokens = 0;
        }
        self.choose();
        for i in 0..self.leaving.len() {
            self.stream_others(device, self.leaving[i].0)?;
        }
        if self.changed {
            self.write(device)?;
        }
        let mut done = Ok(());
        for i in 0..self.leaving.len() {
            // Whether or not the one before has.
            done = done.and(self.set_out(device, self.leaving[i]));
        }
        done
    }

    /// Enters an expert in the tables: with its slot, or as one that has none.
    fn enter(&mut self, layer: usize, expert: usize, slot: Option<usize>) {
        let none = self.buffers.layout.experts;
        let at = before_layer(none, layer) + expert;
        self.changed = true;
        self.resident[at] = slot.unwrap_or(none) as i32;
        self.offloaded[at] = slot.map_or(expert, |_| none) as i32;
    }

    /// Writes the tables to the device.
    fn write(&mut self, device: &mut dyn Device) -> Result<(), Error> {
        for (buffer, table) in
            [(self.buffers.resident, &self.resident), (self.buffers.offloaded, &self.offloaded)]
        {
            self.table.clear();
            self.table.extend(table.iter().flat_map(|place| place.to_le_bytes()));
            device.write(buffer, 0, &self.table)?;
        }
        self.changed = false;
        Ok(())
    }

    /// Enters the experts that have arrived in their slots.
    fn enter_arrived(&mut self, device: &mut dyn Device) -> Result<(), Error> {
        for layer in 0..self.layers.len() {
            let Some((slot, expert)) = self.layers[layer].coming else { continue };
            let Some(streaming) = device.streaming() else { return Ok(()) };
            let mut all = true;
            for stack in &self.layers[layer].stacks {
                all &= streaming.is_replaced(stack.slots)?;
            }
            if !all {
                continue;
            }
            self.layers[layer].coming = None;
            self.layers[layer].has[slot] = Some(expert);
            self.enter(layer, expert, Some(slot));
            self.stream_others(device, layer)?;
        }
        Ok(())
    }

    /// Counts what the last step chose, and notes which other experts would be better in slots.
    fn count(&mut self, device: &mut dyn Device) -> Result<(), Error> {
        let SlotBuffers { layout: SlotLayout { experts, chosen, .. }, of_layer, .. } = self.buffers;
        let bytes = 4 * self.tokens * chosen;
        for layer in 0..self.layers.len() {
            device.read(self.buffers.chosen, layer * of_layer, &mut self.bytes[..bytes])?;
            let first = before_layer(experts, layer);
            for id in self.bytes[..bytes].chunks_exact(4) {
                let id = i32::from_le_bytes([id[0], id[1], id[2], id[3]]);
                let Some(expert) = usize::try_from(id).ok().filter(|id| *id < experts) else { continue };
                self.layers[layer].counts[expert] += self.count;
                self.used.chosen += 1;
                if (self.resident[first + expert] as usize) < experts {
                    self.used.found += 1;
                } else if self.layers[layer].coming.is_none() {
                    self.wanted.push((0.0, layer, expert));
                }
            }
        }
        self.count /= KEPT;
        if self.count > LARGE {
            let counts = self.layers.iter_mut().flat_map(|layer| &mut layer.counts);
            counts.for_each(|count| *count /= LARGE);
            self.count /= LARGE;
        }
        Ok(())
    }

    /// Chooses the experts that set out, at most one of a layer. Those whose slots they take leave the tables.
    fn choose(&mut self) {
        self.leaving.clear();
        for (more, layer, expert) in &mut self.wanted {
            let layer = &self.layers[*layer];
            let least = layer.least().map_or(f32::INFINITY, |(count, _)| count);
            *more = layer.counts[*expert] - MORE * least;
        }
        self.wanted.retain(|(more, ..)| *more > 0.0);
        self.wanted.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for i in 0..self.wanted.len() {
            let (_, layer, expert) = self.wanted[i];
            let free = self.leaving.len() < self.most && self.leaving.iter().all(|(of, ..)| *of != layer);
            let Some((_, slot)) = self.layers[layer].least().filter(|_| free) else { continue };
            if let Some(least) = self.layers[layer].has[slot].take() {
                self.enter(layer, least, None);
            }
            self.leaving.push((layer, slot, expert));
        }
    }

    /// Begins to copy an expert to a slot, after the tables were written. If a copy fails, the slot stays empty.
    fn set_out(
        &mut self,
        device: &mut dyn Device,
        (layer, slot, expert): (usize, usize, usize),
    ) -> Result<(), Error> {
        self.copy(device, (layer, slot, expert))?;
        self.used.copied += self.layers[layer].stacks.iter().map(bytes).sum::<u64>();
        self.layers[layer].coming = Some((slot, expert));
        Ok(())
    }

    /// Begins to copy an expert of a layer to a slot.
    fn copy(
        &self,
        device: &mut dyn Device,
        (layer, slot, expert): (usize, usize, usize),
    ) -> Result<(), Error> {
        for InSlots { weight, rows, slots, .. } in &self.layers[layer].stacks {
            let copied = RowsCopied { from: expert * rows..(expert + 1) * rows, to: slot * rows };
            if let Some(streaming) = device.streaming() {
                streaming.replace(*slots, weight, &[copied])?;
            }
        }
        Ok(())
    }

    /// In long steps, those that have no slot are read in turn.
    fn stream_others(&mut self, device: &mut dyn Device, layer: usize) -> Result<(), Error> {
        let Some(placement) = device.placement() else { return Ok(()) };
        let experts = self.buffers.layout.experts;
        let first = before_layer(experts, layer);
        let others = &self.offloaded[first..first + experts];
        for InSlots { rows, streamed, .. } in &self.layers[layer].stacks {
            let Some(streamed) = streamed else { continue };
            self.rows.clear();
            for (expert, _) in others.iter().enumerate().filter(|(_, place)| (**place as usize) < experts) {
                let own = expert * rows..(expert + 1) * rows;
                match self.rows.last_mut().filter(|last| last.end == own.start) {
                    Some(last) => last.end = own.end,
                    None => self.rows.push(own),
                }
            }
            placement.stream_rows(*streamed, &self.rows)?;
        }
        Ok(())
    }
}

/// The next run begins with the experts that this one used most. If that cannot be kept, it begins with others.
impl Drop for ExpertSlots {
    fn drop(&mut self) {
        let Some(kept) = self.kept.as_ref().filter(|_| self.used.chosen > 0) else { return };
        let count = |count: &f32| count / self.count;
        let layers: Vec<Vec<f32>> =
            self.layers.iter().map(|layer| layer.counts.iter().map(count).collect()).collect();
        let _ = kept.write(&layers);
    }
}

impl Layer {
    /// The slot whose expert was chosen least lately, or that is empty, and that expert's count.
    fn least(&self) -> Option<(f32, usize)> {
        let count = |has: &Option<usize>| has.map_or(-1.0, |expert| self.counts[expert]);
        let all = self.has.iter().enumerate().map(|(slot, has)| (count(has), slot));
        all.min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// The bytes of an expert in a stack.
fn bytes(stack: &InSlots) -> u64 {
    let row = stack.weight.ty.row_bytes(stack.weight.row_len as u64).unwrap_or(0);
    row * stack.rows as u64
}

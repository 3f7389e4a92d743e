//! Experts in slots: which experts of a layer a device has is in tables, which may change between steps.
//!
//! A device multiplies by the experts that have slots, and the CPU by the others. The tables are inputs of a step; the experts that tokens
//! choose are kept until the next step, so that those that are chosen often get slots.

use std::collections::BTreeMap;

use weft_device::{BufferId, COLUMN_BYTES, Device, Region};
use weft_ir::{CHOSEN, OFFLOADED_IDS, RESIDENT_IDS, Sizes};
use weft_models::Segment;

use crate::error::Error;
use crate::plans::offload::{self, INDEX};

/// The layers whose experts are in slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SlotLayout {
    /// The number of these layers.
    pub(crate) layers: usize,
    /// The experts of a layer.
    pub(crate) experts: usize,
    /// The slots of a layer.
    pub(crate) slots: usize,
    /// The experts that a token chooses.
    pub(crate) chosen: usize,
}

impl SlotLayout {
    /// That of a model's segments. `None` if there are no slots, or layers differ.
    pub(crate) fn of(segments: &[Segment]) -> Option<SlotLayout> {
        let mut all: Option<SlotLayout> = None;
        for [before, offloaded] in segments.array_windows() {
            let Some(experts) = offload::columns(&offloaded.graph, OFFLOADED_IDS) else { continue };
            let chosen = offload::columns(&offloaded.graph, CHOSEN)?;
            let slots = offload::first_matrices(&before.graph).map(|(_, slots)| slots).min()?;
            let own = SlotLayout { layers: 1, experts, slots, chosen };
            let same = all.is_none_or(|all| SlotLayout { layers: 1, ..all } == own);
            all = Some(SlotLayout { layers: all.map_or(0, |all| all.layers) + 1, ..own });
            if !same {
                return None;
            }
        }
        all
    }

    /// The indices of a table of all layers.
    pub(crate) fn table(&self) -> usize {
        offload::before_layer(self.experts, self.layers)
    }
}

/// The tables, and what the last step chose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotBuffers {
    pub(crate) layout: SlotLayout,
    /// For each expert of each layer, its slot.
    pub(crate) resident: BufferId,
    /// For each expert of each layer, its number if it has no slot.
    pub(crate) offloaded: BufferId,
    /// For each layer, the experts that each token of the last step chose.
    pub(crate) chosen: BufferId,
    /// The bytes of a layer in that.
    pub(crate) of_layer: usize,
}

impl SlotBuffers {
    /// Those for steps of these sizes.
    pub(crate) fn new(
        device: &mut dyn Device,
        layout: SlotLayout,
        max: &Sizes,
    ) -> Result<SlotBuffers, Error> {
        let of_layer = (INDEX * max.tokens * layout.chosen).next_multiple_of(COLUMN_BYTES);
        Ok(SlotBuffers {
            layout,
            resident: device.alloc(INDEX * layout.table())?,
            offloaded: device.alloc(INDEX * layout.table())?,
            chosen: device.alloc(of_layer * layout.layers)?,
            of_layer,
        })
    }

    /// The tables as inputs of a program.
    pub(crate) fn inputs(&self) -> [(String, Region); 2] {
        let table = |name: &str, buffer| {
            (name.to_string(), Region { buffer, offset: 0, values: self.layout.table() })
        };
        [table(RESIDENT_IDS, self.resident), table(OFFLOADED_IDS, self.offloaded)]
    }

    /// For each segment, where its choices are kept.
    pub(crate) fn kept(slots: Option<&SlotBuffers>, segments: &[Segment]) -> Vec<BTreeMap<String, Region>> {
        let mut layer = 0;
        let of = |segment: &Segment| {
            let chooses = segment.graph.outputs().iter().any(|(name, _)| name == CHOSEN);
            let own = slots.filter(|_| chooses).map(|slots| {
                let SlotBuffers { chosen: buffer, of_layer, .. } = *slots;
                let region = Region { buffer, offset: layer * of_layer, values: of_layer / INDEX };
                layer += 1;
                (CHOSEN.to_string(), region)
            });
            own.into_iter().collect()
        };
        segments.iter().map(of).collect()
    }
}

//! Models with states of whole sequences (linear attention): how many rows the states have.
//!
//! Families declare such a state with a row for every row of the KV cache. Here it gets a fixed number of rows, the slots, because a
//! row is large and stands for a whole sequence. Whoever fills the inputs of a step gives slots to
//! sequences and keeps snapshots.

use std::collections::BTreeSet;

use weft_ir::{Dim, Graph, Op, StateKind};
use weft_kern::Format;
use weft_models::{ModelGraph, Segment};

use crate::error::Error;
use crate::layout::{HELD_SLOTS, PAGE};
use crate::plans::rebuilt::{changed, rebuilt};

/// The snapshots that the prefix cache has room for, for each sequence of full length.
const SNAPSHOTS: usize = 8;

/// The fewest snapshots, however large they are: the end of a prompt, and that of its reply.
const FEWEST_SNAPSHOTS: usize = 2;

/// The bytes that snapshots may take even if the rest of the KV cache takes less.
const SNAPSHOT_BYTES: u64 = 512 << 20;

/// The slots for so many sequences of a model, whose KV cache has so many pages. `None` if it has no states of whole sequences.
pub(crate) fn slots(model: &ModelGraph, sequences: usize, pages: usize) -> Option<usize> {
    let (slot, row) = bytes(&model.segments);
    if slot == 0 {
        return None;
    }
    let cache = row.saturating_mul((pages * PAGE) as u64);
    let fit = usize::try_from(cache.max(SNAPSHOT_BYTES) / slot).unwrap_or(usize::MAX);
    let snapshots = sequences.saturating_mul(SNAPSHOTS).min(fit).max(FEWEST_SNAPSHOTS);
    Some(sequences.saturating_mul(HELD_SLOTS).saturating_add(snapshots))
}

/// The bytes of a row of all states of whole sequences, and of a row of all others.
fn bytes(segments: &[Segment]) -> (u64, u64) {
    let (mut known, mut slot, mut row) = (BTreeSet::new(), 0u64, 0u64);
    for segment in segments {
        for node in segment.graph.nodes() {
            let Op::State { name, kind } = &node.op else { continue };
            let in_model = segment.states.iter().find(|(own, _)| own == name);
            if in_model.is_some_and(|(_, in_model)| known.insert(in_model)) {
                let values = node.ty.shape.known_count();
                let bytes = values.and_then(|n| Format::Ggml(node.ty.dtype).bytes(n)).unwrap_or(usize::MAX);
                let sum = if *kind == StateKind::PerSequence { &mut slot } else { &mut row };
                *sum = sum.saturating_add(bytes as u64);
            }
        }
    }
    (slot, row)
}

/// Returns whether a graph has states of whole sequences.
pub fn has_states(graph: &Graph) -> bool {
    let is_state = |op: &Op| matches!(op, Op::State { kind: StateKind::PerSequence, .. });
    graph.nodes().iter().any(|node| is_state(&node.op))
}

/// The segments of a model whose states of whole sequences have so many rows.
///
/// # Errors
/// If a graph cannot be built again.
pub(crate) fn segments(segments: &[Segment], slots: usize) -> Result<Vec<Segment>, Error> {
    changed(
        segments,
        |segment| has_states(&segment.graph),
        |graph| {
            rebuilt(graph, |node, op| match op {
                Op::State { kind: StateKind::PerSequence, .. }
                    if node.ty.shape.dims().first() == Some(&Dim::S) =>
                {
                    node.ty.shape.with(0, slots)
                }
                _ => node.ty.shape.clone(),
            })
        },
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use weft_quant::GgmlType;

    use super::*;
    use crate::model::Model;

    #[test]
    fn there_are_as_many_slots_as_sequences_and_snapshots_need() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/qwen35-tiny-q4_k_m.gguf");
        let model = Model::open(&path, GgmlType::F16).unwrap();
        let (slot, row) = bytes(&model.graph().segments);
        assert!(slot > row && row > 0, "{slot}, {row}");
        assert_eq!(slots(model.graph(), 3, 24), Some(3 * (HELD_SLOTS + SNAPSHOTS)));
        let plain = model.change(|model| model.segments.retain(|segment| !has_states(&segment.graph)));
        assert_eq!(slots(plain.graph(), 3, 24), None);
    }
}

//! Layers whose experts are computed by two devices at the same time: the first ones by the device, the others by the CPU.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_device::{COLUMN_BYTES, Packing, Side};
use weft_ir::{Graph, OFFLOADED, OFFLOADED_IDS, Offload, Op, RESIDENT_IDS, Resident, Type, offload};
use weft_models::Segment;

use crate::sizes::OffloadedExperts;

/// The three graphs of a layer.
type Cut = [Arc<Graph>; 3];

/// The segments of a model, of which the first ones with experts are cut in three: with the resident experts, with the offloaded ones, and
/// the rest.
pub(crate) fn segments(
    segments: &[Segment],
    OffloadedExperts { layers, resident, in_slots, .. }: OffloadedExperts,
) -> Vec<Segment> {
    let resident = if in_slots { Resident::InSlots(resident) } else { Resident::First(resident) };
    let mut known: Vec<(&Arc<Graph>, Option<Cut>)> = Vec::new();
    let mut all = Vec::with_capacity(segments.len() + 2 * layers);
    let mut left = layers;
    for segment in segments {
        if left == 0 {
            all.push(segment.clone());
            continue;
        }
        let found = known.iter().find(|(graph, _)| Arc::ptr_eq(graph, &segment.graph));
        let cut = match found {
            Some((_, cut)) => cut.clone(),
            None => {
                let cut = offload(&segment.graph, resident);
                let cut =
                    cut.map(|Offload { before, offloaded, after }| [before, offloaded, after].map(Arc::new));
                known.push((&segment.graph, cut.clone()));
                cut
            }
        };
        match cut {
            None => all.push(segment.clone()),
            Some([before, offloaded, after]) => {
                let layer = layers - left;
                left -= 1;
                let named = |what: &str| format!("{} {what}", segment.name);
                all.push(part(segment, layer, before, segment.name.clone()));
                all.push(part(segment, layer, offloaded, named("offloaded experts")));
                all.push(part(segment, layer, after, named("sum of experts")));
            }
        }
    }
    all
}

/// The experts of a model that can be offloaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Experts {
    /// The layers that have experts.
    pub(crate) layers: usize,
    /// The most experts of a layer.
    pub(crate) count: usize,
    /// The first experts can be so many, or a multiple of it: then their rows end where a tile of packed rows does.
    pub(crate) step: usize,
}

impl Experts {
    /// Those of a model's segments. `None` if there are none.
    pub(crate) fn of(segments: &[Segment], packing: Option<&dyn Packing>) -> Option<Experts> {
        let mut seen: Vec<(&Arc<Graph>, bool)> = Vec::new();
        let mut all: Option<Experts> = None;
        for Segment { graph, .. } in segments {
            let known = seen.iter().find(|(known, _)| Arc::ptr_eq(known, graph)).map(|(_, can)| *can);
            let can = known.unwrap_or_else(|| offload(graph, Resident::First(0)).is_some());
            if can {
                let Experts { layers, count, step } = all.unwrap_or(Experts { layers: 0, count: 0, step: 1 });
                all = Some(Experts { layers: layers + 1, count, step });
            }
            if known.is_none() {
                seen.push((graph, can));
            }
            if known.is_some() || !can {
                continue;
            }
            for node in graph.nodes().iter().filter(|node| node.op == Op::SelectDot) {
                let Type { dtype, shape } = &graph.node(node.inputs[1]).ty;
                let axis = |i: usize| shape.dims().get(i).and_then(|dim| dim.known()).unwrap_or(1);
                let (count, rows) = (axis(0), axis(1));
                let Some(Experts { layers, count: most, step }) = all else { continue };
                let tile =
                    packing.and_then(|packing| packing.tile(*dtype, axis(2))).map_or(1, |tile| tile.rows);
                // Tiles have a power of two of rows, so the larger step is a multiple of the smaller one.
                let own = (1..=tile).find(|step| (rows * step).is_multiple_of(tile)).unwrap_or(1);
                all = Some(Experts { layers, count: most.max(count), step: step.max(own) });
            }
        }
        all
    }
}

/// The side of a segment of a model with offloaded experts: the second if it computes these.
pub(crate) fn side(segment: &Segment) -> Side {
    if is_offloaded(&segment.graph) { Side::Second } else { Side::First }
}

/// Whether a graph computes offloaded experts.
pub(crate) fn is_offloaded(graph: &Graph) -> bool {
    graph.outputs().iter().any(|(name, _)| name == OFFLOADED)
}

/// For the weights of which a graph has only the first matrices, their names in the graph and the numbers of these.
pub(crate) fn first_matrices(graph: &Graph) -> impl Iterator<Item = (&str, usize)> {
    let all = graph.nodes().iter().filter(|node| node.op == Op::SelectRange { from: 0 });
    let selects = all.filter(|_| !is_offloaded(graph));
    selects.filter_map(|node| {
        let stack = graph.node(node.inputs[1]);
        let Op::Weight { name } = &stack.op else { return None };
        Some((name.as_str(), stack.ty.shape.dims().first()?.known()?))
    })
}

/// The bytes of an index.
pub(crate) const INDEX: usize = 4;

/// The indices that come before those of a layer, in a table of all layers with so many experts each.
pub(crate) fn before_layer(experts: usize, layer: usize) -> usize {
    layer * experts.next_multiple_of(COLUMN_BYTES / INDEX)
}

/// The columns of an input of a graph.
pub(crate) fn columns(graph: &Graph, name: &str) -> Option<usize> {
    let is_it = |op: &Op| matches!(op, Op::Input { name: own } if own == name);
    graph.nodes().iter().find(|node| is_it(&node.op))?.ty.shape.last()
}

/// The tables that a graph reads, with the number of experts in each.
fn tables(graph: &Graph) -> impl Iterator<Item = (&'static str, usize)> {
    [RESIDENT_IDS, OFFLOADED_IDS].into_iter().filter_map(|name| Some((name, columns(graph, name)?)))
}

/// A part of a segment, which is number `layer` of those that are cut, with the weights and states that its graph names.
fn part(segment: &Segment, layer: usize, graph: Arc<Graph>, name: String) -> Segment {
    let names: BTreeSet<&str> = graph
        .nodes()
        .iter()
        .filter_map(|node| match &node.op {
            Op::Input { name } | Op::Weight { name } | Op::State { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    fn only<V: Clone>(all: &[(String, V)], names: &BTreeSet<&str>) -> Vec<(String, V)> {
        all.iter().filter(|(own, _)| names.contains(own.as_str())).cloned().collect()
    }
    let (weights, states) = (only(&segment.weights, &names), only(&segment.states, &names));
    let tables = tables(&graph).map(|(name, experts)| (name.into(), before_layer(experts, layer)));
    let columns = only(&segment.columns, &names).into_iter().chain(tables).collect();
    Segment { name, layer: segment.layer, graph: Arc::clone(&graph), weights, states, columns }
}

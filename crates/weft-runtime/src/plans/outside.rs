//! Layers whose experts are computed by two devices at the same time: the first ones by the device, the others by the CPU.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_device::{Packing, Side};
use weft_ir::{FAR, Graph, Op, Outside, Type, outside};
use weft_models::Segment;

/// The three graphs of a layer.
type Cut = [Arc<Graph>; 3];

/// The segments of a model, of which those with experts are cut in three: with the first `near` experts, with the others, and the rest.
pub(crate) fn segments(segments: &[Segment], near: usize) -> Vec<Segment> {
    let mut known: Vec<(&Arc<Graph>, Option<Cut>)> = Vec::new();
    let mut all = Vec::with_capacity(segments.len());
    for segment in segments {
        let found = known.iter().find(|(graph, _)| Arc::ptr_eq(graph, &segment.graph));
        let cut = match found {
            Some((_, cut)) => cut.clone(),
            None => {
                let cut = outside(&segment.graph, near);
                let cut = cut.map(|Outside { before, far, after }| [before, far, after].map(Arc::new));
                known.push((&segment.graph, cut.clone()));
                cut
            }
        };
        match cut {
            None => all.push(segment.clone()),
            Some([before, far, after]) => {
                let far_name = format!("{} outside", segment.name);
                let after_name = format!("{} joined", segment.name);
                all.push(part(segment, before, segment.name.clone()));
                all.push(part(segment, far, far_name));
                all.push(part(segment, after, after_name));
            }
        }
    }
    all
}

/// The experts of a model that can be on two devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Experts {
    /// The most experts of a layer.
    pub(crate) count: usize,
    /// The first experts can be so many, or a multiple of it: then their rows end where a tile of packed rows does.
    pub(crate) step: usize,
}

impl Experts {
    /// Those of a model's segments. `None` if no layer has experts that can be cut off.
    pub(crate) fn of(segments: &[Segment], packing: Option<&dyn Packing>) -> Option<Experts> {
        let mut seen: Vec<&Arc<Graph>> = Vec::new();
        let mut all: Option<Experts> = None;
        for Segment { graph, .. } in segments {
            if seen.iter().any(|known| Arc::ptr_eq(known, graph)) {
                continue;
            }
            seen.push(graph);
            if outside(graph, 0).is_none() {
                continue;
            }
            for node in graph.nodes().iter().filter(|node| node.op == Op::SelectDot) {
                let Type { dtype, shape } = &graph.node(node.inputs[1]).ty;
                let axis = |i: usize| shape.dims().get(i).and_then(|dim| dim.known()).unwrap_or(1);
                let (count, rows) = (axis(0), axis(1));
                let Experts { count: most, step } = all.unwrap_or(Experts { count: 0, step: 1 });
                let tile =
                    packing.and_then(|packing| packing.tile(*dtype, axis(2))).map_or(1, |tile| tile.rows);
                // Tiles have a power of two of rows, so the larger step is a multiple of the smaller one.
                let own = (1..=tile).find(|step| (rows * step).is_multiple_of(tile)).unwrap_or(1);
                all = Some(Experts { count: most.max(count), step: step.max(own) });
            }
        }
        all
    }
}

/// The side of a segment of which experts are outside: the second if it computes these.
pub(crate) fn side(segment: &Segment) -> Side {
    let far = segment.graph.outputs().iter().any(|(name, _)| name == FAR);
    if far { Side::Second } else { Side::First }
}

/// For the weights of which a graph has only the first matrices, their names in the graph and the numbers of these.
pub(crate) fn first_matrices(graph: &Graph) -> impl Iterator<Item = (&str, usize)> {
    let selects = graph.nodes().iter().filter(|node| node.op == Op::SelectRange { from: 0 });
    selects.filter_map(|node| {
        let stack = graph.node(node.inputs[1]);
        let Op::Weight { name } = &stack.op else { return None };
        Some((name.as_str(), stack.ty.shape.dims().first()?.known()?))
    })
}

/// A part of a segment: what its graph names.
fn part(segment: &Segment, graph: Arc<Graph>, name: String) -> Segment {
    let names: BTreeSet<&str> = graph
        .nodes()
        .iter()
        .filter_map(|node| match &node.op {
            Op::Input { name } | Op::Weight { name } | Op::State { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let only = |all: &[(String, String)]| -> Vec<(String, String)> {
        all.iter().filter(|(own, _)| names.contains(own.as_str())).cloned().collect()
    };
    let (weights, states) = (only(&segment.weights), only(&segment.states));
    let columns = segment.columns.iter().filter(|(own, _)| names.contains(own.as_str())).cloned().collect();
    Segment { name, layer: segment.layer, graph: Arc::clone(&graph), weights, states, columns }
}

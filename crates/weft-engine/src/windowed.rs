//! Layers with a sliding window that keep only their window in the KV cache.
//!
//! Families build all layers alike: states with a row for every token, of which attention sees the last. Where it takes less
//! memory, the graphs of layers with a window are changed: their states have a fixed number of rows, fewer than the others, and
//! where a token's row and its sequence's pages are in them, inputs of their own say. Nothing else changes, and no bit does.
//! [`Pages`](crate::pages::Pages) has the rest.

use std::sync::Arc;

use weft_ir::{Builder, Dim, Graph, Node, NodeId, Op, Shape, StateKind, Type};
use weft_models::Segment;

use crate::error::Error;
use crate::model::PAGE;
use crate::sizes::Window;

/// The inputs of a step that take the place of `slots` and `pages`.
pub(crate) const SLOTS: &str = "window_slots";
pub(crate) const PAGES: &str = "window_pages";

/// The segments of a model whose layers with a sliding window have as many rows in the KV cache as `window` says.
///
/// # Errors
/// If a graph cannot be built again.
pub(crate) fn segments(segments: &[Segment], window: &Window) -> Result<Vec<Segment>, Error> {
    changed(segments, |segment| segment.window().is_some(), |graph| windowed(graph, window.pages * PAGE))
}

/// The segments, with the graphs of some changed. Segments that share a graph share the changed one.
///
/// # Errors
/// Those of `change`.
pub(crate) fn changed(
    segments: &[Segment],
    applies: impl Fn(&Segment) -> bool,
    change: impl Fn(&Graph) -> Result<Graph, Error>,
) -> Result<Vec<Segment>, Error> {
    let mut known: Vec<(&Arc<Graph>, Arc<Graph>)> = Vec::new();
    let mut all = Vec::with_capacity(segments.len());
    for segment in segments {
        if !applies(segment) {
            all.push(segment.clone());
            continue;
        }
        let same = known.iter().find(|(graph, _)| Arc::ptr_eq(graph, &segment.graph));
        let graph = match same {
            Some((_, graph)) => Arc::clone(graph),
            None => {
                let graph = Arc::new(change(&segment.graph)?);
                known.push((&segment.graph, Arc::clone(&graph)));
                graph
            }
        };
        all.push(Segment { graph, ..segment.clone() });
    }
    Ok(all)
}

/// A graph whose operations and shapes are changed: `change` changes an operation in place, and returns the node's shape.
///
/// # Errors
/// If the changed graph is not sound.
pub(crate) fn rebuilt(graph: &Graph, change: impl Fn(&Node, &mut Op) -> Shape) -> Result<Graph, Error> {
    let mut builder = Builder::new(graph.name());
    let mut map: Vec<NodeId> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        let mut op = node.op.clone();
        let shape = change(node, &mut op);
        let inputs = node.inputs.iter().map(|input| map[input.index()]).collect();
        map.push(builder.push(op, inputs, Some(Type::new(node.ty.dtype, shape))));
    }
    graph.outputs().iter().for_each(|(name, id)| builder.output(name, map[id.index()]));
    builder.finish().map_err(|error| Error::Option(error.to_string()))
}

/// A graph with so many rows in its states, but for those of whole sequences.
fn windowed(graph: &Graph, rows: usize) -> Result<Graph, Error> {
    rebuilt(graph, |node, op| {
        match op {
            Op::Input { name } if name == "slots" => *name = SLOTS.into(),
            Op::Input { name } if name == "pages" => *name = PAGES.into(),
            Op::State { kind: StateKind::PerSequence, .. } => return node.ty.shape.clone(),
            Op::State { kind, .. } => *kind = StateKind::Window,
            _ => {}
        }
        // The rows of what is stored and of what is read from a state follow from the state.
        match node.ty.shape.dims().first() {
            Some(&Dim::S) => node.ty.shape.with(0, rows),
            _ => node.ty.shape.clone(),
        }
    })
}

//! Changing the graphs of a model's segments.

use std::sync::Arc;

use weft_ir::{Builder, Graph, Node, NodeId, Op, Shape, Type};
use weft_models::Segment;

use crate::error::Error;

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

//! What a model weighs and what a token of it reads, counted on its graphs.

use std::collections::BTreeSet;

use weft_ir::{Graph, NodeId, Op, Type};

use crate::ModelGraph;

/// The size of a model, and of the part of it that one token needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Parameters, those of a prediction head left out.
    pub parameters: u64,
    /// Bytes they are stored in.
    pub bytes: u64,
    /// Parameters that a token is computed with: of the experts only those it takes, of the embedding one row.
    pub active_parameters: u64,
    /// Bytes of weights that computing one token reads.
    pub active_bytes: u64,
    /// Bytes that a token of context takes in the KV states.
    pub kv_bytes: u64,
}

impl ModelGraph {
    /// Counts the model's weights and states.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        let mut counted = BTreeSet::new();
        for segment in &self.segments {
            let users = segment.graph.users();
            for (id, node) in segment.graph.iter() {
                match &node.op {
                    Op::Weight { name } => {
                        let all = values(&node.ty);
                        let tensor = segment.weights.iter().find(|(own, _)| own == name);
                        // Tied embeddings are one tensor in two segments.
                        if counted.insert(tensor.map(|(_, tensor)| tensor)) {
                            cost.parameters += all;
                            cost.bytes += bytes(&node.ty, all);
                        }
                        let read =
                            users[id.index()].iter().map(|user| values_read(&segment.graph, id, *user));
                        let read = read.max().unwrap_or(0);
                        cost.active_parameters += read;
                        cost.active_bytes += bytes(&node.ty, read);
                    }
                    Op::State { .. } => cost.kv_bytes += bytes(&node.ty, values(&node.ty)),
                    _ => {}
                }
            }
        }
        cost
    }
}

/// Values of a weight, or of a state per row. None of them can overflow: weights are tensors of a file.
fn values(ty: &Type) -> u64 {
    ty.shape.known_count().unwrap_or(0) as u64
}

/// Bytes of so many values, which are whole rows.
fn bytes(ty: &Type, values: u64) -> u64 {
    values / ty.dtype.block_len() as u64 * ty.dtype.block_bytes() as u64
}

/// How many values of `weight` its user reads for one token.
fn values_read(graph: &Graph, weight: NodeId, user: NodeId) -> u64 {
    let ty = &graph.node(weight).ty;
    let (all, node) = (values(ty), graph.node(user));
    let of_first_axis = |taken: usize| match ty.shape.dims().first().and_then(|n| n.known()) {
        Some(n) => all / n as u64 * taken as u64,
        None => all,
    };
    match &node.op {
        Op::Rows => of_first_axis(1),
        Op::SelectDot => of_first_axis(graph.node(node.inputs[2]).ty.shape.last().unwrap_or(1)),
        _ => all,
    }
}

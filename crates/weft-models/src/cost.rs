//! The size of a model and the memory traffic of a token, counted on the graphs.

use std::collections::BTreeSet;

use weft_ir::{Graph, NodeId, Op, StateKind, Type};

use crate::model::ModelGraph;

/// The size of a model, and of the part that one token uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// The number of parameters, without those of a multi-token prediction head.
    pub parameters: u64,
    /// The size of these parameters in the file, in bytes.
    pub bytes: u64,
    /// The number of parameters used for one token: only the chosen experts, and one row of the embedding.
    pub active_parameters: u64,
    /// The bytes of weights read for one token.
    pub active_bytes: u64,
    /// The bytes that one token takes in the KV cache.
    pub kv_bytes: u64,
    /// Those of them that are in layers with a sliding window.
    pub windowed_kv_bytes: u64,
    /// The most positions that a token sees in these layers; 0 if there are none.
    pub window: usize,
    /// The bytes of a sequence's states, whatever its length.
    pub state_bytes: u64,
    /// Those of them in which a step keeps rows of guesses, which other steps neither read nor write.
    pub kept_bytes: u64,
}

impl Cost {
    /// The bytes that a sequence of so many tokens needs in the KV cache, without its states: in layers with a sliding window,
    /// only those of the last positions.
    pub fn kv_bytes_of(&self, tokens: usize) -> u64 {
        let whole = (self.kv_bytes - self.windowed_kv_bytes).saturating_mul(tokens as u64);
        whole.saturating_add(self.windowed_kv_bytes.saturating_mul(tokens.min(self.window) as u64))
    }
}

impl ModelGraph {
    /// Computes the model's size and what one token uses of it.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        let (mut counted, mut states) = (BTreeSet::new(), BTreeSet::new());
        for segment in &self.segments {
            let (users, window) = (segment.graph.users(), segment.window());
            cost.window = cost.window.max(window.unwrap_or(0));
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
                    Op::State { kind: StateKind::PerSequence, .. } => {
                        let all = values(&node.ty);
                        let proper = segment.graph.scan_state(id).and_then(|layout| layout.proper());
                        cost.state_bytes += bytes(&node.ty, all);
                        cost.kept_bytes += bytes(&node.ty, all.saturating_sub(proper.unwrap_or(0) as u64));
                    }
                    Op::State { name, .. } => {
                        let state = segment.states.iter().find(|(own, _)| own == name);
                        // Some layers read the cache of another.
                        if !states.insert(state.map(|(_, state)| state)) {
                            continue;
                        }
                        let row = bytes(&node.ty, values(&node.ty));
                        cost.kv_bytes += row;
                        cost.windowed_kv_bytes += window.map_or(0, |_| row);
                    }
                    _ => {}
                }
            }
        }
        cost
    }
}

/// The number of values of a weight, or of one row of a state. Weights are tensors of a file, so this cannot overflow.
fn values(ty: &Type) -> u64 {
    ty.shape.known_count().unwrap_or(0) as u64
}

/// The size of `values` values, which are whole rows, in bytes.
fn bytes(ty: &Type, values: u64) -> u64 {
    values / ty.dtype.block_len() as u64 * ty.dtype.block_bytes() as u64
}

/// The number of values of `weight` that the node `user` reads for one token.
fn values_read(graph: &Graph, weight: NodeId, user: NodeId) -> u64 {
    let ty = &graph.node(weight).ty;
    let (all, node) = (values(ty), graph.node(user));
    let of_first_axis = |taken: usize| match ty.shape.dims().first().and_then(|n| n.known()) {
        Some(n) => all / n as u64 * taken as u64,
        None => all,
    };
    match &node.op {
        Op::Rows => {
            let ids = graph.node(node.inputs[1]).ty.shape.dims();
            of_first_axis(ids.iter().skip(1).filter_map(|n| n.known()).product())
        }
        Op::SelectDot | Op::SelectRange { .. } => {
            of_first_axis(graph.node(node.inputs[2]).ty.shape.last().unwrap_or(1))
        }
        _ => all,
    }
}

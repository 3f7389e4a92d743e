//! Which values go from one kernel to another through memory, and why.

use std::collections::{BTreeMap, BTreeSet};

use weft_engine::inspect::{Explained, KernelCall, named};
use weft_ir::{Graph, NodeId, Op};

use super::label::{self, PartLabel};

/// A value that a kernel writes to memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Written {
    /// The node.
    pub(super) node: NodeId,
    /// The outputs of the graph that contain it.
    pub(super) outputs: Vec<String>,
    /// The states it is stored in.
    pub(super) states: Vec<String>,
    /// The kernels that read it.
    pub(super) readers: Vec<Reader>,
}

/// The nodes of one kernel that read a value of another, all for the same reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reader {
    /// The number of the kernel.
    pub(super) kernel: usize,
    /// The nodes.
    pub(super) nodes: Vec<NodeId>,
    /// Why they are not computed in the same kernel as the value; empty if fusion did not try.
    pub(super) why: String,
}

/// The flow of values between the kernels of a graph.
pub(super) struct Flows<'a> {
    graph: &'a Graph,
    users: Vec<Vec<NodeId>>,
    /// The numbers of the kernels that compute each node. Prologues can be computed by several.
    homes: BTreeMap<NodeId, BTreeSet<usize>>,
}

impl<'a> Flows<'a> {
    pub(super) fn new(plan: &'a Explained) -> Flows<'a> {
        let mut homes: BTreeMap<NodeId, BTreeSet<usize>> = BTreeMap::new();
        for (at, call) in plan.calls.iter().enumerate() {
            for node in call.parts.iter().flat_map(|part| &part.nodes) {
                homes.entry(*node).or_default().insert(at + 1);
            }
        }
        Flows { graph: &plan.graph, users: plan.graph.users(), homes }
    }

    /// What the parts of a kernel compute, and the values it writes.
    pub(super) fn of(&self, call: &KernelCall) -> (Vec<PartLabel>, Vec<Written>) {
        let mut parts = Vec::with_capacity(call.parts.len());
        let mut written: Vec<Written> = Vec::new();
        for part in &call.parts {
            let of_part: Vec<Written> = part.nodes.iter().map(|node| self.written(*node, call)).collect();
            let mut stored: Vec<&str> = of_part.iter().flat_map(|h| &h.states).map(String::as_str).collect();
            stored.dedup();
            parts.push(PartLabel::new(self.graph, &part.nodes, &stored));
            written.extend(of_part);
        }
        written.retain(|h| !(h.outputs.is_empty() && h.states.is_empty() && h.readers.is_empty()));
        written.sort_by_key(|h| h.node);
        written.dedup_by_key(|h| h.node);
        (parts, written)
    }

    /// Follows a value through reshapes and slices to its readers.
    fn written(&self, node: NodeId, call: &KernelCall) -> Written {
        let mut written = Written { node, outputs: Vec::new(), states: Vec::new(), readers: Vec::new() };
        let mut stack = vec![node];
        let mut seen = vec![false; self.users.len()];
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            self.name_places(id, &mut written);
            for user in &self.users[id.index()] {
                let Some(homes) = self.homes.get(user) else {
                    stack.push(*user);
                    continue;
                };
                // A kernel that computes the value itself does not read it.
                for home in homes.iter().filter(|home| !self.computes(**home, node)) {
                    written.add(*home, *user, self.why(call, *user));
                }
            }
        }
        written.readers.sort_by_key(|reader| reader.kernel);
        written
    }

    fn computes(&self, kernel: usize, node: NodeId) -> bool {
        self.homes.get(&node).is_some_and(|homes| homes.contains(&kernel))
    }

    /// Records whether a node is an output or is stored in a state.
    fn name_places(&self, id: NodeId, written: &mut Written) {
        let node = self.graph.node(id);
        if node.op == Op::Store {
            written.states.extend(label::source(self.graph, id));
            return;
        }
        let outputs = self.graph.outputs().iter().filter(|(_, output)| *output == id);
        written.outputs.extend(outputs.map(|(name, _)| name.clone()));
    }

    fn why(&self, call: &KernelCall, reader: NodeId) -> String {
        let name = named(self.graph, reader);
        let mut whys: Vec<&str> =
            call.cuts.iter().filter(|(node, _)| *node == name).map(|(_, why)| why.as_str()).collect();
        whys.sort_unstable();
        whys.dedup();
        whys.join("; ")
    }
}

impl Written {
    fn add(&mut self, kernel: usize, node: NodeId, why: String) {
        match self.readers.iter_mut().find(|reader| reader.kernel == kernel && reader.why == why) {
            Some(known) if known.nodes.contains(&node) => {}
            Some(known) => known.nodes.push(node),
            None => self.readers.push(Reader { kernel, nodes: vec![node], why }),
        }
    }
}

//! What goes from one kernel to another through memory, and why.

use std::collections::{BTreeMap, BTreeSet};

use weft_engine::{Explained, KernelCall, named};
use weft_ir::{Graph, NodeId, Op};

use super::label::{self, PartLabel};

/// A value that leaves its kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Handed {
    /// The node.
    pub(super) node: NodeId,
    /// The outputs of the graph it becomes, or a part of.
    pub(super) outputs: Vec<String>,
    /// The states it is stored in.
    pub(super) states: Vec<String>,
    /// Who reads it.
    pub(super) readers: Vec<Reader>,
}

/// Nodes of a kernel that read a value of another one, all for the same reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reader {
    /// The number of the kernel.
    pub(super) kernel: usize,
    /// The nodes.
    pub(super) nodes: Vec<NodeId>,
    /// Why they are not computed where the value is; empty if nobody tried.
    pub(super) why: String,
}

/// Where the values of a graph go.
pub(super) struct Flows<'a> {
    graph: &'a Graph,
    users: Vec<Vec<NodeId>>,
    /// The numbers of the kernels that compute a node. What is computed before products can be in several.
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

    /// What the parts of a kernel compute, and the values that leave it.
    pub(super) fn of(&self, call: &KernelCall) -> (Vec<PartLabel>, Vec<Handed>) {
        let mut parts = Vec::with_capacity(call.parts.len());
        let mut handed: Vec<Handed> = Vec::new();
        for part in &call.parts {
            let of_part: Vec<Handed> = part.nodes.iter().map(|node| self.handed(*node, call)).collect();
            let mut stored: Vec<&str> = of_part.iter().flat_map(|h| &h.states).map(String::as_str).collect();
            stored.dedup();
            parts.push(PartLabel::new(self.graph, &part.nodes, &stored));
            handed.extend(of_part);
        }
        handed.retain(|h| !(h.outputs.is_empty() && h.states.is_empty() && h.readers.is_empty()));
        handed.sort_by_key(|h| h.node);
        handed.dedup_by_key(|h| h.node);
        (parts, handed)
    }

    /// Follows a value through what only moves it.
    fn handed(&self, node: NodeId, call: &KernelCall) -> Handed {
        let mut handed = Handed { node, outputs: Vec::new(), states: Vec::new(), readers: Vec::new() };
        let mut stack = vec![node];
        let mut seen = vec![false; self.users.len()];
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            self.name_places(id, &mut handed);
            for user in &self.users[id.index()] {
                let Some(homes) = self.homes.get(user) else {
                    stack.push(*user);
                    continue;
                };
                // Who computes the value itself needs it of nobody.
                for home in homes.iter().filter(|home| !self.computes(**home, node)) {
                    handed.add(*home, *user, self.why(call, *user));
                }
            }
        }
        handed.readers.sort_by_key(|reader| reader.kernel);
        handed
    }

    fn computes(&self, kernel: usize, node: NodeId) -> bool {
        self.homes.get(&node).is_some_and(|homes| homes.contains(&kernel))
    }

    /// Notes whether a node is an output, or a state.
    fn name_places(&self, id: NodeId, handed: &mut Handed) {
        let node = self.graph.node(id);
        if node.op == Op::Store {
            handed.states.extend(label::source(self.graph, id));
            return;
        }
        let outputs = self.graph.outputs().iter().filter(|(_, output)| *output == id);
        handed.outputs.extend(outputs.map(|(name, _)| name.clone()));
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

impl Handed {
    fn add(&mut self, kernel: usize, node: NodeId, why: String) {
        match self.readers.iter_mut().find(|reader| reader.kernel == kernel && reader.why == why) {
            Some(known) if known.nodes.contains(&node) => {}
            Some(known) => known.nodes.push(node),
            None => self.readers.push(Reader { kernel, nodes: vec![node], why }),
        }
    }
}

//! A rewrite rule, and the views of the graph with which it matches and builds.

use crate::build::Builder;
use crate::decision::Decision;
use crate::graph::{Graph, Node, NodeId, Type};
use crate::op::Op;
use crate::shape::{Dim, Shape};

/// A rewrite rule. See [`crate::rules`] for what a rule must guarantee.
#[derive(Debug)]
pub struct Rule {
    /// Its name, what it does, and whether it is on by default.
    pub decision: Decision,
    /// The properties of the replaced nodes that its replacements keep.
    pub keeps: Keeps,
    /// Builds the replacement of a node, if the rule's premise holds there.
    pub(crate) apply: fn(&mut Rewriter<'_>, NodeId) -> Option<Built>,
}

/// The properties of the replaced values that a rule keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeps {
    /// Every bit, for every input, in the arithmetic of [`crate::eval`], except for which NaN it is.
    Bits,
    /// The value, up to rounding: sums are taken in another order, or rounded to another type in between.
    Value,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.decision == other.decision
    }
}

impl Eq for Rule {}

/// A node of the graph that is being built. It has its own type, so that it cannot be mistaken for a node of the matched graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Built(NodeId);

/// The interface of a rule: it matches nodes of a graph by [`NodeId`], and builds replacements out of [`Built`] nodes.
pub(crate) struct Rewriter<'a> {
    graph: &'a Graph,
    users: Vec<Vec<NodeId>>,
    built: Builder,
    /// For each node that the pass has seen, its node in the new graph.
    map: Vec<Built>,
}

impl<'a> Rewriter<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Rewriter<'a> {
        Rewriter { graph, users: graph.users(), built: Builder::new(graph.name()), map: Vec::new() }
    }

    /// The same with every node in its place already: a rule matches here where it matches in a pass, and nothing is built for the nodes
    /// that no rule replaces.
    pub(crate) fn of_whole(graph: &'a Graph) -> Rewriter<'a> {
        let map = graph.iter().map(|(id, _)| Built(id)).collect();
        Rewriter { graph, users: graph.users(), built: Builder::of(graph.clone()), map }
    }

    /// The matched graph.
    pub(crate) fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// A node of the matched graph.
    pub(crate) fn node(&self, id: NodeId) -> &'a Node {
        self.graph.node(id)
    }

    /// The sizes of a node's axes.
    pub(crate) fn dims(&self, id: NodeId) -> &'a [Dim] {
        self.node(id).ty.shape.dims()
    }

    /// The nodes that use a node; `None` if it is also an output.
    pub(crate) fn users(&self, id: NodeId) -> Option<&[NodeId]> {
        let is_output = self.graph.outputs.iter().any(|(_, output)| *output == id);
        (!is_output).then(|| &self.users[id.index()][..])
    }

    /// Returns whether `user` is the only user of a node.
    pub(crate) fn is_only_for(&self, id: NodeId, user: NodeId) -> bool {
        self.users(id) == Some(&[user])
    }

    /// The new form of a node that comes before the one being replaced.
    pub(crate) fn get(&self, id: NodeId) -> Built {
        self.map[id.index()]
    }

    /// Builds an operation, if it fits its inputs. That is part of a rule's premise: without a fit there is no replacement.
    pub(crate) fn push(&mut self, op: Op, inputs: &[Built]) -> Option<Built> {
        self.push_as(op, inputs, None)
    }

    /// Builds an operation with a declared type.
    pub(crate) fn push_as(&mut self, op: Op, inputs: &[Built], declared: Option<Type>) -> Option<Built> {
        self.built.intern(op, inputs.iter().map(|b| b.0).collect(), declared).ok().map(Built)
    }

    /// Builds a reshape.
    pub(crate) fn reshape(&mut self, x: Built, shape: impl Into<Shape>) -> Option<Built> {
        let dtype = self.built.ty(x.0)?.dtype;
        self.push_as(Op::Reshape, &[x], Some(Type::new(dtype, shape)))
    }

    /// Builds a slice.
    pub(crate) fn slice(&mut self, x: Built, axis: usize, start: usize, len: usize) -> Option<Built> {
        self.push(Op::Slice { axis, start, len }, &[x])
    }

    /// Copies a node, with its inputs' new forms.
    pub(crate) fn copy(&mut self, node: &Node) -> Built {
        let inputs = node.inputs.iter().map(|i| self.get(*i).0).collect();
        Built(self.built.add_node(Node { inputs, ..node.clone() }))
    }

    /// Accepts a replacement if it has the node's type and, for an output, is computed.
    ///
    /// The latter is a rule of [`verify`](crate::verify()): nothing would write an output that is in memory already, as a weight is.
    pub(crate) fn accept(&self, id: NodeId, replacement: Built) -> Option<Built> {
        let fits = self.built.ty(replacement.0) == Some(&self.node(id).ty);
        debug_assert!(fits, "the replacement of {id} has another type");
        let built = self.built.graph();
        let base = &built.node(built.base(replacement.0)).op;
        let in_memory = base.is_source() || matches!(base, Op::Store);
        (fits && !(in_memory && self.users(id).is_none())).then_some(replacement)
    }
    /// Goes on to the next node: `built` is the new form of this one.
    pub(crate) fn advance(&mut self, built: Built) {
        self.map.push(built);
    }

    /// The number of nodes built so far.
    pub(crate) fn built_nodes(&self) -> usize {
        self.built.graph().nodes.len()
    }

    /// The new graph, dead nodes included.
    pub(crate) fn finish(self) -> Graph {
        let form = |id: &NodeId| self.map[id.index()].0;
        let outputs = self.graph.outputs.iter().map(|(name, id)| (name.clone(), form(id))).collect();
        Graph { name: self.graph.name.clone(), nodes: self.built.into_nodes(), outputs }
    }
}

//! The graph: nodes in the order they are computed.

use std::fmt;

use weft_quant::GgmlType;

use crate::op::Op;
use crate::shape::Shape;

/// The index of a node in its graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// The first node of a graph.
    pub const FIRST: NodeId = NodeId(0);

    /// Index into [`Graph::nodes`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// The type of a node's value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    /// How values are stored: `f32` or `i32` for anything computed, any type for weights, a float type for states.
    pub dtype: GgmlType,
    /// The axes.
    pub shape: Shape,
}

impl Type {
    /// Creates a type.
    pub fn new(dtype: GgmlType, shape: impl Into<Shape>) -> Type {
        Type { dtype, shape: shape.into() }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

/// An operation and its inputs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// Its inputs; each comes earlier in the graph.
    pub inputs: Vec<NodeId>,
    /// The type of its result.
    pub ty: Type,
}

/// A computation: a list of nodes, each of which uses only earlier ones, and the named results.
///
/// The builder interns equal nodes. Nothing in a graph names a particular layer: weights and states are parameters that an
/// instance binds, so equal layers have equal graphs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Graph {
    pub(crate) name: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) outputs: Vec<(String, NodeId)>,
}

impl Graph {
    /// The graph's name, such as `mla_moe_layer`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All nodes, in order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Every node with its id, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> + ExactSizeIterator {
        self.nodes.iter().enumerate().map(|(i, n)| (NodeId(i as u32), n))
    }

    /// The named results. They include every stored state, under the state's name.
    pub fn outputs(&self) -> &[(String, NodeId)] {
        &self.outputs
    }

    /// The users of every node. An output does not count as one.
    pub fn users(&self) -> Vec<Vec<NodeId>> {
        let mut users = vec![Vec::new(); self.nodes.len()];
        for (id, node) in self.iter() {
            for input in &node.inputs {
                if users[input.index()].last() != Some(&id) {
                    users[input.index()].push(id);
                }
            }
        }
        users
    }
}

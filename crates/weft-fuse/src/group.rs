//! Where to cut: every node that is computed goes into a group, and every group becomes a kernel.
//!
//! Nodes are taken in order. An anchor opens a group. An elementwise node, reduction or rope joins the group that makes one of its operands
//! if their rows are the same and no cycle of groups would arise; else it opens a group of its own.

use weft_ir::{Graph, NodeId, Op};

use crate::decide::{self, Cut, Decision, Why};
use crate::strided::{Space, view};

/// What a node is to the fuser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// In memory before the first kernel.
    Source,
    /// A constant scalar, written into each kernel that uses it.
    Scalar,
    /// Read through index arithmetic.
    View,
    /// Its parts are written to their places.
    Place,
    /// Computed for each row.
    Row,
    /// A kernel's anchor.
    Anchor,
}

pub(crate) fn class(graph: &Graph, id: NodeId) -> Class {
    let node = graph.node(id);
    match &node.op {
        Op::Const { .. } if node.ty.shape.rank() == 0 => Class::Scalar,
        op if op.is_source() => Class::Source,
        Op::Slice { .. } => Class::View,
        Op::Reshape if view(graph, id).base != id => Class::View,
        // Values that lie apart and have to be brought together are written so by what makes them.
        Op::Reshape | Op::Concat { .. } | Op::Store => Class::Place,
        Op::Dot | Op::HeadDot { .. } | Op::SelectDot | Op::Attend { .. } | Op::TopK { .. } => Class::Anchor,
        _ => Class::Row,
    }
}

/// Nodes that become one kernel.
#[derive(Debug)]
pub(crate) struct Group {
    /// The anchor, if it is not the row program itself.
    pub(crate) anchor: Option<NodeId>,
    /// Rows and columns of the kernel.
    pub(crate) space: Space,
    /// What is computed, in order, the anchor first.
    pub(crate) members: Vec<NodeId>,
    /// Groups whose results it reads.
    needs: Vec<usize>,
}

/// All groups, and which one a node is in.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) list: Vec<Group>,
    pub(crate) cuts: Vec<Cut>,
    home: Vec<Option<usize>>,
}

impl Groups {
    /// The group that computes a node; sources, views and places have none.
    pub(crate) fn home(&self, id: NodeId) -> Option<usize> {
        self.home[id.index()]
    }

    /// Cuts a graph into groups.
    pub(crate) fn new(graph: &Graph, off: &[&'static Decision]) -> Groups {
        let cx = Context { graph, users: graph.users(), off };
        let mut groups = Groups { list: Vec::new(), cuts: Vec::new(), home: vec![None; graph.nodes().len()] };
        for (id, _) in graph.iter() {
            let class = class(graph, id);
            if !matches!(class, Class::Row | Class::Anchor) {
                continue;
            }
            let space = own_space(graph, id);
            let needs = groups.needs(graph, id);
            let joined = groups.join(&cx, id, &space, &needs);
            let g = joined.unwrap_or_else(|| {
                let anchor = (class == Class::Anchor).then_some(id);
                groups.list.push(Group {
                    anchor,
                    space: space.clone(),
                    members: Vec::new(),
                    needs: Vec::new(),
                });
                groups.list.len() - 1
            });
            let group = &mut groups.list[g];
            group.space.cols = group.space.cols.max(space.cols);
            group.members.push(id);
            group.needs.extend(needs.into_iter().filter(|n| *n != g));
            groups.home[id.index()] = Some(g);
        }
        groups
    }

    /// Groups that must have run for a node's operands to be there.
    fn needs(&self, graph: &Graph, id: NodeId) -> Vec<usize> {
        let mut needs: Vec<usize> =
            graph.node(id).inputs.iter().flat_map(|i| self.producers(graph, *i)).collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    fn producers(&self, graph: &Graph, id: NodeId) -> Vec<usize> {
        match class(graph, id) {
            Class::Source | Class::Scalar => Vec::new(),
            Class::Row | Class::Anchor => self.home(id).into_iter().collect(),
            Class::View | Class::Place => self.needs(graph, id),
        }
    }

    /// Whether `from` needs `group`, directly or through others.
    fn reaches(&self, from: usize, group: usize) -> bool {
        let mut seen = vec![false; self.list.len()];
        let mut stack = vec![from];
        while let Some(g) = stack.pop() {
            if g == group {
                return true;
            }
            if !std::mem::replace(&mut seen[g], true) {
                stack.extend(&self.list[g].needs);
            }
        }
        false
    }

    /// The latest group that may compute a node, of those that make its operands. Every other one of them is a cut, with its reason.
    fn join(&mut self, cx: &Context<'_>, id: NodeId, space: &Space, needs: &[usize]) -> Option<usize> {
        let mut joined = None;
        for g in needs.iter().rev().copied() {
            let why = match joined {
                None => self.obstacle(cx, id, space, needs, g),
                Some(_) => Some(Why::Elsewhere),
            };
            match why {
                None => joined = Some(g),
                Some(why) => self.cuts.push(Cut { group: g, node: id, why }),
            }
        }
        joined
    }

    /// Why a node cannot be computed in a group that makes one of its operands, if it cannot.
    fn obstacle(
        &self,
        cx: &Context<'_>,
        id: NodeId,
        space: &Space,
        needs: &[usize],
        g: usize,
    ) -> Option<Why> {
        let (graph, node, group) = (cx.graph, cx.graph.node(id), &self.list[g]);
        if class(graph, id) == Class::Anchor {
            return Some(Why::Anchor);
        }
        let in_memory: &[NodeId] = match &node.op {
            // These read operands at computed places, or in parts: only from memory.
            Op::Take | Op::Rows => &node.inputs,
            Op::Rope { .. } => &node.inputs[1..],
            Op::Reduce { axis, .. } if !is_last(graph, id, *axis) => &node.inputs,
            _ => &[],
        };
        if in_memory.iter().any(|i| self.producers(graph, *i).contains(&g)) {
            return Some(Why::ByNumber);
        }
        // Operands of the group that it does not have as a value of the right length come from memory, too.
        let part = |i: &NodeId| self.producers(graph, *i).contains(&g) && !self.is_value(graph, *i, g);
        if node.inputs.iter().any(part) {
            return Some(Why::Part);
        }
        if group.space.rows != space.rows {
            return Some(Why::Rows);
        }
        let cols = group.space.cols;
        // Values are as long as the row, or single; picked ones are never single, for they are as many as there are columns.
        let takes = |id: &NodeId| graph.node(*id).op == Op::Take;
        let fits = match (space.cols, cols) {
            (own, cols) if own == cols => true,
            (1, _) => !takes(&id),
            (_, 1) => !group.members.iter().any(takes),
            _ => false,
        };
        if !fits {
            return Some(Why::Columns);
        }
        if needs.iter().any(|n| *n != g && self.reaches(*n, g)) {
            return Some(Why::Cycle);
        }
        let Some(anchor) = group.anchor else {
            return cx.off(&decide::ROWS).then_some(Why::Off(&decide::ROWS));
        };
        let elementwise = matches!(node.op, Op::Unary(_) | Op::Binary(..));
        if !elementwise || space.cols != cols || matches!(graph.node(anchor).op, Op::TopK { .. }) {
            return Some(Why::NotATail);
        }
        if reduce_bound(graph, &cx.users, id) {
            return Some(Why::ForReduction);
        }
        cx.off(&decide::TAIL).then_some(Why::Off(&decide::TAIL))
    }

    /// Whether a node, or what it renames, is a value of a group: one for each of its rows.
    pub(crate) fn is_value(&self, graph: &Graph, id: NodeId, group: usize) -> bool {
        let inner = through_identity(graph, id);
        self.home(inner) == Some(group)
    }
}

/// What does not change while a graph is cut.
struct Context<'a> {
    graph: &'a Graph,
    users: Vec<Vec<NodeId>>,
    off: &'a [&'static Decision],
}

impl Context<'_> {
    fn off(&self, decision: &'static Decision) -> bool {
        self.off.contains(&decision)
    }
}

/// The node behind reshapes that only add or drop axes of size 1.
pub(crate) fn through_identity(graph: &Graph, id: NodeId) -> NodeId {
    let node = graph.node(id);
    if node.op == Op::Reshape && class(graph, id) == Class::View {
        let from = node.inputs[0];
        if Space::of(&graph.node(from).ty.shape) == Space::of(&node.ty.shape) {
            return through_identity(graph, from);
        }
    }
    id
}

/// Whether every use of a node ends in a reduction of its rows. Such a node belongs to the kernel that reduces.
fn reduce_bound(graph: &Graph, users: &[Vec<NodeId>], id: NodeId) -> bool {
    let is_output = graph.outputs().iter().any(|(_, o)| *o == id);
    let users = &users[id.index()];
    !is_output
        && !users.is_empty()
        && users.iter().all(|u| match &graph.node(*u).op {
            Op::Reduce { axis, .. } => is_last(graph, *u, *axis),
            _ => false,
        })
}

pub(crate) fn is_last(graph: &Graph, reduce: NodeId, axis: usize) -> bool {
    axis + 1 == graph.node(reduce).ty.shape.rank()
}

/// The rows and columns a node is computed over: its operand's for a reduction of rows, its own otherwise.
fn own_space(graph: &Graph, id: NodeId) -> Space {
    let node = graph.node(id);
    match &node.op {
        Op::Reduce { axis, .. } if is_last(graph, id, *axis) => {
            Space::of(&graph.node(node.inputs[0]).ty.shape)
        }
        // Tokens and heads, even if there is only one head.
        Op::Attend { .. } => Space { rows: node.ty.shape.dims()[..2].to_vec(), ..Space::of(&node.ty.shape) },
        _ => Space::of(&node.ty.shape),
    }
}

//! Where to cut: every computed node goes into a group, and every group becomes a part of a kernel.
//!
//! Nodes are taken in order. An anchor opens a group. Any other computed node joins a group that computes one of its operands, if
//! the rows are the same, no cycle of groups would arise and, after an anchor, the node can follow it; otherwise it opens a
//! group. A node that joins also unites the groups that compute its operands, if these are products over the same rows and
//! columns.

use weft_ir::{Decision, Graph, NodeId, Op, Switches};
use weft_quant::GgmlType;

use crate::decide::{self, Cut, Why};
use crate::strided::{Space, view};

/// The most products of one part: gate and up, of the routed and the shared experts.
const MAX_PRODUCTS: usize = 4;

/// How the fuser treats a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// In memory before the first kernel.
    Source,
    /// A constant scalar, inlined into each kernel that uses it.
    Scalar,
    /// Read through index arithmetic.
    View,
    /// Its parts are written to their places in it.
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
        // Some parameters are computed before the first step.
        op if op.is_source() || op.is_computed_parameter() => Class::Source,
        Op::Slice { .. } => Class::View,
        Op::Reshape if view(graph, id).base != id => Class::View,
        // These bring scattered values together: the kernels that compute them write them to their places.
        Op::Reshape | Op::Concat { .. } | Op::Store => Class::Place,
        Op::Attend { .. } | Op::Indexer { .. } | Op::Scan { .. } => Class::Anchor,
        op if is_product(op) => Class::Anchor,
        _ => Class::Row,
    }
}

/// Returns whether an operation multiplies by a weight.
pub(crate) fn is_product(op: &Op) -> bool {
    matches!(op, Op::Dot | Op::HeadDot { .. } | Op::SelectDot | Op::SelectRange { .. } | Op::SelectSum)
}

/// Nodes that become one part of a kernel.
#[derive(Debug)]
pub(crate) struct Group {
    /// The anchors: products, one attention, one indexer or one scan; none if the part is only a row program.
    pub(crate) anchors: Vec<NodeId>,
    /// The part's rows and columns.
    pub(crate) space: Space,
    /// The nodes that it computes, in order; empty after it was merged into another group.
    pub(crate) members: Vec<NodeId>,
    /// Whether a member needs all columns of a row at once.
    pub(crate) whole: bool,
    /// The group that is its prologue.
    pub(crate) prologue: Option<usize>,
    /// Whether it is the prologue of the groups that need it, and not a part itself.
    pub(crate) absorbed: bool,
    /// The groups whose results it reads.
    pub(crate) needs: Vec<usize>,
}

/// All groups, and the group of each node.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) list: Vec<Group>,
    pub(crate) cuts: Vec<Cut>,
    home: Vec<Option<usize>>,
    /// For each node, whether it is read where it is needed, and no group computes it.
    lookups: Vec<bool>,
}

impl Groups {
    /// The group that computes a node; sources, views and places have none.
    pub(crate) fn home(&self, id: NodeId) -> Option<usize> {
        self.home[id.index()]
    }

    /// The groups that become parts of kernels, with their indices.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, &Group)> {
        self.list.iter().enumerate().filter(|(_, g)| !g.members.is_empty() && !g.absorbed)
    }

    /// Cuts a graph into groups.
    pub(crate) fn new(graph: &Graph, switches: &Switches) -> Groups {
        let users = graph.users();
        let routing = routing(graph, &users);
        let lookups = graph.iter().map(|(id, _)| switches.on(&decide::LOOKUP) && lookup(graph, &users, id));
        let (lookups, home) = (lookups.collect(), vec![None; graph.nodes().len()]);
        let cx = Context { graph, users, routing, switches };
        let mut groups = Groups { list: Vec::new(), cuts: Vec::new(), home, lookups };
        for (id, _) in graph.iter() {
            let class = class(graph, id);
            if !matches!(class, Class::Row | Class::Anchor) || groups.is_lookup(id) {
                continue;
            }
            let space = own_space(graph, id);
            let needs = groups.needs(graph, id);
            let joined = groups.join(&cx, id, &space, &needs);
            let g = joined.unwrap_or_else(|| {
                groups.list.push(Group {
                    anchors: if class == Class::Anchor { vec![id] } else { Vec::new() },
                    space: space.clone(),
                    members: Vec::new(),
                    whole: false,
                    prologue: None,
                    absorbed: false,
                    needs: Vec::new(),
                });
                groups.list.len() - 1
            });
            // Only now, since groups that were united have got another index.
            let needs = groups.needs(graph, id);
            let group = &mut groups.list[g];
            group.space.cols = group.space.cols.max(space.cols);
            group.whole |= needs_rows(graph, id) || group.space.cols != space.cols && space.cols != 1;
            group.members.push(id);
            group.needs.extend(needs.into_iter().filter(|n| *n != g));
            groups.home[id.index()] = Some(g);
        }
        groups
    }

    /// The groups that must have run before a node's operands exist.
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
            Class::Row if self.is_lookup(id) => self.needs(graph, id),
            Class::Row | Class::Anchor => self.home(id).into_iter().collect(),
            Class::View | Class::Place => self.needs(graph, id),
        }
    }

    /// Returns whether `from` needs `group`, directly or through others.
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

    /// Finds the latest group that may compute a node, among those that compute its operands. Each of the others is united with
    /// it, or becomes a cut with its reason.
    fn join(&mut self, cx: &Context<'_>, id: NodeId, space: &Space, needs: &[usize]) -> Option<usize> {
        let mut joined = None;
        for g in needs.iter().rev().copied() {
            let why = match joined {
                None => self.obstacle(cx, id, space, needs, g),
                Some(into) => match self.apart(cx, id, into, g) {
                    None => {
                        self.unite(into, g);
                        continue;
                    }
                    why => why,
                },
            };
            match why {
                None => joined = Some(g),
                Some(why) => self.cuts.push(Cut { group: g, node: id, why }),
            }
        }
        joined
    }

    /// Why a group that computes one of a node's operands cannot compute the node as well; `None` if it can.
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
            // These read operands at computed indices, or in parts, which takes memory.
            Op::Rows => &node.inputs,
            Op::Rope { .. } => &node.inputs[1..],
            Op::Reduce { axis, .. } if !is_last(graph, id, *axis) => &node.inputs,
            _ => &[],
        };
        if in_memory.iter().any(|i| self.producers(graph, *i).contains(&g)) {
            return Some(Why::ByNumber);
        }
        // Operands whose values the group does not have at the right length also come from memory.
        let part = |i: &NodeId| self.producers(graph, *i).contains(&g) && !self.is_value(graph, *i, g);
        if node.inputs.iter().any(part) {
            return Some(Why::Part);
        }
        if group.space.rows != space.rows {
            return Some(Why::Rows);
        }
        // Values of different lengths keep a device from splitting columns. Where a row is needed as a whole, that costs nothing.
        let (own, cols) = (space.cols, group.space.cols);
        let routing = cx.routing[id.index()];
        // An anchor determines the number of columns.
        if own > cols && !group.anchors.is_empty() {
            return Some(Why::Columns);
        }
        if own != cols && own != 1 && cols != 1 && !group.whole && !routing {
            return Some(Why::Columns);
        }
        if needs.iter().any(|n| *n != g && self.reaches(*n, g)) {
            return Some(Why::Cycle);
        }
        let Some(anchor) = group.anchors.first() else { return cx.off(&decide::ROWS) };
        // A scan's worker computes whole rows, so a norm can follow.
        if matches!(graph.node(*anchor).op, Op::Scan { .. }) {
            return cx.off(&decide::TAIL);
        }
        let one_product = group.anchors.len() == 1 && is_product(&graph.node(*anchor).op);
        let tail = elementwise(&node.op) && own == cols;
        match node.op {
            _ if tail && !reduce_bound(graph, &cx.users, id) => cx.off(&decide::TAIL),
            Op::Rope { .. } if one_product => cx.off(&decide::ROPE),
            _ if routing && one_product => cx.off(&decide::ROUTER),
            _ if tail => Some(Why::ForReduction),
            _ => Some(Why::NotATail),
        }
    }

    /// Why a group that computes an operand of a node cannot be united with the group that the node joined; `None` if it can.
    fn apart(&self, cx: &Context<'_>, id: NodeId, into: usize, g: usize) -> Option<Why> {
        let (a, b) = (&self.list[into], &self.list[g]);
        let products = |group: &Group| {
            !group.whole
                && !group.anchors.is_empty()
                && group.anchors.iter().all(|a| is_product(&cx.graph.node(*a).op))
        };
        let operands = &cx.graph.node(id).inputs;
        let values = operands
            .iter()
            .all(|i| !self.producers(cx.graph, *i).contains(&g) || self.is_value(cx.graph, *i, g));
        if !products(a) || !products(b) || !values || a.anchors.len() + b.anchors.len() > MAX_PRODUCTS {
            return Some(Why::Elsewhere);
        }
        if a.space.rows != b.space.rows {
            return Some(Why::Rows);
        }
        if a.space.cols != b.space.cols {
            return Some(Why::Columns);
        }
        if self.reaches(into, g) || self.reaches(g, into) {
            return Some(Why::Cycle);
        }
        cx.off(&decide::SEVERAL)
    }

    /// Merges group `g` into another.
    fn unite(&mut self, into: usize, g: usize) {
        let Group { anchors, members, needs, .. } = &mut self.list[g];
        let (anchors, members) = (std::mem::take(anchors), std::mem::take(members));
        let needs = std::mem::take(needs);
        for member in &members {
            self.home[member.index()] = Some(into);
        }
        let group = &mut self.list[into];
        group.anchors.extend(anchors);
        group.anchors.sort_unstable();
        group.members.extend(members);
        group.members.sort_unstable();
        group.needs.extend(needs);
        for need in self.list.iter_mut().flat_map(|group| &mut group.needs).filter(|need| **need == g) {
            *need = into;
        }
        for cut in self.cuts.iter_mut().filter(|cut| cut.group == g) {
            cut.group = into;
        }
        // Nodes that were cut from the one may now be in the other.
        let home = &self.home;
        self.cuts.retain(|cut| home[cut.node.index()] != Some(cut.group));
    }

    /// Returns whether a node is rows of a weight that are read where they are needed; see [`decide::LOOKUP`].
    pub(crate) fn is_lookup(&self, id: NodeId) -> bool {
        self.lookups[id.index()]
    }

    /// Returns whether a node, seen through reshapes that rename it, is a value of a group: one for each of its rows.
    pub(crate) fn is_value(&self, graph: &Graph, id: NodeId, group: usize) -> bool {
        let inner = through_identity(graph, id);
        self.home(inner) == Some(group)
    }
}

/// The inputs that stay the same while a graph is cut.
struct Context<'a> {
    graph: &'a Graph,
    users: Vec<Vec<NodeId>>,
    /// For each node, whether it is part of a router.
    routing: Vec<bool>,
    switches: &'a Switches,
}

impl Context<'_> {
    fn off(&self, decision: &'static Decision) -> Option<Why> {
        (!self.switches.on(decision)).then_some(Why::Off(decision))
    }
}

/// For each node, whether it is part of a router: computed row by row, leading to a selection of the largest values or following
/// one.
fn routing(graph: &Graph, users: &[Vec<NodeId>]) -> Vec<bool> {
    let row = |id: NodeId| class(graph, id) == Class::Row;
    let alike = |a: NodeId, b: NodeId| own_space(graph, a).rows == own_space(graph, b).rows;
    let chooses = |id: NodeId| matches!(graph.node(id).op, Op::TopK { .. });
    let mut before = vec![false; users.len()];
    let mut after = vec![false; users.len()];
    for (id, _) in graph.iter().rev() {
        let leads = |u: &NodeId| before[u.index()] && alike(*u, id);
        before[id.index()] = row(id) && (chooses(id) || users[id.index()].iter().any(leads));
    }
    for (id, node) in graph.iter() {
        let follows = |i: &NodeId| after[i.index()] && alike(*i, id);
        after[id.index()] = row(id) && (chooses(id) || node.inputs.iter().any(follows));
    }
    before.into_iter().zip(after).map(|(before, after)| before || after).collect()
}

/// Returns whether a node is rows of a weight of plain floats, and a single elementwise operation reads them.
fn lookup(graph: &Graph, users: &[Vec<NodeId>], id: NodeId) -> bool {
    let node = graph.node(id);
    let [user] = users[id.index()][..] else { return false };
    let user = graph.node(user);
    node.op == Op::Rows
        && matches!(graph.node(node.inputs[0]).op, Op::Weight { .. })
        && graph.node(node.inputs[0]).ty.dtype == GgmlType::F32
        && graph.outputs().iter().all(|(_, output)| *output != id)
        && matches!(user.op, Op::Binary(_))
        && user.inputs.iter().filter(|input| **input == id).count() == 1
        && user.ty.shape == node.ty.shape
}

fn elementwise(op: &Op) -> bool {
    matches!(op, Op::Unary(_) | Op::Binary(..) | Op::Cast)
}

/// Returns whether an operation needs all values of a row.
fn needs_rows(graph: &Graph, id: NodeId) -> bool {
    match &graph.node(id).op {
        Op::Reduce { axis, .. } => is_last(graph, id, *axis),
        Op::Rope { .. } | Op::TopK { .. } | Op::Take => true,
        _ => false,
    }
}

/// Looks through reshapes that only add or drop axes of size 1.
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

/// Returns whether all users of a node reduce its rows. Such a node belongs in the kernel of the reduction.
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

/// The rows and columns that a node is computed over: for a reduction of rows those of its operand, otherwise its own.
fn own_space(graph: &Graph, id: NodeId) -> Space {
    let node = graph.node(id);
    match &node.op {
        Op::Reduce { axis, .. } if is_last(graph, id, *axis) => {
            Space::of(&graph.node(node.inputs[0]).ty.shape)
        }
        // As many columns as they choose from, and at least as many as they choose.
        Op::TopK { .. } | Op::Take => {
            let from = Space::of(&graph.node(node.inputs[0]).ty.shape);
            let own = Space::of(&node.ty.shape);
            Space { cols: from.cols.max(own.cols), rows: own.rows }
        }
        // Tokens and heads, even with a single head.
        Op::Attend { .. } | Op::Scan { .. } => {
            Space { rows: node.ty.shape.dims()[..2].to_vec(), ..Space::of(&node.ty.shape) }
        }
        _ => Space::of(&node.ty.shape),
    }
}

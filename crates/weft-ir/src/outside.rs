//! Cutting a layer in three, so that some of its experts can be computed on another device at the same time.

use crate::build::Builder;
use crate::graph::{Graph, Node, NodeId, Type};
use crate::op::Op;

/// A layer's graph in three. Values pass between them under names that begin with `experts.`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside {
    /// What precedes the sum over a token's experts: all but the results of those outside.
    pub before: Graph,
    /// The results of the experts outside, from `experts.x`, `experts.ids` and possibly other values of `before`. Nothing in `before`
    /// reads them.
    pub far: Graph,
    /// The rest, from the results of both.
    pub after: Graph,
}

/// Cuts the graph of a layer with experts so that the first `near` ones are computed in [`Outside::before`], and the others in
/// [`Outside::far`]. `None` if the graph has no experts, or they are not one network of products that the same ids select.
///
/// Legal: each row of each product is computed on one side, and is 0 on the other, so that their sum is the product. A weight named `w`
/// of all experts has the same name in both; in `before` it has the first `near` matrices.
pub fn outside(graph: &Graph, near: usize) -> Option<Outside> {
    let experts = Experts::of(graph)?;
    if near >= experts.count {
        return None;
    }
    let Experts { selects, last, .. } = &experts;
    let chain = chain(graph, selects);
    let given = given(graph, &chain)?;
    let far_names: Vec<(String, NodeId)> = named("experts.given", given);
    let needs_last = after(graph, *last);
    // The values that what comes after reads of what comes before.
    let mut kept: Vec<NodeId> = Vec::new();
    for (id, node) in graph.iter().filter(|(id, _)| needs_last[id.index()] && *id != *last) {
        debug_assert!(id > *last);
        kept.extend(
            node.inputs.iter().filter(|input| !needs_last[input.index()] && !is_copied(graph, **input)),
        );
    }
    kept.sort_unstable();
    kept.dedup();
    let kept = named("experts.kept", kept);
    let (mut own, later): (Vec<_>, Vec<_>) =
        graph.outputs().iter().cloned().partition(|(_, id)| !needs_last[id.index()]);
    own.extend(far_names.iter().chain(&kept).cloned());
    if near > 0 {
        own.push((NEAR.into(), *last));
    }
    let part = |name: &str, given: &[(String, NodeId)], outputs: &[(String, NodeId)], range| {
        Part { graph, experts: &experts, given, range }.build(&format!("{}_{name}", graph.name()), outputs)
    };
    let from = if near > 0 { Range::From(near) } else { Range::All };
    Some(Outside {
        before: part("near", &[], &own, Range::First(near))?,
        far: part("far", &far_names, &[(FAR.into(), *last)], from)?,
        after: part("after", &kept, &later, Range::Joined(near > 0))?,
    })
}

/// The results of the experts on both sides, `f32[T, U, N]`.
const NEAR: &str = "experts.near";
/// The name of the result of [`Outside::far`].
pub const FAR: &str = "experts.far";

/// The products of a layer's experts.
struct Experts {
    /// The products.
    selects: Vec<NodeId>,
    /// The one that the others lead to.
    last: NodeId,
    /// The number of experts.
    count: usize,
}

impl Experts {
    fn of(graph: &Graph) -> Option<Experts> {
        let is_select = |node: &Node| node.op == Op::SelectDot;
        let selects: Vec<NodeId> =
            graph.iter().filter(|(_, node)| is_select(node)).map(|(id, _)| id).collect();
        let (last, first) = (*selects.last()?, *selects.first()?);
        let count = |id: NodeId| graph.node(graph.node(id).inputs[1]).ty.shape.dims()[0].known();
        let all = count(first)?;
        let alike = selects.iter().all(|id| {
            let [_, w, ids] = graph.node(*id).inputs[..] else { return false };
            let weight = matches!(graph.node(w).op, Op::Weight { .. });
            weight && ids == graph.node(first).inputs[2] && count(*id) == Some(all)
        });
        let leads = before(graph, last);
        let one = selects.iter().all(|id| leads[id.index()]);
        // The results of the others are read only on the way to the last one.
        (alike && one).then_some(Experts { selects, last, count: all })
    }
}

/// For each node, whether `id` depends on it, or is it.
fn before(graph: &Graph, id: NodeId) -> Vec<bool> {
    let mut before = vec![false; graph.nodes().len()];
    before[id.index()] = true;
    for (id, node) in graph.iter().rev() {
        if before[id.index()] {
            node.inputs.iter().for_each(|input| before[input.index()] = true);
        }
    }
    before
}

/// For each node, whether it depends on `id`, or is it.
fn after(graph: &Graph, id: NodeId) -> Vec<bool> {
    let mut after = vec![false; graph.nodes().len()];
    for (node_id, node) in graph.iter() {
        after[node_id.index()] = node_id == id || node.inputs.iter().any(|input| after[input.index()]);
    }
    after
}

/// For each node, whether it is a product of experts or between two of them.
fn chain(graph: &Graph, selects: &[NodeId]) -> Vec<bool> {
    let mut follows = vec![false; graph.nodes().len()];
    for (id, node) in graph.iter() {
        follows[id.index()] = selects.contains(&id) || node.inputs.iter().any(|input| follows[input.index()]);
    }
    let mut leads = vec![false; graph.nodes().len()];
    for (id, node) in graph.iter().rev() {
        leads[id.index()] |= selects.contains(&id);
        if leads[id.index()] {
            node.inputs.iter().for_each(|input| leads[input.index()] = true);
        }
    }
    follows.into_iter().zip(leads).map(|(follows, leads)| follows && leads).collect()
}

/// Whether a value is made again where it is read: a parameter, or a part of one.
fn is_copied(graph: &Graph, id: NodeId) -> bool {
    match &graph.node(id).op {
        Op::Weight { .. } | Op::Const { .. } | Op::Hadamard => true,
        Op::Reshape | Op::Slice { .. } => is_copied(graph, graph.node(id).inputs[0]),
        _ => false,
    }
}

/// The values that the experts read and do not compute. `None` if one is a source, which has a name already.
fn given(graph: &Graph, chain: &[bool]) -> Option<Vec<NodeId>> {
    let mut given = Vec::new();
    let read = graph.iter().filter(|(id, _)| chain[id.index()]).flat_map(|(_, node)| &node.inputs);
    let mut open: Vec<NodeId> = read.copied().filter(|id| !chain[id.index()]).collect();
    while let Some(id) = open.pop() {
        let node = graph.node(id);
        match &node.op {
            _ if is_copied(graph, id) => {}
            // Biases of experts are looked up on both sides.
            Op::Rows if is_copied(graph, node.inputs[0]) => open.push(node.inputs[1]),
            op if op.is_source() => return None,
            _ => given.push(id),
        }
    }
    given.sort_unstable();
    given.dedup();
    Some(given)
}

fn named(name: &str, ids: Vec<NodeId>) -> Vec<(String, NodeId)> {
    ids.into_iter().enumerate().map(|(i, id)| (format!("{name}.{i}"), id)).collect()
}

/// The experts of one of the three graphs.
#[derive(Clone, Copy)]
enum Range {
    /// The first ones.
    First(usize),
    /// Those from a number on.
    From(usize),
    /// All.
    All,
    /// None: their results are given, and have been computed on two sides if it is true.
    Joined(bool),
}

/// One of the three graphs.
struct Part<'a> {
    graph: &'a Graph,
    experts: &'a Experts,
    /// The values that other graphs compute.
    given: &'a [(String, NodeId)],
    range: Range,
}

impl Part<'_> {
    fn build(&self, name: &str, outputs: &[(String, NodeId)]) -> Option<Graph> {
        let Part { graph, experts, given, range } = *self;
        let given_as = |id: NodeId| given.iter().find(|(_, node)| *node == id).map(|(name, _)| name);
        let joined = |id: NodeId| matches!(range, Range::Joined(_)) && id == experts.last;
        let mut live = vec![false; graph.nodes().len()];
        outputs.iter().for_each(|(_, id)| live[id.index()] = true);
        for (id, node) in graph.iter().rev() {
            if live[id.index()] && given_as(id).is_none() && !joined(id) {
                node.inputs.iter().for_each(|i| live[i.index()] = true);
            }
        }
        let stacks: Vec<NodeId> = experts.selects.iter().map(|id| graph.node(*id).inputs[1]).collect();
        let mut part = Builder::new(name);
        let mut map = vec![NodeId::FIRST; live.len()];
        for (id, node) in graph.iter().filter(|(id, _)| live[id.index()]) {
            let Type { dtype, shape } = node.ty.clone();
            map[id.index()] = match (given_as(id), range) {
                (Some(name), _) => part.input(name, dtype, shape),
                (None, Range::Joined(both)) if id == experts.last => {
                    let far = part.input(FAR, dtype, shape.clone());
                    let near = both.then(|| part.input(NEAR, dtype, shape));
                    near.map_or(far, |near| part.add(near, far))
                }
                (None, Range::First(near)) if stacks.contains(&id) => {
                    part.push(node.op.clone(), Vec::new(), Some(Type::new(dtype, shape.with(0, near))))
                }
                (None, _) => {
                    let inputs = node.inputs.iter().map(|i| map[i.index()]).collect();
                    let op = match range {
                        Range::First(_) if experts.selects.contains(&id) => Op::SelectRange { from: 0 },
                        Range::From(from) if experts.selects.contains(&id) => Op::SelectRange { from },
                        _ => node.op.clone(),
                    };
                    part.add_node(Node { op, inputs, ty: node.ty.clone() })
                }
            };
        }
        outputs.iter().for_each(|(name, id)| part.output(name, map[id.index()]));
        part.finish().ok()
    }
}

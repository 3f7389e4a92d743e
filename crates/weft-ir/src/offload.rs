//! Cutting a layer in three, so that another device computes some of its experts at the same time.

use weft_quant::GgmlType;

use crate::build::Builder;
use crate::graph::{Graph, Node, NodeId, Type};
use crate::op::Op;
use crate::shape::Dim;

/// A layer's graph in three. Values pass between them under names that begin with `experts.`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offload {
    /// The nodes before the sum over a token's experts, including the resident experts.
    pub before: Graph,
    /// The results of the offloaded experts, from values of `before`. Nothing in `before` reads them.
    pub offloaded: Graph,
    /// The rest, from the results of both.
    pub after: Graph,
}

/// The experts that are resident where a graph is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resident {
    /// So many first ones.
    First(usize),
    /// Any, in so many slots, of which inputs `i32[E]` say which: [`RESIDENT_IDS`] has the slot of each expert, or `E` if it has none, and
    /// [`OFFLOADED_IDS`] the number of each that has none, or `E`. The graphs give the experts that tokens choose, too: [`CHOSEN`].
    InSlots(usize),
}

impl Resident {
    /// The most resident experts.
    pub fn count(self) -> usize {
        let (Resident::First(count) | Resident::InSlots(count)) = self;
        count
    }
}

/// Cuts the graph of a layer with experts so that the resident ones are computed in [`Offload::before`], and the others in
/// [`Offload::offloaded`]. `None` if the graph has no experts, if all would be resident, or if they are not one network of products that
/// the same ids select and whose last product alone is read by others.
///
/// Legal: each row of each product is computed on one side, and is 0 on the other, so that their sum is the product. A weight of all
/// experts has the same name in both; in `before` it has the matrices of resident ones.
pub fn offload(graph: &Graph, resident: Resident) -> Option<Offload> {
    let experts = Experts::of(graph)?;
    if resident.count() >= experts.count {
        return None;
    }
    let mut given = named("experts.given", experts.given(graph)?);
    if let Resident::InSlots(_) = resident {
        given.iter_mut().find(|(_, id)| *id == experts.chosen)?.0 = CHOSEN.into();
    }
    let last = experts.last;
    let needs_last = after(graph, last);
    // The values of `before` that `after` reads.
    let later = graph.iter().filter(|(id, _)| needs_last[id.index()] && *id != last);
    let read = later.flat_map(|(_, node)| &node.inputs).copied();
    let mut kept: Vec<NodeId> =
        read.filter(|input| !needs_last[input.index()] && !is_copied(graph, *input)).collect();
    kept.sort_unstable();
    kept.dedup();
    let kept = named("experts.kept", kept);
    let (mut own, later): (Vec<_>, Vec<_>) =
        graph.outputs().iter().cloned().partition(|(_, id)| !needs_last[id.index()]);
    own.extend(given.iter().chain(&kept).cloned());
    if resident.count() > 0 {
        own.push((RESIDENT.into(), last));
    }
    let part = |name: &str, given: &[(String, NodeId)], outputs: &[(String, NodeId)], has| {
        Part { graph, experts: &experts, given, has }.build(&format!("{}_{name}", graph.name()), outputs)
    };
    Some(Offload {
        before: part("before", &[], &own, Has::Resident(resident))?,
        offloaded: part("offloaded", &given, &[(OFFLOADED.into(), last)], Has::Offloaded(resident))?,
        after: part("after", &kept, &later, Has::Results { of_resident: resident.count() > 0 })?,
    })
}

/// The name of the results of the resident experts, `f32[T, U, N]`, where those of others are 0.
const RESIDENT: &str = "experts.resident";
/// The name of the results of the offloaded experts.
pub const OFFLOADED: &str = "experts.offloaded";
/// The name of the experts that tokens choose, `i32[T, U]`, where experts are in slots.
pub const CHOSEN: &str = "experts.chosen";
/// The name of the slots of experts.
pub const RESIDENT_IDS: &str = "experts.resident_ids";
/// The name of the numbers of offloaded experts.
pub const OFFLOADED_IDS: &str = "experts.offloaded_ids";

/// The experts of a layer.
struct Experts {
    /// Their products.
    selects: Vec<NodeId>,
    /// The product that the others lead to.
    last: NodeId,
    /// For each node, whether it is one of the products or between two of them.
    inner: Vec<bool>,
    /// The ids that select them.
    chosen: NodeId,
    /// The number of experts.
    count: usize,
}

impl Experts {
    fn of(graph: &Graph) -> Option<Experts> {
        let all = graph.iter().filter(|(_, node)| node.op == Op::SelectDot);
        let selects: Vec<NodeId> = all.map(|(id, _)| id).collect();
        let (last, first) = (*selects.last()?, *selects.first()?);
        let matrices = |id: NodeId| graph.node(graph.node(id).inputs[1]).ty.shape.dims()[0].known();
        let count = matrices(first)?;
        let chosen = graph.node(first).inputs[2];
        let alike = selects.iter().all(|id| {
            let [_, w, ids] = graph.node(*id).inputs[..] else { return false };
            let weight = matches!(graph.node(w).op, Op::Weight { .. });
            weight && ids == chosen && matrices(*id) == Some(count)
        });
        let inner = inner(graph, &selects);
        // On one side, the other values between products are those of some experts only.
        let users = graph.users();
        let stays = |id: NodeId| {
            let is_output = graph.outputs().iter().any(|(_, output)| *output == id);
            !is_output && users[id.index()].iter().all(|user| inner[user.index()])
        };
        let closed = graph.iter().all(|(id, _)| !inner[id.index()] || id == last || stays(id));
        (alike && closed).then_some(Experts { selects, last, inner, chosen, count })
    }

    /// The values that the experts read and do not compute. `None` if one is a source, which has a name already.
    fn given(&self, graph: &Graph) -> Option<Vec<NodeId>> {
        let mut given = Vec::new();
        let read = graph.iter().filter(|(id, _)| self.inner[id.index()]).flat_map(|(_, node)| &node.inputs);
        let mut open: Vec<NodeId> = read.copied().filter(|id| !self.inner[id.index()]).collect();
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
}

/// For each node, whether it depends on `id`, or is it.
fn after(graph: &Graph, id: NodeId) -> Vec<bool> {
    let mut after = vec![false; graph.nodes().len()];
    for (node_id, node) in graph.iter() {
        after[node_id.index()] = node_id == id || node.inputs.iter().any(|input| after[input.index()]);
    }
    after
}

/// For each node, whether it is one of these or between two of them.
fn inner(graph: &Graph, selects: &[NodeId]) -> Vec<bool> {
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

fn named(name: &str, ids: Vec<NodeId>) -> Vec<(String, NodeId)> {
    ids.into_iter().enumerate().map(|(i, id)| (format!("{name}.{i}"), id)).collect()
}

/// The experts of one of the three graphs.
#[derive(Clone, Copy)]
enum Has {
    /// The resident ones.
    Resident(Resident),
    /// All but these.
    Offloaded(Resident),
    /// Their results, which other graphs have computed: those of offloaded experts, and of resident ones if there are any.
    Results { of_resident: bool },
}

/// One of the three graphs.
struct Part<'a> {
    graph: &'a Graph,
    experts: &'a Experts,
    /// The values that other graphs compute.
    given: &'a [(String, NodeId)],
    has: Has,
}

impl Part<'_> {
    /// The ids of this part's matrices for ids of experts.
    fn own_ids(&self, part: &mut Builder, resident: Resident, chosen: NodeId) -> NodeId {
        if let Resident::First(_) = resident {
            return chosen;
        }
        let is_resident = matches!(self.has, Has::Resident(_));
        let name = if is_resident { RESIDENT_IDS } else { OFFLOADED_IDS };
        let own = part.input(name, GgmlType::I32, [Dim::Const(self.experts.count)]);
        part.take(own, chosen)
    }

    fn build(&self, name: &str, outputs: &[(String, NodeId)]) -> Option<Graph> {
        let Part { graph, experts, given, has } = *self;
        let given_as = |id: NodeId| given.iter().find(|(_, node)| *node == id).map(|(name, _)| name);
        let is_result = |id: NodeId| matches!(has, Has::Results { .. }) && id == experts.last;
        let mut live = vec![false; graph.nodes().len()];
        outputs.iter().for_each(|(_, id)| live[id.index()] = true);
        for (id, node) in graph.iter().rev() {
            if live[id.index()] && given_as(id).is_none() && !is_result(id) {
                node.inputs.iter().for_each(|i| live[i.index()] = true);
            }
        }
        let stacks: Vec<NodeId> = experts.selects.iter().map(|id| graph.node(*id).inputs[1]).collect();
        let mut part = Builder::new(name);
        let mut map = vec![NodeId::FIRST; live.len()];
        let mut own_ids = None;
        for (id, node) in graph.iter().filter(|(id, _)| live[id.index()]) {
            let Type { dtype, shape } = node.ty.clone();
            map[id.index()] = match (given_as(id), has) {
                (Some(name), _) => part.input(name, dtype, shape),
                (None, Has::Results { of_resident }) if id == experts.last => {
                    let offloaded = part.input(OFFLOADED, dtype, shape.clone());
                    let resident = of_resident.then(|| part.input(RESIDENT, dtype, shape));
                    resident.map_or(offloaded, |resident| part.add(resident, offloaded))
                }
                (None, Has::Resident(resident)) if stacks.contains(&id) => {
                    let shape = shape.with(0, resident.count());
                    part.push(node.op.clone(), Vec::new(), Some(Type::new(dtype, shape)))
                }
                (None, _) => {
                    let mut inputs: Vec<NodeId> = node.inputs.iter().map(|i| map[i.index()]).collect();
                    let mut op = node.op.clone();
                    if experts.selects.contains(&id)
                        && let Has::Resident(resident) | Has::Offloaded(resident) = has
                    {
                        let own =
                            *own_ids.get_or_insert_with(|| self.own_ids(&mut part, resident, inputs[2]));
                        inputs[2] = own;
                        let from = match (has, resident) {
                            (Has::Offloaded(_), Resident::First(first)) => first,
                            _ => 0,
                        };
                        op = Op::SelectRange { from };
                    }
                    part.add_node(Node { op, inputs, ty: node.ty.clone() })
                }
            };
        }
        outputs.iter().for_each(|(name, id)| part.output(name, map[id.index()]));
        part.finish().ok()
    }
}

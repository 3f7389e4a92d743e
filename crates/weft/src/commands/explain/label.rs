//! Short labels for nodes and parts of kernels, such as `norm attn_norm → dot attn_q_a`.
//!
//! A label lists operations with their parameters. The elementwise steps of a norm or a softmax are replaced by its name, and
//! arithmetic between two computed values is left out.

use std::collections::BTreeSet;
use std::fmt;

use weft_ir::{Binary, Graph, NodeId, Op, Reduce, Unary};

/// Separates a part's prologue from its products.
pub(super) const BEFORE: &str = " → ";

/// What one part of a kernel computes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PartLabel {
    /// The nodes of the prologue, which every worker computes for itself.
    pub(super) prologue: Vec<NodeId>,
    /// The other nodes.
    pub(super) nodes: Vec<NodeId>,
    /// The labels of the prologue, which may be empty, and of the rest.
    words: [String; 2],
}

impl PartLabel {
    /// Labels a part that computes these nodes; `stored` are the states it writes to.
    pub(super) fn new(graph: &Graph, nodes: &[NodeId], stored: &[&str]) -> PartLabel {
        let before = before_anchors(graph, nodes);
        let (prologue, nodes): (Vec<NodeId>, Vec<NodeId>) = nodes.iter().partition(|id| before.contains(id));
        let mut rest = words(graph, &nodes);
        rest.extend(stored.iter().map(|state| format!("store {state}")));
        if nodes.is_empty() {
            rest.push("moves or rounds values".into());
        }
        let words = [words(graph, &prologue), rest].map(|words| words.join(", "));
        PartLabel { prologue, nodes, words }
    }
}

impl fmt::Display for PartLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.words {
            [before, rest] if before.is_empty() => f.write_str(rest),
            [before, rest] => write!(f, "{before}{BEFORE}{rest}"),
        }
    }
}

/// The parts of a kernel, separated by bars: `norm a → (dot b | dot c) | norm d`. A shared prologue is named once.
pub(super) fn kernel(parts: &[PartLabel]) -> String {
    let same = |a: &PartLabel, b: &PartLabel| !a.prologue.is_empty() && a.prologue == b.prologue;
    let group = |parts: &[PartLabel]| match parts {
        [first, _, ..] => {
            let rest: Vec<&str> = parts.iter().map(|part| part.words[1].as_str()).collect();
            format!("{}{BEFORE}({})", first.words[0], rest.join(" | "))
        }
        _ => parts.iter().map(ToString::to_string).collect(),
    };
    parts.chunk_by(same).map(group).collect::<Vec<_>>().join(" | ")
}

/// A node with its number and the name of its operand, if that has one: `dot %12 attn_q_a`.
pub(super) fn node(graph: &Graph, id: NodeId) -> String {
    let named = weft_engine::inspect::named(graph, id);
    match &graph.node(id).op {
        Op::Input { name } | Op::Weight { name } | Op::State { name, .. } => format!("{named} {name}"),
        _ => operand(graph, id).map_or(named.clone(), |operand| format!("{named} {operand}")),
    }
}

/// The same without the number: `dot attn_q_a`.
fn word(graph: &Graph, id: NodeId) -> String {
    let op = graph.node(id).op.name();
    operand(graph, id).map_or(op.into(), |operand| format!("{op} {operand}"))
}

/// The name of a node's operand: the weight of a product, the state of attention, the named operand of arithmetic.
fn operand(graph: &Graph, id: NodeId) -> Option<String> {
    let node = graph.node(id);
    let at = |i: usize| source(graph, *node.inputs.get(i)?);
    match node.op {
        _ if is_anchor(&node.op) => at(1),
        Op::Rows | Op::Store => at(0),
        Op::Binary(_) => at(0).or_else(|| at(1)),
        _ => None,
    }
}

/// The name of a weight, an input or a state, with the range that is used: `attn_q_b[64..96]`.
pub(super) fn source(graph: &Graph, mut id: NodeId) -> Option<String> {
    let mut range = String::new();
    loop {
        let node = graph.node(id);
        match &node.op {
            Op::Input { name } | Op::Weight { name } | Op::State { name, .. } => {
                return Some(format!("{name}{range}"));
            }
            // A slice of a state stands for the whole state.
            Op::Slice { start, len, .. } if !is_stored(graph, id) => {
                range = format!("[{start}..{}]{range}", start + len);
            }
            Op::Slice { .. } | Op::Reshape | Op::Store => {}
            _ => return None,
        }
        id = *node.inputs.first()?;
    }
}

fn is_stored(graph: &Graph, id: NodeId) -> bool {
    matches!(graph.node(graph.base(id)).op, Op::Store | Op::State { .. })
}

/// The nodes of a part that its anchors depend on.
fn before_anchors(graph: &Graph, nodes: &[NodeId]) -> BTreeSet<NodeId> {
    let (anchors, others): (Vec<NodeId>, Vec<NodeId>) =
        nodes.iter().partition(|id| is_anchor(&graph.node(**id).op));
    let mut before = BTreeSet::new();
    let mut stack: Vec<NodeId> =
        anchors.iter().flat_map(|id| &graph.node(*id).inputs).map(|i| graph.base(*i)).collect();
    while let Some(id) = stack.pop() {
        if others.contains(&id) && before.insert(id) {
            stack.extend(graph.node(id).inputs.iter().map(|i| graph.base(*i)));
        }
    }
    before
}

/// Whether an operation is an anchor.
pub(super) fn is_anchor(op: &Op) -> bool {
    matches!(
        op,
        Op::Dot
            | Op::HeadDot { .. }
            | Op::SelectDot
            | Op::SelectRange { .. }
            | Op::SelectSum
            | Op::Attend { .. }
    )
}

fn words(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    let mut words = Vec::new();
    // In reverse, so that a norm or softmax is recognised before its steps are reached.
    let mut named: BTreeSet<NodeId> = BTreeSet::new();
    for id in nodes.iter().rev().copied() {
        if named.contains(&id) {
            continue;
        }
        let whole = norm(graph, nodes, id).or_else(|| softmax(graph, id));
        if let Some((word, steps)) = whole {
            words.push(word);
            named.extend(steps);
        } else if is_labelled(graph, id) {
            words.push(word(graph, id));
        }
    }
    if words.is_empty() {
        return nodes.iter().map(|id| word(graph, *id)).collect();
    }
    words.reverse();
    words
}

/// Whether a node gets its own label.
fn is_labelled(graph: &Graph, id: NodeId) -> bool {
    match graph.node(id).op {
        Op::Cast | Op::Reduce { .. } => false,
        Op::Binary(_) => operand(graph, id).is_some(),
        _ => true,
    }
}

/// Recognises a norm, `x · rsqrt(mean x² + ε)` with an optional weight: its label and its nodes.
fn norm(graph: &Graph, nodes: &[NodeId], id: NodeId) -> Option<(String, Vec<NodeId>)> {
    let factors = |id: NodeId| {
        let node = graph.node(id);
        let inside = nodes.contains(&id) && node.op == Op::Binary(Binary::Mul);
        inside.then(|| (node.inputs[0], node.inputs[1]))
    };
    let scaled = |id: NodeId| {
        let (a, b) = factors(id)?;
        [b, a].into_iter().find(|f| graph.node(*f).op == Op::Unary(Unary::Rsqrt))
    };
    let (a, b) = factors(id)?;
    let (word, mut steps, root) = match (scaled(id), scaled(a), scaled(b)) {
        (Some(root), ..) => ("norm".into(), Vec::new(), root),
        (None, Some(root), _) => (format!("norm {}", source(graph, b)?), vec![a], root),
        (None, None, Some(root)) => (format!("norm {}", source(graph, a)?), vec![b], root),
        _ => return None,
    };
    let mut stack = vec![root];
    while let Some(step) = stack.pop().filter(|step| nodes.contains(step)) {
        let node = graph.node(step);
        let is_square = factors(step).is_some_and(|(a, b)| a == b);
        if !is_square {
            stack.extend(node.inputs.iter().filter(|i| nodes.contains(i)));
        }
        steps.push(step);
    }
    Some((word, steps))
}

/// Recognises a softmax, `eˣ⁻ᵐᵃˣ / Σ`: its label and its nodes.
fn softmax(graph: &Graph, id: NodeId) -> Option<(String, Vec<NodeId>)> {
    let inputs = |id: NodeId, op: &Op| {
        let node = graph.node(id);
        (node.op == *op).then_some(node.inputs.as_slice())
    };
    let reduced = |id: NodeId, which: Reduce| match graph.node(id).op {
        Op::Reduce { op, .. } if op == which => graph.node(id).inputs.first().copied(),
        _ => None,
    };
    let &[power, sum] = inputs(id, &Op::Binary(Binary::Div))? else { return None };
    let &[below] = inputs(power, &Op::Unary(Unary::Exp))? else { return None };
    let &[x, top] = inputs(below, &Op::Binary(Binary::Sub))? else { return None };
    let is_one = reduced(sum, Reduce::Sum) == Some(power) && reduced(top, Reduce::Max) == Some(x);
    is_one.then(|| ("softmax".into(), vec![power, sum, below, top]))
}

#[cfg(test)]
mod tests {
    use weft_ir::parse;

    use super::*;

    /// The label of a part that computes all nodes of a graph.
    fn label(nodes: &str, stored: &[&str]) -> String {
        let graph = parse(&format!("graph g {{\n{nodes}}}\n")).unwrap();
        let moves = |op: &Op| op.is_source() || matches!(op, Op::Reshape | Op::Slice { .. });
        let computed = graph.iter().filter(|(_, node)| !moves(&node.op)).map(|(id, _)| id);
        PartLabel::new(&graph, &computed.collect::<Vec<_>>(), stored).to_string()
    }

    const NORM: &str = "\
        %0 = input x : f32[T, 64]\n\
        %1 = mul %0 %0 : f32[T, 64]\n\
        %2 = reduce_sum %1 axis=1 : f32[T, 1]\n\
        %3 = rsqrt %2 : f32[T, 1]\n\
        %4 = mul %0 %3 : f32[T, 64]\n";

    #[test]
    fn norms_are_recognised_with_and_without_a_weight() {
        assert_eq!(label(&format!("{NORM}output y = %4\n"), &[]), "norm");
        let weight = "%5 = weight w : f32[64]\n%6 = mul %5 %4 : f32[T, 64]\noutput y = %6\n";
        assert_eq!(label(&format!("{NORM}{weight}"), &["kv"]), "norm w, store kv");
        // Twice as much is no weight.
        let twice = "%5 = add %4 %4 : f32[T, 64]\n%6 = mul %4 %5 : f32[T, 64]\noutput y = %6\n";
        assert_eq!(label(&format!("{NORM}{twice}"), &[]), "norm");
    }

    #[test]
    fn only_a_softmax_is_called_one() {
        let softmax = |of: &str| {
            let nodes = format!(
                "%0 = input x : f32[T, 8]\n\
                 %1 = reduce_max %0 axis=1 : f32[T, 1]\n\
                 %2 = sub %0 %1 : f32[T, 8]\n\
                 %3 = exp %2 : f32[T, 8]\n\
                 %4 = reduce_sum {of} axis=1 : f32[T, 1]\n\
                 %5 = div %3 %4 : f32[T, 8]\n\
                 output y = %5\n"
            );
            label(&nodes, &[])
        };
        assert_eq!(softmax("%3"), "softmax");
        assert_eq!(softmax("%2"), "sub x, exp");
    }

    #[test]
    fn prologues_come_first() {
        let product = "\
            %5 = weight w : f32[32, 64]\n\
            %6 = slice %5 axis=0 start=8 len=16 : f32[16, 64]\n\
            %7 = dot %4 %6 : f32[T, 16]\n\
            %8 = silu %7 : f32[T, 16]\n\
            output y = %8\n";
        assert_eq!(label(&format!("{NORM}{product}"), &[]), "norm → dot w[8..24], silu");
    }

    #[test]
    fn shared_prologues_are_named_once() {
        let part = |prologue: &[NodeId], words: [&str; 2]| PartLabel {
            prologue: prologue.to_vec(),
            nodes: Vec::new(),
            words: words.map(String::from),
        };
        let norm = [NodeId::FIRST];
        let parts = [
            part(&norm, ["norm a", "dot b"]),
            part(&norm, ["norm a", "dot c"]),
            part(&[], ["", "norm d"]),
            part(&[], ["", "norm e"]),
        ];
        assert_eq!(kernel(&parts), "norm a → (dot b | dot c) | norm d | norm e");
        assert_eq!(kernel(&parts[1..3]), "norm a → dot c | norm d");
        assert_eq!(label("%0 = input x : f32[T, 8]\noutput y = %0\n", &[]), "moves or rounds values");
    }

    #[test]
    fn arithmetic_is_labelled_if_there_is_nothing_else() {
        let nodes = "\
            %0 = input i : i32[T, 8]\n\
            %1 = cast %0 : f32[T, 8]\n\
            %2 = mul %1 %1 : f32[T, 8]\n\
            output y = %2\n";
        assert_eq!(label(nodes, &[]), "cast, mul");
    }
}

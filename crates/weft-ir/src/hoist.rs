//! Hoisting: values that depend only on the step are computed once, not in every layer.

use crate::build::Builder;
use crate::decision::{Decision, Mode};
use crate::graph::{Graph, Node, NodeId};
use crate::op::{Op, Unary};

/// Whether [`hoist`] is used.
///
/// Legal: the same operations compute each value from the same inputs, so the bits are the same. Never worse: the tables that are
/// now read instead are as large as what was written for the anchors anyway, and are written once per step.
pub static STEPS: Decision = Decision {
    name: "hoist.steps",
    about: "Computes tables that depend only on the step, such as rotary angles, once instead of in every layer.",
    default: Mode::On,
};

/// A graph cut in two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hoisted {
    /// Computes `tables.0`, `tables.1`, … from inputs of the step. Graphs that hoist the same tables have equal preludes.
    pub prelude: Graph,
    /// The rest, with the tables as inputs.
    pub rest: Graph,
}

/// The inputs that a value depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Constants only.
    Nothing,
    /// Inputs of the step and constants; `costly` if a transcendental function or a reduction is among the operations.
    Step { costly: bool },
    /// Anything else: weights, states, activations.
    More,
}

/// Hoists the values that depend only on these inputs and on constants, and that need a transcendental function or a reduction;
/// `None` if there are none.
///
/// The last such values are hoisted, those that the rest of the graph reads. An output stays where it is, and so does everything
/// in a graph that already uses one of the names.
pub fn hoist(graph: &Graph, step_inputs: &[&str]) -> Option<Hoisted> {
    let needs = needs(graph, step_inputs);
    let mut tables = vec![false; graph.nodes().len()];
    for node in graph.nodes().iter().zip(&needs).filter(|(_, n)| **n == Needs::More).map(|(node, _)| node) {
        for input in &node.inputs {
            tables[input.index()] = needs[input.index()] == Needs::Step { costly: true };
        }
    }
    graph.outputs().iter().for_each(|(_, id)| tables[id.index()] = false);
    let tables: Vec<NodeId> = graph.iter().map(|(id, _)| id).filter(|id| tables[id.index()]).collect();
    if tables.is_empty() {
        return None;
    }
    let names: Vec<String> = (0..tables.len()).map(|i| format!("tables.{i}")).collect();
    let named: Vec<(String, NodeId)> = names.into_iter().zip(tables).collect();
    let taken = |node: &Node| match &node.op {
        Op::Input { name } | Op::Weight { name } | Op::State { name, .. } => {
            named.iter().any(|(n, _)| n == name)
        }
        _ => false,
    };
    if graph.nodes().iter().any(taken) {
        return None;
    }
    let prelude = part(graph, "tables", &[], &named)?;
    Some(Hoisted { prelude, rest: part(graph, graph.name(), &named, graph.outputs())? })
}

fn needs(graph: &Graph, step_inputs: &[&str]) -> Vec<Needs> {
    let mut needs: Vec<Needs> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        let own = match &node.op {
            Op::Const { .. } => Needs::Nothing,
            Op::Input { name } if step_inputs.contains(&name.as_str()) => Needs::Step { costly: false },
            op if op.is_source() => Needs::More,
            Op::Unary(function) => Needs::Step { costly: *function != Unary::Neg },
            Op::Reduce { .. } => Needs::Step { costly: true },
            _ => Needs::Step { costly: false },
        };
        let of_inputs = node.inputs.iter().map(|i| needs[i.index()]).reduce(Needs::and);
        needs.push(match of_inputs {
            None => own,
            // Constants do not depend on the step, whatever is computed from them.
            Some(Needs::Nothing) => Needs::Nothing,
            Some(inputs) => inputs.and(own),
        });
    }
    needs
}

impl Needs {
    fn and(self, other: Needs) -> Needs {
        match (self, other) {
            (Needs::More, _) | (_, Needs::More) => Needs::More,
            (Needs::Nothing, needs) | (needs, Needs::Nothing) => needs,
            (Needs::Step { costly: a }, Needs::Step { costly: b }) => Needs::Step { costly: a || b },
        }
    }
}

/// The part of a graph that computes these outputs, in the same order, with some nodes given as inputs.
fn part(
    graph: &Graph,
    name: &str,
    given: &[(String, NodeId)],
    outputs: &[(String, NodeId)],
) -> Option<Graph> {
    let given_as = |id: NodeId| given.iter().find(|(_, node)| *node == id).map(|(name, _)| name);
    let mut live = vec![false; graph.nodes().len()];
    outputs.iter().for_each(|(_, id)| live[id.index()] = true);
    for (id, node) in graph.iter().rev().filter(|(id, _)| given_as(*id).is_none()) {
        if live[id.index()] {
            node.inputs.iter().for_each(|i| live[i.index()] = true);
        }
    }
    let mut part = Builder::new(name);
    let mut map = vec![NodeId::FIRST; live.len()];
    for (id, node) in graph.iter().filter(|(id, _)| live[id.index()]) {
        map[id.index()] = match given_as(id) {
            Some(name) => part.input(name, node.ty.dtype, node.ty.shape.clone()),
            None => {
                let inputs = node.inputs.iter().map(|i| map[i.index()]).collect();
                part.add_node(Node { inputs, ..node.clone() })
            }
        };
    }
    outputs.iter().for_each(|(name, id)| part.output(name, map[id.index()]));
    part.finish().ok()
}

//! Checks the rules of graphs.

use std::collections::BTreeSet;

use crate::graph::{Graph, NodeId, Type};
use crate::infer::infer;
use crate::op::{Op, StateKind};

/// A rule that a graph breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("graph `{graph}`, {place}: {why}")]
pub struct VerifyError {
    /// The graph's name.
    pub graph: String,
    /// The node or output.
    pub place: String,
    /// The rule and how it is broken.
    pub why: String,
}

/// Checks that
///
/// 1. every input of a node comes before it, and its type is the inferred one;
/// 2. the names of inputs, weights and states are unique;
/// 3. a state is stored at most once, and if so everything else reads the stored version, so that writing in place is the same as
///    making a new one;
/// 4. outputs exist, have unique names, and are computed or inputs, not weights; every stored state is an output, and no other
///    output has a state's name;
/// 5. names are words that the text form can hold.
///
/// # Errors
/// The first rule that is broken.
pub fn verify(graph: &Graph) -> Result<(), VerifyError> {
    let fail = |place: String, why: String| VerifyError { graph: graph.name.clone(), place, why };
    let mut names = BTreeSet::new();
    for (id, node) in graph.iter() {
        let place = || format!("{id} ({})", node.op.name());
        if let Some(late) = node.inputs.iter().find(|i| **i >= id) {
            return Err(fail(place(), format!("input {late} does not come before it")));
        }
        let types: Vec<&Type> = node.inputs.iter().map(|i| &graph.node(*i).ty).collect();
        let ty = infer(&node.op, &types, Some(&node.ty)).map_err(|why| fail(place(), why))?;
        if ty != node.ty {
            return Err(fail(place(), format!("has type {}, inference gives {ty}", node.ty)));
        }
        if let Op::Input { name } | Op::Weight { name } | Op::State { name, .. } = &node.op {
            if !is_word(name) {
                return Err(fail(
                    place(),
                    format!("`{name}` is not a name: expected letters, digits and `_.-/`"),
                ));
            }
            if !names.insert(name) {
                return Err(fail(place(), format!("the name `{name}` is used twice")));
            }
        }
    }
    states(graph).map_err(|(id, why)| fail(id.to_string(), why))?;
    let mut outputs = BTreeSet::new();
    for (name, id) in &graph.outputs {
        let fail = |why: String| fail(format!("output `{name}`"), why);
        if id.index() >= graph.nodes.len() {
            return Err(fail(format!("{id} does not exist")));
        }
        if !outputs.insert(name) || !is_word(name) {
            return Err(fail(
                "the name is used twice, or has other characters than letters, digits and `_.-/`".into(),
            ));
        }
        if graph.is_parameter(*id) {
            return Err(fail(format!("{id} is a weight, which nothing computes")));
        }
        let is_state =
            graph.nodes.iter().any(|n| matches!(&n.op, Op::State { name: state, .. } if state == name));
        let store = graph.node(*id);
        let own_store = store.op == Op::Store
            && matches!(&graph.node(store.inputs[0]).op, Op::State { name: state, .. } if state == name);
        if is_state && !own_store {
            return Err(fail(format!("it has the name of a state, but {id} does not store that state")));
        }
    }
    if !is_word(&graph.name) {
        return Err(fail("the graph".into(), "the name is not letters, digits and `_.-/`".into()));
    }
    Ok(())
}

/// Whether the text form can hold a name.
fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-/".contains(&b))
}

fn states(graph: &Graph) -> Result<(), (NodeId, String)> {
    let users = graph.users();
    for (id, node) in graph.iter() {
        match &node.op {
            Op::State { name, kind } => {
                let stores = users[id.index()].iter().filter(|u| graph.node(**u).op == Op::Store).count();
                let is_output = graph.outputs.iter().any(|(_, output)| *output == id);
                if stores > 0 && (users[id.index()].len() > 1 || is_output) {
                    return Err((id, format!("state `{name}` is stored and has another user")));
                }
                let scans = |user: &NodeId| matches!(graph.node(*user).op, Op::Scan { .. });
                let one_scan = matches!(&users[id.index()][..], [one] if scans(one)) && !is_output;
                if *kind == StateKind::PerSequence && !one_scan {
                    return Err((
                        id,
                        format!("state `{name}` of whole sequences needs one scan, and no other user"),
                    ));
                }
            }
            Op::Scan { rule } => {
                let state = node.inputs[rule.operands()];
                if !matches!(graph.node(state).op, Op::State { kind: StateKind::PerSequence, .. }) {
                    return Err((id, "scans something that is not a state of whole sequences".into()));
                }
            }
            Op::Store => {
                let Op::State { name, .. } = &graph.node(node.inputs[0]).op else {
                    return Err((id, "stores into something that is not a state".into()));
                };
                if !graph.outputs.iter().any(|(n, o)| n == name && *o == id) {
                    return Err((id, format!("the stored state is not output `{name}`")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

//! The float oracle: what a graph means, in slow and obvious arithmetic.
//!
//! Values are `f32`; sums are accumulated in `f64` and rounded once. Weights are read row by row, so that even a large model
//! is never decoded as a whole.

mod attend;
mod ops;
mod scan;
mod tensor;

use std::collections::BTreeMap;

use crate::graph::{Graph, NodeId, Type};
use crate::op::Op;
use crate::shape::Sizes;
use crate::weights::WeightRows;

pub use attend::{highest, listed, with_tail};
pub use tensor::Tensor;

/// Inputs, states and results by name.
pub type Values = BTreeMap<String, Tensor>;

/// Why a graph could not be evaluated. Since the graph is verified, the fault is in the values or weights.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("graph `{graph}`, {node}: {why}")]
pub struct EvalError {
    /// The graph's name.
    pub graph: String,
    /// The node that failed.
    pub node: NodeId,
    /// A sentence: what was expected and found.
    pub why: String,
}

/// Computes a graph's outputs.
///
/// `values` holds inputs and states by name. A state is an `f32` tensor `[S, W]`, and is replaced by its stored version. The
/// other outputs are added, replacing values of the same name.
///
/// # Errors
/// If a value is missing, or does not have the shape that the graph declares under `sizes`; if a weight cannot be read; or if
/// an index is out of range.
pub fn eval(
    graph: &Graph,
    sizes: &Sizes,
    weights: &dyn WeightRows,
    values: &mut Values,
) -> Result<(), EvalError> {
    let mut uses: Vec<usize> = vec![0; graph.nodes().len()];
    for node in graph.nodes() {
        node.inputs.iter().for_each(|i| uses[i.index()] += 1);
    }
    graph.outputs().iter().for_each(|(_, id)| uses[id.index()] += 1);

    let mut results: Vec<Option<Tensor>> = vec![None; graph.nodes().len()];
    let done = compute(graph, sizes, weights, values, &mut uses, &mut results);
    // Give states that were only read back to their owner, also after an error.
    for (id, node) in graph.iter() {
        if let (Op::State { name, .. }, Some(state)) = (&node.op, &mut results[id.index()]) {
            values.insert(name.clone(), std::mem::take(state));
        }
    }
    done?;
    for (name, id) in graph.outputs() {
        let value = results[id.index()].clone().ok_or_else(|| EvalError {
            graph: graph.name().into(),
            node: *id,
            why: format!("output `{name}` has no value"),
        })?;
        values.insert(name.clone(), value);
    }
    Ok(())
}

fn compute(
    graph: &Graph,
    sizes: &Sizes,
    weights: &dyn WeightRows,
    values: &mut Values,
    uses: &mut [usize],
    results: &mut [Option<Tensor>],
) -> Result<(), EvalError> {
    for (id, node) in graph.iter() {
        let fail = |why: String| EvalError { graph: graph.name().into(), node: id, why };
        results[id.index()] = match &node.op {
            // Weights are read by their users, row by row.
            Op::Weight { .. } => None,
            Op::Input { name } => {
                Some(given(values.get(name).cloned(), name, &node.ty, sizes).map_err(fail)?)
            }
            Op::State { name, .. } => Some(given(values.remove(name), name, &node.ty, sizes).map_err(fail)?),
            _ => ops::apply(graph, id, sizes, weights, results, uses).map_err(fail)?,
        };
        for input in &node.inputs {
            uses[input.index()] -= 1;
            // A state is kept for its owner; by now a store has taken it.
            if uses[input.index()] == 0 && !matches!(graph.node(*input).op, Op::State { .. }) {
                results[input.index()] = None;
            }
        }
    }
    Ok(())
}

fn given(value: Option<Tensor>, name: &str, ty: &Type, sizes: &Sizes) -> Result<Tensor, String> {
    let value = value.ok_or_else(|| format!("`{name}` is missing"))?;
    let shape = ty.shape.eval(sizes);
    // States are `f32` in the oracle, whatever a program stores.
    let same_kind = value.is_i32() == (ty.dtype == weft_quant::GgmlType::I32);
    if value.shape() != shape || !same_kind {
        return Err(format!("`{name}` must be {ty} = {shape:?}, not a tensor of shape {:?}", value.shape()));
    }
    Ok(value)
}

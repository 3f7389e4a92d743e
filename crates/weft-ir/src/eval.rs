//! The float oracle: what a graph means, in slow and obvious arithmetic.
//!
//! Values are `f32`, sums are kept in `f64` and rounded once. Weights are read row by row, so that even a large model is never
//! decoded as a whole.

mod ops;
mod product;
mod tensor;

use std::collections::BTreeMap;

use crate::graph::{Graph, NodeId, Type};
use crate::op::Op;
use crate::shape::Sizes;

pub use product::Product;
pub use tensor::Tensor;

/// Where the oracle reads weights from.
pub trait WeightRows {
    /// Decodes one row: `row` counts over all axes of the weight but the last, whose length `out` has.
    ///
    /// # Errors
    /// A sentence saying why the row cannot be read.
    fn read_row(&self, name: &str, row: usize, out: &mut [f32]) -> Result<(), String>;
}

/// Inputs, states and results by name.
pub type Values = BTreeMap<String, Tensor>;

/// Why a graph could not be evaluated. The graph itself being verified, the fault is in what it was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("graph `{graph}`, {node}: {why}")]
pub struct EvalError {
    /// The graph's name.
    pub graph: String,
    /// The node that failed.
    pub node: NodeId,
    /// What was expected and found.
    pub why: String,
}

/// Computes a graph's outputs.
///
/// `values` holds inputs and states by name; a state is an `f32` tensor `[S, W]` and is replaced by its stored version. The
/// other outputs are added, replacing what had their name.
///
/// # Errors
/// If a value is missing or has another shape than the graph declares under `sizes`, a weight cannot be read, or an index lies
/// outside what it indexes.
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
    // States that were only read go back to their owner, and after an error those that are left.
    for (id, node) in graph.iter() {
        if let (Op::State { name }, Some(state)) = (&node.op, &mut results[id.index()]) {
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
            // Read where it is used, row by row.
            Op::Weight { .. } => None,
            Op::Input { name } => {
                Some(given(values.get(name).cloned(), name, &node.ty, sizes).map_err(fail)?)
            }
            Op::State { name } => Some(given(values.remove(name), name, &node.ty, sizes).map_err(fail)?),
            _ => ops::apply(graph, id, sizes, weights, results, uses).map_err(fail)?,
        };
        for input in &node.inputs {
            uses[input.index()] -= 1;
            // A state is kept for its owner; a store has taken it by now.
            if uses[input.index()] == 0 && !matches!(graph.node(*input).op, Op::State { .. }) {
                results[input.index()] = None;
            }
        }
    }
    Ok(())
}

fn given(value: Option<Tensor>, name: &str, ty: &Type, sizes: &Sizes) -> Result<Tensor, String> {
    let value = value.ok_or_else(|| format!("`{name}` was not given"))?;
    let shape = ty.shape.eval(sizes);
    // States are `f32` in the oracle, whatever a program stores.
    let same_kind = value.is_i32() == (ty.dtype == weft_quant::GgmlType::I32);
    if value.shape() != shape || !same_kind {
        return Err(format!("`{name}` must be {ty} = {shape:?}, a tensor of {:?} was given", value.shape()));
    }
    Ok(value)
}

//! Graph to kernels: where to cut and why, plan reuse and the memory plan.
//!
//! [`fuse`] turns a graph into a [`Plan`]: it cuts the graph into groups (`group.rs`), decides which values are written to memory, in
//! which format and where (`place.rs`), writes each group as a kernel (`emit.rs`), orders the kernels (`order.rs`) and lays out the memory
//! between them (`memory.rs`).
#![forbid(unsafe_code)]

mod emit;
mod group;
mod memory;
mod order;
mod place;
mod strided;

use weft_ir::{Graph, NodeId, Sizes};
use weft_kern::{Plan, VerifyError};

/// Why a graph could not become a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FuseError {
    /// A node that no kernel can compute.
    #[error("graph `{graph}`, {node} ({op}): {why}")]
    Node {
        /// The graph's name.
        graph: String,
        /// The node.
        node: NodeId,
        /// Its operation.
        op: &'static str,
        /// What stands in the way.
        why: String,
    },
    /// The plan breaks a rule: a bug of this crate.
    #[error("the compiler made a wrong plan, please report it: {0}")]
    Plan(#[from] VerifyError),
}

impl FuseError {
    fn new(graph: &Graph, node: NodeId, why: impl Into<String>) -> FuseError {
        FuseError::Node { graph: graph.name().into(), node, op: graph.node(node).op.name(), why: why.into() }
    }
}

/// Compiles a graph to kernels, for steps no larger than `max`.
///
/// # Errors
/// If a node cannot be computed by any kernel.
pub fn fuse(graph: &Graph, max: &Sizes) -> Result<Plan, FuseError> {
    let groups = group::Groups::new(graph)?;
    let placed = place::place(graph, &groups)?;
    let launches = emit::emit(graph, &groups, &placed)?;
    let launches = order::order(launches);
    let plan = memory::plan(graph.name(), max, placed.buffers, launches);
    weft_kern::verify(&plan)?;
    Ok(plan)
}

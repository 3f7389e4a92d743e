//! Why a graph could not be compiled.

use weft_ir::{Graph, NodeId};
use weft_kern::VerifyError;

/// Why a graph could not become a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FuseError {
    /// No kernel can compute this node.
    #[error("graph `{graph}`, {node} ({op}): {why}")]
    Node {
        /// The graph's name.
        graph: String,
        /// The node.
        node: NodeId,
        /// Its operation.
        op: &'static str,
        /// The reason.
        why: String,
    },
    /// The plan breaks a rule, which is a bug of this crate.
    #[error("the compiler made an invalid plan (this is a bug, please report it): {0}")]
    Plan(#[from] VerifyError),
    /// A user's kernel does not fit the plan that it was given for.
    #[error("a kernel that was given does not fit: {0}")]
    Replaced(VerifyError),
}

impl FuseError {
    pub(crate) fn new(graph: &Graph, node: NodeId, why: impl Into<String>) -> FuseError {
        FuseError::Node { graph: graph.name().into(), node, op: graph.node(node).op.name(), why: why.into() }
    }
}

//! Questions that several rules ask of nodes.

use crate::graph::NodeId;
use crate::op::Op;
use crate::rule::Rewriter;

/// The operands of a node, if it is this operation.
pub(super) fn operands<'a, const N: usize>(
    rewriter: &Rewriter<'a>,
    id: NodeId,
    op: &Op,
) -> Option<[NodeId; N]> {
    let node = rewriter.node(id);
    if node.op == *op { node.inputs[..].try_into().ok() } else { None }
}

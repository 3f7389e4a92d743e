//! Questions that several rules ask of nodes.

use weft_quant::GgmlType;

use crate::graph::NodeId;
use crate::op::Op;
use crate::rule::Rewriter;
use crate::weights::WeightView;

/// The operands of a node, if it is this operation.
pub(super) fn operands<'a, const N: usize>(
    rewriter: &Rewriter<'a>,
    id: NodeId,
    op: &Op,
) -> Option<[NodeId; N]> {
    let node = rewriter.node(id);
    if node.op == *op { node.inputs[..].try_into().ok() } else { None }
}

/// Returns whether a node is whole rows of a weight, as both factors of a product must be.
pub(super) fn is_whole_rows(rewriter: &Rewriter<'_>, id: NodeId) -> bool {
    WeightView::of(rewriter.graph(), id).is_some()
}

/// The type of a product whose right factor has type `right`: 8 bits if that is quantised (and so has rows of whole blocks of
/// 32), which loses next to nothing compared with rounding activations to 8 bits; otherwise `f16`. (Rounded to a file's 4 bits a
/// second time, products increased the divergence of a small model more than fivefold.)
pub(super) fn product_type(right: GgmlType) -> GgmlType {
    if right.is_quantised() { GgmlType::Q8_0 } else { GgmlType::F16 }
}

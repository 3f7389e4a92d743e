//! The gated feed-forward network, SwiGLU (Shazeer, 2020, <https://arxiv.org/abs/2002.05202>).

use weft_ir::NodeId;

use crate::error::Error;
use crate::segment::SegmentBuilder;

/// `down(silu(gate(x)) · up(x))` for `x` of `[T, hidden]`, with biases where the file has them. The tensors are
/// `ffn_gate{suffix}` and so on.
pub(crate) fn swiglu(
    s: &mut SegmentBuilder<'_>,
    x: NodeId,
    suffix: &str,
    hidden: usize,
    width: usize,
) -> Result<NodeId, Error> {
    let gate = linear(s, x, &format!("ffn_gate{suffix}"), hidden, width)?;
    let up = linear(s, x, &format!("ffn_up{suffix}"), hidden, width)?;
    let gate = s.g.silu(gate);
    let inner = s.g.mul(gate, up);
    linear(s, inner, &format!("ffn_down{suffix}"), width, hidden)
}

/// `x·wᵀ`, plus a bias if the file has one.
pub(crate) fn linear(
    s: &mut SegmentBuilder<'_>,
    x: NodeId,
    name: &str,
    from: usize,
    to: usize,
) -> Result<NodeId, Error> {
    let w = s.matrix(&format!("{name}.weight"), &[to, from])?;
    let y = s.g.dot(x, w);
    s.add_bias(y, &format!("{name}.bias"), to)
}

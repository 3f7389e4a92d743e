//! A mixture of experts: a router picks a few gated networks for each token.

use weft_ir::{Dim, NodeId};

use crate::config::{Gating, Moe};
use crate::dense::swiglu;
use crate::error::Error;
use crate::segment::SegmentBuilder;

/// What the sum of chosen probabilities is at least taken to be before dividing by it: the smallest normal number
/// of a half, as in llama.cpp's `build_moe_ffn`.
const MIN_SUM: f32 = 1.0 / 16384.0;

/// The experts' outputs for `x` of `[T, hidden]`, weighted and summed, and the shared experts' on top.
pub(crate) fn experts(
    s: &mut SegmentBuilder<'_>,
    x: NodeId,
    moe: &Moe,
    hidden: usize,
) -> Result<NodeId, Error> {
    let (ids, weights) = route(s, x, moe, hidden)?;
    let (gate, up) = gate_up(s, x, ids, moe, hidden)?;
    let down = s.matrix("ffn_down_exps.weight", &[moe.experts, hidden, moe.width])?;
    let g = &mut s.g;
    let gate = g.silu(gate);
    let inner = g.mul(gate, up);
    let each = g.select_dot(inner, down, ids);
    let weights = g.reshape(weights, [Dim::T, moe.used.into(), 1.into()]);
    let weighted = g.mul(each, weights);
    let sum = g.reduce_sum(weighted, 1);
    let routed = g.reshape(sum, [Dim::T, hidden.into()]);
    if moe.shared == 0 {
        return Ok(routed);
    }
    let shared = swiglu(s, x, "_shexp", hidden, moe.shared * moe.width)?;
    Ok(s.g.add(routed, shared))
}

/// Which experts each token takes, `i32[T, used]`, and how much each of them counts, `f32[T, used]`.
fn route(s: &mut SegmentBuilder<'_>, x: NodeId, moe: &Moe, hidden: usize) -> Result<(NodeId, NodeId), Error> {
    let router = s.matrix("ffn_gate_inp.weight", &[moe.experts, hidden])?;
    let logits = s.g.dot(x, router);
    let probs = match moe.gating {
        Gating::Sigmoid => s.g.sigmoid(logits),
        Gating::Softmax => softmax(s, logits),
    };
    // The bias balances the load between experts: it has a say in which are taken, not in how much they count.
    let scores = s.add_bias(probs, "exp_probs_b.bias", moe.experts)?;
    let g = &mut s.g;
    let ids = g.topk(scores, moe.used);
    let mut weights = g.take(probs, ids);
    if moe.normalise {
        let sum = g.reduce_sum(weights, 1);
        let least = g.scalar(MIN_SUM);
        let sum = g.max(sum, least);
        weights = g.div(weights, sum);
    }
    if moe.scale != 1.0 {
        let scale = g.scalar(moe.scale);
        weights = g.mul(weights, scale);
    }
    Ok((ids, weights))
}

/// Softmax of each row of `[T, N]`.
fn softmax(s: &mut SegmentBuilder<'_>, x: NodeId) -> NodeId {
    let g = &mut s.g;
    let top = g.reduce_max(x, 1);
    let below = g.sub(x, top);
    let powers = g.exp(below);
    let sum = g.reduce_sum(powers, 1);
    g.div(powers, sum)
}

/// The chosen experts' gates and ups, `f32[T, used, width]` each. Some files keep both in one tensor, the gates
/// first.
fn gate_up(
    s: &mut SegmentBuilder<'_>,
    x: NodeId,
    ids: NodeId,
    moe: &Moe,
    hidden: usize,
) -> Result<(NodeId, NodeId), Error> {
    if s.has("ffn_gate_up_exps.weight") {
        let w = s.matrix("ffn_gate_up_exps.weight", &[moe.experts, 2 * moe.width, hidden])?;
        let both = s.g.select_dot(x, w, ids);
        return Ok((s.g.slice(both, 2, 0, moe.width), s.g.slice(both, 2, moe.width, moe.width)));
    }
    let gate = s.matrix("ffn_gate_exps.weight", &[moe.experts, moe.width, hidden])?;
    let up = s.matrix("ffn_up_exps.weight", &[moe.experts, moe.width, hidden])?;
    Ok((s.g.select_dot(x, gate, ids), s.g.select_dot(x, up, ids)))
}

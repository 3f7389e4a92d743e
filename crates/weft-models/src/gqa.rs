//! Grouped-query attention (Ainslie et al., 2023, <https://arxiv.org/abs/2305.13245>).

use weft_ir::{AttendInputs, Dim, NodeId};

use crate::BuildOptions;
use crate::config::{Config, Grouped};
use crate::dense::linear;
use crate::error::Error;
use crate::segment::SegmentBuilder;

/// The output of attention for the normed hidden state `x` of `[T, hidden]`. Keys and values of all heads, side by
/// side, are kept in the states `k` and `v`.
pub(crate) fn attention(
    s: &mut SegmentBuilder<'_>,
    x: NodeId,
    config: &Config,
    grouped: &Grouped,
    options: &BuildOptions,
) -> Result<NodeId, Error> {
    let Grouped { kv_heads, head_width } = *grouped;
    let (q_width, kv_width) = (config.heads * head_width, kv_heads * head_width);
    let q = linear(s, x, "attn_q", config.hidden, q_width)?;
    let k = linear(s, x, "attn_k", config.hidden, kv_width)?;
    let v = linear(s, x, "attn_v", config.hidden, kv_width)?;

    let q = s.g.reshape(q, [Dim::T, config.heads.into(), head_width.into()]);
    let q = config.rope.apply(s, q, 3, head_width);
    let k = s.g.reshape(k, [Dim::T, kv_heads.into(), head_width.into()]);
    let k = config.rope.apply(s, k, 3, head_width);
    let k = s.g.reshape(k, [Dim::T, kv_width.into()]);
    s.check_blocks(options.kv, head_width)?;
    let k = s.store("k", options.kv, k, kv_width);
    let v = s.store("v", options.kv, v, kv_width);

    let inputs = attend_inputs(s, q, k, v);
    let heads = s.g.attend(inputs, config.attention_scale, kv_heads, options.page);
    let joined = s.g.reshape(heads, [Dim::T, q_width.into()]);
    linear(s, joined, "attn_output", q_width, config.hidden)
}

/// What attention reads: queries, the states, and where each token's sequence lies in them.
pub(crate) fn attend_inputs(s: &mut SegmentBuilder<'_>, q: NodeId, k: NodeId, v: NodeId) -> AttendInputs {
    let (pos, first) = (s.per_token("pos"), s.per_token("first"));
    let pages = s.g.input("pages", weft_quant::GgmlType::I32, [Dim::P]);
    AttendInputs { q, k, v, pos, first, pages }
}

//! Multi-head latent attention (DeepSeek-V2, 2024, <https://arxiv.org/abs/2405.04434>, section 2.1), absorbed.
//!
//! A head's key is a matrix times the token's latent vector, beside a rotated part that all heads share. Since `q ·
//! (K c) = (Kᵀ q) · c`, the matrix is applied to the query instead, and the heads attend to the latent vectors
//! themselves: what is kept of a token is one row, `latent | rotated key`, for all heads. Values are a matrix times
//! the latent vector as well, so attention sums latent vectors, the first part of the same rows, and the matrix
//! comes after.

use weft_ir::{Dim, NodeId};

use crate::BuildOptions;
use crate::config::{Config, Latent};
use crate::dense::linear;
use crate::error::Error;
use crate::gqa::attend_inputs;
use crate::norm::rms_norm;
use crate::segment::SegmentBuilder;

/// The output of attention for the normed hidden state `x` of `[T, hidden]`. The rows are kept in the state `kv`.
pub(crate) fn attention(
    s: &mut SegmentBuilder<'_>,
    x: NodeId,
    config: &Config,
    latent: &Latent,
    options: &BuildOptions,
) -> Result<NodeId, Error> {
    let Latent { kv_rank, rope, value, .. } = *latent;
    let row_width = kv_rank + rope;
    let (q_nope, q_rope) = queries(s, x, config, latent)?;
    let kv = linear(s, x, "attn_kv_a_mqa", config.hidden, row_width)?;
    let c = s.g.slice(kv, 1, 0, kv_rank);
    let c = rms_norm(s, c, "attn_kv_a_norm.weight", kv_rank, config.rms_eps)?;
    let k_rope = s.g.slice(kv, 1, kv_rank, rope);
    let k_rope = config.rope.apply(s, k_rope, 2, rope);
    let row = s.g.concat(&[c, k_rope], 1);
    s.check_blocks(options.kv, kv_rank)?;
    s.check_blocks(options.kv, row_width)?;
    let rows = s.store("kv", options.kv, row, row_width);

    let matrices = Matrices::of(s, config.heads, latent)?;
    let q = matrices.query_to_latent(s, q_nope);
    let q = s.g.concat(&[q, q_rope], 2);
    let values = s.g.slice(rows, 1, 0, kv_rank);
    let inputs = attend_inputs(s, q, rows, values);
    let summed = s.g.attend(inputs, config.attention_scale, 1, options.page);
    let heads = s.g.head_dot(summed, matrices.value);
    let joined = s.g.reshape(heads, [Dim::T, (config.heads * value).into()]);
    linear(s, joined, "attn_output", config.heads * value, config.hidden)
}

/// The two parts of each head's query: `[T, H, nope]`, and `[T, H, rope]`, rotated.
fn queries(
    s: &mut SegmentBuilder<'_>,
    x: NodeId,
    config: &Config,
    latent: &Latent,
) -> Result<(NodeId, NodeId), Error> {
    let (hidden, nope, rope) = (config.hidden, latent.nope, latent.rope);
    let width = config.heads * (nope + rope);
    let q = match latent.q_rank {
        None => linear(s, x, "attn_q", hidden, width)?,
        Some(rank) => {
            let q = linear(s, x, "attn_q_a", hidden, rank)?;
            let q = rms_norm(s, q, "attn_q_a_norm.weight", rank, config.rms_eps)?;
            linear(s, q, "attn_q_b", rank, width)?
        }
    };
    let q = s.g.reshape(q, [Dim::T, config.heads.into(), (nope + rope).into()]);
    let q_rope = s.g.slice(q, 2, nope, rope);
    let q_rope = config.rope.apply(s, q_rope, 3, rope);
    Ok((s.g.slice(q, 2, 0, nope), q_rope))
}

/// Each head's matrices between the latent vector and its own keys and values.
struct Matrices {
    /// From a query to the latent space: `[H, kv_rank, nope]`, or transposed `[H, nope, kv_rank]`.
    key: NodeId,
    key_is_transposed: bool,
    /// From the latent space to values: `[H, value, kv_rank]`.
    value: NodeId,
}

impl Matrices {
    /// The matrices as the file has them: apart and the keys' already transposed, or `keys | values` joined head by
    /// head.
    fn of(s: &mut SegmentBuilder<'_>, heads: usize, latent: &Latent) -> Result<Matrices, Error> {
        let Latent { kv_rank, nope, value, .. } = *latent;
        if !latent.joined {
            let key = s.matrix("attn_k_b.weight", &[heads, kv_rank, nope])?;
            let value = s.matrix("attn_v_b.weight", &[heads, value, kv_rank])?;
            return Ok(Matrices { key, key_is_transposed: false, value });
        }
        let both = s.matrix("attn_kv_b.weight", &[heads * (nope + value), kv_rank])?;
        let shape = [heads, nope + value, kv_rank].map(Dim::Const);
        let both = s.g.reshape(both, shape);
        let key = s.g.slice(both, 1, 0, nope);
        let value = s.g.slice(both, 1, nope, value);
        Ok(Matrices { key, key_is_transposed: true, value })
    }

    /// `[T, H, nope]` to `[T, H, kv_rank]`.
    fn query_to_latent(&self, s: &mut SegmentBuilder<'_>, q: NodeId) -> NodeId {
        match self.key_is_transposed {
            true => s.g.head_dot_transposed(q, self.key),
            false => s.g.head_dot(q, self.key),
        }
    }
}

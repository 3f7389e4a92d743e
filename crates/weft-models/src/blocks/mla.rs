//! Multi-head latent attention (DeepSeek-V2, 2024, <https://arxiv.org/abs/2405.04434>, section 2.1), absorbed.
//!
//! A head's key is a matrix times the token's latent vector, joined with a rotated part that all heads share. Since
//! `q · (K c) = (Kᵀ q) · c`, the matrix is applied to the query instead, and heads attend to the latent vectors
//! themselves: the cache holds one row per token, `latent | rotated key`, for all heads. Values are a matrix times the
//! latent vector too, so attention sums latent vectors, the first part of the same rows, and the matrix is applied to
//! the sum.

use weft_ir::{AttendInputs, Dim, NodeId};

use super::gqa::attend_inputs;
use super::hadamard::Hadamard;
use super::{Block, Norm, Positions, Rope, linear};
use crate::config::BlockInfo;
use crate::error::Error;
use crate::segment::SegmentBuilder;

/// Attention to one latent vector per token, from which all heads derive their keys and values.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Latent {
    /// Width of the hidden state.
    pub(crate) hidden: usize,
    /// Query heads.
    pub(crate) heads: usize,
    /// Where queries come from.
    pub(crate) queries: Queries,
    /// Width of the latent vector (`kv_lora_rank`).
    pub(crate) kv_rank: usize,
    /// Width of the part of a head's query and key that is not rotated.
    pub(crate) nope: usize,
    /// Width of a head's values.
    pub(crate) value: usize,
    /// Whether the file has one tensor, `attn_kv_b`, for the matrices of keys and values, as files before 2025 do.
    pub(crate) joined: bool,
    /// The norm of the compressed query and of the latent vector.
    pub(crate) norm: Norm,
    /// The rotary embedding of the other part of each query, and of the key part that all heads share, which can have no values.
    pub(crate) rope: Rope,
    /// Whether these parts are rotated. Some models leave them as they are.
    pub(crate) rotated: bool,
    /// Whether each head's result is multiplied by the sigmoid of a value, `attn_gate`.
    pub(crate) gated: bool,
    /// Factor applied to scores before the softmax.
    pub(crate) scale: f32,
    /// The positions that are attended to.
    pub(crate) positions: Positions,
}

/// Where queries come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Queries {
    /// Directly from the hidden state.
    Direct,
    /// From a compressed query of this width (`q_lora_rank`).
    Compressed(usize),
}

impl Latent {
    fn rotate(&self, s: &mut SegmentBuilder<'_>, x: NodeId, rank: usize) -> NodeId {
        if self.rotated { self.rope.apply(s, x, rank, self.rope.dims) } else { x }
    }

    /// The two parts of each head's query: `[T, H, nope]`, and the rotated `[T, H, rope]`, if it has values; and the compressed query, if
    /// there is one.
    fn queries(
        &self,
        s: &mut SegmentBuilder<'_>,
        x: NodeId,
    ) -> Result<(NodeId, Option<NodeId>, Option<NodeId>), Error> {
        let Latent { hidden, nope, .. } = *self;
        let rope = self.rope.dims;
        let width = self.heads * (nope + rope);
        let (q, compressed) = match self.queries {
            Queries::Direct => (linear(s, x, "attn_q", hidden, width)?, None),
            Queries::Compressed(rank) => {
                let q = linear(s, x, "attn_q_a", hidden, rank)?;
                let q = self.norm.build(s, q, "attn_q_a_norm.weight", 1, rank)?;
                (linear(s, q, "attn_q_b", rank, width)?, Some(q))
            }
        };
        let q = s.g.reshape(q, [Dim::T, self.heads.into(), (nope + rope).into()]);
        if rope == 0 {
            return Ok((q, None, compressed));
        }
        let q_rope = s.g.slice(q, 2, nope, rope);
        let q_rope = self.rotate(s, q_rope, 3);
        Ok((s.g.slice(q, 2, 0, nope), Some(q_rope), compressed))
    }
}

impl Block for Latent {
    fn short_name(&self) -> &'static str {
        match self.positions {
            Positions::All => "mla",
            Positions::Chosen { .. } => "mla_indexer",
            Positions::Borrowed { .. } => "mla_list",
        }
    }

    fn info(&self) -> BlockInfo {
        let Latent { heads, kv_rank, nope, value, .. } = *self;
        let rope = self.rope.dims;
        let mut sizes = vec![("kv_rank", kv_rank), ("nope", nope), ("rope", rope), ("value", value)];
        let width = if rope == 0 { nope.to_string() } else { format!("{nope} + {rope}") };
        let mut summary = format!("{heads} heads of {width}, keys and values of rank {kv_rank}");
        if let Queries::Compressed(rank) = self.queries {
            sizes.push(("q_rank", rank));
            summary += &format!(", queries of rank {rank}");
        }
        summary.extend(self.positions.summary().map(|positions| format!(", {positions}")));
        BlockInfo { kind: "latent", sizes, summary }
    }

    /// Rows are stored in the state `kv`.
    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let Latent { hidden, heads, kv_rank, value, .. } = *self;
        let rope = self.rope.dims;
        let row_width = kv_rank + rope;
        let (q_nope, q_rope, compressed) = self.queries(s, x)?;
        let list = self.positions.list(s, x, compressed)?;
        let kv = linear(s, x, "attn_kv_a_mqa", hidden, row_width)?;
        let c = if rope == 0 { kv } else { s.g.slice(kv, 1, 0, kv_rank) };
        let c = self.norm.build(s, c, "attn_kv_a_norm.weight", 1, kv_rank)?;
        let row = if rope == 0 {
            c
        } else {
            let k_rope = s.g.slice(kv, 1, kv_rank, rope);
            let k_rope = self.rotate(s, k_rope, 2);
            s.g.concat(&[c, k_rope], 1)
        };
        s.check_blocks(kv_rank)?;
        s.check_blocks(row_width)?;
        // The values are the first part of a row.
        let hadamard = Hadamard::new(s, &[kv_rank, row_width]);
        let row = hadamard.apply(s, row, &[row_width]);
        let rows = s.store("kv", row, row_width);

        let matrices = Matrices::of(s, self)?;
        let q = matrices.query_to_latent(s, q_nope);
        let q = q_rope.map_or(q, |q_rope| s.g.concat(&[q, q_rope], 2));
        let q = hadamard.apply(s, q, &[heads, row_width]);
        let values = if rope == 0 { rows } else { s.g.slice(rows, 1, 0, kv_rank) };
        let inputs = AttendInputs { list, ..attend_inputs(s, q, rows, values) };
        let page = s.options.page;
        let summed = s.g.attend_to_pools(inputs, self.scale, (1, page), self.positions.pool());
        let summed = hadamard.apply(s, summed, &[heads, kv_rank]);
        let mut of_heads = s.g.head_dot(summed, matrices.value);
        if self.gated {
            let gate = linear(s, x, "attn_gate", hidden, heads)?;
            let gate = s.g.sigmoid(gate);
            let gate = s.g.reshape(gate, [Dim::T, heads.into(), 1.into()]);
            of_heads = s.g.mul(of_heads, gate);
        }
        let joined = s.g.reshape(of_heads, [Dim::T, (heads * value).into()]);
        linear(s, joined, "attn_output", heads * value, hidden)
    }
}

/// Each head's matrices between the latent vector and its keys and values.
struct Matrices {
    /// From a query to the latent space: `[H, kv_rank, nope]`, or transposed `[H, nope, kv_rank]`.
    key: NodeId,
    key_is_transposed: bool,
    /// From the latent space to values: `[H, value, kv_rank]`.
    value: NodeId,
}

impl Matrices {
    /// Loads the matrices in either form: separate, with those of keys already transposed, or `keys | values` joined head
    /// by head.
    fn of(s: &mut SegmentBuilder<'_>, latent: &Latent) -> Result<Matrices, Error> {
        let Latent { heads, kv_rank, nope, value, .. } = *latent;
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

    /// Maps `[T, H, nope]` to `[T, H, kv_rank]`.
    fn query_to_latent(&self, s: &mut SegmentBuilder<'_>, q: NodeId) -> NodeId {
        match self.key_is_transposed {
            true => s.g.head_dot_transposed(q, self.key),
            false => s.g.head_dot(q, self.key),
        }
    }
}

//! Gated delta networks: linear attention with a state for each sequence (Yang et al., 2024,
//! <https://arxiv.org/abs/2412.06464>).

use weft_ir::{Dim, NodeId, Recurrence};

use super::{Block, Norm, linear};
use crate::config::BlockInfo;
use crate::error::Error;
use crate::keys::{Keys, MAX_HEAD_WIDTH, MAX_HEADS, MAX_WIDTH};
use crate::segment::SegmentBuilder;

/// The most weights of a channel in a short convolution.
pub(super) const MAX_TAPS: usize = 64;

/// Linear attention by the gated delta rule, after a short convolution of queries, keys and values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct GatedDelta {
    /// Width of the hidden state.
    pub(crate) hidden: usize,
    /// Heads of queries and keys.
    pub(crate) keys: usize,
    /// Heads of values, a multiple of `keys`.
    pub(crate) values: usize,
    /// Width of a head of queries and keys.
    pub(crate) key_width: usize,
    /// Width of a head of values.
    pub(crate) value_width: usize,
    /// Weights of a channel of the convolution.
    pub(crate) taps: usize,
    /// The norm of each head's result; its ε is also that of the norms of queries and keys.
    pub(crate) norm: Norm,
    /// Which heads share a key head, and where the inputs of decays are.
    pub(crate) decays: Decays,
}

/// How value heads are ordered in a file, and which tensors hold the inputs of their decays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decays {
    /// Value head h has key head h mod K; `ssm_alpha` and `ssm_beta`.
    Tiled,
    /// Value head h has key head h div (H / K); `ssm_ba`, for each key head first β and then α of its value heads.
    Grouped,
}

impl GatedDelta {
    /// Reads the keys `ssm.*`.
    pub(crate) fn read(
        keys: &Keys<'_>,
        hidden: usize,
        norm: Norm,
        decays: Decays,
    ) -> Result<GatedDelta, Error> {
        const GROUPS: &str = "ssm.group_count";
        const HEADS: &str = "ssm.time_step_rank";
        const INNER: &str = "ssm.inner_size";
        let key_width = keys.number("ssm.state_size", 1..=MAX_HEAD_WIDTH)?;
        let groups = keys.number(GROUPS, 1..=MAX_HEADS)?;
        let values = keys.number(HEADS, 1..=MAX_HEADS)?;
        let inner = keys.number(INNER, 1..=MAX_WIDTH)?;
        let taps = keys.number("ssm.conv_kernel", 2..=MAX_TAPS)?;
        if !values.is_multiple_of(groups) {
            let rule = format!("it must be a multiple of ssm.group_count, {groups}");
            return Err(keys.wrong(HEADS, values, rule));
        }
        if inner != values * key_width {
            let rule = format!("it can only be ssm.time_step_rank · ssm.state_size, {}", values * key_width);
            return Err(keys.wrong(INNER, inner, rule));
        }
        Ok(GatedDelta { hidden, keys: groups, values, key_width, value_width: key_width, taps, norm, decays })
    }

    /// The inputs of decays and of β, `[T, values]` each.
    fn gates(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<[NodeId; 2], Error> {
        let GatedDelta { hidden, keys, values, .. } = *self;
        match self.decays {
            Decays::Tiled => {
                Ok([linear(s, x, "ssm_alpha", hidden, values)?, linear(s, x, "ssm_beta", hidden, values)?])
            }
            Decays::Grouped => {
                let both = linear(s, x, "ssm_ba", hidden, 2 * values)?;
                let each = values / keys;
                let both = s.g.reshape(both, [Dim::T, keys.into(), (2 * each).into()]);
                Ok([each, 0].map(|start| {
                    let part = s.g.slice(both, 2, start, each);
                    s.g.reshape(part, [Dim::T, values.into()])
                }))
            }
        }
    }
}

/// `x · scale / √(Σ x² + ε)` for each head of `x`, `[T, heads, width]`.
pub(super) fn unit(s: &mut SegmentBuilder<'_>, x: NodeId, eps: f32, scale: f32) -> NodeId {
    let g = &mut s.g;
    let squares = g.mul(x, x);
    let sum = g.reduce_sum(squares, 2);
    let eps = g.scalar(eps);
    let above_zero = g.add(sum, eps);
    let mut factor = g.rsqrt(above_zero);
    if scale != 1.0 {
        let scale = g.scalar(scale);
        factor = g.mul(factor, scale);
    }
    g.mul(x, factor)
}

impl Block for GatedDelta {
    fn short_name(&self) -> &'static str {
        "delta"
    }

    fn info(&self) -> BlockInfo {
        let GatedDelta { keys, values, key_width, value_width, taps, .. } = *self;
        let sizes = vec![
            ("key_heads", keys),
            ("key_width", key_width),
            ("value_heads", values),
            ("value_width", value_width),
            ("convolution", taps),
        ];
        let summary = format!(
            "a gated delta rule of {values} heads of {value_width}, with {keys} heads of keys of {key_width}"
        );
        BlockInfo { kind: "delta", sizes, summary }
    }

    /// The last inputs of the convolution are in the state `conv`, the matrices in the state `delta`.
    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let GatedDelta { hidden, keys, values, key_width, value_width, taps, .. } = *self;
        let inner = values * value_width;
        let channels = 2 * keys * key_width + inner;
        let joined = linear(s, x, "attn_qkv", hidden, channels)?;
        let z = linear(s, x, "attn_gate", hidden, inner)?;
        // Here, where it follows the product.
        let z = s.g.silu(z);
        let [alpha, beta] = self.gates(s, x)?;

        let heads = s.g.reshape(joined, [Dim::T, (channels / key_width).into(), key_width.into()]);
        let weights = s.squeezed("ssm_conv1d.weight", &[channels, taps])?;
        let convolved = s.scan("conv", Recurrence::Convolution, &[heads, weights]);
        let active = s.g.silu(convolved);
        let q = s.g.slice(active, 1, 0, keys);
        let k = s.g.slice(active, 1, keys, keys);
        let v = s.g.slice(active, 1, 2 * keys, inner / key_width);
        let q = unit(s, q, self.norm.eps, (1.0 / (key_width as f64).sqrt()) as f32);
        let k = unit(s, k, self.norm.eps, 1.0);

        let offset = s.vector("ssm_dt.bias", values)?;
        let rate = s.vector("ssm_a", values)?;
        let alpha = s.g.add(alpha, offset);
        let alpha = s.g.softplus(alpha);
        let decay = s.g.mul(alpha, rate);
        let decay = s.g.exp(decay);
        let beta = s.g.sigmoid(beta);
        let rule = match self.decays {
            Decays::Tiled => Recurrence::DeltaTiled,
            Decays::Grouped => Recurrence::Delta,
        };
        let out = s.scan("delta", rule, &[q, k, v, decay, beta]);

        let normed = self.norm.build(s, out, "ssm_norm.weight", 2, value_width)?;
        let z = s.g.reshape(z, [Dim::T, values.into(), value_width.into()]);
        let gated = s.g.mul(normed, z);
        let gated = s.g.reshape(gated, [Dim::T, inner.into()]);
        linear(s, gated, "ssm_out", inner, hidden)
    }
}

//! Kimi delta attention: the gated delta rule with a decay for each key channel (Kimi Team, *Kimi Linear*,
//! 2025, <https://arxiv.org/abs/2510.26692>). Ling bounds decays, and its gates have full rank.

use weft_ir::{Dim, NodeId, Recurrence};

use super::delta::{MAX_TAPS, unit};
use super::{Block, Norm, linear};
use crate::config::BlockInfo;
use crate::error::Error;
use crate::keys::{Keys, MAX_HEAD_WIDTH};
use crate::segment::SegmentBuilder;

/// Linear attention whose heads have queries, keys and values of their own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Kda {
    /// Width of the hidden state.
    pub(crate) hidden: usize,
    /// The heads.
    pub(crate) heads: usize,
    /// Width of a head.
    pub(crate) width: usize,
    /// Weights of a channel of the convolutions.
    pub(crate) taps: usize,
    /// The norm of each head's result.
    pub(crate) norm: Norm,
    /// ε of the norms of queries and keys.
    pub(crate) unit: f32,
    /// Whether the inputs of decays and gates are products of two matrices, with `width` values between them.
    pub(crate) narrow: bool,
    /// How decays are computed.
    pub(crate) bound: Bound,
}

/// How the logarithm of a decay is computed from its input f.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Bound {
    /// `ssm_a · softplus(f + ssm_dt)`, where `ssm_a` is below zero.
    None,
    /// `bound · sigmoid(ssm_a · (f + ssm_dt))`, where `ssm_a` is above zero, and the bound below.
    Lower(f32),
    /// The same with `−ssm_a`, which is below zero.
    Negated(f32),
}

impl Kda {
    /// Reads `kda.head_dim` and `ssm.conv_kernel`.
    pub(crate) fn read(
        keys: &Keys<'_>,
        (hidden, heads): (usize, usize),
        norm: Norm,
        bound: Bound,
    ) -> Result<Kda, Error> {
        let width = keys.number("kda.head_dim", 1..=MAX_HEAD_WIDTH)?;
        let taps = keys.number("ssm.conv_kernel", 2..=MAX_TAPS)?;
        let narrow = bound == Bound::None;
        Ok(Kda { hidden, heads, width, taps, norm, unit: norm.eps, narrow, bound })
    }

    /// `x` after a projection, a short convolution and SiLU: `[T, heads, width]`.
    fn convolved(&self, s: &mut SegmentBuilder<'_>, x: NodeId, which: &str) -> Result<NodeId, Error> {
        let Kda { hidden, heads, width, taps, .. } = *self;
        let all = heads * width;
        let x = linear(s, x, &format!("attn_{which}"), hidden, all)?;
        let x = s.g.reshape(x, [Dim::T, heads.into(), width.into()]);
        let weights = s.squeezed(&format!("ssm_conv1d_{which}.weight"), &[all, taps])?;
        let convolved = s.scan(&format!("conv_{which}"), Recurrence::Convolution, &[x, weights]);
        Ok(s.g.silu(convolved))
    }

    /// A projection of `x` to all heads.
    fn gate(&self, s: &mut SegmentBuilder<'_>, x: NodeId, which: &str) -> Result<NodeId, Error> {
        let Kda { hidden, heads, width, .. } = *self;
        let (first, second) = (format!("ssm_{which}_a"), format!("ssm_{which}_b"));
        match self.narrow {
            true => {
                let narrow = linear(s, x, &first, hidden, width)?;
                linear(s, narrow, &second, width, heads * width)
            }
            false => linear(s, x, &first, hidden, heads * width),
        }
    }

    /// The decay of each key channel, `[T, heads, width]`.
    fn decay(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let Kda { heads, width, .. } = *self;
        let f = self.gate(s, x, "f")?;
        let offset = s.vector("ssm_dt.bias", heads * width)?;
        let f = s.g.add(f, offset);
        let rate = s.squeezed("ssm_a", &[heads])?;
        let rate = s.g.reshape(rate, [heads, 1].map(Dim::Const));
        let by_head = [Dim::T, heads.into(), width.into()];
        let logarithm = match self.bound {
            Bound::None => {
                let f = s.g.softplus(f);
                let f = s.g.reshape(f, by_head);
                s.g.mul(f, rate)
            }
            Bound::Lower(bound) | Bound::Negated(bound) => {
                let f = s.g.reshape(f, by_head);
                let f = if matches!(self.bound, Bound::Negated(_)) { s.g.neg(f) } else { f };
                let f = s.g.mul(f, rate);
                let share = s.g.sigmoid(f);
                let bound = s.g.scalar(bound);
                s.g.mul(share, bound)
            }
        };
        Ok(s.g.exp(logarithm))
    }
}

impl Block for Kda {
    fn short_name(&self) -> &'static str {
        "kda"
    }

    fn info(&self) -> BlockInfo {
        let Kda { heads, width, taps, .. } = *self;
        let sizes = vec![("heads", heads), ("head_width", width), ("convolution", taps)];
        BlockInfo {
            kind: "delta",
            sizes,
            summary: format!("a delta rule with a decay for each channel of {heads} heads of {width}"),
        }
    }

    /// The last inputs of the convolutions are in the states `conv_q`, `conv_k` and `conv_v`, the matrices in
    /// the state `delta`.
    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let Kda { hidden, heads, width, .. } = *self;
        let gate = self.gate(s, x, "g")?;
        let gate = s.g.sigmoid(gate);
        let beta = linear(s, x, "ssm_beta", hidden, heads)?;
        let beta = s.g.sigmoid(beta);
        let decay = self.decay(s, x)?;
        let q = self.convolved(s, x, "q")?;
        let k = self.convolved(s, x, "k")?;
        let v = self.convolved(s, x, "v")?;
        let q = unit(s, q, self.unit, (1.0 / (width as f64).sqrt()) as f32);
        let k = unit(s, k, self.unit, 1.0);
        let out = s.scan("delta", Recurrence::Delta, &[q, k, v, decay, beta]);
        let normed = self.norm.build(s, out, "ssm_norm.weight", 2, width)?;
        let gate = s.g.reshape(gate, [Dim::T, heads.into(), width.into()]);
        let gated = s.g.mul(normed, gate);
        let gated = s.g.reshape(gated, [Dim::T, (heads * width).into()]);
        linear(s, gated, "attn_output", heads * width, hidden)
    }
}

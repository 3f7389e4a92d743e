//! The gated feed-forward network: SwiGLU and its variants (Shazeer, 2020, <https://arxiv.org/abs/2002.05202>).

use weft_ir::NodeId;

use super::{Block, linear};
use crate::common::Common;
use crate::config::BlockInfo;
use crate::error::Error;
use crate::keys::{Keys, MAX_WIDTH};
use crate::segment::SegmentBuilder;

/// `down(activation(gate(x)) · up(x))`, with the biases that the file has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Gated {
    /// Width of the hidden state.
    pub(crate) hidden: usize,
    /// Intermediate width.
    pub(crate) width: usize,
    /// How gate and up are combined.
    pub(crate) activation: Activation,
}

/// The function of a gated network's gate and up product.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Activation {
    /// SwiGLU: `silu(gate) · up`.
    Silu,
    /// SwiGLU whose factors have a bound (Ling 3): `min(silu(gate), bound) · u`, with `u` as up between −bound and
    /// bound.
    Bounded(f32),
    /// SwiGLU whose factors have a bound before the activation (GLM-5.3-Flash): `silu(min(gate, bound)) · u`, with the same `u`.
    Limited(f32),
    /// The SwiGLU of gpt-oss: with `g = min(gate, 7)` and `u` as up between −7 and 7, `g · sigmoid(1.702 · g) · (u + 1)`.
    Clamped,
    /// GeGLU (Gemma): `gelu(gate) · up`, with GELU's approximation by tanh (Hendrycks and Gimpel, 2016,
    /// <https://arxiv.org/abs/1606.08415>).
    Gelu,
    /// `max(up, 0)²`, without a gate (Nemotron; So et al., 2021, <https://arxiv.org/abs/2109.08668>).
    SquaredRelu,
}

impl Activation {
    /// Whether networks with it have a matrix of gates.
    pub(crate) fn has_gate(self) -> bool {
        self != Activation::SquaredRelu
    }
}

/// The bound of [`Activation::Clamped`], and the factor in its sigmoid.
const LIMIT: f32 = 7.0;
const ALPHA: f32 = 1.702;

/// GELU by tanh is `x · (1 + tanh z) / 2` with `z = √(2/π) · (x + CUBE · x³)`, which is `x · sigmoid(2z)`.
const CUBE: f32 = 0.044_715;
const STEEP: f32 = 2.0 * 0.797_884_6;

impl Gated {
    /// Reads `feed_forward_length`: the network of each block.
    pub(crate) fn of_blocks(
        keys: &Keys<'_>,
        common: &Common,
        activation: Activation,
    ) -> Result<Vec<Gated>, Error> {
        const WIDTH: &str = "feed_forward_length";
        let widths = keys.per_layer(WIDTH, common.blocks)?.into_iter();
        let network = |width| {
            Ok(Gated { hidden: common.hidden, width: keys.within(WIDTH, width, 1..=MAX_WIDTH)?, activation })
        };
        widths.map(network).collect()
    }

    /// Builds the network from `ffn_gate{suffix}`, `ffn_up{suffix}` and `ffn_down{suffix}`.
    pub(crate) fn build_as(
        &self,
        s: &mut SegmentBuilder<'_>,
        x: NodeId,
        suffix: &str,
    ) -> Result<NodeId, Error> {
        let mut matrix = |name| linear(s, x, &format!("{name}{suffix}"), self.hidden, self.width);
        let gate = self.activation.has_gate().then(|| matrix("ffn_gate")).transpose()?;
        let up = matrix("ffn_up")?;
        let inner = self.gate(s, gate.unwrap_or(up), up);
        linear(s, inner, &format!("ffn_down{suffix}"), self.width, self.hidden)
    }

    /// Combines gate and up, which are the same where there is no gate.
    pub(crate) fn gate(&self, s: &mut SegmentBuilder<'_>, gate: NodeId, up: NodeId) -> NodeId {
        let g = &mut s.g;
        match self.activation {
            Activation::Silu => {
                let gate = g.silu(gate);
                g.mul(gate, up)
            }
            Activation::Bounded(bound) => {
                let [most, least] = [bound, -bound].map(|n| g.scalar(n));
                let gate = g.silu(gate);
                let gate = g.min(gate, most);
                let up = g.min(up, most);
                let up = g.max(up, least);
                g.mul(gate, up)
            }
            Activation::Limited(bound) => {
                let [most, least] = [bound, -bound].map(|n| g.scalar(n));
                let gate = g.min(gate, most);
                let gate = g.silu(gate);
                let up = g.min(up, most);
                let up = g.max(up, least);
                g.mul(gate, up)
            }
            Activation::Gelu => {
                let [cube, steep, one] = [CUBE, STEEP, 1.0].map(|n| g.scalar(n));
                let square = g.mul(gate, gate);
                let bend = g.mul(square, cube);
                let bend = g.add(bend, one);
                let z = g.mul(gate, bend);
                let z = g.mul(z, steep);
                let share = g.sigmoid(z);
                let gate = g.mul(gate, share);
                g.mul(gate, up)
            }
            Activation::SquaredRelu => {
                let zero = g.scalar(0.0);
                let above = g.max(up, zero);
                g.mul(above, above)
            }
            Activation::Clamped => {
                let [limit, least, alpha, one] = [LIMIT, -LIMIT, ALPHA, 1.0].map(|n| g.scalar(n));
                let gate = g.min(gate, limit);
                let steep = g.mul(gate, alpha);
                let share = g.sigmoid(steep);
                let gate = g.mul(gate, share);
                let up = g.min(up, limit);
                let up = g.max(up, least);
                let up = g.add(up, one);
                g.mul(gate, up)
            }
        }
    }
}

/// A gated network whose gate and up matrices are one tensor, `ffn_up`, the gate's rows first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct JoinedGated(pub(crate) Gated);

impl Block for JoinedGated {
    fn short_name(&self) -> &'static str {
        self.0.short_name()
    }

    fn info(&self) -> BlockInfo {
        self.0.info()
    }

    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let Gated { hidden, width, .. } = self.0;
        let both = linear(s, x, "ffn_up", hidden, 2 * width)?;
        let (gate, up) = (s.g.slice(both, 1, 0, width), s.g.slice(both, 1, width, width));
        let inner = self.0.gate(s, gate, up);
        linear(s, inner, "ffn_down", width, hidden)
    }
}

impl Block for Gated {
    fn short_name(&self) -> &'static str {
        "dense"
    }

    fn info(&self) -> BlockInfo {
        let summary = format!("dense of {}", self.width);
        BlockInfo { kind: "dense", sizes: vec![("width", self.width)], summary }
    }

    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        self.build_as(s, x, "")
    }
}

//! The gated feed-forward network: SwiGLU and its variants (Shazeer, 2020, <https://arxiv.org/abs/2002.05202>).

use weft_ir::{NodeId, Op, Unary};

use super::{Block, linear};
use crate::config::BlockInfo;
use crate::error::Error;
use crate::segment::SegmentBuilder;

/// `down(activation(gate(x)) · up(x))`, with the biases that the file has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Gated {
    /// Width of the hidden state.
    pub(crate) hidden: usize,
    /// Intermediate width.
    pub(crate) width: usize,
    /// The gate's activation: SiLU for SwiGLU.
    pub(crate) activation: Unary,
}

impl Gated {
    /// Builds the network from `ffn_gate{suffix}`, `ffn_up{suffix}` and `ffn_down{suffix}`.
    pub(crate) fn build_as(
        &self,
        s: &mut SegmentBuilder<'_>,
        x: NodeId,
        suffix: &str,
    ) -> Result<NodeId, Error> {
        let gate = linear(s, x, &format!("ffn_gate{suffix}"), self.hidden, self.width)?;
        let up = linear(s, x, &format!("ffn_up{suffix}"), self.hidden, self.width)?;
        let inner = self.gate(s, gate, up);
        linear(s, inner, &format!("ffn_down{suffix}"), self.width, self.hidden)
    }

    /// `activation(gate) · up`.
    pub(super) fn gate(&self, s: &mut SegmentBuilder<'_>, gate: NodeId, up: NodeId) -> NodeId {
        let gate = s.g.push(Op::Unary(self.activation), vec![gate], None);
        s.g.mul(gate, up)
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

//! The gated short convolution of LFM2 (Liquid AI, 2025, <https://arxiv.org/abs/2511.23404>): two gates around a convolution over the
//! last few positions.

use weft_ir::{Dim, NodeId, Recurrence};

use super::delta::MAX_TAPS;
use super::{Block, linear};
use crate::config::BlockInfo;
use crate::error::Error;
use crate::keys::Keys;
use crate::segment::SegmentBuilder;

/// `out · (c ∘ convolution(b ∘ x))`, where one matrix makes b, c and x.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ShortConv {
    /// Width of the hidden state, which is the number of channels.
    pub(crate) hidden: usize,
    /// Weights of a channel of the convolution.
    pub(crate) taps: usize,
}

/// The most channels that a scan walks together.
const MOST_TOGETHER: usize = 128;

/// How many of these channels a scan walks together: the largest power of two that divides them, up to a bound.
pub(super) fn together(channels: usize) -> usize {
    (1 << channels.trailing_zeros()).min(MOST_TOGETHER)
}

impl ShortConv {
    /// Reads `shortconv.l_cache`.
    pub(crate) fn read(keys: &Keys<'_>, hidden: usize) -> Result<ShortConv, Error> {
        Ok(ShortConv { hidden, taps: keys.number("shortconv.l_cache", 2..=MAX_TAPS)? })
    }
}

impl Block for ShortConv {
    fn short_name(&self) -> &'static str {
        "conv"
    }

    fn info(&self) -> BlockInfo {
        let ShortConv { hidden, taps } = *self;
        let summary = format!("a gated convolution of {hidden} channels over {taps} positions");
        BlockInfo { kind: "convolution", sizes: vec![("channels", hidden), ("convolution", taps)], summary }
    }

    /// The last inputs of the convolution are in the state `conv`.
    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let ShortConv { hidden, taps } = *self;
        let all = linear(s, x, "shortconv.in_proj", hidden, 3 * hidden)?;
        let [b, c, x] = [0, 1, 2].map(|part| s.g.slice(all, 1, part * hidden, hidden));
        let x = s.g.mul(b, x);
        let width = together(hidden);
        let heads = s.g.reshape(x, [Dim::T, (hidden / width).into(), width.into()]);
        let weights = s.squeezed("shortconv.conv.weight", &[hidden, taps])?;
        let convolved = s.scan("conv", Recurrence::Convolution, &[heads, weights]);
        let convolved = s.g.reshape(convolved, [Dim::T, hidden.into()]);
        let gated = s.g.mul(c, convolved);
        linear(s, gated, "shortconv.out_proj", hidden, hidden)
    }
}

//! The blocks that families build layers from: attention, feed-forward networks, norms, rotary embeddings. A block holds a
//! few sizes and switches; building it adds nodes to a layer's graph.

mod delta;
pub(crate) mod ends;
mod gated;
mod gqa;
mod hadamard;
mod indexer;
mod kda;
mod mamba;
mod mla;
mod moe;
mod norm;
mod rope;
mod shortconv;
mod streams;
mod temperature;
pub(crate) mod windows;

use weft_ir::NodeId;

pub(crate) use delta::{Decays, GatedDelta};
pub(crate) use gated::{Activation, Gated, JoinedGated};
pub(crate) use gqa::{Gate, Grouped, Heads, QkNorm, attend_inputs, head_width, only_scale, rotated};
pub(crate) use hadamard::Hadamard;
pub(crate) use indexer::{Indexer, Positions};
pub(crate) use kda::{Bound, Kda};
pub(crate) use mamba::Mamba;
pub(crate) use mla::{Latent, Queries};
pub(crate) use moe::{Count, Experts, Gating, Groups, Router, Shared};
pub(crate) use norm::Norm;
pub(crate) use rope::{Rope, RopeScaling};
pub(crate) use shortconv::ShortConv;
pub(crate) use streams::Streams;
pub(crate) use temperature::Temperature;
pub(crate) use windows::{Pattern, Windows};

use crate::config::BlockInfo;
use crate::error::Error;
use crate::segment::SegmentBuilder;

/// An attention or feed-forward block.
pub(crate) trait Block {
    /// The block's name within graph names: `gqa` in `gqa_dense_layer`.
    fn short_name(&self) -> &'static str;

    /// The block's kind and sizes, for display.
    fn info(&self) -> BlockInfo;

    /// Adds the block to a layer's graph. `x` is the normed hidden state; the layer adds the result to the residual. Both
    /// are `f32[T, hidden]`.
    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error>;
}

/// `x·wᵀ`, plus what adapters add to it, plus a bias if the file has one. `x` is `[T, from]`, the result `[T, to]`, and the
/// tensors are `{name}.weight` and `{name}.bias`.
pub(crate) fn linear(
    s: &mut SegmentBuilder<'_>,
    x: NodeId,
    name: &str,
    from: usize,
    to: usize,
) -> Result<NodeId, Error> {
    let matrix = format!("{name}.weight");
    let w = s.matrix(&matrix, &[to, from])?;
    let y = s.g.dot(x, w);
    let y = s.add_adapters(y, x, &matrix, (from, to))?;
    s.add_bias(y, &format!("{name}.bias"), to)
}

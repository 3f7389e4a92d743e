//! The parts that families build layers from. A block is a few sizes and switches; building it adds its nodes to a
//! layer's graph and names the tensors it takes.

pub(crate) mod ends;
mod gated;
mod gqa;
mod mla;
mod moe;
mod norm;
mod rope;

use weft_ir::NodeId;

pub(crate) use gated::Gated;
pub(crate) use gqa::{Grouped, Heads};
pub(crate) use mla::{Latent, Queries};
pub(crate) use moe::{Count, Experts, Gating, Router, refuse_groups};
pub(crate) use norm::RmsNorm;
pub(crate) use rope::Rope;

use crate::config::BlockInfo;
use crate::error::Error;
use crate::segment::SegmentBuilder;

/// An attention or feed-forward block: from the normed hidden state to what the layer adds to its state.
pub(crate) trait Block {
    /// What the names of graphs call it: `gqa` in `gqa_dense_layer`.
    fn short_name(&self) -> &'static str;

    /// Its kind and sizes, for people.
    fn info(&self) -> BlockInfo;

    /// Adds it to the graph of a layer. `x` and the result are `f32[T, hidden]`.
    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error>;
}

/// `x·wᵀ` for `x` of `[T, from]`, plus a bias if the file has one: the tensors are `{name}.weight` and `{name}.bias`.
pub(crate) fn linear(
    s: &mut SegmentBuilder<'_>,
    x: NodeId,
    name: &str,
    from: usize,
    to: usize,
) -> Result<NodeId, Error> {
    let w = s.matrix(&format!("{name}.weight"), &[to, from])?;
    let y = s.g.dot(x, w);
    s.add_bias(y, &format!("{name}.bias"), to)
}

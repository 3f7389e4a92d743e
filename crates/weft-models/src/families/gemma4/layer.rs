//! A layer: attention, a dense network, experts parallel to it, and the addend of this layer's embedding.
//!
//! With `n` a norm with weights of its own at each place:
//!
//! ```text
//! x ← x + n(attention(n(x)))
//! x ← x + n(dense(n(x)))                            a layer without experts
//! x ← x + n(n(dense(n(x))) + n(experts(n(x))))      a layer with experts
//! x ← x + n(proj · (gelu(inp_gate · x) ∘ own))      with embeddings for each layer, of which `own` is this layer's
//! x ← x · layer_output_scale
//! ```
//!
//! The router sees `x`, normed without weights, over the root of its width, times `ffn_gate_inp.scale`. What an expert returns is
//! multiplied by its value of `ffn_down_exps.scale`.

use weft_ir::NodeId;

use super::attention::Attention;
use super::per_layer::PerLayer;
use crate::blocks::{Block, Experts, Gated};
use crate::common::Common;
use crate::config::{BlockInfo, LayerInfo};
use crate::error::Error;
use crate::file::ModelFile;
use crate::segment::SegmentBuilder;

/// A layer.
pub(super) struct Layer<'a> {
    /// Its attention.
    pub(super) attention: Attention,
    /// Its feed-forward network.
    pub(super) network: Network,
    /// The embeddings for each layer, if the model has them.
    pub(super) per_layer: Option<PerLayer>,
    /// The sizes that all layers share.
    pub(super) common: &'a Common,
}

/// A feed-forward network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    /// The dense one, for every token.
    pub(super) dense: Gated,
    /// The experts parallel to it.
    pub(super) experts: Option<Experts>,
}

impl Layer<'_> {
    /// Builds the segment of the layer with this index.
    pub(super) fn build<'f>(&self, file: &ModelFile<'f>, index: usize) -> Result<SegmentBuilder<'f>, Error> {
        let Common { hidden, norm, .. } = *self.common;
        let network = if self.network.experts.is_some() { "dense_moe" } else { "dense" };
        let graph = format!("{}_{network}_layer", self.attention.short_name());
        let mut s = SegmentBuilder::new(file, &graph, Some(index));
        let x = s.hidden(hidden);
        let normed = norm.build(&mut s, x, "attn_norm.weight", 1, hidden)?;
        let attended = self.attention.build(&mut s, normed)?;
        let attended = norm.build(&mut s, attended, "post_attention_norm.weight", 1, hidden)?;
        let x = s.g.add(x, attended);
        let fed = self.feed(&mut s, x)?;
        let fed = norm.build(&mut s, fed, "post_ffw_norm.weight", 1, hidden)?;
        let mut x = s.g.add(x, fed);
        if let Some(per_layer) = self.per_layer {
            let added = per_layer.of_layer(&mut s, x, index, self.common)?;
            x = s.g.add(x, added);
        }
        const SCALE: &str = "layer_output_scale.weight";
        if s.has(SCALE) {
            let scale = s.vector(SCALE, 1)?;
            x = s.g.mul(x, scale);
        }
        s.g.output("x", x);
        Ok(s)
    }

    /// The result of the feed-forward network, before its last norm and the addition to `x`.
    fn feed(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let Common { hidden, norm, .. } = *self.common;
        let normed = norm.build(s, x, "ffn_norm.weight", 1, hidden)?;
        let dense = self.network.dense.build(s, normed)?;
        let Some(experts) = self.network.experts else { return Ok(dense) };
        let dense = norm.build(s, dense, "post_ffw_norm_1.weight", 1, hidden)?;
        let seen = self.seen_by_router(s, x)?;
        let normed = norm.build(s, x, "pre_ffw_norm_2.weight", 1, hidden)?;
        let routed = experts.routed(s, normed, (seen, hidden), Some("ffn_down_exps.scale"))?;
        let routed = norm.build(s, routed, "post_ffw_norm_2.weight", 1, hidden)?;
        Ok(s.g.add(dense, routed))
    }

    /// The input of the router's matrix.
    fn seen_by_router(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let Common { hidden, norm, .. } = *self.common;
        let unit = norm.unit(s, x, 1, hidden);
        let small = s.g.scalar((1.0 / (hidden as f64).sqrt()) as f32);
        let unit = s.g.mul(unit, small);
        let scale = s.vector("ffn_gate_inp.scale", hidden)?;
        Ok(s.g.mul(unit, scale))
    }

    /// The blocks of the layer, for display.
    pub(super) fn info(&self) -> LayerInfo {
        let dense = self.network.dense.info();
        let feed_forward = match self.network.experts.map(|experts| experts.info()) {
            None => dense,
            Some(experts) => {
                BlockInfo { summary: format!("{} and {}", dense.summary, experts.summary), ..experts }
            }
        };
        LayerInfo { attention: self.attention.info(), feed_forward }
    }
}

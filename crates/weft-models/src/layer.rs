//! A layer: attention, then the feed-forward part, each on the normed state and added to it.

use weft_gguf::Gguf;

use crate::config::{Attention, Config, FeedForward};
use crate::dense::swiglu;
use crate::error::Error;
use crate::norm::rms_norm;
use crate::segment::{Segment, SegmentBuilder};
use crate::{BuildOptions, gqa, mla, moe};

/// The segment of layer `index`: takes `x` and gives the next.
pub(crate) fn layer(
    gguf: &Gguf,
    config: &Config,
    options: &BuildOptions,
    index: usize,
) -> Result<Segment, Error> {
    let (hidden, eps) = (config.hidden, config.rms_eps);
    let feed_forward = &config.feed_forward[index];
    let graph = match (&config.attention, feed_forward) {
        (Attention::Grouped(_), FeedForward::Dense { .. }) => "gqa_dense_layer",
        (Attention::Grouped(_), FeedForward::Experts(_)) => "gqa_moe_layer",
        (Attention::Latent(_), FeedForward::Dense { .. }) => "mla_dense_layer",
        (Attention::Latent(_), FeedForward::Experts(_)) => "mla_moe_layer",
    };
    let mut segment = SegmentBuilder::new(gguf, graph, Some(index));
    let s = &mut segment;
    let x = s.hidden(hidden);
    let normed = rms_norm(s, x, "attn_norm.weight", hidden, eps)?;
    let attended = match &config.attention {
        Attention::Grouped(grouped) => gqa::attention(s, normed, config, grouped, options)?,
        Attention::Latent(latent) => mla::attention(s, normed, config, latent, options)?,
    };
    let x = s.g.add(x, attended);
    let normed = rms_norm(s, x, "ffn_norm.weight", hidden, eps)?;
    let fed = match feed_forward {
        FeedForward::Dense { width } => swiglu(s, normed, "", hidden, *width)?,
        FeedForward::Experts(moe) => moe::experts(s, normed, moe, hidden)?,
    };
    let x = s.g.add(x, fed);
    s.g.output("x", x);
    segment.finish(format!("layer {index}"))
}

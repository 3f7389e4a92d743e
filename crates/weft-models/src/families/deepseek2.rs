//! The `deepseek2` and `mistral4` families: multi-head latent attention and mixture of experts (DeepSeek-V2 and
//! V2-Lite, Moonlight, GLM-4.7-Flash; Mistral Small 4).
//!
//! Keys, defaults and fallbacks are the same as in llama.cpp (`src/models/deepseek2.cpp`, `mistral4.cpp`), except
//! that queries scaled by position (`attention.temperature_scale`) are refused.

use weft_gguf::Gguf;
use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{
    Activation, Block, Count, Experts, Gated, Gating, Groups, Latent, Positions, Queries, Rope, Router,
    Shared,
};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_HEAD_WIDTH, MAX_LAYERS, MAX_SHARED_EXPERTS, MAX_WIDTH};
use crate::model::{ModelBuilder, ModelGraph};
use crate::mtp::{self, Mtp};

pub(super) const DEEPSEEK: Family =
    Family { architecture: "deepseek2", tensors: TENSORS, unusual: &[], build, mtp: Some(mtp) };

/// The same with another name, for files whose experts' gates and ups are joined.
pub(super) const MISTRAL: Family = Family { architecture: "mistral4", mtp: None, ..DEEPSEEK };

const TENSORS: &[&str] = &[
    "attn_norm",
    "attn_q",
    "attn_q_a",
    "attn_q_a_norm",
    "attn_q_b",
    "attn_kv_a_mqa",
    "attn_kv_a_norm",
    "attn_k_b",
    "attn_v_b",
    "attn_kv_b",
    "attn_output",
    "ffn_norm",
    "ffn_gate",
    "ffn_up",
    "ffn_down",
    "ffn_gate_inp",
    "ffn_gate_exps",
    "ffn_up_exps",
    "ffn_down_exps",
    "ffn_gate_up_exps",
    "ffn_gate_shexp",
    "ffn_up_shexp",
    "ffn_down_shexp",
    "exp_probs_b",
    "nextn.eh_proj",
    "nextn.enorm",
    "nextn.hnorm",
    "nextn.embed_tokens",
    "nextn.shared_head_head",
    "nextn.shared_head_norm",
];

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let ModelFile { gguf, keys, .. } = file;
    let common = Common::read(keys)?;
    refuse_temperature(keys)?;
    let layers = mtp::layers(gguf, keys, common.blocks)?;
    let attention = attention(gguf, keys, &common)?;
    let feed_forward = feed_forward(keys, &common, layers, networks(keys, layers, &common)?)?;

    let mtp_blocks = common.blocks - layers;
    let mut model = ModelBuilder::new(file, common)?;
    for block in &feed_forward {
        model.layer(&attention, block.as_ref())?;
    }
    model.ignore_mtp_blocks(mtp_blocks);
    model.finish()
}

/// The first block after the layers. What [`build`] refuses has been refused.
fn mtp(file: &ModelFile<'_>) -> Result<Option<Mtp>, Error> {
    let ModelFile { gguf, keys, .. } = file;
    let common = Common::read(keys)?;
    let layers = mtp::layers(gguf, keys, common.blocks)?;
    if !mtp::is_block(gguf, layers) {
        return Ok(None);
    }
    let attention = attention(gguf, keys, &common)?;
    let feed_forward = feed_forward(keys, &common, layers, networks(keys, layers, &common)?)?;
    let Some(last) = feed_forward.last() else { return Ok(None) };
    mtp::build(file, &common, layers, &attention, last.as_ref()).map(Some)
}

pub(super) fn refuse_temperature(keys: &Keys<'_>) -> Result<(), Error> {
    const TEMPERATURE: &str = "attention.temperature_scale";
    match keys.f32(TEMPERATURE)? {
        None | Some(0.0) => Ok(()),
        Some(scale) => Err(keys.unsupported(TEMPERATURE, scale, "it can only be 0")),
    }
}

/// Latent attention to all positions.
pub(super) fn attention(gguf: &Gguf, keys: &Keys<'_>, common: &Common) -> Result<Latent, Error> {
    // Without the `_mla` keys, the plain keys hold the sizes of a head; with them, those of the cached latent row.
    let joined = keys.metadata.get(&keys.name("attention.key_length_mla")).is_none();
    let (key, value) = match joined {
        true => ("attention.key_length", "attention.value_length"),
        false => ("attention.key_length_mla", "attention.value_length_mla"),
    };
    let width = keys.number(key, 2..=MAX_HEAD_WIDTH)?;
    const ROPE: &str = "rope.dimension_count";
    let rotated = keys.number(ROPE, 2..=MAX_HEAD_WIDTH)?;
    if !rotated.is_multiple_of(2) || rotated >= width {
        let rule = format!("it must be even and below {key}, {width}");
        return Err(keys.wrong(ROPE, rotated, rule));
    }
    // Small models do not compress queries, which only the tensors tell.
    let queries = match gguf.tensor("blk.0.attn_q.weight") {
        Some(_) => Queries::Direct,
        None => Queries::Compressed(keys.number("attention.q_lora_rank", 1..=MAX_WIDTH)?),
    };
    let kv_rank = keys.number("attention.kv_lora_rank", 1..=MAX_WIDTH)?;
    let value = keys.number(value, 1..=MAX_HEAD_WIDTH)?;
    // Converters write 0.1 · mscale_all_dim (see llama.cpp pull request 17945).
    let mscale_all_dim = keys.positive_opt("rope.scaling.yarn_log_multiplier")?.map(|m| m / 0.1);
    let rope = Rope::read_with_mscale(keys, RopeStyle::Pairs, rotated, common.context, mscale_all_dim)?;
    Ok(Latent {
        hidden: common.hidden,
        heads: common.heads,
        queries,
        kv_rank,
        nope: width - rotated,
        value,
        joined,
        norm: common.norm,
        scale: (rope.score_factor() / (width as f64).sqrt()) as f32,
        rope,
        rotated: true,
        gated: false,
        positions: Positions::All,
    })
}

/// The differences between families that have a few dense layers before those with experts.
pub(super) struct Networks {
    /// How routers make probabilities.
    pub(super) gating: Gating,
    /// Whether routers divide the chosen probabilities by their sum.
    pub(super) normalise: bool,
    /// The width of all shared experts together, if it is not that of so many experts.
    pub(super) shared: Option<usize>,
    /// Whether gates have their bound before the activation.
    pub(super) limited: bool,
    /// The bound of each layer's routed experts, and that of its other networks; 0 for none, as for layers beyond
    /// the end.
    pub(super) bounds: [Vec<f32>; 2],
}

impl Networks {
    /// Networks without bounds, and a router that reads `expert_weights_norm`.
    pub(super) fn usual(keys: &Keys<'_>, gating: Gating) -> Result<Networks, Error> {
        let normalise = keys.metadata.bool(&keys.name("expert_weights_norm"))?.unwrap_or(false);
        Ok(Networks { gating, normalise, shared: None, limited: false, bounds: [Vec::new(), Vec::new()] })
    }

    /// The activation of a layer's routed experts, and that of its other networks.
    fn activations(&self, layer: usize) -> [Activation; 2] {
        // llama.cpp takes a bound below a millionth for none.
        const LEAST: f32 = 1e-6;
        self.bounds.each_ref().map(|bounds| match bounds.get(layer) {
            Some(bound) if *bound > LEAST && self.limited => Activation::Limited(*bound),
            Some(bound) if *bound > LEAST => Activation::Bounded(*bound),
            _ => Activation::Silu,
        })
    }
}

fn networks(keys: &Keys<'_>, layers: usize, common: &Common) -> Result<Networks, Error> {
    Networks::usual(keys, gating(keys, layers, common.vocab)?)
}

/// The feed-forward blocks of all layers. The first few are dense.
pub(super) fn feed_forward(
    keys: &Keys<'_>,
    common: &Common,
    layers: usize,
    networks: Networks,
) -> Result<Vec<Box<dyn Block>>, Error> {
    let Common { hidden, blocks, .. } = *common;
    let Networks { gating, normalise, .. } = networks;
    let network = |key: &str, width: u32, activation: Activation| {
        let width = keys.within(key, width, 1..=MAX_WIDTH)?;
        Ok::<_, Error>(Gated { hidden, width, activation })
    };
    let dense = keys.number_opt("leading_dense_block_count", 0..=MAX_LAYERS)?.unwrap_or(0).min(layers);
    let mut feed_forward: Vec<Box<dyn Block>> = Vec::with_capacity(layers);
    if dense > 0 {
        const WIDTH: &str = "feed_forward_length";
        for (layer, width) in keys.per_layer(WIDTH, blocks)?.into_iter().take(dense).enumerate() {
            let [_, activation] = networks.activations(layer);
            feed_forward.push(Box::new(network(WIDTH, width, activation)?));
        }
    }
    if dense < layers {
        const WIDTH: &str = "expert_feed_forward_length";
        let count = Count::read(keys)?;
        let shared = keys.number("expert_shared_count", 0..=MAX_SHARED_EXPERTS)?;
        let router = Router {
            gating,
            groups: Groups::read(keys, count, gating)?,
            bias: true,
            normalise,
            scale: keys.positive_opt("expert_weights_scale")?.unwrap_or(1.0),
        };
        let widths = keys.per_layer(WIDTH, blocks)?.into_iter().take(layers).enumerate();
        for (layer, width) in widths.skip(dense) {
            let [routed, activation] = networks.activations(layer);
            let expert = network(WIDTH, width, routed)?;
            let shared = (shared > 0).then(|| Shared {
                count: shared,
                width: networks.shared.unwrap_or(shared * expert.width),
                activation,
                scored: false,
            });
            feed_forward.push(Box::new(Experts { count, expert, shared, router }));
        }
    }
    Ok(feed_forward)
}

/// The router's gating. Old files have no key for it; as in llama.cpp, GLM-4.7-Flash, recognised by its size, then uses a
/// sigmoid and DeepSeek-V2 a softmax. The wrong gating gives fluent text that repeats itself.
fn gating(keys: &Keys<'_>, layers: usize, vocab: usize) -> Result<Gating, Error> {
    let is_glm = matches!(layers, 47 | 48) && vocab == 154_880;
    Gating::read(keys, if is_glm { Gating::Sigmoid } else { Gating::Softmax })
}

#[cfg(test)]
mod tests {
    use weft_gguf::Metadata;

    use super::*;

    #[test]
    fn gating_without_a_key_depends_on_the_size() {
        let mut metadata = Metadata::new();
        let gating = |metadata: &Metadata, layers, vocab| {
            gating(&Keys { metadata, architecture: "deepseek2" }, layers, vocab).unwrap()
        };
        assert_eq!(gating(&metadata, 47, 154_880), Gating::Sigmoid);
        assert_eq!(gating(&metadata, 48, 154_880), Gating::Sigmoid);
        assert_eq!(gating(&metadata, 47, 128_256), Gating::Softmax);
        assert_eq!(gating(&metadata, 27, 102_400), Gating::Softmax);
        metadata.insert("deepseek2.expert_gating_func", 1u32);
        assert_eq!(gating(&metadata, 47, 154_880), Gating::Softmax);
        metadata.insert("deepseek2.expert_gating_func", 2u32);
        assert_eq!(gating(&metadata, 27, 102_400), Gating::Sigmoid);
    }
}

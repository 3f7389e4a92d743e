//! The `deepseek2` family: multi-head latent attention and mixtures of experts (DeepSeek-V2 and -V2-Lite, Moonlight,
//! GLM-4.7-Flash).
//!
//! Keys, defaults and fallbacks are those of llama.cpp (`src/models/deepseek2.cpp`).

use weft_gguf::Gguf;

use crate::config::{Attention, Common, Config, FeedForward, Gating, Latent, Moe};
use crate::error::Error;
use crate::keys::{Keys, MAX_EXPERTS, MAX_HEAD_WIDTH, MAX_LAYERS, MAX_SHARED_EXPERTS, MAX_WIDTH};
use crate::rope::Rope;

pub(crate) fn config(gguf: &Gguf, keys: &Keys<'_>) -> Result<Config, Error> {
    let Common { name, blocks, hidden, vocab, context, rms_eps, heads } = Common::read(keys)?;
    refuse_unsupported(keys)?;
    let layers = layers(gguf, keys, blocks)?;
    let latent = latent(gguf, keys)?;
    // The key holds 0.1 · mscale_all_dim: converters write it so (llama.cpp pull request 17945 tells the story).
    let mscale_all_dim = keys.positive_opt("rope.scaling.yarn_log_multiplier")?.map(|m| m / 0.1);
    let rope = Rope::read(keys, latent.rope, context, mscale_all_dim)?;
    Ok(Config {
        architecture: keys.architecture,
        name,
        hidden,
        vocab,
        context,
        rms_eps,
        heads,
        attention: Attention::Latent(latent),
        attention_scale: (rope.sharpening() / ((latent.nope + latent.rope) as f64).sqrt()) as f32,
        rope,
        feed_forward: feed_forward(keys, blocks, layers, vocab)?,
        mtp_blocks: blocks - layers,
    })
}

fn refuse_unsupported(keys: &Keys<'_>) -> Result<(), Error> {
    const GROUPS: &str = "expert_group_count";
    match keys.metadata.u32(&keys.name(GROUPS))? {
        None | Some(0 | 1) => {}
        Some(groups) => {
            return Err(keys.unsupported(GROUPS, groups, "experts can only be chosen out of one group"));
        }
    }
    const TEMPERATURE: &str = "attention.temperature_scale";
    match keys.metadata.f32(&keys.name(TEMPERATURE))? {
        None | Some(0.0) => Ok(()),
        Some(scale) => Err(keys.unsupported(
            TEMPERATURE,
            scale,
            "attention must not change its temperature with the position",
        )),
    }
}

/// Blocks of a multi-token prediction head. (Published ones have one.)
const MAX_MTP_BLOCKS: usize = 16;

/// The blocks that are layers of the model proper.
///
/// A multi-token prediction head (MTP, "NextN") is a block after the last layer, or several, which `block_count`
/// includes. It is known by its own tensors, `blk.N.nextn.*`. Files made without it may still count it;
/// `nextn_predict_layers` tells how many blocks may be missing for that reason.
fn layers(gguf: &Gguf, keys: &Keys<'_>, blocks: usize) -> Result<usize, Error> {
    let mtp = keys.number_opt("nextn_predict_layers", 0..=MAX_MTP_BLOCKS)?.unwrap_or(0);
    let is_empty = |block: usize| {
        let prefix = format!("blk.{block}.");
        !gguf.tensors().iter().any(|tensor| tensor.name.starts_with(&prefix))
    };
    let is_layer = |block: usize| {
        let left_out = blocks - block <= mtp && is_empty(block);
        !left_out && gguf.tensor(&format!("blk.{block}.nextn.eh_proj.weight")).is_none()
    };
    // Something must be left to build; a file that holds only the head then fails by its first missing tensor.
    let last = (1..blocks).rev().find(|block| is_layer(*block)).unwrap_or(0);
    Ok(last + 1)
}

fn latent(gguf: &Gguf, keys: &Keys<'_>) -> Result<Latent, Error> {
    // Without the `_mla` keys the plain ones hold a head's sizes; with them, those of the latent row that is cached.
    let joined = keys.metadata.get(&keys.name("attention.key_length_mla")).is_none();
    let (key, value) = match joined {
        true => ("attention.key_length", "attention.value_length"),
        false => ("attention.key_length_mla", "attention.value_length_mla"),
    };
    let width = keys.number(key, 2..=MAX_HEAD_WIDTH)?;
    const ROPE: &str = "rope.dimension_count";
    let rope = keys.number(ROPE, 2..=MAX_HEAD_WIDTH)?;
    if !rope.is_multiple_of(2) || rope >= width {
        let rule = format!("it must be even and below {key}, {width}");
        return Err(keys.wrong(ROPE, rope, rule));
    }
    // Small models have no compression of queries, and their files no key that says so, but another tensor.
    let q_rank = match gguf.tensor("blk.0.attn_q.weight") {
        Some(_) => None,
        None => Some(keys.number("attention.q_lora_rank", 1..=MAX_WIDTH)?),
    };
    Ok(Latent {
        q_rank,
        kv_rank: keys.number("attention.kv_lora_rank", 1..=MAX_WIDTH)?,
        nope: width - rope,
        rope,
        value: keys.number(value, 1..=MAX_HEAD_WIDTH)?,
        joined,
    })
}

fn feed_forward(
    keys: &Keys<'_>,
    blocks: usize,
    layers: usize,
    vocab: usize,
) -> Result<Vec<FeedForward>, Error> {
    let dense = keys.number_opt("leading_dense_block_count", 0..=MAX_LAYERS)?.unwrap_or(0).min(layers);
    let mut feed_forward = Vec::with_capacity(layers);
    if dense > 0 {
        const WIDTH: &str = "feed_forward_length";
        for width in keys.per_layer(WIDTH, blocks)?.into_iter().take(dense) {
            feed_forward.push(FeedForward::Dense { width: keys.within(WIDTH, width, 1..=MAX_WIDTH)? });
        }
    }
    if dense < layers {
        const WIDTH: &str = "expert_feed_forward_length";
        let experts = keys.number("expert_count", 1..=MAX_EXPERTS)?;
        let moe = Moe {
            experts,
            used: keys.number("expert_used_count", 1..=experts)?,
            width: 0,
            shared: keys.number("expert_shared_count", 0..=MAX_SHARED_EXPERTS)?,
            gating: gating(keys, layers, vocab)?,
            normalise: keys.metadata.bool(&keys.name("expert_weights_norm"))?.unwrap_or(false),
            scale: keys.positive_opt("expert_weights_scale")?.unwrap_or(1.0),
        };
        for width in keys.per_layer(WIDTH, blocks)?.into_iter().take(layers).skip(dense) {
            let width = keys.within(WIDTH, width, 1..=MAX_WIDTH)?;
            feed_forward.push(FeedForward::Experts(Moe { width, ..moe }));
        }
    }
    Ok(feed_forward)
}

/// How the router gates. Files made before there was a key for it are told apart the way llama.cpp does:
/// GLM-4.7-Flash, known by its size, takes the sigmoid, DeepSeek-V2 the softmax. The wrong one still gives fluent
/// text, and loops.
fn gating(keys: &Keys<'_>, layers: usize, vocab: usize) -> Result<Gating, Error> {
    const GATING: &str = "expert_gating_func";
    match keys.metadata.u32(&keys.name(GATING))? {
        None | Some(0) if matches!(layers, 47 | 48) && vocab == 154_880 => Ok(Gating::Sigmoid),
        None | Some(0 | 1) => Ok(Gating::Softmax),
        Some(2) => Ok(Gating::Sigmoid),
        Some(other) => Err(keys.unsupported(GATING, other, "it can be 1 (softmax) or 2 (sigmoid)")),
    }
}

#[cfg(test)]
mod tests {
    use weft_gguf::Metadata;

    use super::*;

    #[test]
    fn gating_without_a_key_goes_by_the_size_of_glm() {
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

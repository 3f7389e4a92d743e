//! The `gemma4` family: grouped-query attention with heads of one size in layers with a sliding window and of another in the rest, with
//! normed values, and with last layers that read the cache of earlier ones; dense networks with GELU, and experts in parallel to them; an
//! embedding of each token for each layer.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/gemma4.cpp`). Text only. `families/gemma4/layer.rs` has
//! the formulas.

mod attention;
mod layer;
mod per_layer;

use weft_ir::RopeStyle;

use self::attention::{Attention, Cache};
use self::layer::{Layer, Network};
use self::per_layer::PerLayer;
use super::family::Family;
use crate::blocks::{
    self, Activation, Count, Experts, Gated, Heads, Rope, RopeScaling, Router, head_width, only_scale,
    windows,
};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_HEADS, MAX_WIDTH};
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "gemma4",
    tensors: &[
        "attn_norm",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "attn_q_norm",
        "attn_k_norm",
        "post_attention_norm",
        "ffn_norm",
        "ffn_gate",
        "ffn_up",
        "ffn_down",
        "post_ffw_norm",
        "layer_output_scale",
    ],
    unusual: &["attention.sliding_window", "final_logit_softcapping"],
    build,
    mtp: None,
};

/// The base of the rotary embedding in layers with a window, if the file does not say.
const WINDOWED_BASE: f32 = 10_000.0;

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    const SCORE_CAP: &str = "attn_logit_softcapping";
    if let Some(cap) = keys.f32(SCORE_CAP)?.filter(|cap| *cap != 0.0) {
        return Err(keys.unsupported(SCORE_CAP, cap, "it can only be 0"));
    }
    let common = Common::read_windowed(keys)?;
    let common = Common {
        embedding_scale: (common.hidden as f32).sqrt(),
        logit_cap: keys.positive_opt("final_logit_softcapping")?,
        ..common
    };
    let kinds = Kinds::read(file, &common)?;
    let networks = networks(file, &common)?;
    let per_layer = PerLayer::read(keys, &common)?;
    let layers: Vec<Layer<'_>> = (0..common.blocks)
        .map(|index| Layer {
            attention: kinds.of(index),
            network: networks[index],
            per_layer,
            common: &common,
        })
        .collect();

    let mut model = match per_layer {
        Some(per_layer) => {
            ModelBuilder::with_embedding(file, common.clone(), per_layer.embed(file, &common)?)?
        }
        None => ModelBuilder::new(file, common.clone())?,
    };
    for (index, layer) in layers.iter().enumerate() {
        if let Cache::Of(_) = layer.attention.cache {
            // Published files have them all the same.
            for tensor in ["attn_k", "attn_v", "attn_k_norm"] {
                model.ignore(format!("blk.{index}.{tensor}.weight"));
            }
        }
        model.own_layer(layer.build(file, index)?, layer.info())?;
    }
    model.finish()
}

/// The attention of each layer.
struct Kinds {
    /// Of layers that see all positions, and of those with a window.
    kinds: [Attention; 2],
    /// Whether each layer has a window.
    windowed: Vec<bool>,
    /// The heads of keys and values of each layer.
    kv_heads: Vec<usize>,
    /// The number of first layers that have keys and values of their own.
    own: usize,
}

impl Kinds {
    fn read(file: &ModelFile<'_>, common: &Common) -> Result<Kinds, Error> {
        let keys = &file.keys;
        let windowed = windows::listed(keys, common.blocks)?;
        let (full, narrow) = (head_width(keys, "")?, head_width(keys, "_swa")?);
        let rotated = blocks::rotated(keys, "rope.dimension_count", full)?;
        let rope = Rope::read(keys, RopeStyle::Halves, rotated, common.context)?;
        // Layers with a window are not scaled.
        let narrow_rope = Rope {
            dims: blocks::rotated(keys, "rope.dimension_count_swa", narrow)?,
            base: windows::base(keys, WINDOWED_BASE)?,
            scaling: RopeScaling::Linear { factor: 1.0 },
            ..rope.clone()
        };
        let rope = if windowed.contains(&false) { rope.with_required_factors(file)? } else { rope };
        let window = windows::window(keys, common.context)?;
        only_scale(keys, 1.0, "the scale of normed queries and keys")?;
        let kind = |width, rope, window| Attention {
            hidden: common.hidden,
            heads: Heads { queries: common.heads, keys: 1, width },
            norm: common.norm,
            rope,
            window,
            cache: Cache::Own,
        };
        let own = own_layers(keys, &windowed)?;
        let kv_heads = kv_heads(keys, common)?;
        let kinds = [kind(full, rope, None), kind(narrow, narrow_rope, window)];
        let kinds = Kinds { kinds, own, windowed, kv_heads };
        for layer in own..common.blocks {
            let (count, stored) = (kinds.kv_heads[layer], kinds.kv_heads[kinds.source(layer)]);
            if count != stored {
                let rule = format!("layer {layer} reads the cache of a layer with {stored}");
                return Err(keys.wrong("attention.head_count_kv", count, rule));
            }
        }
        Ok(kinds)
    }

    /// The layer that stores the keys and values of a layer that has none of its own.
    fn source(&self, layer: usize) -> usize {
        self.own - 1 - usize::from(self.windowed[layer])
    }

    /// The attention of a layer.
    fn of(&self, layer: usize) -> Attention {
        let windowed = self.windowed[layer];
        let cache = match layer < self.own {
            true => Cache::Own,
            false => Cache::Of(self.source(layer)),
        };
        let kind = &self.kinds[usize::from(windowed)];
        Attention { heads: Heads { keys: self.kv_heads[layer], ..kind.heads }, cache, ..kind.clone() }
    }
}

/// The number of heads of keys and values of each layer.
fn kv_heads(keys: &Keys<'_>, common: &Common) -> Result<Vec<usize>, Error> {
    const KEY: &str = "attention.head_count_kv";
    let heads = keys.per_layer(KEY, common.blocks)?.into_iter().map(|count| {
        let count = keys.within(KEY, count, 1..=MAX_HEADS)?;
        match common.heads.is_multiple_of(count) {
            true => Ok(count),
            false => {
                let rule = format!("it must divide attention.head_count, {}", common.heads);
                Err(keys.wrong(KEY, count, rule))
            }
        }
    });
    heads.collect()
}

/// The number of first layers that have keys and values of their own. The others read the cache of the last of these of their kind,
/// which are the last two.
fn own_layers(keys: &Keys<'_>, windowed: &[bool]) -> Result<usize, Error> {
    const KEY: &str = "attention.shared_kv_layers";
    let layers = windowed.len();
    let shared = keys.number_opt(KEY, 0..=layers.saturating_sub(1))?.unwrap_or(0);
    let own = layers - shared;
    let ends = |end: usize, kind| end >= 1 && windowed[end - 1] == kind;
    let reads = |kind| windowed[own..].contains(&kind);
    if reads(false) && !ends(own, false) || reads(true) && !ends(own - 1, true) {
        let rule = "the layer before these must see all positions, and the one before that have a window";
        return Err(keys.unsupported(KEY, shared, rule));
    }
    Ok(own)
}

/// The feed-forward network of each layer.
fn networks(file: &ModelFile<'_>, common: &Common) -> Result<Vec<Network>, Error> {
    let keys = &file.keys;
    // A layer has experts if it has a router, as in llama.cpp.
    let has_experts = |layer: usize| {
        let has = |tensor: &str| file.gguf.tensor(&format!("blk.{layer}.{tensor}.weight")).is_some();
        has("ffn_gate_inp") || has("pre_ffw_norm_2")
    };
    let experts = match (0..common.blocks).any(has_experts) {
        false => None,
        true => {
            let count = Count::read(keys)?;
            let width = keys.number("expert_feed_forward_length", 1..=MAX_WIDTH)?;
            let router = Router::normalised_softmax(keys)?;
            let expert = Gated { hidden: common.hidden, width, activation: Activation::Gelu };
            Some(Experts { count, expert, shared: None, router })
        }
    };
    let dense = Gated::of_blocks(keys, common, Activation::Gelu)?;
    let network = |(layer, dense)| Network { dense, experts: experts.filter(|_| has_experts(layer)) };
    Ok(dense.into_iter().enumerate().map(network).collect())
}

//! The `muse-glimmer` family (Muse Glimmer 30B): grouped-query attention with a norm of each head and a gate for each of its values, most
//! layers with a sliding window and the others without positions, and dense layers. Norms precede and follow attention and the
//! feed-forward network; embeddings are normed, and logits scaled and bounded.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/muse-glimmer.cpp`), except that fused `attn_qkv` tensors, another
//! `attention.scale` and a scaled rotary embedding are refused. Weights of norms are stored with the 1 that the model adds to them.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gate, Gated, Grouped, Norm, Pattern, QkNorm, Windows, ends};
use crate::common::{Common, refuse_factors};
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "muse-glimmer",
    tensors: &[
        "attn_norm",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_gate",
        "attn_output",
        "attn_q_norm",
        "attn_k_norm",
        "post_attention_norm",
        "ffn_norm",
        "ffn_gate",
        "ffn_up",
        "ffn_down",
        "post_ffw_norm",
    ],
    unusual: &["attention.sliding_window", "final_logit_softcapping", "logit_scale"],
    build,
    mtp: None,
};

/// The ε of the norms after branches, which no key gives.
const POST_EPS: f32 = 1e-8;

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read_scaled(keys)?;
    refuse_factors(keys, &["embedding_scale", "residual_scale"])?;
    let common = Common {
        post_norms: Some(["post_attention_norm.weight", "post_ffw_norm.weight"]),
        post_norm: Norm::rms(POST_EPS),
        logit_scale: keys.positive("logit_scale")?,
        logit_cap: keys.positive_opt("final_logit_softcapping")?,
        ..common
    };
    let attention = attention(file, &common)?;
    let full = attention.clone().without_positions();
    let windows = Windows::read(keys, &common, full, attention, Pattern::AllButLastOf(4))?;
    let networks = Gated::of_blocks(keys, &common, Activation::Silu)?;

    let (mut embed, x) = ends::embedded(file, &common)?;
    let x = common.norm.unit(&mut embed, x, 1, common.hidden);
    embed.g.output("x", x);
    let mut model = ModelBuilder::with_embedding(file, common, embed)?;
    for (layer, network) in networks.iter().enumerate() {
        model.layer(windows.of(layer), network)?;
    }
    model.finish()
}

fn attention(file: &ModelFile<'_>, common: &Common) -> Result<Grouped, Error> {
    let keys = &file.keys;
    let plain = Grouped::read(keys, common, RopeStyle::Pairs)?;
    if plain != plain.clone().unscaled() {
        return Err(keys.unsupported("rope.scaling.factor", "set", "layers with a window are not scaled"));
    }
    Ok(Grouped { qk_norm: Some(QkNorm::Heads(common.norm)), gate: Some(Gate::Own), ..plain })
}

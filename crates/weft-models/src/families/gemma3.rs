//! The `gemma3` family: grouped-query attention with QK-norm on every head and a sliding window in five of six layers, dense
//! layers with GELU, norms before and after each branch, and scaled embeddings.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/gemma3.cpp`), except that capped logits are refused. Weights of
//! norms are stored with the 1 that Gemma adds to them.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{
    Activation, Gated, Grouped, Heads, Pattern, QkNorm, Rope, RopeScaling, Windows, only_scale,
};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_WIDTH};
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "gemma3",
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
    ],
    unusual: &["attention.sliding_window"],
    build,
    mtp: None,
};

/// The base of the rotary embedding in layers with a window, if the file does not say. It is not scaled.
const WINDOWED_BASE: f32 = 10_000.0;

/// The layers of Gemma 3 27B.
const LARGE: usize = 62;

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    refuse_caps(keys)?;
    let common = Common::read_windowed(keys)?;
    let common = Common {
        post_norms: Some(["post_attention_norm.weight", "post_ffw_norm.weight"]),
        embedding_scale: (common.hidden as f32).sqrt(),
        ..common
    };
    let heads = Heads::read(keys, &common)?;
    let rotated = heads.rotated(keys)?;
    let rope = Rope::read(keys, RopeStyle::Halves, rotated, common.context)?;
    let windowed_rope =
        Rope { base: WINDOWED_BASE, scaling: RopeScaling::Linear { factor: 1.0 }, ..rope.clone() };
    // No key says so: the scale of the 27B model is that of heads as wide as the hidden state over their number.
    let scale = match common.blocks {
        LARGE => {
            let scale = (common.heads as f32 / common.hidden as f32).sqrt();
            only_scale(keys, scale, "√(head_count/embedding_length)")?
        }
        _ => heads.only_scale(keys)?,
    };
    let full = Grouped {
        qk_norm: Some(QkNorm::Heads(common.norm)),
        ..Grouped::new(common.hidden, heads, rope, scale)
    };
    let windowed = Grouped { rope: Some(windowed_rope), ..full.clone() };
    let windows = Windows::read(keys, &common, full, windowed, Pattern::AllButLastOf(6))?;
    let width = keys.number("feed_forward_length", 1..=MAX_WIDTH)?;
    let network = Gated { hidden: common.hidden, width, activation: Activation::Gelu };
    let blocks = common.blocks;

    let mut model = ModelBuilder::new(file, common)?;
    for layer in 0..blocks {
        model.layer(windows.of(layer), &network)?;
    }
    model.finish()
}

/// Gemma 2 bounds scores and logits by a tanh.
fn refuse_caps(keys: &Keys<'_>) -> Result<(), Error> {
    for key in ["final_logit_softcapping", "attn_logit_softcapping"] {
        if let Some(cap) = keys.f32(key)?.filter(|cap| *cap != 0.0) {
            return Err(keys.unsupported(key, cap, "it can only be 0"));
        }
    }
    Ok(())
}

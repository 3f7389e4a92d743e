//! The `olmo2` family (OLMo 2 and 3): grouped-query attention with a norm of all heads together, and dense layers. Norms follow
//! attention and the feed-forward network, and none precede them. In OLMo 3, most layers have a sliding window.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/olmo2.cpp`), except that fused `attn_qkv` tensors, another
//! `attention.scale`, and another base of the rotary embedding in layers with a window are refused.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gated, Grouped, Pattern, QkNorm, Windows};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "olmo2",
    tensors: &[
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "attn_q_norm",
        "attn_k_norm",
        "post_attention_norm",
        "ffn_gate",
        "ffn_up",
        "ffn_down",
        "post_ffw_norm",
    ],
    unusual: &["attention.sliding_window"],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read_windowed(keys)?.with_norms_after();
    let plain = Grouped::read_rotated(keys, &common, RopeStyle::Halves)?;
    let attention = Grouped { qk_norm: Some(QkNorm::Whole(common.norm)), ..plain };
    let windows = match keys.u32("attention.sliding_window")? {
        None | Some(0) => None,
        Some(_) => {
            // Layers with a window are not scaled.
            let (full, windowed) = (attention.clone(), attention.clone().unscaled());
            Some(Windows::read_with_one_base(keys, &common, full, windowed, Pattern::AllButLastOf(4))?)
        }
    };
    let networks = Gated::of_blocks(keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for (layer, network) in networks.iter().enumerate() {
        model.layer(windows.as_ref().map_or(&attention, |windows| windows.of(layer)), network)?;
    }
    model.finish()
}

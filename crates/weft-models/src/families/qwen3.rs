//! The `qwen3` family: grouped-query attention with QK-norm on every head, and dense layers.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/qwen3.cpp`), except that fused `attn_qkv` tensors
//! and another `attention.scale` are refused.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gated, Grouped, Heads, Rope};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::MAX_WIDTH;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "qwen3",
    tensors: &[
        "attn_norm",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "attn_q_norm",
        "attn_k_norm",
        "ffn_norm",
        "ffn_gate",
        "ffn_up",
        "ffn_down",
    ],
    unusual: &[],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let common = Common::read(&file.keys)?;
    let attention = attention(file, &common)?;
    const WIDTH: &str = "feed_forward_length";
    let widths = file.keys.per_layer(WIDTH, common.blocks)?;
    let hidden = common.hidden;

    let mut model = ModelBuilder::new(file, common)?;
    for width in widths {
        let width = file.keys.within(WIDTH, width, 1..=MAX_WIDTH)?;
        model.layer(&attention, &Gated { hidden, width, activation: Activation::Silu })?;
    }
    model.finish()
}

/// The attention of Qwen3 and Qwen3-MoE.
pub(super) fn attention(file: &ModelFile<'_>, common: &Common) -> Result<Grouped, Error> {
    let heads = Heads::read(&file.keys, common)?;
    let rotated = heads.rotated(&file.keys)?;
    Ok(Grouped {
        hidden: common.hidden,
        heads,
        joined: false,
        qk_norm: Some(common.norm),
        rope: Rope::read(&file.keys, RopeStyle::Halves, rotated, common.context)?,
        temperature: None,
        scale: heads.only_scale(&file.keys)?,
        window: None,
        sinks: false,
        gated: false,
    })
}

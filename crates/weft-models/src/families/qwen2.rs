//! The `qwen2` family (Qwen1.5 to Qwen2.5): grouped-query attention with biases on queries, keys and values, and dense
//! layers.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/qwen2.cpp`), except that `output.bias`, fused
//! `attn_qkv` tensors and another `attention.scale` are refused.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gated, Grouped, Heads, Rope};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::MAX_WIDTH;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "qwen2",
    tensors: &[
        "attn_norm",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
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

/// The attention of Qwen2 and Qwen2-MoE.
pub(super) fn attention(file: &ModelFile<'_>, common: &Common) -> Result<Grouped, Error> {
    let heads = Heads::read(&file.keys, common)?;
    let rotated = heads.rotated(&file.keys)?;
    Ok(Grouped {
        hidden: common.hidden,
        heads,
        joined: false,
        qk_norm: None,
        rope: Rope::read(&file.keys, RopeStyle::Halves, rotated, common.context)?,
        temperature: None,
        scale: heads.only_scale(&file.keys)?,
        window: None,
        sinks: false,
        gated: false,
    })
}

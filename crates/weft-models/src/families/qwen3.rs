//! The `qwen3` family: grouped-query attention with QK-norm on every head, and dense layers.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/qwen3.cpp`), except that fused `attn_qkv` tensors
//! and another `attention.scale` are refused.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gated, Grouped, QkNorm};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
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
    let networks = Gated::of_blocks(&file.keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for network in networks {
        model.layer(&attention, &network)?;
    }
    model.finish()
}

/// The attention of Qwen3 and Qwen3-MoE.
pub(super) fn attention(file: &ModelFile<'_>, common: &Common) -> Result<Grouped, Error> {
    let plain = Grouped::read(&file.keys, common, RopeStyle::Halves)?;
    Ok(Grouped { qk_norm: Some(QkNorm::Heads(common.norm)), ..plain })
}

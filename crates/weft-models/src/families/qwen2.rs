//! The `qwen2` family (Qwen1.5 to Qwen2.5): grouped-query attention with biases on queries, keys and values, and dense
//! layers.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/qwen2.cpp`), except that `output.bias`, fused
//! `attn_qkv` tensors and another `attention.scale` are refused.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gated, Grouped};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
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
    let networks = Gated::of_blocks(&file.keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for network in networks {
        model.layer(&attention, &network)?;
    }
    model.finish()
}

/// The attention of Qwen2 and Qwen2-MoE.
pub(super) fn attention(file: &ModelFile<'_>, common: &Common) -> Result<Grouped, Error> {
    Grouped::read(&file.keys, common, RopeStyle::Halves)
}

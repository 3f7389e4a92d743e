//! The `seed_oss` family (Seed-OSS 36B): the attention of `qwen2` with heads that are rotated whole, and dense layers.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/seed-oss.cpp`), except that fused `attn_qkv` tensors and another
//! `attention.scale` are refused. The norm before the feed-forward network is called `post_attention_norm`.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gated, Grouped};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "seed_oss",
    tensors: &[
        "attn_norm",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "post_attention_norm",
        "ffn_gate",
        "ffn_up",
        "ffn_down",
    ],
    unusual: &[],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common { ffn_norm: Some("post_attention_norm.weight"), ..Common::read(keys)? };
    let attention = Grouped::read_rotated(keys, &common, RopeStyle::Halves)?;
    let networks = Gated::of_blocks(keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for network in networks {
        model.layer(&attention, &network)?;
    }
    model.finish()
}

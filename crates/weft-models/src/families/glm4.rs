//! The `glm4` family (GLM-4-0414, GLM-Z1): grouped-query attention with a part of each head rotated, and dense layers with one matrix for
//! gate and up. Norms precede and follow attention and the feed-forward network.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/glm4.cpp`), except that fused `attn_qkv` tensors, another
//! `attention.scale` and `rope.dimension_sections` (vision models) are refused. Blocks for multi-token prediction are ignored.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gated, Grouped, JoinedGated};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};
use crate::mtp;

pub(super) const FAMILY: Family = Family {
    architecture: "glm4",
    tensors: &[
        "attn_norm",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "post_attention_norm",
        "ffn_norm",
        "ffn_up",
        "ffn_down",
        "post_ffw_norm",
    ],
    unusual: &[],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    keys.refuse_sections()?;
    let common = Common {
        post_norms: Some(["post_attention_norm.weight", "post_ffw_norm.weight"]),
        ..Common::read(keys)?
    };
    let layers = mtp::layers(file.gguf, keys, common.blocks)?;
    let attention = Grouped::read(keys, &common, RopeStyle::Pairs)?;
    let networks = Gated::of_blocks(keys, &common, Activation::Silu)?;
    let mtp_blocks = common.blocks - layers;

    let mut model = ModelBuilder::new(file, common)?;
    for network in networks.into_iter().take(layers) {
        model.layer(&attention, &JoinedGated(network))?;
    }
    model.ignore_mtp_blocks(mtp_blocks);
    model.finish()
}

//! The `smollm3` family (SmolLM3): the attention of `llama`, in every fourth layer without positions, and dense layers.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/smollm3.cpp`), except that fused `attn_qkv` tensors and another
//! `attention.scale` are refused. No key says which layers have no positions.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gated, Grouped};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "smollm3",
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

/// Of so many layers, the last has no positions.
const PERIOD: usize = 4;

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read(keys)?;
    let attention = Grouped::read_rotated(keys, &common, RopeStyle::Pairs)?;
    let without_positions = attention.clone().without_positions();
    let networks = Gated::of_blocks(keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for (layer, network) in networks.iter().enumerate() {
        let is_last = (layer + 1).is_multiple_of(PERIOD);
        model.layer(if is_last { &without_positions } else { &attention }, network)?;
    }
    model.finish()
}

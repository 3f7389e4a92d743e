//! The `ernie4_5` and `ernie4_5-moe` families (ERNIE 4.5): the attention of `llama`; dense layers, or, in some layers after a few dense
//! ones, routed experts with normalised softmax gating and a bias for their choice, and shared ones.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/ernie4-5.cpp`), except that fused `attn_qkv` tensors and keys that
//! ask for another router or attention scale are refused.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Block, Count, Experts, Gated, Grouped, Router, Shared};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{MAX_LAYERS, MAX_WIDTH};
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const DENSE: Family = Family {
    architecture: "ernie4_5",
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
    build: dense,
    mtp: None,
};

pub(super) const EXPERTS: Family = Family {
    architecture: "ernie4_5-moe",
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
        "ffn_gate_inp",
        "ffn_gate_exps",
        "ffn_up_exps",
        "ffn_down_exps",
        "exp_probs_b",
        "ffn_gate_shexp",
        "ffn_up_shexp",
        "ffn_down_shexp",
    ],
    unusual: &[],
    build: experts,
    mtp: None,
};

fn dense(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let common = Common::read(&file.keys)?;
    build(file, common, |_| None)
}

fn experts(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read(keys)?;
    let first = keys.number_opt("leading_dense_block_count", 0..=MAX_LAYERS)?.unwrap_or(0);
    let step = keys.number("interleave_moe_layer_step", 1..=MAX_LAYERS)?;
    let router = Router { bias: true, ..Router::normalised_softmax(keys)? };
    let width = keys.number("expert_feed_forward_length", 1..=MAX_WIDTH)?;
    let expert = Gated { hidden: common.hidden, width, activation: Activation::Silu };
    let experts = Experts { count: Count::read(keys)?, expert, shared: Shared::read(keys)?, router };
    build(file, common, |layer| (layer >= first && (layer + 1).is_multiple_of(step)).then_some(experts))
}

/// Builds a model with the experts that a layer has, if it has some.
fn build(
    file: &ModelFile<'_>,
    common: Common,
    experts: impl Fn(usize) -> Option<Experts>,
) -> Result<ModelGraph, Error> {
    let attention = Grouped::read_rotated(&file.keys, &common, RopeStyle::Pairs)?;
    let dense = Gated::of_blocks(&file.keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for (layer, dense) in dense.iter().enumerate() {
        let experts = experts(layer);
        model.layer(&attention, experts.as_ref().map_or(dense as &dyn Block, |experts| experts))?;
    }
    model.finish()
}

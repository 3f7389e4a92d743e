//! The `qwen3moe` family: the attention of `qwen3`, and in every layer routed experts with normalised softmax gating.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/qwen3moe.cpp`), except that
//! `expert_feed_forward_length` is required (llama.cpp falls back to `feed_forward_length / expert_used_count`), and that
//! fused `attn_qkv` tensors and keys that ask for another router or attention scale are refused.

use super::family::Family;
use super::qwen3;
use crate::blocks::{Activation, Count, Experts, Gated, Router};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::MAX_WIDTH;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "qwen3moe",
    tensors: &[
        "attn_norm",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "attn_q_norm",
        "attn_k_norm",
        "ffn_norm",
        "ffn_gate_inp",
        "ffn_gate_exps",
        "ffn_up_exps",
        "ffn_down_exps",
    ],
    unusual: &[],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let common = Common::read(&file.keys)?;
    let attention = qwen3::attention(file, &common)?;
    let count = Count::read(&file.keys)?;
    let router = Router::normalised_softmax(&file.keys)?;
    const WIDTH: &str = "expert_feed_forward_length";
    let widths = file.keys.per_layer(WIDTH, common.blocks)?;
    let hidden = common.hidden;

    let mut model = ModelBuilder::new(file, common)?;
    for width in widths {
        let width = file.keys.within(WIDTH, width, 1..=MAX_WIDTH)?;
        let expert = Gated { hidden, width, activation: Activation::Silu };
        model.layer(&attention, &Experts { count, expert, shared: None, router })?;
    }
    model.finish()
}

//! The `qwen2moe` family (Qwen1.5-MoE, Qwen2-57B-A14B): the attention of `qwen2`, and in every layer routed experts with
//! softmax gating, not normalised, and a shared network that each token scores with a sigmoid.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/qwen2moe.cpp`), except that
//! `expert_feed_forward_length` is required, and that fused `attn_qkv` tensors and keys that ask for another router or
//! attention scale are refused.

use super::family::Family;
use super::qwen2;
use crate::blocks::{Activation, Count, Experts, Gated, Router, Shared};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::MAX_WIDTH;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "qwen2moe",
    tensors: &[
        "attn_norm",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "ffn_norm",
        "ffn_gate_inp",
        "ffn_gate_exps",
        "ffn_up_exps",
        "ffn_down_exps",
        "ffn_gate_inp_shexp",
        "ffn_gate_shexp",
        "ffn_up_shexp",
        "ffn_down_shexp",
    ],
    unusual: &[],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read(keys)?;
    let attention = qwen2::attention(file, &common)?;
    let count = Count::read(keys)?;
    let router = Router::only_softmax(keys, false)?;
    const WIDTH: &str = "expert_feed_forward_length";
    let widths = keys.per_layer(WIDTH, common.blocks)?;
    let shared = match keys.number_opt("expert_shared_feed_forward_length", 0..=MAX_WIDTH)? {
        None | Some(0) => keys.number("feed_forward_length", 1..=MAX_WIDTH)?,
        Some(width) => width,
    };
    let shared = Some(Shared { count: 1, width: shared, activation: Activation::Silu, scored: true });
    let hidden = common.hidden;

    let mut model = ModelBuilder::new(file, common)?;
    for width in widths {
        let width = keys.within(WIDTH, width, 1..=MAX_WIDTH)?;
        let expert = Gated { hidden, width, activation: Activation::Silu };
        model.layer(&attention, &Experts { count, expert, shared, router })?;
    }
    model.finish()
}

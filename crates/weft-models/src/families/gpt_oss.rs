//! The `gpt-oss` family: grouped-query attention with biases and sinks, every other layer with a sliding window, and in every
//! layer routed experts with biases and a clamped SwiGLU.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/openai-moe.cpp`), except that keys that ask for another
//! router or attention scale are refused.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Count, Experts, Gated, Grouped, Pattern, Router, Windows};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::MAX_WIDTH;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "gpt-oss",
    tensors: &[
        "attn_norm",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "attn_sinks",
        "post_attention_norm",
        "ffn_gate_inp",
        "ffn_gate_exps",
        "ffn_up_exps",
        "ffn_down_exps",
    ],
    unusual: &["attention.sliding_window"],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common { ffn_norm: Some("post_attention_norm.weight"), ..Common::read_windowed(keys)? };
    let full = Grouped { sinks: true, ..Grouped::read(keys, &common, RopeStyle::Halves)? };
    let windows = Windows::read(keys, &common, full.clone(), full, Pattern::AllButLastOf(2))?;

    let count = Count::read(keys)?;
    let router = Router::normalised_softmax(keys)?;
    let width = keys.number("expert_feed_forward_length", 1..=MAX_WIDTH)?;
    let expert = Gated { hidden: common.hidden, width, activation: Activation::Clamped };
    let blocks = common.blocks;

    let mut model = ModelBuilder::new(file, common)?;
    for layer in 0..blocks {
        model.layer(windows.of(layer), &Experts { count, expert, shared: None, router })?;
    }
    model.finish()
}

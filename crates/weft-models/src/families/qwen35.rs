//! The `qwen35`, `qwen35moe` and `qwen3next` families (Qwen3-Next, Qwen 3.5, 3.6 and 3.8): three of four layers are a gated delta
//! rule, the fourth is grouped-query attention with a gate; dense networks, or routed experts and one that a score weights.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/qwen35.cpp`, `qwen35moe.cpp`, `qwen3next.cpp`), except that
//! `ssm_in` tensors of old `qwen3next` files and another `attention.scale` are refused. Text has the same position in all three
//! sections of the rotary embedding, so `rope.dimension_sections` changes nothing. The norm before the feed-forward network is called
//! `post_attention_norm`. The block for multi-token prediction is one with attention; that of `qwen3next` is left out.

use weft_gguf::{Array, Value};
use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{
    Activation, Block, Count, Decays, Experts, Gate, Gated, GatedDelta, Grouped, QkNorm, Router, Shared,
};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_LAYERS, MAX_WIDTH};
use crate::model::{ModelBuilder, ModelGraph};
use crate::mtp::{self, Mtp};

/// The tensors of both kinds of layers; with `predicts`, also those of a layer that predicts one token more.
macro_rules! tensors {
    (predicts: $($more:literal),*) => {
        tensors![
            "nextn.eh_proj",
            "nextn.enorm",
            "nextn.hnorm",
            "nextn.embed_tokens",
            "nextn.shared_head_head",
            "nextn.shared_head_norm",
            $($more),*
        ]
    };
    ($($more:literal),*) => {
        &[
            "attn_norm",
            "attn_qkv",
            "attn_gate",
            "ssm_conv1d",
            "ssm_dt",
            "ssm_a",
            "ssm_norm",
            "ssm_out",
            "attn_q",
            "attn_k",
            "attn_v",
            "attn_q_norm",
            "attn_k_norm",
            "attn_output",
            "post_attention_norm",
            $($more),*
        ]
    };
}

/// Keys of layers with a recurrent state.
const UNUSUAL: &[&str] =
    &["ssm.state_size", "ssm.group_count", "ssm.time_step_rank", "ssm.inner_size", "ssm.conv_kernel"];

pub(super) const DENSE: Family = Family {
    architecture: "qwen35",
    tensors: tensors![predicts:
        "ssm_alpha",
        "ssm_beta",
        "ffn_gate",
        "ffn_up",
        "ffn_down"
    ],
    unusual: UNUSUAL,
    build: |file| build(file, Decays::Tiled, &dense),
    mtp: Some(|file| mtp(file, &dense)),
};

pub(super) const EXPERTS: Family = Family {
    architecture: "qwen35moe",
    tensors: tensors![predicts:
        "ssm_alpha",
        "ssm_beta",
        "ffn_gate_inp",
        "ffn_gate_exps",
        "ffn_up_exps",
        "ffn_down_exps",
        "ffn_gate_inp_shexp",
        "ffn_gate_shexp",
        "ffn_up_shexp",
        "ffn_down_shexp"
    ],
    unusual: UNUSUAL,
    build: |file| build(file, Decays::Tiled, &experts),
    mtp: Some(|file| mtp(file, &experts)),
};

pub(super) const NEXT: Family = Family {
    architecture: "qwen3next",
    tensors: tensors![
        "ssm_ba",
        "ffn_gate_inp",
        "ffn_gate_exps",
        "ffn_up_exps",
        "ffn_down_exps",
        "ffn_gate_inp_shexp",
        "ffn_gate_shexp",
        "ffn_up_shexp",
        "ffn_down_shexp"
    ],
    unusual: UNUSUAL,
    build: |file| build(file, Decays::Grouped, &experts),
    mtp: None,
};

/// The feed-forward network of a layer, by its index among all blocks of the file.
type FeedForward = dyn Fn(&Keys<'_>, &Common, usize) -> Result<Box<dyn Block>, Error>;

fn build(file: &ModelFile<'_>, decays: Decays, feed_forward: &FeedForward) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common { ffn_norm: Some("post_attention_norm.weight"), ..Common::read(keys)? };
    let layers = mtp::layers(file.gguf, keys, common.blocks)?;
    let recurrent = recurrent(keys, common.blocks)?;
    let attention = attention(keys, &common)?;
    let delta = GatedDelta::read(keys, common.hidden, common.norm, decays)?;
    let networks: Vec<_> =
        (0..layers).map(|layer| feed_forward(keys, &common, layer)).collect::<Result<_, Error>>()?;
    let mtp_blocks = common.blocks - layers;
    let mut model = ModelBuilder::new(file, common)?;
    for (network, recurrent) in networks.iter().zip(recurrent) {
        let mix: &dyn Block = if recurrent { &delta } else { &attention };
        model.layer(mix, network.as_ref())?;
    }
    model.ignore_mtp_blocks(mtp_blocks);
    model.finish()
}

/// The layer that predicts one token more is one with attention.
fn mtp(file: &ModelFile<'_>, feed_forward: &FeedForward) -> Result<Option<Mtp>, Error> {
    let keys = &file.keys;
    let common = Common { ffn_norm: Some("post_attention_norm.weight"), ..Common::read(keys)? };
    let layers = mtp::layers(file.gguf, keys, common.blocks)?;
    if !mtp::is_block(file.gguf, layers) {
        return Ok(None);
    }
    let network = feed_forward(keys, &common, layers)?;
    mtp::build(file, &common, layers, &attention(keys, &common)?, network.as_ref()).map(Some)
}

/// Which of so many blocks have a recurrent state: those that `attention.recurrent_layers` names, or all but each
/// `full_attention_interval`-th.
fn recurrent(keys: &Keys<'_>, blocks: usize) -> Result<Vec<bool>, Error> {
    const LAYERS: &str = "attention.recurrent_layers";
    match keys.metadata.get(&keys.name(LAYERS)) {
        Some(Value::Array(Array::Bool(layers))) if layers.len() == blocks => return Ok(layers.clone()),
        Some(_) => {
            let rule = format!("it must be an array of {blocks} booleans, one for each block");
            return Err(keys.wrong(LAYERS, "something else", rule));
        }
        None => {}
    }
    let interval = keys.number_opt("full_attention_interval", 1..=MAX_LAYERS)?.unwrap_or(4);
    Ok((1..=blocks).map(|layer| !layer.is_multiple_of(interval)).collect())
}

fn attention(keys: &Keys<'_>, common: &Common) -> Result<Grouped, Error> {
    Ok(Grouped {
        qk_norm: Some(QkNorm::Heads(common.norm)),
        gate: Some(Gate::WithQueries),
        ..Grouped::read(keys, common, RopeStyle::Halves)?
    })
}

fn dense(keys: &Keys<'_>, common: &Common, layer: usize) -> Result<Box<dyn Block>, Error> {
    const WIDTH: &str = "feed_forward_length";
    let width = keys.per_layer(WIDTH, common.blocks)?[layer];
    let width = keys.within(WIDTH, width, 1..=MAX_WIDTH)?;
    Ok(Box::new(Gated { hidden: common.hidden, width, activation: Activation::Silu }))
}

fn experts(keys: &Keys<'_>, common: &Common, layer: usize) -> Result<Box<dyn Block>, Error> {
    const WIDTH: &str = "expert_feed_forward_length";
    let width = keys.per_layer(WIDTH, common.blocks)?[layer];
    let width = keys.within(WIDTH, width, 1..=MAX_WIDTH)?;
    let shared = keys.number("expert_shared_feed_forward_length", 1..=MAX_WIDTH)?;
    let expert = Gated { hidden: common.hidden, width, activation: Activation::Silu };
    let shared = Some(Shared { count: 1, width: shared, activation: Activation::Silu, scored: true });
    let router = Router::normalised_softmax(keys)?;
    Ok(Box::new(Experts { count: Count::read(keys)?, expert, shared, router }))
}

//! The `command-r`, `cohere2` and `cohere2moe` families (Command R, R7B and A, North Mini): attention and the feed-forward network read
//! the same normed hidden state, by a LayerNorm without bias. In the last two, most layers have a sliding window, and the others no
//! positions; in the last, layers after a few dense ones have routed experts, whose sum is averaged with that of shared ones.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/command-r.cpp`, `cohere2.cpp`, `cohere2moe.cpp`), except that fused
//! `attn_qkv` tensors, norms of heads (Command R+), another `attention.scale`, and another base of the rotary embedding in layers with
//! a window are refused. Blocks for multi-token prediction are ignored.

use weft_ir::{NodeId, RopeStyle};

use super::family::Family;
use crate::blocks::{
    Activation, Block, Count, Experts, Gated, Gating, Grouped, Norm, Pattern, Router, Shared, Windows,
};
use crate::common::{Common, refuse_factors, refuse_window};
use crate::config::BlockInfo;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_LAYERS, MAX_SHARED_EXPERTS, MAX_WIDTH};
use crate::model::{ModelBuilder, ModelGraph};
use crate::mtp;
use crate::segment::SegmentBuilder;

pub(super) const COMMAND_R: Family = Family {
    architecture: "command-r",
    tensors: &["attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"],
    unusual: &["attention.layer_norm_epsilon", "logit_scale"],
    build: command_r,
    mtp: None,
};

pub(super) const COHERE2: Family = Family {
    architecture: "cohere2",
    tensors: &["attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"],
    unusual: &["attention.layer_norm_epsilon", "attention.sliding_window", "logit_scale"],
    build: cohere2,
    mtp: None,
};

pub(super) const EXPERTS: Family = Family {
    architecture: "cohere2moe",
    tensors: &[
        "attn_norm",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "ffn_gate",
        "ffn_up",
        "ffn_down",
        "ffn_gate_inp",
        "ffn_gate_exps",
        "ffn_up_exps",
        "ffn_down_exps",
        "ffn_gate_up_exps",
        "ffn_gate_shexp",
        "ffn_up_shexp",
        "ffn_down_shexp",
    ],
    unusual: &["attention.layer_norm_epsilon", "attention.sliding_window", "logit_scale"],
    build: experts,
    mtp: None,
};

const EPS: &str = "attention.layer_norm_epsilon";

/// Reads the keys that the families share, with this norm and factor of logits.
fn common(keys: &Keys<'_>, norm: Norm, logit_scale: f32) -> Result<Common, Error> {
    let common = Common::read_normed(keys, norm)?;
    refuse_factors(keys, &["embedding_scale", "residual_scale"])?;
    Ok(Common { ffn_norm: None, parallel: true, logit_scale, ..common })
}

fn layer_norm(keys: &Keys<'_>) -> Result<Norm, Error> {
    Ok(Norm { eps: keys.positive(EPS)?, centred: true })
}

fn command_r(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let scale = keys.positive_opt("logit_scale")?.unwrap_or(1.0);
    let common = common(keys, layer_norm(keys)?, scale)?;
    refuse_window(keys, common.context)?;
    let attention = Grouped::read(keys, &common, RopeStyle::Pairs)?;
    let networks = Gated::of_blocks(keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for network in networks {
        model.layer(&attention, &network)?;
    }
    model.finish()
}

fn cohere2(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = common(keys, layer_norm(keys)?, keys.positive("logit_scale")?)?;
    let rotated = Grouped::read(keys, &common, RopeStyle::Pairs)?.with_factors(file)?;
    let full = rotated.clone().without_positions();
    let windows = Windows::read_with_one_base(keys, &common, full, rotated, Pattern::AllButLastOf(4))?;
    let networks = Gated::of_blocks(keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for (layer, network) in networks.iter().enumerate() {
        model.layer(windows.of(layer), network)?;
    }
    model.finish()
}

fn experts(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let norm = match keys.positive_opt("attention.layer_norm_rms_epsilon")? {
        Some(eps) => Norm::rms(eps),
        None => layer_norm(keys)?,
    };
    let common = common(keys, norm, keys.positive("logit_scale")?)?;
    let layers = mtp::layers(file.gguf, keys, common.blocks)?;
    let mtp_blocks = common.blocks - layers;
    let common = Common { blocks: layers, ..common };
    let dense = keys.number("leading_dense_block_count", 0..=MAX_LAYERS)?;
    let rotated = Grouped::read_rotated(keys, &common, RopeStyle::Pairs)?.with_factors(file)?;
    let full = rotated.clone().without_positions();
    let pattern = Pattern::AllButFirstOf(4);
    let windows = Windows::read_with_one_base(keys, &common, full, rotated.clone(), pattern)?;
    let experts = Averaged(routed(keys, &common)?);
    let width = keys.number_opt("feed_forward_length", 1..=MAX_WIDTH)?;

    let hidden = common.hidden;
    let mut model = ModelBuilder::new(file, common)?;
    for layer in 0..layers {
        // Dense layers have positions without a window, too.
        let attention = match layer < dense && !windows.has(layer) {
            true => &rotated,
            false => windows.of(layer),
        };
        if layer < dense {
            let width = width.map_or_else(|| keys.number("feed_forward_length", 1..=MAX_WIDTH), Ok)?;
            model.layer(attention, &Gated { hidden, width, activation: Activation::Silu })?;
        } else {
            model.layer(attention, &experts)?;
        }
    }
    model.ignore_mtp_blocks(mtp_blocks);
    model.finish()
}

/// The experts of a layer.
fn routed(keys: &Keys<'_>, common: &Common) -> Result<Experts, Error> {
    let count = Count::read(keys)?;
    let width = match keys.number("expert_feed_forward_length", 0..=MAX_WIDTH)? {
        0 => keys.number("feed_forward_length", 1..=MAX_WIDTH)?,
        width => width,
    };
    let expert = Gated { hidden: common.hidden, width, activation: Activation::Silu };
    let shared = match keys.number_opt("expert_shared_count", 0..=MAX_SHARED_EXPERTS)?.unwrap_or(0) {
        0 => None,
        count => {
            let as_wide = Shared { count, width: count * width, activation: Activation::Silu, scored: false };
            Some(Shared::read(keys)?.unwrap_or(as_wide))
        }
    };
    let normalise = keys.metadata.bool(&keys.name("expert_weights_norm"))?.unwrap_or(false);
    let router = Router {
        gating: Gating::read(keys, Gating::Sigmoid)?,
        groups: None,
        bias: false,
        normalise,
        scale: keys.positive_opt("expert_weights_scale")?.unwrap_or(1.0),
    };
    Router::refuse_groups(keys)?;
    Ok(Experts { count, expert, shared, router })
}

/// Experts of which the shared ones, if there are some, are averaged with the routed ones.
struct Averaged(Experts);

impl Block for Averaged {
    fn short_name(&self) -> &'static str {
        self.0.short_name()
    }

    fn info(&self) -> BlockInfo {
        self.0.info()
    }

    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let sum = self.0.build(s, x)?;
        Ok(s.scaled(sum, if self.0.shared.is_some() { 0.5 } else { 1.0 }))
    }
}

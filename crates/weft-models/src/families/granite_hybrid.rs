//! The `granitehybrid` family (Granite 4): the layers of `granite`, most of them with Mamba-2 in the place of attention.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/granite-hybrid.cpp`), except that `logit_scale` 0 means 1, and that
//! fused `attn_qkv` tensors, LongRoPE and keys that ask for another router are refused.

use super::family::Family;
use super::granite;
use crate::blocks::{Block, Heads, Mamba};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "granitehybrid",
    tensors: &[
        "attn_norm",
        "ssm_in",
        "ssm_conv1d",
        "ssm_dt",
        "ssm_a",
        "ssm_d",
        "ssm_norm",
        "ssm_out",
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
        "ffn_gate_shexp",
        "ffn_up_shexp",
        "ffn_down_shexp",
    ],
    unusual: &["ssm.state_size", "logit_scale"],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = granite::common(keys)?;
    // Logits are divided by it.
    let common = Common { logit_scale: 1.0 / keys.positive_opt("logit_scale")?.unwrap_or(1.0), ..common };
    let (heads, attends) = Heads::read_some(keys, &common)?;
    let attention = granite::attention(file, &common, heads)?;
    let attention = if granite::rotates(keys)? { attention } else { attention.without_positions() };
    let mamba = Mamba::read(keys, common.hidden, common.norm)?;
    let networks = granite::networks(keys, &common)?;

    let mut model = ModelBuilder::new(file, common)?;
    for (network, attends) in networks.iter().zip(attends) {
        let mix: &dyn Block = if attends { &attention } else { &mamba };
        model.layer(mix, network.as_ref())?;
    }
    model.finish()
}

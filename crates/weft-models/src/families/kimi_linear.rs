//! The `kimi-linear` and `bailingmoe3` families (Kimi-Linear, Ling 3): most layers are Kimi delta attention, the
//! others latent attention, in Kimi-Linear without rotation and in Ling with a gate for each head; experts after
//! dense layers.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/kimi-linear.cpp`, `bailingmoe3.cpp`), except
//! that joined `attn_qkv` and `attn_kv_b` tensors, and groups of experts with a softmax, are refused. The last blocks
//! of a file of Ling can be for multi-token prediction; they are left out.

use weft_gguf::{Array, Value};
use weft_ir::RopeStyle;

use super::deepseek2::{self, Networks};
use super::family::Family;
use crate::blocks::{Block, Bound, Gating, Kda, Latent, Positions, Queries, Rope};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_HEAD_WIDTH, MAX_WIDTH};
use crate::model::{ModelBuilder, ModelGraph};
use crate::mtp;

/// The tensors of both families.
macro_rules! tensors {
    ($($more:literal),*) => {
        &[
            "attn_norm",
            "attn_q",
            "attn_k",
            "attn_v",
            "ssm_conv1d_q",
            "ssm_conv1d_k",
            "ssm_conv1d_v",
            "ssm_f_a",
            "ssm_g_a",
            "ssm_beta",
            "ssm_a",
            "ssm_dt",
            "ssm_norm",
            "attn_kv_a_mqa",
            "attn_kv_a_norm",
            "attn_k_b",
            "attn_v_b",
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
            "exp_probs_b",
            $($more),*
        ]
    };
}

/// Keys of layers with a recurrent state.
const UNUSUAL: &[&str] = &["kda.head_dim", "ssm.conv_kernel", "kda.safe_gate", "kda.gate_lower_bound"];

pub(super) const KIMI: Family = Family {
    architecture: "kimi-linear",
    tensors: tensors!["ssm_f_b", "ssm_g_b"],
    unusual: UNUSUAL,
    build: |file| build(file, false),
    mtp: None,
};

pub(super) const LING: Family = Family {
    architecture: "bailingmoe3",
    tensors: tensors!["attn_q_a", "attn_q_a_norm", "attn_q_b", "attn_gate"],
    unusual: UNUSUAL,
    build: |file| build(file, true),
    mtp: None,
};

fn build(file: &ModelFile<'_>, ling: bool) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read(keys)?;
    let layers = mtp::layers(file.gguf, keys, common.blocks)?;
    // A layer without heads of keys and values has a recurrent state.
    let mut key_heads = keys.per_layer("attention.head_count_kv", common.blocks)?;
    key_heads.truncate(layers);
    let bound = match ling {
        true => Bound::Lower(lower_bound(keys)?),
        false => Bound::None,
    };
    let kda = Kda::read(keys, (common.hidden, common.heads), common.norm, bound)?;
    let latent = latent(keys, &common, ling)?;
    let networks = networks(keys, common.blocks, ling)?;
    let networks = deepseek2::feed_forward(keys, &common, layers, networks)?;
    let mtp_blocks = common.blocks - layers;
    let mut model = ModelBuilder::new(file, common)?;
    for (network, heads) in networks.iter().zip(key_heads) {
        let mix: &dyn Block = if heads == 0 { &kda } else { &latent };
        model.layer(mix, network.as_ref())?;
    }
    model.ignore_mtp_blocks(mtp_blocks);
    model.finish()
}

/// Kimi-Linear's routers divide weights by their sum, whatever the file says.
fn networks(keys: &Keys<'_>, blocks: usize, ling: bool) -> Result<Networks, Error> {
    let usual = Networks::usual(keys, Gating::read(keys, Gating::Sigmoid)?)?;
    if !ling {
        return Ok(Networks { normalise: true, ..usual });
    }
    let shared = keys.number_opt("expert_shared_feed_forward_length", 0..=MAX_WIDTH)?;
    let bounds = [bounds(keys, "swiglu_clamp_exp", blocks)?, bounds(keys, "swiglu_clamp_shexp", blocks)?];
    Ok(Networks { shared: shared.filter(|width| *width > 0), bounds, ..usual })
}

/// One number for all layers, or one for each; 0 if there is no such key.
pub(super) fn bounds(keys: &Keys<'_>, key: &str, blocks: usize) -> Result<Vec<f32>, Error> {
    let name = keys.name(key);
    let bounds = match keys.metadata.get(&name) {
        Some(Value::Array(_)) => keys.metadata.require_f32s(&name)?,
        _ => vec![keys.metadata.f32(&name)?.unwrap_or(0.0); blocks],
    };
    if bounds.len() != blocks {
        let found = format!("an array of {}", bounds.len());
        return Err(keys.wrong(key, found, format!("it must have one number for each of {blocks} blocks")));
    }
    match bounds.iter().find(|bound| !bound.is_finite()) {
        Some(bound) => Err(keys.wrong(key, bound, "it must be finite")),
        None => Ok(bounds),
    }
}

/// `kda.gate_lower_bound`, below zero. (Other gates than those with such a bound are in no file.)
pub(super) fn lower_bound(keys: &Keys<'_>) -> Result<f32, Error> {
    const SAFE: &str = "kda.safe_gate";
    if keys.metadata.bool(&keys.name(SAFE))? == Some(false) {
        return Err(keys.unsupported(SAFE, false, "it can only be true"));
    }
    const KEY: &str = "kda.gate_lower_bound";
    match keys.f32(KEY)? {
        Some(bound) if bound < 0.0 && bound.is_finite() => Ok(bound),
        Some(bound) => Err(keys.wrong(KEY, bound, "it must be finite and below zero")),
        // The error for a missing key.
        None => Ok(keys.metadata.require_f32(&keys.name(KEY))?),
    }
}

fn latent(keys: &Keys<'_>, common: &Common, ling: bool) -> Result<Latent, Error> {
    const WIDTH: &str = "attention.key_length_mla";
    const ROPE: &str = "rope.dimension_count";
    let width = keys.number(WIDTH, 2..=MAX_HEAD_WIDTH)?;
    let rotated = keys.number(ROPE, 2..=MAX_HEAD_WIDTH)?;
    if !rotated.is_multiple_of(2) || rotated >= width {
        let rule = format!("it must be even and below {WIDTH}, {width}");
        return Err(keys.wrong(ROPE, rotated, rule));
    }
    let style = if ling && has_sections(keys)? { RopeStyle::Halves } else { RopeStyle::Pairs };
    let rope = Rope::read(keys, style, rotated, common.context)?;
    let rank = keys.number_opt("attention.q_lora_rank", 0..=MAX_WIDTH)?.filter(|rank| ling && *rank > 0);
    Ok(Latent {
        hidden: common.hidden,
        heads: common.heads,
        queries: rank.map_or(Queries::Direct, Queries::Compressed),
        kv_rank: keys.number("attention.kv_lora_rank", 1..=MAX_WIDTH)?,
        nope: width - rotated,
        value: keys.number("attention.value_length_mla", 1..=MAX_HEAD_WIDTH)?,
        joined: false,
        norm: common.norm,
        rope,
        rotated: ling,
        gated: ling,
        positions: Positions::All,
        scale: (1.0 / (width as f64).sqrt()) as f32,
    })
}

/// Whether the pairs that rotate are those of M-RoPE, also for text: files of vision models have sections.
fn has_sections(keys: &Keys<'_>) -> Result<bool, Error> {
    let name = keys.name("rope.dimension_sections");
    let sections = match keys.metadata.get(&name) {
        None => return Ok(false),
        Some(Value::Array(Array::I32(sections))) => {
            sections.iter().map(|n| i64::from(*n)).collect::<Vec<_>>()
        }
        Some(Value::Array(Array::U32(sections))) => sections.iter().map(|n| i64::from(*n)).collect(),
        Some(_) => {
            return Err(keys.wrong(
                "rope.dimension_sections",
                "something else",
                "it must be an array of integers",
            ));
        }
    };
    Ok(sections.iter().take(2).filter(|n| **n > 0).count() == 2)
}

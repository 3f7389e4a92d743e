//! The `hunyuan-moe` and `hunyuan-dense` families (Hunyuan-A13B, and Hunyuan 0.5B to 7B): grouped-query attention with a norm of each head
//! after rotation; dense layers, or in every layer routed experts with normalised softmax gating, and a shared one.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/hunyuan-moe.cpp`, `hunyuan-vl.cpp`), except that fused `attn_qkv`
//! tensors, keys that ask for another router or attention scale, and `rope.dimension_sections` (vision models) are refused. Experts are
//! as wide as `feed_forward_length` says.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Count, Experts, Gated, Grouped, QkNorm, Rope, Router, Shared};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::Keys;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const DENSE: Family = Family {
    architecture: "hunyuan-dense",
    tensors: &[
        "attn_norm",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "attn_q_norm",
        "attn_k_norm",
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
    architecture: "hunyuan-moe",
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
        "ffn_gate_shexp",
        "ffn_up_shexp",
        "ffn_down_shexp",
    ],
    unusual: &[],
    build: experts,
    mtp: None,
};

fn dense(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read(keys)?;
    let attention = attention(file, &common)?;
    let attention = scaled_by_alpha(keys, attention)?;
    let networks = Gated::of_blocks(keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for network in networks {
        model.layer(&attention, &network)?;
    }
    model.finish()
}

fn experts(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read(keys)?;
    let attention = attention(file, &common)?;
    let count = Count::read(keys)?;
    let router = Router::normalised_softmax(keys)?;
    let shared = Shared::read(keys)?;
    let experts = Gated::of_blocks(keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for expert in experts {
        let as_wide = Shared { count: 1, width: expert.width, activation: Activation::Silu, scored: false };
        let shared = Some(shared.unwrap_or(as_wide));
        model.layer(&attention, &Experts { count, expert, shared, router })?;
    }
    model.finish()
}

fn attention(file: &ModelFile<'_>, common: &Common) -> Result<Grouped, Error> {
    let keys = &file.keys;
    keys.refuse_sections()?;
    let plain = Grouped::read_rotated(keys, common, RopeStyle::Halves)?.with_factors(file)?;
    Ok(Grouped { qk_norm: Some(QkNorm::RotatedHeads(common.norm)), ..plain })
}

/// Scales the base of the rotary embedding by `rope.scaling.alpha`, if the file has it (NTK-aware scaling).
fn scaled_by_alpha(keys: &Keys<'_>, attention: Grouped) -> Result<Grouped, Error> {
    const ALPHA: &str = "rope.scaling.alpha";
    let Some(alpha) = keys.positive_opt(ALPHA)? else { return Ok(attention) };
    let width = attention.heads.width as f32;
    let rope = attention.rope.map(|rope| {
        let base = rope.base * alpha.powf(width / (width - 2.0));
        match base.is_finite() && base > 1.0 {
            true => Ok(Rope { base, ..rope }),
            false => Err(keys.wrong(ALPHA, alpha, "the base that it scales must stay finite and above 1")),
        }
    });
    Ok(Grouped { rope: rope.transpose()?, ..attention })
}

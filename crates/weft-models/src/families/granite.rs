//! The `granite` and `granitemoe` families (Granite 3 and 4 without Mamba): the layers of `llama` with factors on embeddings, attention
//! scores, branches and logits; dense layers, or in every layer routed experts with normalised softmax gating, in some models also a shared
//! one.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/granite.cpp`, `granite-moe.cpp`), except that fused `attn_qkv`
//! tensors, LongRoPE and keys that ask for another router are refused. Experts are as wide as `feed_forward_length` says.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Block, Count, Experts, Gated, Grouped, Heads, Rope, Router, Shared};
use crate::common::{Common, refuse_window};
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const DENSE: Family = Family {
    architecture: "granite",
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
    unusual: &["logit_scale"],
    build,
    mtp: None,
};

pub(super) const EXPERTS: Family = Family {
    architecture: "granitemoe",
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
        "ffn_gate_shexp",
        "ffn_up_shexp",
        "ffn_down_shexp",
    ],
    unusual: &["logit_scale"],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read_scaled(keys)?;
    refuse_window(keys, common.context)?;
    let common = Common {
        embedding_scale: keys.positive_opt("embedding_scale")?.unwrap_or(1.0),
        residual_scale: keys.positive_opt("residual_scale")?.unwrap_or(1.0),
        // Logits are divided by it.
        logit_scale: 1.0 / keys.positive("logit_scale")?,
        ..common
    };
    let attention = attention(file, &common)?;
    let networks = Gated::of_blocks(keys, &common, Activation::Silu)?;
    let experts = match Count::read_opt(keys)? {
        None => None,
        Some(count) => Some((count, Router::normalised_softmax(keys)?, Shared::read(keys)?)),
    };

    let mut model = ModelBuilder::new(file, common)?;
    for network in networks {
        let experts =
            experts.map(|(count, router, shared)| Experts { count, expert: network, shared, router });
        model.layer(&attention, experts.as_ref().map_or(&network as &dyn Block, |experts| experts))?;
    }
    model.finish()
}

fn attention(file: &ModelFile<'_>, common: &Common) -> Result<Grouped, Error> {
    let keys = &file.keys;
    let heads = Heads::read(keys, common)?;
    let rope = Rope::read(keys, RopeStyle::Pairs, heads.all_rotated(keys)?, common.context)?;
    let scale = keys.positive_opt("attention.scale")?.unwrap_or(heads.scale());
    let attention = Grouped::new(common.hidden, heads, rope, scale).with_factors(file)?;
    // In `granite`, this key says whether there are positions at all.
    let rotates = keys.metadata.bool(&keys.name("rope.scaling.finetuned"))?.unwrap_or(true);
    let rotates = rotates || keys.architecture != DENSE.architecture;
    Ok(if rotates { attention } else { attention.without_positions() })
}

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
use crate::keys::Keys;
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
    let common = common(keys)?;
    // Logits are divided by it.
    let common = Common { logit_scale: 1.0 / keys.positive("logit_scale")?, ..common };
    let attention = attention(file, &common, Heads::read(keys, &common)?)?;
    // In `granite`, this key says whether there are positions at all.
    let rotates = keys.architecture != DENSE.architecture || rotates(keys)?;
    let attention = if rotates { attention } else { attention.without_positions() };
    let networks = networks(keys, &common)?;

    let mut model = ModelBuilder::new(file, common)?;
    for network in networks {
        model.layer(&attention, network.as_ref())?;
    }
    model.finish()
}

/// The keys that all families share, and the factors of embeddings and branches.
pub(super) fn common(keys: &Keys<'_>) -> Result<Common, Error> {
    let common = Common::read_scaled(keys)?;
    refuse_window(keys, common.context)?;
    Ok(Common {
        embedding_scale: keys.positive_opt("embedding_scale")?.unwrap_or(1.0),
        residual_scale: keys.positive_opt("residual_scale")?.unwrap_or(1.0),
        ..common
    })
}

/// The feed-forward network of each block.
pub(super) fn networks(keys: &Keys<'_>, common: &Common) -> Result<Vec<Box<dyn Block>>, Error> {
    let dense = Gated::of_blocks(keys, common, Activation::Silu)?.into_iter();
    let Some(count) = Count::read_opt(keys)? else {
        return Ok(dense.map(|network| Box::new(network) as Box<dyn Block>).collect());
    };
    let (router, shared) = (Router::normalised_softmax(keys)?, Shared::read(keys)?);
    let experts = |expert| Box::new(Experts { count, expert, shared, router }) as Box<dyn Block>;
    Ok(dense.map(experts).collect())
}

/// Whether queries and keys depend on positions.
pub(super) fn rotates(keys: &Keys<'_>) -> Result<bool, Error> {
    Ok(keys.metadata.bool(&keys.name("rope.scaling.finetuned"))?.unwrap_or(true))
}

/// The attention of layers with these heads, with positions.
pub(super) fn attention(file: &ModelFile<'_>, common: &Common, heads: Heads) -> Result<Grouped, Error> {
    let keys = &file.keys;
    let rope = Rope::read(keys, RopeStyle::Pairs, heads.all_rotated(keys)?, common.context)?;
    let scale = keys.positive_opt("attention.scale")?.unwrap_or(heads.scale());
    Grouped::new(common.hidden, heads, rope, scale).with_factors(file)
}

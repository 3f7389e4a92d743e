//! The `llama` family: grouped-query attention, with a gated network or (Mixtral) a mixture of experts in each layer.
//!
//! Keys are documented in GGML's `docs/gguf.md`; defaults are the same as in llama.cpp.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Block, Count, Experts, Gated, Grouped, Heads, Rope, Router};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::MAX_WIDTH;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "llama",
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
    let heads = Heads::read(&file.keys, &common)?;
    let rope = Rope::read(&file.keys, RopeStyle::Pairs, heads.rotated(&file.keys)?, common.context)?;
    let scale = file.keys.positive_opt("attention.scale")?.unwrap_or(heads.scale());
    let attention = Grouped::new(common.hidden, heads, rope, scale).with_factors(file)?;
    let feed_forward = feed_forward(file, &common)?;

    let mut model = ModelBuilder::new(file, common)?;
    for block in &feed_forward {
        model.layer(&attention, block.as_ref())?;
    }
    model.finish()
}

/// The feed-forward blocks of all layers. The key for the width of dense layers is also that for experts.
pub(super) fn feed_forward(file: &ModelFile<'_>, common: &Common) -> Result<Vec<Box<dyn Block>>, Error> {
    const WIDTH: &str = "feed_forward_length";
    let (keys, hidden) = (&file.keys, common.hidden);
    let experts = match Count::read_opt(keys)? {
        None => None,
        // Mixtral's softmax over the chosen experts equals a softmax over all, normalised over the chosen.
        Some(count) => Some((count, Router::normalised_softmax(keys)?)),
    };
    let block = |width: u32| -> Result<Box<dyn Block>, Error> {
        let width = keys.within(WIDTH, width, 1..=MAX_WIDTH)?;
        let network = Gated { hidden, width, activation: Activation::Silu };
        Ok(match experts {
            None => Box::new(network),
            Some((count, router)) => Box::new(Experts { count, expert: network, shared: None, router }),
        })
    };
    keys.per_layer(WIDTH, common.blocks)?.into_iter().map(block).collect()
}

//! The `lfm2` and `lfm2moe` families (LFM2, LFM2.5): gated short convolutions, and in some layers grouped-query attention with a norm on
//! each head; dense networks, or experts after dense layers.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/lfm2.cpp`, `lfm2moe.cpp`), except that a sliding window, fused
//! `attn_qkv` tensors and another `attention.scale` are refused. The norm after the last layer is called `token_embd_norm`.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{
    Activation, Block, Count, Experts, Gated, Gating, Grouped, Heads, QkNorm, Rope, Router, ShortConv,
};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_LAYERS, MAX_WIDTH};
use crate::model::{ModelBuilder, ModelGraph};

/// The tensors of both families.
macro_rules! tensors {
    ($($more:literal),*) => {
        &[
            "attn_norm",
            "shortconv.in_proj",
            "shortconv.conv",
            "shortconv.out_proj",
            "attn_q",
            "attn_k",
            "attn_v",
            "attn_q_norm",
            "attn_k_norm",
            "attn_output",
            "ffn_norm",
            "ffn_gate",
            "ffn_up",
            "ffn_down",
            $($more),*
        ]
    };
}

pub(super) const DENSE: Family = Family {
    architecture: "lfm2",
    tensors: tensors![],
    unusual: &["shortconv.l_cache"],
    build: |file| build(file, &|_, _, _| Ok(None)),
    mtp: None,
};

pub(super) const EXPERTS: Family = Family {
    architecture: "lfm2moe",
    tensors: tensors!["ffn_gate_inp", "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps", "exp_probs_b"],
    unusual: &["shortconv.l_cache"],
    build: |file| build(file, &experts),
    mtp: None,
};

/// The experts of a block, if it has some.
type OfBlock = dyn Fn(&Keys<'_>, &Common, usize) -> Result<Option<Experts>, Error>;

fn build(file: &ModelFile<'_>, experts: &OfBlock) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common { last_norm: "token_embd_norm.weight", ..Common::read(keys)? };
    let (heads, attends) = Heads::read_some(keys, &common)?;
    let rope = Rope::read(keys, RopeStyle::Halves, heads.rotated(keys)?, common.context)?;
    let attention = Grouped {
        qk_norm: Some(QkNorm::Heads(common.norm)),
        ..Grouped::new(common.hidden, heads, rope, heads.only_scale(keys)?)
    };
    let convolution = ShortConv::read(keys, common.hidden)?;
    let dense = Gated::of_blocks(keys, &common, Activation::Silu)?;
    let experts: Vec<Option<Experts>> =
        (0..common.blocks).map(|block| experts(keys, &common, block)).collect::<Result<_, Error>>()?;

    let mut model = ModelBuilder::new(file, common)?;
    for ((dense, experts), attends) in dense.iter().zip(&experts).zip(attends) {
        let mix: &dyn Block = if attends { &attention } else { &convolution };
        model.layer(mix, experts.as_ref().map_or(dense as &dyn Block, |experts| experts))?;
    }
    model.finish()
}

fn experts(keys: &Keys<'_>, common: &Common, block: usize) -> Result<Option<Experts>, Error> {
    let first = keys.number_opt("leading_dense_block_count", 0..=MAX_LAYERS)?.unwrap_or(0);
    if block < first {
        return Ok(None);
    }
    const WIDTH: &str = "expert_feed_forward_length";
    let width = keys.within(WIDTH, keys.per_layer(WIDTH, common.blocks)?[block], 1..=MAX_WIDTH)?;
    const GATING: &str = "expert_gating_func";
    keys.number(GATING, 1..=2)?;
    let gating = Gating::read(keys, Gating::Sigmoid)?;
    let router = Router { bias: true, ..Router::plain(keys, gating, true)? };
    let expert = Gated { hidden: common.hidden, width, activation: Activation::Silu };
    Ok(Some(Experts { count: Count::read(keys)?, expert, shared: None, router }))
}

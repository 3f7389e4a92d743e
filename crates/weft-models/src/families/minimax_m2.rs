//! The `minimax-m2` family (MiniMax-M2 and M2.1): grouped-query attention with a part of each head rotated and a norm of all heads
//! together, and in every layer routed experts with normalised sigmoid gating and a bias for their choice.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/minimax-m2.cpp`), except that fused `attn_qkv` tensors and keys
//! that ask for another router or attention scale are refused. Experts are as wide as `feed_forward_length` says.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Count, Experts, Gated, Gating, Grouped, QkNorm, Router};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "minimax-m2",
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
        "exp_probs_b",
    ],
    unusual: &[],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read(keys)?;
    let plain = Grouped::read(keys, &common, RopeStyle::Halves)?;
    let attention = Grouped { qk_norm: Some(QkNorm::Whole(common.norm)), ..plain };
    let count = Count::read(keys)?;
    let gating = Gating::read(keys, Gating::Sigmoid)?;
    let router = Router { bias: true, ..Router::plain(keys, gating, true)? };
    let experts = Gated::of_blocks(keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for expert in experts {
        model.layer(&attention, &Experts { count, expert, shared: None, router })?;
    }
    model.finish()
}

//! The `exaone4` family (EXAONE 4.0): grouped-query attention with a norm of each head, and dense layers. Norms follow attention and the
//! feed-forward network, and none precede them. In the largest model, most layers have a sliding window, and the others no positions.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/exaone4.cpp`), except that fused `attn_qkv` tensors, another
//! `attention.scale`, and a window in other models are refused. There, too, it is the number of layers that says which model it is.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gated, Grouped, Pattern, QkNorm, Windows};
use crate::common::{Common, refuse_window};
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};
use crate::mtp;

pub(super) const FAMILY: Family = Family {
    architecture: "exaone4",
    tensors: &[
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "attn_q_norm",
        "attn_k_norm",
        "post_attention_norm",
        "ffn_gate",
        "ffn_up",
        "ffn_down",
        "post_ffw_norm",
    ],
    unusual: &["attention.sliding_window"],
    build,
    mtp: None,
};

/// The layers of EXAONE 4.0 32B.
const LARGE: usize = 64;

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read_windowed(keys)?.with_norms_after();
    let layers = mtp::layers(file.gguf, keys, common.blocks)?;
    let plain = Grouped::read_rotated(keys, &common, RopeStyle::Halves)?.with_factors(file)?;
    let attention = Grouped { qk_norm: Some(QkNorm::Heads(common.norm)), ..plain };
    let windows = match layers {
        LARGE => {
            let full = attention.clone().without_positions();
            let usual = Pattern::AllButLastOf(4);
            Some(Windows::read_with_one_base(keys, &common, full, attention.clone(), usual)?)
        }
        _ => {
            refuse_window(keys, common.context)?;
            None
        }
    };
    let networks = Gated::of_blocks(keys, &common, Activation::Silu)?;
    let mtp_blocks = common.blocks - layers;

    let mut model = ModelBuilder::new(file, common)?;
    for (layer, network) in networks.iter().enumerate().take(layers) {
        model.layer(windows.as_ref().map_or(&attention, |windows| windows.of(layer)), network)?;
    }
    model.ignore_mtp_blocks(mtp_blocks);
    model.finish()
}

//! The `glm4moe` family (GLM-4.5 and GLM-4.5-Air, GLM-4.6): grouped-query attention with biases and half of each head
//! rotated, in GLM-4.5 with QK-norm; routed and shared experts after a few dense layers; a layer for multi-token
//! prediction.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/glm4-moe.cpp`), except that fused `attn_qkv` tensors,
//! another `attention.scale` and `rope.dimension_sections` (vision models) are refused. The norm before the feed-forward
//! network is called `post_attention_norm`.

use weft_gguf::Gguf;
use weft_ir::RopeStyle;

use super::deepseek2::{self, Networks};
use super::family::Family;
use crate::blocks::{Block, Gating, Grouped, QkNorm};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::Keys;
use crate::model::{ModelBuilder, ModelGraph};
use crate::mtp::{self, Mtp};

pub(super) const FAMILY: Family = Family {
    architecture: "glm4moe",
    tensors: &[
        "attn_norm",
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
        "ffn_gate_inp",
        "ffn_gate_exps",
        "ffn_up_exps",
        "ffn_down_exps",
        "ffn_gate_shexp",
        "ffn_up_shexp",
        "ffn_down_shexp",
        "exp_probs_b",
        "nextn.eh_proj",
        "nextn.enorm",
        "nextn.hnorm",
        "nextn.embed_tokens",
        "nextn.shared_head_head",
        "nextn.shared_head_norm",
    ],
    unusual: &[],
    build,
    mtp: Some(mtp),
};

/// The blocks of the layers and of the one for multi-token prediction.
struct Parts {
    common: Common,
    layers: usize,
    attention: Grouped,
    feed_forward: Vec<Box<dyn Block>>,
}

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let Parts { common, layers, attention, feed_forward } = parts(file)?;
    let mtp_blocks = common.blocks - layers;
    let mut model = ModelBuilder::new(file, common)?;
    for block in &feed_forward {
        model.layer(&attention, block.as_ref())?;
    }
    model.ignore_mtp_blocks(mtp_blocks);
    model.finish()
}

fn mtp(file: &ModelFile<'_>) -> Result<Option<Mtp>, Error> {
    let Parts { common, layers, attention, feed_forward } = parts(file)?;
    if !mtp::is_block(file.gguf, layers) {
        return Ok(None);
    }
    let Some(last) = feed_forward.last() else { return Ok(None) };
    mtp::build(file, &common, layers, &attention, last.as_ref()).map(Some)
}

fn parts(file: &ModelFile<'_>) -> Result<Parts, Error> {
    let ModelFile { gguf, keys, .. } = file;
    let common = Common { ffn_norm: Some("post_attention_norm.weight"), ..Common::read(keys)? };
    let layers = mtp::layers(gguf, keys, common.blocks)?;
    let attention = attention(gguf, keys, &common)?;
    let gating = Gating::read(keys, Gating::Sigmoid)?;
    let networks = Networks::usual(keys, gating)?;
    let feed_forward = deepseek2::feed_forward(keys, &common, layers, networks)?;
    Ok(Parts { common, layers, attention, feed_forward })
}

fn attention(gguf: &Gguf, keys: &Keys<'_>, common: &Common) -> Result<Grouped, Error> {
    keys.refuse_sections()?;
    let norms = ["blk.0.attn_q_norm.weight", "blk.0.attn_k_norm.weight"];
    let has_norm = norms.iter().any(|name| gguf.tensor(name).is_some());
    Ok(Grouped {
        qk_norm: has_norm.then_some(QkNorm::Heads(common.norm)),
        ..Grouped::read(keys, common, RopeStyle::Halves)?
    })
}

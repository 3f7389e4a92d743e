//! The `glm5-next` family (GLM-5.3-Flash), which Unsloth's files call `glm5next`: most layers are Kimi delta attention, the others latent
//! attention without any rotation to positions that an indexer of pools chooses; four residual streams; experts after dense layers.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/glm5-next.cpp`), except that joined `attn_qkv` tensors, and
//! indexers without the positions behind the last pool, are refused. The last blocks of a file can be for multi-token prediction; they are
//! left out.

use weft_ir::RopeStyle;

use super::deepseek2::{self, Networks};
use super::deepseek32::indexer_types;
use super::family::Family;
use super::kimi_linear::{bounds, lower_bound};
use crate::blocks::{Block, Bound, Gating, Indexer, Kda, Latent, Positions, Queries, Rope, Streams};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_HEAD_WIDTH, MAX_WIDTH};
use crate::model::{ModelBuilder, ModelGraph};
use crate::mtp;

/// ε of the norms of queries and keys in layers with a recurrent state.
const UNIT: f32 = 1e-6;

const TENSORS: &[&str] = &[
    "hc_attn_fn",
    "hc_attn_base",
    "hc_attn_scale",
    "attn_norm",
    "attn_q",
    "attn_k",
    "attn_v",
    "ssm_conv1d_q",
    "ssm_conv1d_k",
    "ssm_conv1d_v",
    "ssm_f_a",
    "ssm_f_b",
    "ssm_g_a",
    "ssm_g_b",
    "ssm_beta",
    "ssm_a",
    "ssm_dt",
    "ssm_norm",
    "attn_q_a",
    "attn_q_a_norm",
    "attn_q_b",
    "attn_kv_a_mqa",
    "attn_kv_a_norm",
    "attn_k_b",
    "attn_v_b",
    "attn_output",
    "indexer.k_norm",
    "indexer.proj",
    "indexer.attn_k",
    "indexer.attn_q_b",
    "indexer_compressor_gate",
    "indexer_compressor_ape",
    "hc_ffn_fn",
    "hc_ffn_base",
    "hc_ffn_scale",
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
];

/// The tensors of an indexer.
const INDEXER: [&str; 7] = [
    "indexer.k_norm.weight",
    "indexer.k_norm.bias",
    "indexer.proj.weight",
    "indexer.attn_k.weight",
    "indexer.attn_q_b.weight",
    "indexer_compressor_gate.weight",
    "indexer_compressor_ape.weight",
];

/// Keys of streams, indexers and layers with a recurrent state.
const UNUSUAL: &[&str] = &[
    "attention.indexer.top_k",
    "attention.indexer.kpool",
    "attention.layer_norm_epsilon",
    "hyper_connection.count",
    "kda.head_dim",
    "kda.gate_lower_bound",
    "ssm.conv_kernel",
];

pub(super) const UPSTREAM: Family =
    Family { architecture: "glm5-next", tensors: TENSORS, unusual: UNUSUAL, build, mtp: None };

/// The name of the same family in Unsloth's files.
pub(super) const UNSLOTH: Family = Family { architecture: "glm5next", ..UPSTREAM };

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let ModelFile { gguf, keys, options } = file;
    let streams = Streams::read(keys)?;
    let common = Common { streams: Some(streams), ..Common::read(keys)? };
    let layers = mtp::layers(gguf, keys, common.blocks)?;
    // A layer without heads of keys and values has a recurrent state.
    let mut key_heads = keys.per_layer("attention.head_count_kv", common.blocks)?;
    key_heads.truncate(layers);
    let kda = kda(keys, &common)?;
    let rank = keys.number("attention.q_lora_rank", 1..=MAX_WIDTH)?;
    let latent = latent(keys, &common, rank)?;
    let indexer = Indexer::read_pooled(keys, common.hidden, rank, (common.context, options.page))?;
    let own = own_indexers(keys, &key_heads)?;
    let networks = deepseek2::feed_forward(keys, &common, layers, networks(keys, common.blocks)?)?;
    let (most, pool) = (indexer.most, indexer.pool);
    let borrowed = Latent { positions: Positions::Borrowed { most, pool }, ..latent.clone() };
    let lends = own.contains(&Some(false));
    let chosen = Latent { positions: Positions::Chosen { indexer, lends }, ..latent };
    let mtp_blocks = common.blocks - layers;
    let mut model = ModelBuilder::new(file, common)?;
    for (layer, (network, own)) in networks.iter().zip(own).enumerate() {
        if own == Some(false) {
            // Some files have them nevertheless.
            INDEXER.iter().for_each(|tensor| model.ignore(format!("blk.{layer}.{tensor}")));
        }
        let mix: &dyn Block = match own {
            None => &kda,
            Some(true) => &chosen,
            Some(false) => &borrowed,
        };
        model.layer(mix, network.as_ref())?;
    }
    model.ignore_mtp_blocks(mtp_blocks);
    model.finish()
}

/// For each layer with attention whether it has an indexer of its own, as `attention.indexer.types` says; without the key all have.
fn own_indexers(keys: &Keys<'_>, key_heads: &[u32]) -> Result<Vec<Option<bool>>, Error> {
    let types = indexer_types(keys, key_heads.len())?.unwrap_or_else(|| vec![true; key_heads.len()]);
    let own: Vec<Option<bool>> =
        key_heads.iter().zip(types).map(|(heads, own)| (*heads > 0).then_some(own)).collect();
    match own.iter().flatten().next() {
        Some(false) => {
            const TYPES: &str = "attention.indexer.types";
            let rule = "the first layer with attention must have an indexer";
            Err(keys.wrong(TYPES, "false for that layer", rule))
        }
        _ => Ok(own),
    }
}

/// Layers with a recurrent state. Without a lower bound, decays are those of Kimi-Linear.
fn kda(keys: &Keys<'_>, common: &Common) -> Result<Kda, Error> {
    let bound = match keys.f32("kda.gate_lower_bound")? {
        None => Bound::None,
        Some(_) => Bound::Negated(lower_bound(keys)?),
    };
    let kda = Kda::read(keys, (common.hidden, common.heads), common.norm, bound)?;
    Ok(Kda { unit: UNIT, narrow: true, ..kda })
}

/// Routed experts and other networks have the same bounds unless the file says otherwise.
fn networks(keys: &Keys<'_>, blocks: usize) -> Result<Networks, Error> {
    const OTHERS: &str = "swiglu_clamp_shexp";
    let routed = bounds(keys, "swiglu_clamp_exp", blocks)?;
    let others = match keys.metadata.get(&keys.name(OTHERS)) {
        None => routed.clone(),
        Some(_) => bounds(keys, OTHERS, blocks)?,
    };
    let usual = Networks::usual(keys, Gating::read(keys, Gating::Sigmoid)?)?;
    Ok(Networks { limited: true, bounds: [routed, others], ..usual })
}

/// Latent attention to all positions, with queries compressed to `rank` values. Nothing is rotated.
fn latent(keys: &Keys<'_>, common: &Common, rank: usize) -> Result<Latent, Error> {
    const ROPE: &str = "rope.dimension_count";
    let dims = keys.number(ROPE, 0..=MAX_HEAD_WIDTH)?;
    if dims != 0 {
        return Err(keys.unsupported(ROPE, dims, "it can only be 0"));
    }
    let width = keys.number("attention.key_length_mla", 2..=MAX_HEAD_WIDTH)?;
    Ok(Latent {
        hidden: common.hidden,
        heads: common.heads,
        queries: Queries::Compressed(rank),
        kv_rank: keys.number("attention.kv_lora_rank", 1..=MAX_WIDTH)?,
        nope: width,
        value: keys.number("attention.value_length_mla", 1..=MAX_HEAD_WIDTH)?,
        joined: false,
        norm: common.norm,
        rope: Rope::read(keys, RopeStyle::Pairs, 0, common.context)?,
        rotated: false,
        gated: false,
        positions: Positions::All,
        scale: (1.0 / (width as f64).sqrt()) as f32,
    })
}

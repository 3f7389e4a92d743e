//! The `deepseek32` and `glm-dsa` families (DeepSeek-V3.2; GLM-5, 5.1, 5.2 and 5.3): the layers of `deepseek2`, with an indexer that
//! chooses the positions that a token attends to.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/deepseek32.cpp`, `glm-dsa.cpp`). Blocks for multi-token prediction
//! are left out. Up to `attention.indexer.top_k` positions both compute the same as `deepseek2`.

use weft_gguf::{Array, Value};
use weft_ir::RopeStyle;

use super::deepseek2::{self, Networks};
use super::family::Family;
use crate::blocks::{Gating, Indexer, Latent, Positions, Queries, Rope};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_HEAD_WIDTH, MAX_WIDTH};
use crate::model::{ModelBuilder, ModelGraph};
use crate::mtp;

const TENSORS: &[&str] = &[
    "attn_norm",
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
const INDEXER: [&str; 5] = [
    "indexer.k_norm.weight",
    "indexer.k_norm.bias",
    "indexer.proj.weight",
    "indexer.attn_k.weight",
    "indexer.attn_q_b.weight",
];

/// Keys of an indexer.
const UNUSUAL: &[&str] =
    &["attention.indexer.head_count", "attention.indexer.key_length", "attention.indexer.top_k"];

/// The context of files of GLM-5.2 from before `attention.indexer.types`.
const LONG: usize = 1 << 20;

pub(super) const DEEPSEEK: Family = Family {
    architecture: "deepseek32",
    tensors: TENSORS,
    unusual: UNUSUAL,
    build: |file| build(file, RopeStyle::Halves),
    mtp: None,
};

pub(super) const GLM: Family = Family {
    architecture: "glm-dsa",
    tensors: TENSORS,
    unusual: UNUSUAL,
    build: |file| build(file, RopeStyle::Pairs),
    mtp: None,
};

/// Builds the layers. `style` is the rotation of indexers; attention rotates in pairs.
fn build(file: &ModelFile<'_>, style: RopeStyle) -> Result<ModelGraph, Error> {
    let ModelFile { gguf, keys, .. } = file;
    let common = Common::read(keys)?;
    deepseek2::refuse_temperature(keys)?;
    let layers = mtp::layers(gguf, keys, common.blocks)?;
    // Without this key, the sizes would be those of files of `deepseek2` from before 2025.
    keys.number("attention.key_length_mla", 2..=MAX_HEAD_WIDTH)?;
    let rank = keys.number("attention.q_lora_rank", 1..=MAX_WIDTH)?;
    let latent = deepseek2::attention(gguf, keys, &common)?;
    let latent = Latent { queries: Queries::Compressed(rank), ..latent };
    let rope = Rope { style, ..latent.rope.clone() };
    let indexer = Indexer::read(keys, common.hidden, rank, common.context, rope)?;
    let own = match style {
        RopeStyle::Pairs => own_indexers(keys, layers, common.context)?,
        RopeStyle::Halves => vec![true; layers],
    };
    let networks = Networks::usual(keys, Gating::read(keys, Gating::Sigmoid)?)?;
    let networks = deepseek2::feed_forward(keys, &common, layers, networks)?;
    let borrowed =
        Latent { positions: Positions::Borrowed { most: indexer.most, pool: 1 }, ..latent.clone() };
    let lends = own.iter().any(|own| !own);
    let chosen = Latent { positions: Positions::Chosen { indexer, lends }, ..latent };
    let mtp_blocks = common.blocks - layers;
    let mut model = ModelBuilder::new(file, common)?;
    for (layer, (network, own)) in networks.iter().zip(own).enumerate() {
        if !own {
            // Some files have them nevertheless.
            INDEXER.iter().for_each(|tensor| model.ignore(format!("blk.{layer}.{tensor}")));
        }
        model.layer(if own { &chosen } else { &borrowed }, network.as_ref())?;
    }
    model.ignore_mtp_blocks(mtp_blocks);
    model.finish()
}

/// For each layer whether it has an indexer of its own; the others attend to the positions of the last one before them.
fn own_indexers(keys: &Keys<'_>, layers: usize, context: usize) -> Result<Vec<bool>, Error> {
    let usual = |layer: usize| context < LONG || layer < 2 || (layer - 2).is_multiple_of(4);
    let own = indexer_types(keys, layers)?.unwrap_or_else(|| (0..layers).map(usual).collect());
    match own.first() {
        Some(true) => Ok(own),
        _ => Err(keys.wrong(TYPES, "false first", "the first layer must have an indexer")),
    }
}

const TYPES: &str = "attention.indexer.types";

/// Whether each layer has an indexer of its own, if the file says so.
pub(super) fn indexer_types(keys: &Keys<'_>, layers: usize) -> Result<Option<Vec<bool>>, Error> {
    let own: Vec<bool> = match keys.metadata.get(&keys.name(TYPES)) {
        None => return Ok(None),
        Some(Value::Array(Array::Bool(types))) => types.clone(),
        Some(Value::Array(Array::U32(types))) => types.iter().map(|own| *own != 0).collect(),
        Some(Value::Array(Array::I32(types))) => types.iter().map(|own| *own != 0).collect(),
        Some(_) => return Err(keys.wrong(TYPES, "something else", "it must be an array of booleans")),
    };
    if own.len() != layers {
        let rule = format!("it must have one for each of {layers} layers");
        return Err(keys.wrong(TYPES, format!("an array of {}", own.len()), rule));
    }
    Ok(Some(own))
}

//! The `qwen3` family: grouped-query attention with QK-norm on every head, and dense layers.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/qwen3.cpp`), except that fused `attn_qkv` tensors
//! and another `attention.scale` are refused.

use weft_gguf::Gguf;
use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gated, Grouped, QkNorm};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "qwen3",
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
    build,
    mtp: None,
};

/// The prompt that Qwen3-Reranker was trained with, for its files without one. As in files, it has `{query}` and `{document}`.
const RERANKER: &str = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct \
    provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a web search query, \
    retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n\
    <think>\n\n</think>\n\n";

/// How a model ranks documents that has logits and no classifier: by which of two tokens comes after a prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reranker {
    /// The text of the token that says that a document is relevant, and of the one that says that it is not.
    pub tokens: [&'static str; 2],
    /// The prompt, if the file has none: with `{query}` and `{document}` in the places of both.
    pub template: &'static str,
}

/// How the model of a file ranks documents by its logits. `None` if it was not made for that. Only the name says so, as in llama.cpp's
/// converter.
pub fn reranker(gguf: &Gguf) -> Option<Reranker> {
    let names = ["general.name", "general.basename"].map(|key| gguf.metadata().str(key).ok().flatten());
    let is_it = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "").contains("qwen3reranker");
    let named = names.into_iter().flatten().any(is_it);
    named.then_some(Reranker { tokens: ["yes", "no"], template: RERANKER })
}

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let common = Common::read(&file.keys)?;
    let attention = attention(file, &common)?;
    let networks = Gated::of_blocks(&file.keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for network in networks {
        model.layer(&attention, &network)?;
    }
    model.finish()
}

/// The attention of Qwen3 and Qwen3-MoE.
pub(super) fn attention(file: &ModelFile<'_>, common: &Common) -> Result<Grouped, Error> {
    let plain = Grouped::read(&file.keys, common, RopeStyle::Halves)?;
    Ok(Grouped { qk_norm: Some(QkNorm::Heads(common.norm)), ..plain })
}

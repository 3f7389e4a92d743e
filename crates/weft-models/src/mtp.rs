//! The layer that predicts one token more (multi-token prediction, MTP; "nextn" in GGUF files).
//!
//! From the hidden state of token `i`, after the model's last norm, and the embedding of token `i + 1`, it predicts token
//! `i + 2` (DeepSeek-V3, 2024, <https://arxiv.org/abs/2412.19437>, section 2.2):
//!
//! ```text
//! x = eh_proj · [enorm(embedding of token i + 1), hnorm(hidden state of token i)]
//! logits = head · shared_head_norm(layer(x))
//! ```
//!
//! The layer has a KV cache of its own, with a row for token `i` at its position `i`. The hidden states that it reads are also kept like a
//! cache. So it can follow the model at any time, even if the step that computed them was undone. To predict token `i + 3`, it takes its
//! own state after `shared_head_norm` in the place of the hidden state of token `i + 1`, as llama.cpp does.

use weft_gguf::Gguf;
use weft_ir::Dim;
use weft_quant::GgmlType;

use crate::blocks::{Block, ends};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::Keys;
use crate::model::layer;
use crate::segment::{Segment, SegmentBuilder};

/// The state of normed hidden states.
const HIDDEN: &str = "hidden";

/// The graphs of a layer that predicts one token more.
#[derive(Clone, Debug)]
pub struct Mtp {
    /// Follows the layers of the model, and stores what the layer reads of `x` in a state.
    pub hidden: Segment,
    /// The segments of a step of the layer. Its inputs are those of the model's steps, with `tokens` the ones after those of
    /// the rows; `logits` are of the ones after these.
    pub segments: Vec<Segment>,
}

/// The most blocks of a multi-token prediction head. (Published models have one.)
const MAX_MTP_BLOCKS: usize = 16;

/// Returns how many of the file's blocks are layers of the main model.
///
/// A multi-token prediction head (MTP, "NextN") is one or more blocks after the last layer, which `block_count` includes.
/// Its tensors are named `blk.N.nextn.*`. Files without the head may still count it; `nextn_predict_layers` says how many
/// blocks can be missing for that reason.
pub(crate) fn layers(gguf: &Gguf, keys: &Keys<'_>, blocks: usize) -> Result<usize, Error> {
    let mtp = keys.number_opt("nextn_predict_layers", 0..=MAX_MTP_BLOCKS)?.unwrap_or(0);
    let is_empty = |block: usize| {
        let prefix = format!("blk.{block}.");
        !gguf.tensors().iter().any(|tensor| tensor.name.starts_with(&prefix))
    };
    let is_layer = |block: usize| {
        let left_out = blocks - block <= mtp && is_empty(block);
        !left_out && !is_block(gguf, block)
    };
    // At least one, so that a file with nothing but the head fails at its first missing tensor.
    let last = (1..blocks).rev().find(|block| is_layer(*block)).unwrap_or(0);
    Ok(last + 1)
}

/// Returns whether a block predicts one token more.
pub(crate) fn is_block(gguf: &Gguf, block: usize) -> bool {
    gguf.tensor(&format!("blk.{block}.nextn.eh_proj.weight")).is_some()
}

/// Builds the layer from block `index` of a file.
pub(crate) fn build(
    file: &ModelFile<'_>,
    common: &Common,
    index: usize,
    attention: &dyn Block,
    feed_forward: &dyn Block,
) -> Result<Mtp, Error> {
    Ok(Mtp {
        hidden: hidden(file, common, index)?.finish("mtp hidden".into())?,
        segments: vec![
            input(file, common, index)?.finish("mtp input".into())?,
            layer(file, common, index, attention, feed_forward)?.finish("mtp layer".into())?,
            head(file, common, index)?.finish("mtp head".into())?,
        ],
    })
}

/// Stores the hidden state after the model's last norm and the layer's own.
fn hidden<'a>(file: &ModelFile<'a>, common: &Common, index: usize) -> Result<SegmentBuilder<'a>, Error> {
    let Common { hidden, norm, .. } = *common;
    let mut s = SegmentBuilder::new(file, "mtp_hidden", Some(index));
    let x = s.hidden(hidden);
    let x = s.of_model(|s| norm.build(s, x, ends::NORM, 1, hidden))?;
    let x = norm.build(&mut s, x, "nextn.hnorm.weight", 1, hidden)?;
    s.check_blocks(hidden)?;
    s.store_choice(HIDDEN, x, hidden);
    Ok(s)
}

/// Joins embeddings and hidden states to the layer's input `x`.
fn input<'a>(file: &ModelFile<'a>, common: &Common, index: usize) -> Result<SegmentBuilder<'a>, Error> {
    let Common { hidden, vocab, norm, .. } = *common;
    let mut s = SegmentBuilder::new(file, "mtp_input", Some(index));
    let table = s.own_or_model("nextn.embed_tokens.weight", ends::EMBEDDING, &[vocab, hidden])?;
    let tokens = s.per_token("tokens");
    let embedded = s.g.rows(table, tokens);
    let embedded = norm.build(&mut s, embedded, "nextn.enorm.weight", 1, hidden)?;
    let stored = s.stored_choice(HIDDEN, hidden);
    let slots = s.per_token("slots");
    let own = s.g.rows(stored, slots);
    let both = s.g.concat(&[embedded, own], 1);
    let project = s.matrix("nextn.eh_proj.weight", &[hidden, 2 * hidden])?;
    let x = s.g.dot(both, project);
    s.g.output("x", x);
    Ok(s)
}

/// Computes `logits`, `f32[R, vocab]`, from the rows `out_rows` of `x`. The hidden states that these come from take the place of the
/// model's at `next_slots`, so that the layer can go on from its own guess.
fn head<'a>(file: &ModelFile<'a>, common: &Common, index: usize) -> Result<SegmentBuilder<'a>, Error> {
    let Common { hidden, vocab, norm, .. } = *common;
    let mut s = SegmentBuilder::new(file, "mtp_head", Some(index));
    let x = s.hidden(hidden);
    let wanted = s.g.input("out_rows", GgmlType::I32, [Dim::R]);
    let x = s.g.rows(x, wanted);
    const NORM: &str = "nextn.shared_head_norm.weight";
    // Files without a norm of its own use the model's.
    let x = match s.has(NORM) {
        true => norm.build(&mut s, x, NORM, 1, hidden)?,
        false => s.of_model(|s| norm.build(s, x, ends::NORM, 1, hidden))?,
    };
    let output = if s.of_model(|s| s.has(ends::OUTPUT)) { ends::OUTPUT } else { ends::EMBEDDING };
    let output = s.own_or_model("nextn.shared_head_head.weight", output, &[vocab, hidden])?;
    let logits = s.g.dot(x, output);
    s.g.output("logits", logits);
    let x = norm.build(&mut s, x, "nextn.hnorm.weight", 1, hidden)?;
    let next = s.g.input("next_slots", GgmlType::I32, [Dim::R]);
    let stored = s.stored_choice(HIDDEN, hidden);
    let stored = s.g.store(stored, x, next);
    s.g.output(HIDDEN, stored);
    Ok(s)
}

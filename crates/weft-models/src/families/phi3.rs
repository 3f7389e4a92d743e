//! The `phi3` family (Phi-3, Phi-3.5 and Phi-4): grouped-query attention with one matrix for queries, keys and values, and
//! dense layers with one matrix for gate and up.
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/phi3.cpp`), except that a window shorter than the
//! context (Phi-3-mini-4k) is refused, not ignored, and that so are biases of norms and experts.
//!
//! Models with a longer context than they were first trained for have two lists of rotary factors (LongRoPE). The
//! long ones are used whenever the model's context is longer than the original one, as llama.cpp and vLLM do when they are
//! given the whole context: the choice must not depend on the length of a prompt, because keys in the cache are rotated
//! already.

use weft_ir::RopeStyle;

use super::family::Family;
use crate::blocks::{Activation, Gated, Grouped, Heads, JoinedGated, Rope};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "phi3",
    tensors: &[
        "attn_norm",
        "attn_qkv",
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "ffn_norm",
        "ffn_up",
        "ffn_down",
    ],
    unusual: &[],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read(keys)?;
    let heads = Heads::read(keys, &common)?;
    let rotated = heads.rotated(keys)?;
    let rope = Rope::read(keys, RopeStyle::Halves, rotated, common.context)?;
    let rope = rope.with_long_factors(file, common.context)?;
    let attention = Grouped {
        // Files converted in early 2024 have them apart.
        joined: file.gguf.tensor("blk.0.attn_q.weight").is_none(),
        ..Grouped::new(common.hidden, heads, rope, heads.only_scale(keys)?)
    };
    let networks = Gated::of_blocks(keys, &common, Activation::Silu)?;

    let mut model = ModelBuilder::new(file, common)?;
    for network in networks {
        model.layer(&attention, &JoinedGated(network))?;
    }
    model.finish()
}

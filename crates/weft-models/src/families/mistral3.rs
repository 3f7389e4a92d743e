//! The `mistral3` family: the layers of `llama`, with queries scaled by their position (Ministral 3).
//!
//! Keys, defaults and tensors are the same as in llama.cpp (`src/models/mistral3.cpp`), except that heads of which only a part is rotated
//! are refused, as are fused `attn_qkv` tensors and another `attention.scale`. Files of Mistral Small 3.1 and 3.2 have this architecture,
//! too, and then no scale of queries.

use weft_ir::RopeStyle;

use super::family::Family;
use super::llama;
use crate::blocks::{Grouped, Heads, Rope, Temperature};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::model::{ModelBuilder, ModelGraph};

pub(super) const FAMILY: Family = Family {
    architecture: "mistral3",
    tensors: llama::FAMILY.tensors,
    unusual: &["attention.temperature_scale"],
    build,
    mtp: None,
};

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let keys = &file.keys;
    let common = Common::read(keys)?;
    let heads = Heads::read(keys, &common)?;
    let rotated = heads.all_rotated(keys)?;
    // YaRN's factor on the tables is divided by that with this multiplier, which is 1 in published models: they have none.
    let over = keys.positive_opt("rope.scaling.yarn_log_multiplier")?.unwrap_or(0.0);
    let rope = Rope::read_over_mscale(keys, RopeStyle::Pairs, rotated, common.context, over)?;
    let attention = Grouped {
        temperature: Temperature::read(keys, common.context)?,
        ..Grouped::new(common.hidden, heads, rope.with_factors(file)?, heads.only_scale(keys)?)
    };
    let feed_forward = llama::feed_forward(file, &common)?;

    let mut model = ModelBuilder::new(file, common)?;
    for block in &feed_forward {
        model.layer(&attention, block.as_ref())?;
    }
    model.finish()
}

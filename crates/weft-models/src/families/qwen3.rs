//! The `qwen3` family: dense, grouped-query attention with QK-norm on every head.
//!
//! Keys, defaults and tensors are those of llama.cpp (`src/models/qwen3.cpp`).

use weft_ir::{RopeStyle, Unary};

use super::Family;
use crate::ModelGraph;
use crate::blocks::{Gated, Grouped, Heads, Rope};
use crate::error::Error;
use crate::file::{Common, ModelFile};
use crate::keys::MAX_WIDTH;
use crate::model::ModelBuilder;

pub(super) const FAMILY: Family = Family { architecture: "qwen3", build };

fn build(file: &ModelFile<'_>) -> Result<ModelGraph, Error> {
    let common = Common::read(&file.keys)?;
    let attention = attention(file, &common)?;
    const WIDTH: &str = "feed_forward_length";
    let widths = file.keys.per_layer(WIDTH, common.blocks)?;
    let hidden = common.hidden;

    let mut model = ModelBuilder::new(file, common)?;
    for width in widths {
        let width = file.keys.within(WIDTH, width, 1..=MAX_WIDTH)?;
        model.layer(&attention, &Gated { hidden, width, activation: Unary::Silu })?;
    }
    model.finish()
}

/// The attention of Qwen3, dense or with experts.
pub(super) fn attention(file: &ModelFile<'_>, common: &Common) -> Result<Grouped, Error> {
    let heads = Heads::read(&file.keys, common)?;
    let rotated = heads.rotated(&file.keys)?;
    Ok(Grouped {
        hidden: common.hidden,
        heads,
        qk_norm: Some(common.norm),
        rope: Rope::read(&file.keys, RopeStyle::Halves, rotated, common.context)?,
        scale: heads.scale(),
    })
}

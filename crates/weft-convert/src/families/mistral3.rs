//! Ministral 3 and Mistral Small 3.1 and 3.2: `mistral3`, the text's part alone. Tensors are those of Llama; Ministral 3 also
//! scales queries by their position, and has no factor of YaRN on its cosines and sines.

use super::llama;
use crate::common::{SIGHT, refuse_window};
use crate::error::Result;
use crate::family::Family;
use crate::model::Model;
use crate::rope::Rope;

pub(super) const MISTRAL3: Family = Family {
    names: &["Mistral3ForConditionalGeneration", "Ministral3ForCausalLM"],
    architecture: "mistral3",
    defaults: r#"{"max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "num_key_value_heads": 8, "tie_word_embeddings": false}"#,
    write,
    ..llama::LLAMA
};

/// `model_type` of Ministral 3, and of the text's part of Mistral Small 3.1, whose layers are those of Mistral.
const KINDS: [&str; 2] = ["ministral3", "mistral"];

fn write(model: &mut Model<'_>) -> Result<()> {
    let config = model.config;
    let kind = config.str("model_type")?.ok_or_else(|| config.missing("model_type"))?;
    if !KINDS.contains(&kind) {
        return Err(config.mismatch("model_type", &KINDS.join(" or "), &kind.into()));
    }
    refuse_window(config)?;
    if config.value("vision_config").is_some() {
        model.set_part(&SIGHT);
    }
    if kind == "ministral3" {
        let (scale, multiplier) = Rope::read(model)?.ministral()?;
        model.arch("rope.scaling.yarn_log_multiplier", multiplier as f32);
        model.arch("attention.temperature_scale", scale as f32);
    }
    llama::dense(model, true)
}

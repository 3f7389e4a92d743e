//! What the file of a synthetic model says of itself: the keys llama.cpp's converter writes for the family.

use weft_gguf::{Metadata, Value};

use crate::recipe::{QUANTIZATION_VERSION, Recipe};
use crate::synth::preset::{Gating, Preset};

pub(crate) fn metadata(preset: &Preset, recipe: &Recipe, seed: u64) -> Metadata {
    let mut metadata = Metadata::new();
    general(preset, recipe, seed, &mut metadata);
    let mut set = |key: &str, value: Value| {
        metadata.insert(&format!("deepseek2.{key}"), value);
    };
    let row = preset.kv_rank + preset.rope;
    for (key, value) in [
        ("block_count", recipe.layers),
        ("context_length", preset.context),
        ("embedding_length", preset.hidden),
        ("feed_forward_length", preset.dense),
        ("attention.head_count", preset.heads),
        // One row of the cache serves all heads; the `_mla` keys have a head's own sizes.
        ("attention.head_count_kv", 1),
        ("attention.key_length", row),
        ("attention.value_length", preset.kv_rank),
        ("attention.key_length_mla", preset.nope + preset.rope),
        ("attention.value_length_mla", preset.value),
        ("attention.kv_lora_rank", preset.kv_rank),
        ("rope.dimension_count", preset.rope),
        ("leading_dense_block_count", 1),
        ("expert_count", preset.experts),
        ("expert_used_count", preset.used),
        ("expert_shared_count", preset.shared),
        ("expert_group_count", 1),
        ("expert_group_used_count", 1),
        ("expert_feed_forward_length", preset.expert),
        ("expert_gating_func", if preset.gating == Gating::Sigmoid { 2 } else { 1 }),
        ("vocab_size", preset.vocabulary),
    ] {
        set(key, value.into());
    }
    set("attention.layer_norm_rms_epsilon", preset.rms_eps.into());
    set("rope.freq_base", preset.rope_base.into());
    set("expert_weights_scale", preset.expert_scale.into());
    set("expert_weights_norm", (preset.gating == Gating::Sigmoid).into());
    if let Some(rank) = preset.q_rank {
        set("attention.q_lora_rank", rank.into());
    }
    if let Some(yarn) = &preset.yarn {
        set("rope.scaling.type", "yarn".into());
        set("rope.scaling.factor", yarn.factor.into());
        set("rope.scaling.original_context_length", yarn.original_context.into());
        set("rope.scaling.yarn_log_multiplier", (0.1 * yarn.mscale).into());
    }
    preset.family.describe(preset.vocabulary, &mut metadata);
    metadata
}

fn general(preset: &Preset, recipe: &Recipe, seed: u64, metadata: &mut Metadata) {
    let (name, layers, mixture) = (preset.name, recipe.layers, recipe.mixture);
    let command =
        format!("weft synth --preset {name} --layers {layers} --quant {} --seed {seed}", mixture.name);
    metadata.insert("general.architecture", "deepseek2");
    metadata.insert("general.type", "model");
    metadata.insert("general.name", format!("{name}, synthetic"));
    metadata.insert("general.description", format!("Random weights, for tests and benchmarks: {command}"));
    metadata.insert("general.tags", ["synthetic"].iter().collect::<weft_gguf::Strings>());
    metadata.insert("general.file_type", mixture.file_type);
    metadata.insert("general.quantization_version", QUANTIZATION_VERSION);
}

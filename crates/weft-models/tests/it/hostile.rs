//! Hostile files: whatever the metadata says, `build` returns a model or an error.

use proptest::prelude::*;
use weft_gguf::Value;
use weft_models::{BuildOptions, build};

use crate::gemma4;
use crate::kimi;
use crate::mixed;
use crate::plain;
use crate::sparse;
use crate::streams;
use crate::support::{self, File};

fn models() -> Vec<fn() -> File> {
    [MODELS.as_slice(), plain::MODELS.as_slice(), mixed::MODELS.as_slice()].concat()
}

fn value() -> impl Strategy<Value = Value> {
    let u32s = prop_oneof![
        Just(0),
        Just(1),
        Just(2),
        Just(3),
        0..64u32,
        4000..5000u32,
        Just(u32::MAX),
        any::<u32>()
    ];
    let u64s = prop_oneof![Just(u64::MAX), Just(1 << 32), any::<u64>()];
    let f32s = prop_oneof![
        Just(0.0),
        Just(-1.0),
        Just(f32::NAN),
        Just(f32::INFINITY),
        Just(f32::MIN_POSITIVE),
        Just(f32::MAX),
        any::<f32>()
    ];
    prop_oneof![
        4 => u32s.clone().prop_map(Value::from),
        1 => any::<i32>().prop_map(Value::from),
        1 => u64s.prop_map(Value::from),
        3 => f32s.prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => prop_oneof![Just("yarn"), Just("none"), Just("longrope"), Just("llama"), Just("\u{1b}[31m")]
            .prop_map(Value::from),
        1 => prop::collection::vec(u32s, 0..5).prop_map(Value::from),
    ]
}

const MODELS: [fn() -> File; 21] = [
    support::glm,
    support::v2_lite,
    support::llama,
    support::mixtral,
    support::qwen2,
    support::qwen3,
    support::qwen3moe,
    support::qwen2moe,
    support::glm4moe,
    support::phi3,
    support::gpt_oss,
    support::gemma3,
    support::v3,
    support::mistral3,
    support::mistral4,
    kimi::kimi_linear,
    kimi::ling,
    gemma4::gemma4,
    sparse::deepseek32,
    sparse::glm_dsa,
    streams::glm5_next,
];

/// Optional keys that the tiny models do not have.
const MORE_KEYS: [&str; 41] = [
    "pooling_type",
    "classifier.output_labels",
    "classifier.pooling_type",
    "nextn_predict_layers",
    "expert_group_count",
    "expert_group_used_count",
    "rope.dimension_sections",
    "attention.temperature_scale",
    "attention.scale",
    "attention.causal",
    "attention.key_length",
    "attention.value_length",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scale_linear",
    "rope.scaling.attn_factor",
    "rope.scaling.original_context_length",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.yarn_ext_factor",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_log_multiplier",
    "expert_shared_count",
    "expert_gating_func",
    "expert_weights_norm",
    "expert_weights_scale",
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "rope.freq_base_swa",
    "final_logit_softcapping",
    "attn_logit_softcapping",
    "logit_scale",
    "embedding_scale",
    "residual_scale",
    "swiglu_clamp_exp",
    "expert_shared_feed_forward_length",
    "rope.scaling.alpha",
    "rope.scaling.finetuned",
    "interleave_moe_layer_step",
    "leading_dense_block_count",
    "moe_latent_size",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_metadata_never_panics(
        model in prop::sample::select(models()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::weighted(0.9, value())), 1..4),
    ) {
        let mut file = model();
        let mut keys: Vec<String> = file.keys.keys().cloned().collect();
        let architecture = keys.iter().find_map(|key| key.strip_suffix(".block_count")).unwrap().to_string();
        keys.extend(MORE_KEYS.map(|key| format!("{architecture}.{key}")));
        for (key, value) in changes {
            let key = &keys[key.index(keys.len())];
            match value {
                Some(value) => file.set(key, value),
                None => drop(file.keys.remove(key)),
            }
        }
        match build(&file.open(), &BuildOptions::default()) {
            Ok(model) => {
                model.cost();
                for segment in &model.segments {
                    weft_ir::verify(&segment.graph).unwrap();
                }
            }
            Err(error) => {
                let text = error.to_string();
                prop_assert!(!text.contains('\u{1b}'), "unescaped: {text:?}");
                prop_assert!(text.starts_with("GGUF in memory: "), "{text}");
            }
        }
    }

    #[test]
    fn random_shapes_never_panic(
        model in prop::sample::select(models()),
        at in any::<prop::sample::Index>(),
        shape in prop::collection::vec(prop_oneof![Just(1u64), Just(2), Just(32), Just(64), 1..200u64], 1..5),
    ) {
        let mut file = model();
        let at = at.index(file.tensors.len());
        let tensor = &mut file.tensors[at];
        tensor.ty = weft_quant::GgmlType::F32;
        tensor.shape = shape;
        if let Err(error) = build(&file.open(), &BuildOptions::default()) {
            prop_assert!(error.to_string().contains(&file.tensors[at].name));
        }
    }
}

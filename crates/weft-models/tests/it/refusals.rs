//! Files that cannot be built, and the errors.

use expect_test::expect_file;
use weft_gguf::Value;
use weft_models::{BuildOptions, Error, build};
use weft_quant::GgmlType;

use crate::gemma4;
use crate::kimi;
use crate::mixed;
use crate::plain;
use crate::sparse;
use crate::streams;
use crate::support::{self, File};

fn models() -> Vec<File> {
    let mut joined = support::glm();
    support::join_keys_and_values(&mut joined);
    let mut models = vec![
        support::glm(),
        support::v2_lite(),
        joined,
        support::llama(),
        support::mixtral(),
        support::qwen2(),
        support::qwen3(),
        support::qwen3moe(),
        support::qwen2moe(),
        support::glm4moe(),
        support::phi3(),
        support::gpt_oss(),
        support::gemma3(),
        gemma4::gemma4(),
        support::mistral3(),
        kimi::kimi_linear(),
        kimi::ling(),
        sparse::deepseek32(),
        sparse::glm_dsa(),
        streams::glm5_next(),
    ];
    models.extend(plain::MODELS.map(|model| model()));
    models.extend(mixed::MODELS.map(|model| model()));
    models
}

/// Returns whether a tensor is optional.
fn is_optional(tensor: &str) -> bool {
    // The other list of factors is used.
    matches!(tensor, "output.weight" | "rope_factors_short.weight")
        || tensor.ends_with(".bias")
        || tensor.ends_with("layer_output_scale.weight")
}

/// A number that holds for all layers may be an array with the same for each.
#[test]
fn equal_numbers_of_layers_are_one_number() {
    // The first is the number of layers; of the second, an array says which layers have a window.
    const SINGLE: [&str; 2] = ["block_count", "attention.sliding_window_pattern"];
    for file in models() {
        let expected = file.build().unwrap();
        let prefix = format!("{}.", file.architecture());
        let Value::U32(layers) = file.keys[&format!("{prefix}block_count")] else { panic!("no block_count") };
        let layers = layers as usize;
        let (mut all, mut tried) = (file.clone(), 0);
        for (key, value) in &file.keys {
            let Some(own) = key.strip_prefix(&prefix).filter(|own| !SINGLE.contains(own)) else { continue };
            // With `len` layers, and with another number in the last one.
            let (array, longer): (Value, Value) = match value {
                Value::U32(n) => (vec![*n; layers].into(), vec![*n; layers + 1].into()),
                Value::F32(x) => (vec![*x; layers].into(), vec![*x; layers + 1].into()),
                _ => continue,
            };
            let mut unread = file.clone();
            unread.set(key, "no number");
            if unread.build().is_ok() {
                // The family does not know the key.
                continue;
            }
            all.set(key, array);
            let mut wrong = file.clone();
            wrong.set(key, longer);
            let refused = wrong.refusal();
            assert!(refused.contains(own) && refused.contains(&layers.to_string()), "{key}: {refused}");
            // These may differ from layer to layer.
            let may_differ = ["feed_forward_length", "expert_feed_forward_length"].contains(&own);
            if let (Value::U32(n), true) = (value, layers > 1 && !may_differ) {
                let mut numbers = vec![*n; layers];
                numbers[layers - 1] += 1;
                wrong.set(key, numbers);
                let refused = wrong.refusal();
                assert!(
                    refused.contains(own) && refused.contains("the same one for each"),
                    "{key}: {refused}"
                );
            }
            tried += 1;
        }
        assert!(tried > 5, "{prefix} {tried}");
        let found = all.build().unwrap();
        assert_eq!(found.config, expected.config, "{prefix}");
    }
}

#[test]
fn a_missing_tensor_is_named() {
    for file in models() {
        for tensor in &file.tensors {
            let mut file = file.clone();
            file.take(&tensor.name);
            match file.build() {
                // There, values are keys.
                Ok(_) if file.architecture() == "gemma4" && tensor.name == "blk.0.attn_v.weight" => {}
                Ok(_) => assert!(is_optional(&tensor.name), "{}", tensor.name),
                // Without `attn_q`, queries are compressed, which requires a key.
                Err(Error::Key(e)) => {
                    assert!(tensor.name == "blk.0.attn_q.weight" && e.to_string().contains("q_lora_rank"))
                }
                Err(Error::MissingTensor { tensor: missing, .. }) => assert_eq!(missing, tensor.name),
                Err(other) => panic!("{}: {other}", tensor.name),
            }
        }
    }
}

#[test]
fn a_tensor_of_another_shape_is_named() {
    for file in models() {
        for at in 0..file.tensors.len() {
            let mut file = file.clone();
            file.tensors[at].shape[0] += 32;
            match file.build() {
                Err(Error::Shape { tensor, found, .. }) => {
                    assert_eq!(
                        (tensor, found),
                        (file.tensors[at].name.clone(), file.tensors[at].shape.clone())
                    );
                }
                other => panic!("{}: {:?}", file.tensors[at].name, other.err()),
            }
        }
    }
}

/// Keys that are optional, or for which the files have the default.
const DEFAULTED: [&str; 37] = [
    "feed_forward_length",
    "expert_shared_feed_forward_length",
    "leading_dense_block_count",
    "expert_weights_scale",
    "expert_weights_norm",
    "expert_gating_func",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.original_context_length",
    "rope.scaling.yarn_log_multiplier",
    "attention.sliding_window_pattern",
    "attention.temperature_scale",
    "kda.safe_gate",
    "kda.gate_lower_bound",
    "attention.layer_norm_epsilon",
    "swiglu_clamp_exp",
    "swiglu_clamp_shexp",
    "rope.dimension_sections",
    "attention.value_length_swa",
    "rope.dimension_count_swa",
    "rope.freq_base_swa",
    "final_logit_softcapping",
    // In some families, experts are as wide as `feed_forward_length` says.
    "expert_feed_forward_length",
    "expert_shared_count",
    "expert_group_count",
    "expert_group_used_count",
    "attention.scale",
    "attention.sliding_window",
    "embedding_scale",
    "logit_scale",
    "residual_scale",
    "rope.scaling.finetuned",
];

/// Keys whose default contradicts the tensors of the files.
const CONTRADICTED_BY_TENSORS: [&str; 11] = [
    // The width of experts is then that of a network over their number.
    "expert_feed_forward_length",
    "moe_latent_size",
    "leading_dense_block_count",
    "attention.head_count_kv",
    "attention.key_length_mla",
    "attention.q_lora_rank",
    "expert_count",
    "expert_shared_feed_forward_length",
    "attention.shared_kv_layers",
    "expert_shared_count",
    "attention.indexer.types",
];

#[test]
fn a_missing_key_is_named() {
    for file in models() {
        for key in file.keys.keys() {
            let mut file = file.clone();
            file.keys.remove(key);
            let (_, short) = key.split_once('.').unwrap();
            match file.build() {
                Err(Error::Key(e)) => assert!(e.to_string().contains(key), "{key}: {e}"),
                Err(Error::Shape { .. } | Error::MissingTensor { .. } | Error::UnknownTensor { .. }) => {
                    assert!(CONTRADICTED_BY_TENSORS.contains(&short), "{key}");
                }
                // The width of a hidden state over the number of heads is another one.
                Err(Error::Unsupported { key, .. }) if short == "attention.key_length" => {
                    assert!(key.ends_with("attention.value_length"), "{key}");
                }
                // A missing number that counts as 0, which is refused.
                Err(Error::Unsupported { key: named, .. }) if named == *key => {}
                Err(other) => panic!("{key}: {other}"),
                // There, the ε of LayerNorm counts.
                Ok(_) if short == "attention.layer_norm_rms_epsilon" => {
                    assert!(key.starts_with("nemotron_h"))
                }
                Ok(_) => assert!(DEFAULTED.contains(&short), "{key}"),
            }
        }
    }
}

/// All other errors, with their messages.
#[test]
fn error_messages() {
    let mut text = String::new();
    let mut refused = |model: fn() -> File, change: &dyn Fn(&mut File)| {
        let mut file = model();
        change(&mut file);
        text += &file.refusal();
        text += "\n";
    };
    let (glm, v2_lite, llama) = (support::glm, support::v2_lite, support::llama);
    refused(llama, &|f| f.set("general.architecture", "mamba\n"));
    // Architectures that are like one that is supported, and one that is like none.
    let like = |model: fn() -> File, name: &'static str, more: &'static [&'static str]| {
        move |f: &mut File| {
            *f = model();
            f.set("general.architecture", name);
            for tensor in more {
                f.vector(&format!("blk.0.{tensor}"), 4, 0.0);
            }
        }
    };
    refused(llama, &like(support::qwen3, "olmo3", &["post_attention_norm.weight", "post_ffw_norm.weight"]));
    refused(llama, &|f| {
        like(support::qwen3moe, "mimo2", &["attn_sinks.weight", "nextn.enorm.weight"])(f);
        f.set("mimo2.attention.sliding_window", 128u32);
    });
    const MANY: &[&str] = &["a.weight", "b.weight", "c.weight", "d.weight", "e\n.weight", "f.weight", "g"];
    refused(llama, &like(support::mixtral, "dots1", MANY));
    refused(llama, &|f| {
        *f = File::new("rwkv7");
        f.vector("blk.0.time_mix_w0.weight", 4, 0.0);
    });

    // Numbers out of bounds, or contradicting each other.
    for (key, value) in [
        ("block_count", 0u32),
        ("block_count", 4097),
        ("context_length", u32::MAX),
        ("embedding_length", 1 << 25),
        ("expert_used_count", 5),
        ("expert_shared_count", 65),
        ("nextn_predict_layers", 17),
        ("rope.dimension_count", 15),
        ("rope.dimension_count", 48),
    ] {
        refused(glm, &|f| f.set(&format!("deepseek2.{key}"), value));
    }
    for (key, value) in [
        ("attention.head_count", 6u32),
        ("attention.head_count_kv", 3),
        ("rope.dimension_count", 7),
        ("rope.dimension_count", 18),
        ("expert_count", 4097),
    ] {
        refused(llama, &|f| f.set(&format!("llama.{key}"), value));
    }
    refused(llama, &|f| f.set("llama.feed_forward_length", vec![96u32]));
    refused(llama, &|f| f.set("llama.feed_forward_length", vec![96u32, 0]));
    refused(llama, &|f| f.set("tokenizer.ggml.tokens", weft_gguf::Strings::default()));
    refused(llama, &|f| f.set("llama.attention.layer_norm_rms_epsilon", f32::NAN));
    refused(llama, &|f| f.set("llama.rope.freq_base", -1e4f32));
    refused(llama, &|f| f.set("llama.rope.freq_base", 0.5f32));
    refused(v2_lite, &|f| f.set("deepseek2.rope.scaling.factor", 0.5f32));

    // Valid but unsupported.
    refused(glm, &|f| f.set("deepseek2.expert_group_count", 3u32));
    refused(support::v3, &|f| f.set("deepseek2.expert_group_count", 8u32));
    refused(support::v3, &|f| f.set("deepseek2.expert_group_used_count", 5u32));
    refused(support::v3, &|f| f.set("deepseek2.expert_used_count", 5u32));
    refused(support::v3, &|f| f.set("deepseek2.expert_gating_func", 1u32));
    refused(support::glm4moe, &|f| f.set("glm4moe.rope.dimension_sections", vec![8u32, 8, 0, 0]));
    refused(support::glm4moe, &|f| f.set("glm4moe.expert_gating_func", 3u32));
    refused(support::qwen2moe, &|f| f.set("qwen2moe.expert_weights_norm", true));
    refused(support::phi3, &|f| f.set("phi3.attention.sliding_window", 2047u32));
    refused(glm, &|f| f.set("deepseek2.expert_gating_func", 3u32));
    refused(glm, &|f| f.set("deepseek2.attention.temperature_scale", 0.1f32));
    refused(glm, &|f| f.set("deepseek2.rope.scaling.type", "longrope\u{1b}"));
    refused(llama, &|f| f.set("llama.attention.value_length", 8u32));
    refused(support::mixtral, &|f| f.set("llama.expert_group_count", 2u32));
    refused(support::qwen2, &|f| f.set("qwen2.attention.causal", false));
    refused(support::llama, &|f| f.set("llama.attention.causal", false));
    refused(support::qwen3moe, &|f| f.set("qwen3moe.expert_group_count", 2u32));
    refused(support::qwen3moe, &|f| f.set("qwen3moe.expert_count", 0u32));

    // Numbers that other programs compute with.
    refused(v2_lite, &|f| f.set("deepseek2.rope.scaling.yarn_attn_factor", 0.5f32));
    refused(v2_lite, &|f| f.set("deepseek2.rope.scaling.yarn_ext_factor", 0.0f32));
    for model in [support::mixtral, support::qwen3moe] {
        let set = |f: &mut File, key: &str, value: weft_gguf::Value| {
            let name = f.architecture();
            f.set(&format!("{name}.{key}"), value);
        };
        refused(model, &|f| set(f, "expert_gating_func", 2u32.into()));
        refused(model, &|f| set(f, "expert_weights_norm", false.into()));
        refused(model, &|f| set(f, "expert_weights_scale", 2.5f32.into()));
    }
    refused(llama, &|f| f.set("llama.attention.sliding_window", 4095u32));
    for key in ["logit_scale", "embedding_scale", "residual_scale"] {
        refused(llama, &|f| f.set(&format!("llama.{key}"), 0.5f32));
    }
    refused(support::gemma3, &|f| f.set("gemma3.final_logit_softcapping", 30f32));
    refused(support::gemma3, &|f| f.set("gemma3.rope.freq_base_swa", 1f32));
    refused(support::gemma3, &|f| f.set("gemma3.attention.scale", 0.5f32));
    let gemma4 = gemma4::gemma4;
    refused(gemma4, &|f| f.set("gemma4.attn_logit_softcapping", 50f32));
    refused(gemma4, &|f| f.set("gemma4.attention.scale", 0.25f32));
    refused(gemma4, &|f| f.set("gemma4.attention.value_length", 16u32));
    refused(gemma4, &|f| f.set("gemma4.rope.dimension_count_swa", 15u32));
    refused(gemma4, &|f| f.set("gemma4.rope.freq_base_swa", 1f32));
    refused(gemma4, &|f| f.set("gemma4.attention.head_count_kv", vec![2i32, 3, 2, 1]));
    refused(gemma4, &|f| f.set("gemma4.attention.sliding_window_pattern", vec![true; 3]));
    refused(gemma4, &|f| f.set("gemma4.attention.shared_kv_layers", 1u32));
    refused(support::mistral3, &|f| f.set("mistral3.rope.dimension_count", 8u32));
    refused(support::mistral3, &|f| f.set("mistral3.attention.scale", 0.5f32));
    refused(support::mistral3, &|f| f.set("mistral3.attention.temperature_scale", -0.1f32));
    refused(support::mistral3, &|f| f.set("mistral3.context_length", 4096u32));
    refused(support::qwen2, &|f| f.set("qwen2.attention.scale", 1.0f32));
    refused(support::qwen3, &|f| f.set("qwen3.attention.scale", 0.5f32));
    refused(support::qwen3moe, &|f| f.set("qwen3moe.attention.scale", f32::NAN));

    // Tensors.
    refused(llama, &|f| drop(f.take("blk.1.ffn_up.weight")));
    refused(llama, &|f| f.tensor("blk.1.ffn_up.weight").shape = vec![96, 64]);
    refused(llama, &|f| f.tensor("blk.1.ffn_up.weight").ty = GgmlType::I8);
    refused(llama, &|f| f.tensor("blk.1.attn_norm.weight").ty = GgmlType::F16);
    refused(llama, &|f| f.vector("rope_freqs.weight", 7, 1.0));
    refused(support::phi3, &|f| drop(f.take("rope_factors_long.weight")));
    refused(llama, &|f| f.add("rope_freqs.weight", GgmlType::F16, &[8], vec![]));
    refused(llama, &|f| f.add("rope_freqs.weight", GgmlType::F32, &[8], vec![1.0, 2.0]));
    // Tensors that no part of the model uses.
    refused(llama, &|f| f.vector("blk.1.attn_q_norm.weight", 16, 1.0));
    refused(llama, &|f| f.vector("blk.7.attn_norm.weight", 64, 1.0));
    refused(support::mixtral, &|f| f.vector("blk.1.exp_probs_b.bias", 4, 0.0));
    refused(support::qwen2, &|f| f.vector("blk.1.attn_q_norm.weight", 16, 1.0));
    refused(support::qwen2, &|f| f.vector("output.bias", support::VOCAB, 0.0));
    refused(support::qwen2, &|f| f.matrix("blk.1.attn_qkv.weight", &[128, support::HIDDEN]));
    refused(support::qwen3moe, &|f| f.matrix("blk.0.ffn_gate_shexp.weight", &[96, 64]));
    // A reranker.
    refused(support::qwen3, &|f| f.matrix("cls.output.weight", &[2, 64]));
    refused(glm, &|f| f.vector("rope_freqs.weight", 8, 1.0));

    expect_file!["goldens/refusals.txt"].assert_eq(&text);
}

/// The values of the same keys that change nothing, such as those that llama.cpp writes for "not set".
#[test]
fn keys_that_change_nothing() {
    let built = |model: fn() -> File, key: &str, value: weft_gguf::Value| {
        let mut file = model();
        let plain = file.build().unwrap();
        let name = file.architecture();
        file.set(&format!("{name}.{key}"), value);
        let model = file.build().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(model.segments.len(), plain.segments.len(), "{key}");
        for (own, plain) in model.segments.iter().zip(&plain.segments) {
            assert_eq!(own.graph.to_string(), plain.graph.to_string(), "{key}");
        }
    };
    for factor in [-1.0f32, 1.0] {
        built(support::v2_lite, "rope.scaling.yarn_ext_factor", factor.into());
    }
    built(support::v2_lite, "rope.scaling.yarn_attn_factor", 1.0f32.into());
    // Without YaRN, its factors mean nothing.
    built(support::llama, "rope.scaling.yarn_attn_factor", 0.5f32.into());
    for model in [support::mixtral, support::qwen3moe] {
        built(model, "expert_gating_func", 0u32.into());
        built(model, "expert_gating_func", 1u32.into());
        built(model, "expert_weights_norm", true.into());
        built(model, "expert_weights_scale", 0.0f32.into());
        built(model, "expert_weights_scale", 1.0f32.into());
    }
    // Without experts, so do the keys of the router.
    built(support::llama, "expert_weights_norm", false.into());
    built(support::llama, "attention.sliding_window", 0u32.into());
    built(support::llama, "attention.sliding_window", 4096u32.into());
    for key in ["logit_scale", "embedding_scale", "residual_scale"] {
        built(support::llama, key, 0.0f32.into());
        built(support::llama, key, 1.0f32.into());
    }
    for model in [support::qwen2, support::qwen3, support::qwen3moe] {
        built(model, "attention.scale", 0.0f32.into());
        built(model, "attention.scale", 0.25f32.into());
    }
}

#[test]
fn invalid_kv_caches() {
    let gguf = support::llama().open();
    for (kv, page) in [(GgmlType::Q5_0, 32), (GgmlType::Q4_K, 32), (GgmlType::F16, 0)] {
        let error = build(&gguf, &BuildOptions { kv, page, pooling: None }).unwrap_err();
        assert_eq!(error, Error::Options(BuildOptions { kv, page, pooling: None }));
    }
    for ty in [GgmlType::Q8_0, GgmlType::Q5_1, GgmlType::Q4_0] {
        let error = build(&gguf, &BuildOptions { kv: ty, ..BuildOptions::default() }).unwrap_err();
        assert!(matches!(error, Error::StateBlocks { kv, values: 16, .. } if kv == ty), "{error}");
        assert!(error.to_string().contains("blocks of 32"), "{error}");
    }
}

/// A multi-token prediction head that `block_count` includes is ignored, with or without its tensors.
#[test]
fn a_prediction_head_is_ignored() {
    let trunk = support::glm().build().unwrap();
    assert_eq!((trunk.config.layers(), trunk.config.mtp_blocks), (3, 0));

    let mut counted = support::glm();
    counted.set("deepseek2.block_count", 4u32);
    assert!(counted.refusal().contains("`blk.3.attn_norm.weight` is missing"));
    counted.set("deepseek2.nextn_predict_layers", 1u32);
    let mut whole = counted.clone();
    whole.matrix("blk.3.nextn.eh_proj.weight", &[support::HIDDEN, 2 * support::HIDDEN]);
    whole.vector("blk.3.attn_norm.weight", support::HIDDEN, 1.0);

    for file in [counted, whole] {
        let model = file.build().unwrap();
        assert_eq!((model.config.layers(), model.config.mtp_blocks), (3, 1));
        assert_eq!(model.segments.len(), trunk.segments.len());
        assert_eq!(model.cost(), trunk.cost());
    }
    // A block with some of its tensors is a damaged layer, not a missing head.
    let mut damaged = support::glm();
    damaged.set("deepseek2.nextn_predict_layers", 1u32);
    damaged.take("blk.2.attn_norm.weight");
    assert!(damaged.refusal().contains("`blk.2.attn_norm.weight` is missing"));
    // Some files do not count the head.
    let mut uncounted = support::glm();
    uncounted.set("deepseek2.nextn_predict_layers", 1u32);
    assert_eq!(uncounted.build().unwrap().config.layers(), 3);
}

//! Configurations with a setting that no GGUF file of their family can express: an error names it, and no file is written without it.

use serde_json::{Value, json};
use weft_convert::Conversion;

use crate::support::{Copy, changed};

/// The error for a folder with these keys in config.json. Its weights are another family's, because keys are checked before weights.
fn refusal(architecture: &str, keys: &Value) -> String {
    let copy = Copy::of("llama");
    copy.edit("config.json", |config| {
        config["architectures"] = json!([architecture]);
        config["head_dim"] = Value::Null;
        config["rope_scaling"] = Value::Null;
        config["num_attention_heads"] = json!(4);
        for (key, value) in keys.as_object().unwrap() {
            config[key] = value.clone();
        }
    });
    Conversion::open(&copy.0).unwrap_err().to_string()
}

/// The folder must be refused for this, and without the keys for something else.
#[track_caller]
fn check(architecture: &str, keys: Value, expected: &str) {
    let message = refusal(architecture, &keys);
    assert!(message.contains("config.json: ") && message.contains(expected), "{architecture}: {message}");
}

/// The folder must not be refused for this.
#[track_caller]
fn passes(architecture: &str, keys: Value, not: &str) {
    let message = refusal(architecture, &keys);
    assert!(!message.contains(not), "{architecture}: {message}");
}

/// Sizes that only some families read.
fn sizes() -> Value {
    json!({
        "n_routed_experts": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 40, "kv_lora_rank": 16,
        "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "shared_expert_intermediate_size": 40,
        "norm_topk_prob": true,
    })
}

fn with(mut keys: Value, more: Value) -> Value {
    keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    keys
}

#[test]
fn scaled_positions_that_a_family_cannot_say() {
    let scaled = |kind: &str| {
        let factors = json!([1.0, 1.0]);
        json!({ "rope_scaling": {
            "type": kind, "factor": 4.0, "original_max_position_embeddings": 64, "long_factor": factors, "short_factor": factors,
        } })
    };
    for family in [
        "Qwen2ForCausalLM",
        "Qwen3ForCausalLM",
        "Glm4MoeForCausalLM",
        "DeepseekV3ForCausalLM",
        "Qwen3MoeForCausalLM",
    ] {
        for kind in ["longrope", "su", "llama3", "dynamic", "LONGROPE"] {
            let expected = format!(
                "`rope_scaling.type` is {:?}; expected one of default, linear, yarn",
                kind.to_lowercase()
            );
            check(family, with(sizes(), scaled(kind)), &expected);
        }
        for kind in ["linear", "yarn", "default"] {
            passes(family, with(sizes(), scaled(kind)), "rope");
        }
    }
    check("LlamaForCausalLM", scaled("longrope"), "expected one of default, linear, yarn, llama3");
    passes("LlamaForCausalLM", scaled("llama3"), "rope");
    for kind in ["linear", "llama3", "dynamic"] {
        check("Phi3ForCausalLM", scaled(kind), "expected one of default, longrope, su, yarn");
    }
    // A new spelling of the same.
    let found = json!({ "rope_parameters": { "rope_type": "longrope", "rope_theta": 10000.0 } });
    check("Qwen2ForCausalLM", found, "`rope_parameters.rope_type` is \"longrope\"");
}

/// The parameters of a scaling must all be there, or the file would have none of them.
#[test]
fn scaled_positions_without_their_factors() {
    for kind in ["longrope", "su", "yarn"] {
        let keys = json!({ "rope_scaling": { "type": kind, "factor": 4.0, "original_max_position_embeddings": 64 } });
        check("Phi3ForCausalLM", keys, "`rope_scaling.long_factor` is missing");
    }
    let only_long =
        json!({ "rope_scaling": { "type": "longrope", "long_factor": [1, 1, 1, 1, 1, 1, 1, 1] } });
    check("Phi3ForCausalLM", only_long, "`rope_scaling.short_factor` is missing");
    for kind in ["linear", "yarn"] {
        check(
            "Qwen2ForCausalLM",
            json!({ "rope_scaling": { "type": kind } }),
            "`rope_scaling.factor` is missing",
        );
    }
}

/// Readers compute the magnitude of cosines and sines from YaRN's factor alone.
#[test]
fn magnitudes_of_yarn_that_readers_do_not_compute() {
    let yarn = |more: Value| {
        let keys = json!({ "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64 });
        with(sizes(), json!({ "rope_scaling": with(keys, more) }))
    };
    check("Qwen2ForCausalLM", yarn(json!({ "attention_factor": 1.0 })), "YaRN's own, 1.138629");
    passes("Qwen2ForCausalLM", yarn(json!({ "attention_factor": 1.13863 })), "rope");
    let mscale = |own: f64, all: f64| yarn(json!({ "mscale": own, "mscale_all_dim": all }));
    check("Qwen2ForCausalLM", mscale(1.0, 1.0), "`rope_scaling.mscale_all_dim` is 1.0; expected none");
    passes("Qwen2ForCausalLM", mscale(1.0, 0.0), "rope");
    check("DeepseekV3ForCausalLM", mscale(1.0, 0.5), "expected the same as `mscale_all_dim`, 0.5");
    passes("DeepseekV3ForCausalLM", mscale(0.5, 0.5), "rope");
    let family = "Ministral3ForCausalLM";
    let ministral = |more: Value| with(json!({ "model_type": "ministral3" }), yarn(more));
    let scales = json!({ "mscale": 0.5, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1 });
    check(family, ministral(scales), "`rope_scaling.mscale` is 0.5; expected 1: readers compute no other");
    check(family, ministral(json!({})), "`rope_scaling.llama_4_scaling_beta` is missing");
    check(
        family,
        json!({ "model_type": "mistral5" }),
        "`model_type` is \"mistral5\"; expected ministral3 or mistral",
    );
    check(
        family,
        json!({ "model_type": "ministral3" }),
        "`rope_scaling.rope_type` is \"default\"; expected yarn",
    );
}

#[test]
fn windows_that_take_effect() {
    let window = |window: Value| json!({ "sliding_window": window, "max_position_embeddings": 512 });
    for family in ["MistralForCausalLM", "MixtralForCausalLM"] {
        check(
            family,
            window(json!(511)),
            "`sliding_window` is 511; expected null, or at least the context of 512 tokens",
        );
        for same in [json!(512), json!(4096), Value::Null] {
            passes(family, window(same), "sliding_window");
        }
    }
    // Keys that the configuration leaves out.
    check("MistralForCausalLM", json!({ "max_position_embeddings": 8192 }), "`sliding_window` is 4096");
    passes("MixtralForCausalLM", json!({ "max_position_embeddings": 8192 }), "sliding_window");
    // Nothing in Llama reads the key.
    passes("LlamaForCausalLM", window(json!(128)), "sliding_window");
}

#[test]
fn windows_of_some_layers_that_take_effect() {
    let window = |used: bool, more: Value| {
        let keys =
            json!({ "use_sliding_window": used, "sliding_window": 128, "max_position_embeddings": 512 });
        with(with(sizes(), keys), more)
    };
    let names = |last: &str| json!({ "layer_types": ["full_attention", last] });
    let from = |layer: u32| json!({ "max_window_layers": layer });
    for family in ["Qwen2ForCausalLM", "Qwen3ForCausalLM"] {
        check(family, window(true, from(1)), "`sliding_window` is 128; expected null");
        check(family, window(true, names("sliding_attention")), "`sliding_window` is 128");
        // The model has two layers.
        for unused in [window(true, from(2)), window(true, json!({})), window(true, names("full_attention"))]
        {
            passes(family, unused, "sliding_window");
        }
        passes(family, window(false, from(1)), "sliding_window");
        passes(
            family,
            window(true, json!({ "max_window_layers": 1, "sliding_window": null })),
            "sliding_window",
        );
    }
    for family in ["Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM"] {
        let normalised = json!({ "norm_topk_prob": family == "Qwen3MoeForCausalLM" });
        check(family, window(true, normalised.clone()), "`sliding_window` is 128");
        passes(family, window(false, normalised), "sliding_window");
    }
    let left_out =
        json!({ "use_sliding_window": true, "max_window_layers": 0, "max_position_embeddings": 8192 });
    check("Qwen2ForCausalLM", left_out, "`sliding_window` is 4096");
}

#[test]
fn gemma_that_readers_do_not_compute() {
    let changed = |key: &str, value: Value, expected: &str| changed("gemma3", key, value, expected);
    changed(
        "query_pre_attn_scalar",
        json!(8),
        "`query_pre_attn_scalar` is 8.0; expected 16, as readers compute it for 7 layers",
    );
    changed("final_logit_softcapping", json!(30.0), "`final_logit_softcapping` is 30.0; expected null");
    changed("attn_logit_softcapping", json!(50.0), "`attn_logit_softcapping` is 50.0; expected null");
    changed("sliding_window_pattern", json!(4), "`sliding_window_pattern` is 4; expected 6");
    changed(
        "layer_types",
        json!(vec!["full_attention"; 7]),
        "expected sliding_attention in all layers but every sixth",
    );
    changed("hidden_activation", json!("gelu"), "`hidden_activation` is \"gelu\"");
    changed("use_bidirectional_attention", json!(true), "`use_bidirectional_attention` is true");
    let scaled = json!({
        "full_attention": { "rope_type": "linear", "rope_theta": 1e6, "factor": 8.0 },
        "sliding_attention": { "rope_type": "linear", "rope_theta": 1e4, "factor": 8.0 },
    });
    changed(
        "rope_parameters",
        scaled,
        "`rope_parameters.sliding_attention.rope_type` is \"linear\"; expected default",
    );
}

/// Both spellings of the rotary embeddings, and a model that is a part of one that sees.
#[test]
fn gemma_is_the_same_however_it_is_described() {
    let keys = |copy: &Copy| -> Vec<String> {
        let found = Conversion::open(&copy.0).unwrap();
        let keys = found.metadata().iter().map(|(key, value)| format!("{key} {value:?}"));
        let tensors =
            found.tensors().iter().map(|t| format!("{} {:?} {:?}", t.name, t.shape, found.values(t, 0..9)));
        keys.chain(tensors).collect()
    };
    let copy = Copy::of("gemma3");
    let expected = keys(&copy);
    copy.edit("config.json", |config| {
        for key in ["rope_scaling", "rope_theta", "rope_local_base_freq"] {
            config.as_object_mut().unwrap().remove(key);
        }
        config["rope_parameters"] = json!({
            "full_attention": { "rope_type": "linear", "rope_theta": 1e6, "factor": 8.0 },
            "sliding_attention": { "rope_type": "default", "rope_theta": 1e4 },
        });
    });
    assert_eq!(keys(&copy), expected);
    copy.edit("config.json", |config| {
        let mut text = config.take();
        let tokens = ["bos_token_id", "eos_token_id"].map(|key| text.as_object_mut().unwrap().remove(key));
        *config = json!({
            "architectures": ["Gemma3ForConditionalGeneration"], "text_config": text, "vision_config": { "hidden_size": 8 },
            "bos_token_id": tokens[0], "eos_token_id": tokens[1],
        });
    });
    copy.edit_header("model.safetensors", |header| {
        let named = |name: &String| format!("language_model.{name}");
        let all = std::mem::take(header.as_object_mut().unwrap());
        *header = all.iter().map(|(name, value)| (named(name), value.clone())).collect();
        header["vision_tower.b.weight"] = json!({ "dtype": "BF16", "shape": [0], "data_offsets": [0, 0] });
    });
    assert_eq!(keys(&copy), expected);
}

#[test]
fn gpt_oss_that_readers_do_not_compute() {
    let changed = |key: &str, value: Value, expected: &str| changed("gpt-oss", key, value, expected);
    changed("swiglu_limit", json!(5.0), "`swiglu_limit` is 5.0; expected 7.0");
    changed(
        "layer_types",
        json!(["full_attention", "sliding_attention"]),
        "sliding_attention and full_attention in turn",
    );
    changed("rope_scaling", Value::Null, "`rope_scaling` is missing");
    changed("quantization_config", Value::Null, "the weights of experts are not in MXFP4");
    changed("intermediate_size", json!(48), "by config.json it should be [3, 96]");
    let copy = Copy::of("gpt-oss");
    let name = "model.layers.1.mlp.experts.down_proj_blocks";
    copy.edit_header("model.safetensors", |header| header[name]["shape"] = json!([3, 64, 16, 1]));
    let message = Conversion::open(&copy.0).unwrap_err().to_string();
    assert!(
        message.contains("U8 and shape [3, 64, 16, 1]; by config.json it should be U8 and [3, 64, 1, 16]"),
        "{message}"
    );
}

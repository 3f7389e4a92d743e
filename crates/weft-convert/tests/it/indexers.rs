//! Models with indexers that readers of GGUF files do not compute, or whose configurations contradict themselves. What can be converted is
//! compared with llama.cpp's conversion (`fixtures.rs`).

use serde_json::{Value as Json, json};
use weft_convert::Conversion;
use weft_gguf::{Array, Value};

use crate::support::Copy;

/// Checks that a model is refused once a key of its configuration has another value; `part` is where its keys are.
fn refused(name: &str, part: Option<&str>, (key, value): (&str, Json), expected: &str) {
    let copy = Copy::of(name);
    copy.edit("config.json", |config| {
        let keys = match part {
            Some(part) => &mut config[part],
            None => config,
        };
        keys[key] = value;
    });
    let refusal = Conversion::open(&copy.0).unwrap_err().to_string();
    assert!(refusal.contains(expected), "{refusal}");
}

#[test]
fn layers_that_take_positions_of_others() {
    let glm = |types: Json, expected: &str| refused("glm-dsa", None, ("indexer_types", types), expected);
    glm(json!(["full", "shared"]), "one for each of 3 layers");
    glm(json!(["shared", "full", "full"]), "\"full\" first");
    glm(json!(["full", "half", "full"]), "\"full\" or \"shared\"");
    glm(json!(["full", "full", "full"]), "model.layers.1.self_attn.indexer");
    refused(
        "glm-dsa",
        None,
        ("indexer_rope_interleave", json!(false)),
        "`indexer_rope_interleave` is false; expected true",
    );
}

#[test]
fn glm_5_3_that_readers_do_not_compute() {
    let glm = |key: &str, value: Json, expected: &str| {
        refused("glm5-next", Some("text_config"), (key, value), expected);
    };
    glm("mla_use_nope", json!(false), "`mla_use_nope` is false; expected true");
    glm("qk_rope_head_dim", json!(8), "`qk_rope_head_dim` is 8; expected 0");
    glm("mhc", json!(false), "`mhc` is false; expected true");
    glm("hc_mult", json!(2), "`hc_mult` is 2; expected 4");
    glm(
        "index_kpool_always_select_tail",
        json!(false),
        "`index_kpool_always_select_tail` is false; expected true",
    );
    glm("layer_types", Json::Null, "`layer_types` is missing");
    glm("layer_types", json!(["linear_attention", "indexed_attention"]), "for each of 3 layers");
    glm("layer_types", json!(["linear_attention", "window", "indexed_attention"]), "for each of 3 layers");
    glm("mlp_layer_types", json!(["dense", "dense", "sparse"]), "\"dense\" for the first 1, as");
    glm("indexer_types", json!(["full", "full", "shared"]), "\"full\" for the first layer with attention");
    let linear =
        json!({ "head_dim": 20, "num_heads": 2, "short_conv_kernel_size": 4, "gate_lower_bound": 1.0 });
    glm(
        "linear_attn_config",
        linear,
        "`linear_attn_config.gate_lower_bound` is 1.0; expected a number below",
    );
    glm("num_nextn_predict_layers", json!(2), "`num_nextn_predict_layers` is 2; expected 0 or 1");
}

/// Layers without attention may be said to have an indexer, or to have none.
#[test]
fn types_of_layers_without_attention_are_copied() {
    let copy = Copy::of("glm5-next");
    copy.edit("config.json", |config| {
        config["text_config"]["indexer_types"] = json!(["shared", "shared", "full"]);
    });
    let found = Conversion::open(&copy.0).unwrap();
    let types = found.metadata().get("glm5-next.attention.indexer.types");
    assert_eq!(types, Some(&Value::Array(Array::Bool(vec![false, false, true]))));
}

//! Gemma 4: what its configurations may leave out, and what is refused.

use serde_json::{Value, json};
use weft_convert::Conversion;

use crate::fixtures::listing;
use crate::support::{Copy, changed};

/// Older and newer configurations give the sizes of layers that see all positions in other keys.
#[test]
fn it_is_the_same_however_it_is_described() {
    for name in ["gemma4", "gemma4-moe"] {
        let copy = Copy::of(name);
        let expected = listing(&Conversion::open(&copy.0).unwrap());
        copy.edit("config.json", |config| {
            let keys = config.as_object_mut().unwrap();
            keys.remove("per_layer_config");
            keys.insert("global_head_dim".into(), json!(32));
            if name == "gemma4-moe" {
                keys.insert("num_global_key_value_heads".into(), json!(1));
            }
            keys.remove("rope_parameters");
        });
        assert_eq!(listing(&Conversion::open(&copy.0).unwrap()), expected, "{name}");
        // Without a list, all layers but every sixth and the last have a window.
        copy.edit("config.json", |config| config["layer_types"] = Value::Null);
        match Conversion::open(&copy.0) {
            Ok(found) => assert_eq!((name, listing(&found)), ("gemma4-moe", expected)),
            Err(error) => {
                assert!(error.to_string().contains("by config.json it should be"), "{name}: {error}")
            }
        }
    }
}

/// Checkpoints may have the keys and values of layers that read those of others.
#[test]
fn layers_without_keys_may_have_some() {
    let copy = Copy::of("gemma4");
    let listed = std::fs::read_to_string(copy.path("weights.txt")).unwrap();
    let more = "model.layers.5.self_attn.k_proj.weight BF16 64x32\nmodel.layers.5.self_attn.v_proj.weight BF16 64x32\n\
                model.layers.5.self_attn.k_norm.weight BF16 32\n";
    std::fs::write(copy.path("weights.txt"), listed + more).unwrap();
    crate::weights::write(&copy.0);
    let found = listing(&Conversion::open(&copy.0).unwrap());
    assert_eq!(found["blk.5.attn_k.weight"].0, "bf16 32x64");
    assert_eq!(found["blk.5.attn_k_norm.weight"].0, "f32 32");
}

#[test]
fn what_readers_do_not_compute() {
    let changed = |key: &str, value: Value, expected: &str| changed("gemma4", key, value, expected);
    changed(
        "hidden_activation",
        json!("silu"),
        "`hidden_activation` is \"silu\"; expected \"gelu_pytorch_tanh\"",
    );
    changed("attention_bias", json!(true), "`attention_bias` is true; expected false");
    changed("use_bidirectional_attention", json!("all"), "text sees no later text");
    changed("num_kv_shared_layers", json!(6), "`num_kv_shared_layers` is 6; expected less than 6 layers");
    changed("layer_types", json!(["full_attention"]), "expected 6 times sliding_attention or full_attention");
    changed(
        "layer_types",
        json!(vec!["linear_attention"; 6]),
        "expected 6 times sliding_attention or full_attention",
    );
    changed(
        "rope_parameters",
        json!({ "full_attention": { "rope_type": "linear", "factor": 2.0 }, "sliding_attention": {} }),
        "one of default, proportional",
    );
    changed(
        "rope_parameters",
        json!({ "full_attention": { "rope_type": "default" }, "sliding_attention": {} }),
        "expected proportional, in layers that see all positions",
    );
    changed(
        "architectures",
        json!(["Gemma4AssistantForCausalLM"]),
        "the part of another that guesses several tokens ahead, and Weft runs no such part",
    );
}

#[test]
fn its_tokenizer() {
    let refused = |edit: &dyn Fn(&mut Value), expected: &str| {
        let copy = Copy::of("gemma4");
        copy.edit("tokenizer.json", edit);
        let error = Conversion::open(&copy.0).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(&|json| json["model"]["byte_fallback"] = json!(false), "BPE with `byte_fallback`");
    refused(&|json| json["model"]["type"] = json!("Unigram"), "BPE with `byte_fallback`");
    refused(&|json| json["normalizer"] = json!({ "type": "Lowercase" }), "replaces each space by ▁");
    refused(&|json| json["model"]["vocab"]["zz"] = json!(350), "token \"zz\" has the id 350");
    refused(&|json| json["model"]["merges"] = json!([1]), "`model.merges[0]` is not a pair of tokens");
    let copy = Copy::of("gemma4");
    copy.edit("generation_config.json", |json| json["suppress_tokens"] = json!([1, "a"]));
    let error = Conversion::open(&copy.0).unwrap_err().to_string();
    assert!(error.contains("expected a list of ids of tokens"), "{error}");
}

//! Models with an indexer: everything besides is converted as the same model without one, whose conversion is compared with llama.cpp's.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value as Json, json};
use weft_convert::Conversion;

use crate::fixtures::listing;
use crate::support::Copy;
use crate::weights;

/// Heads of an indexer, and the width of a key.
const HEADS: usize = 3;
const WIDTH: usize = 16;

/// A copy of `glm4-moe-lite` with computed weights, as a model with indexers in these layers if there are any.
fn glm(indexers: &[usize]) -> Copy {
    let copy = Copy::of("glm4-moe-lite");
    let bytes = fs::read(copy.path("model.safetensors")).unwrap();
    let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: BTreeMap<String, Json> = serde_json::from_slice(&bytes[8..end]).unwrap();
    let line = |(name, about): (&String, &Json)| {
        let shape: Vec<String> = about["shape"].as_array().unwrap().iter().map(Json::to_string).collect();
        format!("{name} {} {}", about["dtype"].as_str().unwrap(), shape.join("x"))
    };
    let mut lines: Vec<String> =
        header.iter().filter(|(name, _)| *name != "__metadata__").map(line).collect();
    for layer in indexers {
        let of =
            |name: &str, shape: String| format!("model.layers.{layer}.self_attn.indexer.{name} BF16 {shape}");
        lines.push(of("wq_b.weight", format!("{}x24", HEADS * WIDTH)));
        lines.push(of("wk.weight", format!("{WIDTH}x32")));
        lines.push(of("k_norm.weight", WIDTH.to_string()));
        lines.push(of("k_norm.bias", WIDTH.to_string()));
        lines.push(of("weights_proj.weight", format!("{HEADS}x32")));
    }
    lines.sort();
    fs::write(copy.path("weights.txt"), lines.join("\n")).unwrap();
    weights::write(&copy.0);
    if !indexers.is_empty() {
        copy.edit("config.json", |config| {
            config["architectures"] = json!(["GlmMoeDsaForCausalLM"]);
            config["model_type"] = json!("glm_moe_dsa");
            config["scoring_func"] = json!("sigmoid");
            config["index_n_heads"] = json!(HEADS);
            config["index_head_dim"] = json!(WIDTH);
            config["index_topk"] = json!(40);
        });
    }
    copy
}

#[test]
fn an_indexer_changes_nothing_else() {
    let without = listing(&Conversion::open(&glm(&[]).0).unwrap());
    // Layers 0 and 1, and the one for multi-token prediction.
    let mut with = listing(&Conversion::open(&glm(&[0, 1, 2]).0).unwrap());
    for (key, value) in [("head_count", HEADS), ("key_length", WIDTH), ("top_k", 40)] {
        let found = with.remove(&format!("glm-dsa.attention.indexer.{key}"));
        assert_eq!(found, Some(("uint32".into(), json!(value))), "{key}");
    }
    for layer in 0..3 {
        for (name, shape) in [
            ("attn_q_b.weight", "bf16 24x48"),
            ("attn_k.weight", "bf16 32x16"),
            ("k_norm.weight", "f32 16"),
            ("k_norm.bias", "f32 16"),
            ("proj.weight", "bf16 32x3"),
        ] {
            let found = with.remove(&format!("blk.{layer}.indexer.{name}")).unwrap();
            assert_eq!(found.0, shape, "{name}");
        }
    }
    let renamed = |(key, value): (String, (String, Json))| match key.as_str() {
        "general.architecture" | "general.name" | "general.size_label" => {
            (key, ("string".into(), Json::Null))
        }
        _ => (key.replace("deepseek2.", "glm-dsa."), value),
    };
    let [without, with]: [BTreeMap<_, _>; 2] =
        [without, with].map(|all| all.into_iter().map(renamed).collect());
    assert_eq!(with, without);
}

#[test]
fn layers_that_share_positions_have_no_indexer() {
    let copy = glm(&[0, 2]);
    let types = |types: Json| copy.edit("config.json", |config| config["indexer_types"] = types);
    let refusal = || Conversion::open(&copy.0).unwrap_err().to_string();
    assert!(refusal().contains("model.layers.1.self_attn.indexer"), "{}", refusal());
    types(json!(["full", "shared"]));
    let found = listing(&Conversion::open(&copy.0).unwrap());
    assert_eq!(found["glm-dsa.attention.indexer.types"], ("array bool".into(), json!([true, false])));
    assert!(
        found.contains_key("blk.0.indexer.proj.weight") && !found.contains_key("blk.1.indexer.proj.weight")
    );
    for (wrong, why) in [
        (json!(["full"]), "one for each of 2 layers"),
        (json!(["shared", "full"]), "\"full\" first"),
        (json!(["full", "half"]), "\"full\" or \"shared\""),
    ] {
        types(wrong);
        assert!(refusal().contains(why), "{}", refusal());
    }
    types(json!(["full", "shared"]));
    copy.edit("config.json", |config| config["indexer_rope_interleave"] = json!(false));
    assert!(refusal().contains("indexer_rope_interleave"), "{}", refusal());
}

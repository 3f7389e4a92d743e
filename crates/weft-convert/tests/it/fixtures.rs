//! Conversions against llama.cpp's: every key and every byte. `tests/models/make.py` wrote what is expected.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use weft_convert::{Conversion, Tensor};
use weft_gguf::{Array, Value};
use weft_quant::{GgmlType, decode, encode};

use crate::support::{Copy, model};

/// Keys that only one of the two programs writes.
const ON_PURPOSE: &[(&str, &str)] = &[
    // Of the file, not of the model: the command adds them.
    ("", "general.file_type"),
    ("", "general.quantization_version"),
    // llama.cpp goes by the number of layers and tokens, which here are others.
    ("glm4-moe-lite", "deepseek2.expert_gating_func"),
];

/// Keys that llama.cpp guesses from the name of the folder.
const GUESSED: [&str; 3] = ["general.basename", "general.version", "general.finetune"];

/// Fixtures whose weights are computed.
const WITHOUT_WEIGHTS: [&str; 23] = [
    "mixtral",
    "qwen2",
    "qwen2-moe",
    "qwen3",
    "qwen3-moe",
    "deepseek-v2",
    "deepseek-v3",
    "glm4-moe",
    "phi3-long",
    "gpt-oss",
    "gemma3",
    "ministral3",
    "qwen35",
    "qwen35-moe",
    "qwen3-next",
    "kimi-linear",
    "ling3",
    "mistral4",
    "deepseek-v32",
    "glm-dsa",
    "glm5-next",
    "gemma4",
    "gemma4-moe",
];

/// Name, then type and value, as `make.py` lists them.
pub(crate) fn listing(conversion: &Conversion) -> BTreeMap<String, (String, Json)> {
    let mut lines = BTreeMap::new();
    for (key, value) in conversion.metadata().iter() {
        let kind = match value {
            Value::Array(array) => format!("array {}", name(array.type_name())),
            _ => name(value.type_name()).to_owned(),
        };
        lines.insert(key.to_owned(), (kind, shown(value)));
    }
    for tensor in conversion.tensors() {
        let stored = tensor.quantised.unwrap_or(conversion.stored_type());
        let ty = if tensor.is_exact { GgmlType::F32 } else { stored };
        let shape: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
        let hash = hex(&bytes(conversion, tensor, ty));
        lines.insert(tensor.name.clone(), (format!("{ty} {}", shape.join("x")), hash.into()));
    }
    lines
}

/// The names of types in gguf-py.
fn name(kind: &str) -> String {
    kind.replace('u', "uint")
        .replace('i', "int")
        .replace("uintnt", "uint")
        .replace("strintng", "string")
        .replace('f', "float")
}

/// The bytes of a tensor, in chunks of an odd length.
fn bytes(conversion: &Conversion, tensor: &Tensor, ty: GgmlType) -> Vec<u8> {
    let all: u64 = tensor.shape.iter().product();
    let mut out = Vec::new();
    if ty.is_quantised() {
        for start in (0..all).step_by(17 * 32) {
            let range = start..all.min(start + 17 * 32);
            let chunk = conversion.bytes(tensor, ty, range.clone()).unwrap();
            let mut values = vec![0.0; (range.end - range.start) as usize];
            decode(ty, &chunk, &mut values).unwrap();
            assert!(conversion.values(tensor, range.clone()) == values, "{} {range:?}", tensor.name);
            // Blocks are in the file, but values can be asked for from anywhere.
            assert!(conversion.values(tensor, start + 5..range.end - 9) == values[5..values.len() - 9]);
            out.extend(chunk);
        }
        return out;
    }
    for start in (0..all).step_by(517) {
        let range = start..all.min(start + 517);
        let values = conversion.values(tensor, range.clone());
        let mut chunk = vec![0; values.len() * ty.block_bytes()];
        encode(ty, &values, &mut chunk).unwrap();
        if let Some(stored) = conversion.bytes(tensor, ty, range.clone()) {
            assert!(stored == chunk, "{} {range:?}", tensor.name);
        }
        conversion.release(tensor, range);
        out.extend(chunk);
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn shown(value: &Value) -> Json {
    let list: Vec<Json> = match value {
        Value::U32(value) => return json!(value),
        Value::I32(value) => return json!(value),
        Value::F32(value) => return json!(f64::from(*value)),
        Value::Bool(value) => return json!(value),
        Value::String(value) => return json!(value),
        Value::Array(Array::F32(values)) => values.iter().map(|value| json!(f64::from(*value))).collect(),
        Value::Array(Array::I32(values)) => values.iter().map(|value| json!(value)).collect(),
        Value::Array(Array::Bool(values)) => values.iter().map(|value| json!(value)).collect(),
        Value::Array(Array::String(texts)) => {
            texts.iter().map(|text| json!(std::str::from_utf8(text).unwrap())).collect()
        }
        other => panic!("{other:?}"),
    };
    let text = list.iter().map(Json::to_string).collect::<Vec<_>>().join(", ");
    let text = format!("[{text}]");
    if text.chars().count() <= 300 {
        return list.into();
    }
    json!(format!("{} values, sha256 {}", list.len(), hex(text.as_bytes())))
}

fn expected(name: &str) -> BTreeMap<String, (String, Json)> {
    let text = fs::read_to_string(model(&format!("{name}.txt"))).unwrap();
    let line = |line: &str| {
        let (key, rest) = line.split_once(' ').unwrap();
        // The type of an array takes two words, and so do the type and shape of a tensor.
        let mut words = rest.split(' ');
        let is_array = words.next() == Some("array");
        let is_tensor =
            words.next().is_some_and(|shape| shape.chars().all(|c| c.is_ascii_digit() || c == 'x'))
                && words.next().is_some();
        let at = rest.match_indices(' ').nth(usize::from(is_array || is_tensor)).unwrap().0;
        let (kind, value) = (&rest[..at], &rest[at + 1..]);
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        (key.to_owned(), (kind.to_owned(), value))
    };
    text.lines().map(line).collect()
}

fn check(name: &str, found: &Conversion) {
    let (mut found, mut expected) = (listing(found), expected(name));
    for (_, key) in ON_PURPOSE.iter().filter(|(of, _)| of.is_empty() || *of == name) {
        assert!(found.remove(*key).is_some() != expected.remove(*key).is_some(), "{key}");
    }
    expected.retain(|key, _| !GUESSED.contains(&&**key));
    let names: Vec<&String> = expected.keys().filter(|key| !found.contains_key(*key)).collect();
    assert!(names.is_empty(), "missing: {names:?}");
    for (key, value) in &found {
        assert_eq!(Some(value), expected.get(key), "{name}: {key}");
    }
}

#[test]
fn keys_and_tensors_are_those_of_llama_cpp() {
    for name in ["llama", "glm4-moe-lite", "mistral-pieces"] {
        check(name, &Conversion::open(&model(name)).unwrap());
    }
    for name in WITHOUT_WEIGHTS {
        check(name, &Conversion::open(&Copy::of(name).0).unwrap());
    }
}

/// A token that is put before texts and has no role gets both that such tokens have, as gguf-py gives them.
#[test]
fn tokens_before_texts_get_their_roles() {
    let copy = Copy::of("llama");
    copy.edit("tokenizer_config.json", |config| drop(config.as_object_mut().unwrap().remove("bos_token")));
    copy.edit("config.json", |config| drop(config.as_object_mut().unwrap().remove("bos_token_id")));
    let found = Conversion::open(&copy.0).unwrap();
    for key in ["bos_token_id", "cls_token_id"] {
        let id = found.metadata().get(&format!("tokenizer.ggml.{key}"));
        assert_eq!(id, Some(&Value::U32(290)), "{key}");
    }
    assert_eq!(found.metadata().get("tokenizer.ggml.add_bos_token"), Some(&Value::Bool(true)));
}

/// Keys that a configuration leaves out are those of the class in `transformers`, whatever they are in other families.
#[test]
fn what_a_configuration_leaves_out() {
    let check = |name: &str, keys: &[&str]| {
        let copy = Copy::of(name);
        let whole = listing(&Conversion::open(&copy.0).unwrap());
        for key in keys {
            let remove =
                |config: &mut Json| assert!(config.as_object_mut().unwrap().remove(*key).is_some(), "{key}");
            copy.edit("config.json", remove);
            let found = listing(&Conversion::open(&copy.0).unwrap());
            assert!(
                found == whole,
                "{name} without {key}: {:?}",
                found.iter().find(|(key, value)| whole.get(*key) != Some(value))
            );
        }
    };
    check(
        "deepseek-v3",
        &[
            "scoring_func",
            "norm_topk_prob",
            "routed_scaling_factor",
            "num_nextn_predict_layers",
            "rms_norm_eps",
        ],
    );
    check("deepseek-v2", &["norm_topk_prob", "routed_scaling_factor", "n_shared_experts", "rms_norm_eps"]);
    check(
        "glm4-moe-lite",
        &["norm_topk_prob", "routed_scaling_factor", "n_shared_experts", "first_k_dense_replace", "n_group"],
    );
    check(
        "glm4-moe",
        &["norm_topk_prob", "n_shared_experts", "first_k_dense_replace", "topk_group", "rms_norm_eps"],
    );
    check("qwen2-moe", &["norm_topk_prob", "use_sliding_window"]);
    check(
        "qwen3-next",
        &[
            "norm_topk_prob",
            "num_key_value_heads",
            "linear_conv_kernel_dim",
            "rms_norm_eps",
            "full_attention_interval",
            "partial_rotary_factor",
        ],
    );
    check("kimi-linear", &["moe_renormalize", "routed_scaling_factor", "mla_use_nope", "rms_norm_eps"]);
    check(
        "ling3",
        &["norm_topk_prob", "kda_safe_gate", "kda_lower_bound", "score_function", "num_shared_experts"],
    );
    check("deepseek-v32", &["scoring_func", "norm_topk_prob", "routed_scaling_factor", "rms_norm_eps"]);
    check("qwen35-moe", &["num_key_value_heads", "linear_conv_kernel_dim", "mtp_num_hidden_layers"]);
    let copy = Copy::of("qwen3-moe");
    copy.edit("config.json", |config| drop(config.as_object_mut().unwrap().remove("norm_topk_prob")));
    let message = Conversion::open(&copy.0).unwrap_err().to_string();
    assert!(message.contains("`norm_topk_prob` is false; expected true"), "{message}");
}

/// The same model with weights in 8 bits: each value is that of E4M3 times the factor of its block.
#[test]
fn weights_of_8_bits_are_multiplied_by_their_factors() {
    let copy = Copy::of("llama");
    let (name, scale) =
        ("model.layers.0.self_attn.o_proj.weight", "model.layers.0.self_attn.o_proj.weight_scale_inv");
    let exact = Conversion::open(&copy.0).unwrap();
    let shards = [1, 2, 3, 4].map(|n| format!("model-0000{n}-of-00004.safetensors"));
    let holder =
        shards.iter().find(|shard| fs::read(copy.path(shard)).is_ok_and(|bytes| contains(&bytes, name)));
    let holder = holder.unwrap();
    // 64 rows of 72 columns, in blocks of 48 rows and 40 columns: two of each.
    let data: Vec<u8> = (0..64 * 72u32).map(|at| (at * 7 % 120) as u8 | (at as u8 & 1) << 7).collect();
    let factors = [0.5f32, 2.0, 0.25, 3.0];
    let mut more = data.clone();
    more.extend(factors.iter().flat_map(|factor| factor.to_le_bytes()));
    let header = json!({
        (name): { "dtype": "F8_E4M3", "shape": [64, 72], "data_offsets": [0, 4608] },
        (scale): { "dtype": "F32", "shape": [2, 2], "data_offsets": [4608, 4624] },
    });
    let header = header.to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(more);
    fs::write(copy.path("eight.safetensors"), bytes).unwrap();
    drop_tensor(&copy, holder, name);
    copy.edit("model.safetensors.index.json", |index| {
        index["weight_map"][name] = "eight.safetensors".into();
        index["weight_map"][scale] = "eight.safetensors".into();
    });
    copy.edit("config.json", |config| {
        config["quantization_config"] = json!({ "quant_method": "fp8", "weight_block_size": [48, 40] });
    });
    let found = Conversion::open(&copy.0).unwrap();
    let tensor = found.tensors().iter().find(|tensor| tensor.name == "blk.0.attn_output.weight").unwrap();
    assert_eq!((&tensor.shape[..], exact.tensors().len()), (&[72, 64][..], found.tensors().len()));
    let values = found.values(tensor, 100..64 * 72);
    for (value, at) in values.iter().zip(100u32..) {
        let (row, column, byte) = (at / 72, at % 72, data[at as usize]);
        let (exponent, mantissa) = (i32::from(byte >> 3 & 15), f32::from(byte & 7) / 8.0);
        let size =
            if exponent == 0 { mantissa * 2f32.powi(-6) } else { (1.0 + mantissa) * 2f32.powi(exponent - 7) };
        let sign = if byte < 128 { 1.0 } else { -1.0 };
        let factor = factors[(row / 48 * 2 + column / 40) as usize];
        assert_eq!(*value, sign * size * factor, "{row} {column}");
    }
    assert!(found.bytes(tensor, GgmlType::BF16, 0..8).is_none());
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len() + 1).any(|window| window.starts_with(text.as_bytes()) && window.ends_with(b"\""))
}

/// Takes a tensor and its data out of a file.
fn drop_tensor(copy: &Copy, file: &str, name: &str) {
    let bytes = fs::read(copy.path(file)).unwrap();
    let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Json = serde_json::from_slice(&bytes[8..end]).unwrap();
    let at = |value: &Json, n: usize| value["data_offsets"][n].as_u64().unwrap() as usize;
    let (from, until) = (at(&header[name], 0), at(&header[name], 1));
    let mut kept = header.as_object().unwrap().clone();
    kept.remove(name);
    for (_, entry) in kept.iter_mut().filter(|(name, _)| *name != "__metadata__") {
        let moved =
            |n: usize| if at(entry, n) >= until { at(entry, n) - (until - from) } else { at(entry, n) };
        let offsets = json!([moved(0), moved(1)]);
        entry["data_offsets"] = offsets;
    }
    let header = Json::from(kept).to_string();
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend(header.as_bytes());
    out.extend(&bytes[end..end + from]);
    out.extend(&bytes[end + until..]);
    fs::write(copy.path(file), out).unwrap();
}

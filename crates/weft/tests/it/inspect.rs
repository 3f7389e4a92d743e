//! Tests of `inspect` and `tokenize`.

use std::fs;

use expect_test::expect_file;
use serde_json::json;

use crate::support::{FIXTURES, Folder, model, weft};

#[test]
fn a_model_as_text() {
    for name in ["glm-tiny-q4_k_m", "ds2-tiny-q4_0"] {
        let path = model(name);
        let text = weft(["inspect", path.to_str().unwrap()]).run().ok();
        let text = text.replace(path.to_str().unwrap(), &format!("{name}.gguf"));
        match name {
            "ds2-tiny-q4_0" => expect_file!["inspect/ds2-tiny-q4_0.txt"].assert_eq(&text),
            _ => expect_file!["inspect/glm-tiny-q4_k_m.txt"].assert_eq(&text),
        }
    }
}

#[test]
fn an_unknown_architecture_is_shown_beside_the_nearest() {
    let folder = Folder::new();
    let path = folder.join("unknown.gguf");
    let gguf = weft_gguf::Gguf::open(&model("gpt-oss-odd-q4_0")).unwrap();
    let mut metadata = gguf.metadata().clone();
    metadata.insert("general.architecture", "mimo2");
    metadata.insert("mimo2.attention.sliding_window", 7u32);
    let mut writer = weft_gguf::Writer::new(metadata).unwrap();
    for tensor in gguf.tensors() {
        writer.declare(&tensor.name.replace("attn_sinks", "attn_sink"), tensor.ty, &tensor.shape).unwrap();
    }
    let mut data = writer.create(&path).unwrap();
    for tensor in gguf.tensors() {
        data.write(&tensor.name.replace("attn_sinks", "attn_sink"), gguf.data(tensor)).unwrap();
    }
    data.finish().unwrap();
    let expected = "the nearest is `gpt-oss`, but this file also has `attn_sink.weight`";
    let path = path.to_str().unwrap();
    let shown = weft(["inspect", path]).run();
    assert!(format!("{shown:?}").contains(expected), "{shown:?}");
    let error = weft(["run", path, "Hello"]).run().failed(1);
    assert!(error.contains("architecture `mimo2` is not supported") && error.contains(expected), "{error}");
}

#[test]
fn the_memory_that_a_model_needs_on_a_device() {
    let path = model("glm-tiny-q4_0");
    let inspect = |more: &[&str]| weft([&["inspect", path.to_str().unwrap()], more].concat()).run();
    assert!(!inspect(&[]).ok().contains("the model needs"));
    let text = inspect(&["--device", "reference"]).ok();
    let said = text.lines().last().unwrap();
    assert!(said.starts_with("the model needs ") && said.contains("a KV cache of 4096 tokens"), "{said}");
    let memory = |more: &[&str]| {
        let report = inspect(&[&["--json", "--device", "cpu"], more].concat()).json();
        let bytes = |key: &str| report["memory"][key].as_u64().unwrap();
        (bytes("context"), bytes("weight_bytes"), bytes("cache_bytes"))
    };
    let (context, weights, cache) = memory(&[]);
    // Half the context takes half the cache, and 32 values in a block take fewer bytes than 64.
    assert_eq!(memory(&["-c", "2048"]), (context / 2, weights, cache / 2));
    // Each of the three layers then has a matrix of 32 by 32 floats, which rotates what is stored.
    let rotations = 3 * 32 * 32 * 4;
    for (kv, bytes) in [("q8_0", 34), ("q5_1", 24), ("q4_0", 18)] {
        assert_eq!(memory(&["--kv", kv]), (context, weights + rotations, cache / 64 * bytes), "{kv}");
    }
    assert!(inspect(&["-c", "1000000", "--device", "cpu"]).failed(1).contains("trained for"));
}

#[test]
fn a_model_as_json_adds_up() {
    for name in FIXTURES {
        let path = model(name);
        let facts = weft(["inspect", "--json", "--tensors", path.to_str().unwrap()]).run().json();
        let tensors = facts["tensors"].as_array().unwrap();
        for group in ["types", "roles"] {
            for (key, expected) in [
                ("tensors", tensors.len() as u64),
                ("bytes", tensors.iter().map(|tensor| tensor["bytes"].as_u64().unwrap()).sum()),
            ] {
                let shares = facts[group].as_object().unwrap().values();
                let sum: u64 = shares.map(|share| share[key].as_u64().unwrap()).sum();
                assert_eq!(sum, expected, "{name}: {key} by {group}");
            }
        }
        assert_eq!(facts["bytes"], fs::metadata(&path).unwrap().len());
        assert_eq!(facts["metadata"]["general.architecture"], "deepseek2");
        assert_eq!((&facts["runs"], &facts["problem"]), (&json!(true), &json!(null)));
        let tokens = &facts["metadata"]["tokenizer.ggml.tokens"];
        assert_eq!(
            (&tokens["length"], tokens["first"].as_array().unwrap().len()),
            (&facts["model"]["vocab"], 8)
        );
    }
}

#[test]
fn the_cost_of_a_token_agrees_with_the_tensors() {
    let path = model("glm-tiny-q4_0");
    let facts = weft(["inspect", "--json", path.to_str().unwrap()]).run().json();
    let bytes = |role: &str| facts["roles"][role]["bytes"].as_u64().unwrap();
    // Two of six experts, one row of the embedding (256 values, at 18 bytes for 32), and all of the rest.
    let rest = ["attention", "head", "dense feed-forward", "shared experts", "norms", "router"];
    let expected =
        bytes("experts") * 2 / 6 + 256 / 32 * 18 + rest.iter().map(|role| bytes(role)).sum::<u64>();
    assert_eq!(facts["cost"]["active_bytes"], expected);
    // One row of 256 + 32 values of two bytes in each of three layers.
    assert_eq!(facts["cost"]["kv_bytes_per_token"], 3 * (256 + 32) * 2);
    assert_eq!(
        (&facts["cost"]["windowed_kv_bytes_per_token"], &facts["cost"]["window"]),
        (&json!(0), &json!(0))
    );
}

/// Three of four layers have a convolution of 1,024 channels with 3 earlier rows, and matrices of 4 heads of 128 by 128; and of four
/// guesses the channels, and each head's key, value, decay and factor.
#[test]
fn a_hybrid_says_what_a_sequence_takes() {
    let path = model("qwen35moe-tiny-q4_0");
    let cost = weft(["inspect", "--json", path.to_str().unwrap()]).run().json()["cost"].clone();
    let guesses = 3 * 4 * 4 * (1024 + 4 * (128 + 128 + 2));
    assert_eq!(cost["state_bytes_of_guesses"], guesses);
    assert_eq!(cost["state_bytes_per_sequence"], 3 * 4 * (3 * 1024 + 4 * 128 * 128) + guesses);
    assert_eq!(cost["kv_bytes_per_token"], 2 * 2 * 64, "of the fourth");
    let text = weft(["inspect", path.to_str().unwrap()]).run().ok();
    assert!(
        text.contains("\nstate          922.0 kB per sequence (f32), 98.7 kB of it for guesses\n"),
        "{text}"
    );
    assert!(text.contains("\n  linear attention "), "{text}");
}

/// Of four layers with keys and values of two heads of 32, every other has a window of 12 positions.
#[test]
fn layers_with_a_window_need_only_that_of_the_cache() {
    let path = model("gpt-oss-tiny-mxfp4");
    let cost = weft(["inspect", "--json", path.to_str().unwrap()]).run().json()["cost"].clone();
    let row = 2 * (2 * 32) * 2;
    assert_eq!(cost["kv_bytes_per_token"], 4 * row);
    assert_eq!((&cost["windowed_kv_bytes_per_token"], &cost["window"]), (&json!(2 * row), &json!(12)));
    let text = weft(["inspect", path.to_str().unwrap()]).run().ok();
    let line = text.lines().find(|line| line.starts_with("KV cache")).unwrap();
    assert!(
        line.contains("1.02 kB per token (f16); 512 bytes of it for the last 12 tokens only, 1.05 MB for"),
        "{line}"
    );
}

#[test]
fn unsupported_models_can_be_inspected() {
    let folder = Folder::new();
    let path = folder.join("other.gguf");
    let bytes = fs::read(model("glm-tiny-q4_0")).unwrap();
    let at = bytes.windows(9).position(|window| window == b"deepseek2").unwrap();
    fs::write(&path, [&bytes[..at], b"deepsea22", &bytes[at + 9..]].concat()).unwrap();
    let text = weft(["inspect", path.to_str().unwrap()]).run().ok();
    assert!(
        text.contains("cannot run this model") && text.contains("`deepsea22` is not supported"),
        "{text}"
    );
    assert!(text.contains("q4_0"), "{text}");
    let facts = weft(["inspect", "--json", path.to_str().unwrap()]).run().json();
    assert_eq!(facts["runs"], false);
    let error = weft(["run", path.to_str().unwrap(), "hi"]).run().failed(1);
    assert!(error.contains("deepsea22"), "{error}");
}

#[test]
fn the_tokens_of_a_text() {
    let path = model("glm-tiny-q4_0");
    let path = path.to_str().unwrap();
    let pieces = |args: &[&str], input: Option<&str>| {
        let call = weft([&["tokenize", path, "--json"], args].concat());
        let call = if let Some(input) = input { call.input(input) } else { call };
        let tokens = call.run().json();
        tokens.as_array().unwrap().iter().map(|token| token["text"].clone()).collect::<Vec<_>>()
    };
    let text = "Hello, wörld 你";
    let all: Vec<u8> = pieces(&[text], None).iter().flat_map(bytes).collect();
    assert_eq!(String::from_utf8(all).unwrap(), text);
    assert_eq!(pieces(&[], Some(text)), pieces(&[text], None));
    assert_eq!(pieces(&["-"], Some(text)), pieces(&[text], None));
    assert_eq!(pieces(&["<|user|>"], None), [json!("<|user|>")]);
    assert!(pieces(&["--no-special", "<|user|>"], None).len() > 1);
    assert_eq!(pieces(&[], Some("")), [json!(null); 0]);
    let lines = weft(["tokenize", path, "Hello"]).run().ok();
    assert_eq!(lines.lines().count(), pieces(&["Hello"], None).len());
}

/// The bytes of a token in JSON, which is a text or a list.
fn bytes(piece: &serde_json::Value) -> Vec<u8> {
    match piece.as_array() {
        Some(bytes) => bytes.iter().map(|byte| byte.as_u64().unwrap() as u8).collect(),
        None => piece.as_str().unwrap().as_bytes().to_vec(),
    }
}

#[test]
fn input_that_is_not_utf_8_is_refused() {
    let path = model("glm-tiny-q4_0");
    let error = weft(["tokenize", path.to_str().unwrap()]).input(b"\xFF\xFE").run().failed(1);
    assert!(error.contains("UTF-8"), "{error}");
}

#[test]
fn an_empty_text_has_no_tokens() {
    let path = model("glm-tiny-q4_0");
    assert_eq!(weft(["tokenize", path.to_str().unwrap(), ""]).run().ok(), "");
}

//! Folders that are incomplete, damaged or hostile: an error that says what is wrong where, and no panic.

use std::fs;

use serde_json::{Value, json};
use weft_convert::Conversion;

use crate::support::{Copy, model};

const SHARDS: [&str; 4] = [
    "model-00001-of-00004.safetensors",
    "model-00002-of-00004.safetensors",
    "model-00003-of-00004.safetensors",
    "model-00004-of-00004.safetensors",
];
const INDEX: &str = "model.safetensors.index.json";

#[track_caller]
fn refused(copy: &Copy, file: &str, expected: &str) {
    let message = Conversion::open(&copy.0).unwrap_err().to_string();
    assert!(message.contains(expected) && message.contains(file), "{message}");
}

/// A copy of a model with one change, which must be refused.
#[track_caller]
fn check(file: &str, change: impl FnOnce(&mut Value), expected: &str) {
    let copy = Copy::of("llama");
    copy.edit(file, change);
    let about = if file == INDEX { "" } else { file };
    refused(&copy, about, expected);
}

#[test]
fn weights_that_are_not_all_there() {
    let copy = Copy::of("llama");
    let bytes = fs::read(copy.path(SHARDS[1])).unwrap();
    for length in [bytes.len() - 1, bytes.len() / 2, 100, 8, 3, 0] {
        fs::write(copy.path(SHARDS[1]), &bytes[..length]).unwrap();
        let message = Conversion::open(&copy.0).unwrap_err().to_string();
        assert!(message.contains(SHARDS[1]), "{length}: {message}");
    }
    fs::write(copy.path(SHARDS[1]), &bytes[..bytes.len() - 1]).unwrap();
    refused(&copy, SHARDS[1], "the file was cut short");
    fs::remove_file(copy.path(SHARDS[1])).unwrap();
    refused(
        &copy,
        INDEX,
        "it names 4 files, of which 1 are missing: model-00002-of-00004.safetensors; download them",
    );
    fs::remove_file(copy.path(INDEX)).unwrap();
    refused(&copy, "", "found neither; it has parts of a model, but not their index");
}

#[test]
fn headers_that_lie() {
    let copy = Copy::of("llama");
    let bytes = fs::read(copy.path(SHARDS[0])).unwrap();
    let mut lying = bytes.clone();
    lying[..8].copy_from_slice(&(1u64 << 63).to_le_bytes());
    fs::write(copy.path(SHARDS[0]), lying).unwrap();
    refused(&copy, SHARDS[0], "a header of 9223372036854775808 bytes exceeds the limit of 100000000");
    fs::write(copy.path(SHARDS[0]), &bytes).unwrap();

    let name = "model.embed_tokens.weight";
    let holder = SHARDS
        .iter()
        .find(|shard| fs::read(copy.path(shard)).unwrap().windows(25).any(|w| w == name.as_bytes()));
    let holder = holder.unwrap();
    let change = |key: &str, value: Value, expected: &str| {
        let copy = Copy::of("llama");
        copy.edit_header(holder, |header| header[name][key] = value);
        refused(&copy, holder, expected);
    };
    change("dtype", "Q3".into(), "its type \"Q3\" is unknown; known are F32, F16, BF16");
    change("dtype", "I16".into(), "has the type I16; weights can be F32, F16, BF16 or F8_E4M3");
    change("shape", json!([1, 1u64 << 40, 1u64 << 40]), "overflows 64 bits");
    change("shape", json!([152, 128]), "has the shape [152, 128]; by config.json it should be [304, 64]");
    change("data_offsets", json!([0, 1u64 << 63]), "the file was cut short or is damaged");
}

/// Every byte of a header changed once: never a panic.
#[test]
fn damaged_headers() {
    let copy = Copy::of("llama");
    let bytes = fs::read(copy.path(SHARDS[2])).unwrap();
    let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut refused = 0;
    for at in 0..end {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 7);
        let found = weft_convert::safetensors::tensors(&damaged);
        if let Ok(tensors) = found {
            assert!(tensors.iter().all(|tensor| tensor.range.end <= damaged.len()));
        } else {
            refused += 1;
        }
    }
    assert!(refused > end / 4, "{refused} of {end}");
}

#[test]
fn an_index_that_does_not_fit() {
    let name = "model.embed_tokens.weight";
    for hostile in ["../../etc/passwd", "/etc/passwd", "..", "", "a\\b"] {
        check(INDEX, |index| index["weight_map"][name] = hostile.into(), "which is not a name");
    }
    check(INDEX, |index| index["weight_map"] = json!(7), "expected an object `weight_map`");
    let moved = |index: &mut Value| {
        let held = index["weight_map"][name].as_str().unwrap().to_owned();
        index["weight_map"][name] = (*SHARDS.iter().find(|shard| **shard != held).unwrap()).into();
    };
    check(INDEX, moved, "tensor `model.embed_tokens.weight` should be in");
    let forgotten = |index: &mut Value| drop(index["weight_map"].as_object_mut().unwrap().remove(name));
    check(INDEX, forgotten, "tensor `model.embed_tokens.weight` is stored, but not named");
}

#[test]
fn configurations_that_cannot_be_converted() {
    let file = "config.json";
    let set = |key: &'static str, value: Value| move |config: &mut Value| config[key] = value;
    check(
        file,
        set("architectures", json!(["MambaForCausalLM"])),
        "is a `MambaForCausalLM`, which cannot be converted; what can is LlamaForCausalLM",
    );
    check(file, set("architectures", Value::Null), "`architectures` is missing");
    check(
        file,
        set("hidden_size", json!(1u64 << 40)),
        "`hidden_size` is 1099511627776; expected an integer from 0 to",
    );
    check(file, set("num_hidden_layers", json!(100_000)), "expected an integer from 1 to 4096");
    check(
        file,
        set("num_attention_heads", json!(0)),
        "`num_attention_heads` is 0; expected an integer from 1",
    );
    check(file, set("num_key_value_heads", json!(3)), "4 query heads cannot share 3 heads");
    check(
        file,
        set("hidden_act", "gelu".into()),
        "`hidden_act` is \"gelu\"; expected \"silu\", as the family always",
    );
    check(file, set("head_dim", json!(9)), "a head has 9 values; an even number");
    check(file, set("vocab_size", Value::Null), "`vocab_size` is missing");
    check(
        file,
        set("rope_scaling", json!({ "type": "magic" })),
        "`rope_scaling.type` is \"magic\"; expected one of default, linear",
    );
    check(
        file,
        set("quantization_config", json!({ "quant_method": "gptq" })),
        "`quantization_config.quant_method` is \"gptq\"; expected weights that are not",
    );

    let copy = Copy::of("llama");
    copy.edit(file, set("num_hidden_layers", json!(3)));
    refused(
        &copy,
        "",
        "tensor `model.layers.2.input_layernorm.weight` is missing; a model of the family `llama` has it",
    );
    copy.edit(file, set("num_hidden_layers", json!(1)));
    refused(&copy, "", "is none that a model of the family `llama` has, as are 8 others");
    fs::write(copy.path(file), "{").unwrap();
    refused(&copy, file, "not a JSON object");
    fs::remove_file(copy.path(file)).unwrap();
    refused(&copy, "", "expected the folder of a model from Hugging Face, but it has no config.json");
    let file = Conversion::open(&model("llama.txt")).unwrap_err().to_string();
    assert!(file.contains("but it is not a folder"), "{file}");
}

#[test]
fn tokenizers_that_cannot_be_converted() {
    let file = "tokenizer.json";
    check(file, |json| json["model"]["type"] = "Unigram".into(), "it is another model than BPE");
    check(file, |json| json["model"]["byte_fallback"] = true.into(), "it is SentencePiece's BPE");
    check(
        file,
        |json| json["pre_tokenizer"] = json!({ "type": "Metaspace" }),
        "splits text as none of the known",
    );
    check(
        file,
        |json| json["model"]["vocab"]["far"] = json!(304),
        "token \"far\" has the id 304, but config.json has a `vocab_size` of 304",
    );
    check(file, |json| json["model"]["vocab"]["far"] = json!(-1), "has the id -1");
    check(file, |json| json["added_tokens"][0]["id"] = json!(u64::MAX), "has the id 18446744073709551615");
    check(file, |json| json["added_tokens"][0]["content"] = Value::Null, "`added_tokens[0]` has no `id`");
    check(file, |json| json["model"]["merges"][5] = json!(["a"]), "`model.merges[5]` is not a pair");
    for normalizer in
        [json!({ "type": "Lowercase" }), json!({ "type": "Sequence", "normalizers": [{ "type": "Strip" }] })]
    {
        check(file, |json| json["normalizer"] = normalizer, "`normalizer` is {\"type\":");
    }
    check(
        file,
        |json| json["model"]["end_of_word_suffix"] = "</w>".into(),
        "`model.end_of_word_suffix` is \"</w>\"",
    );
    check(
        file,
        |json| json["model"]["continuing_subword_prefix"] = "##".into(),
        "`model.continuing_subword_prefix`",
    );
    check(file, |json| json["model"]["dropout"] = json!(0.1), "`model.dropout` is 0.1; expected none");
    let copy = Copy::of("llama");
    copy.edit("config.json", |config| config["pad_token_id"] = json!(9999));
    refused(&copy, "config.json", "`pad_token_id` is 9999; expected the id of one of 304 tokens");
    fs::remove_file(copy.path(file)).unwrap();
    refused(&copy, "", "expected tokenizer.json or tokenizer.model, found neither");
    fs::write(copy.path("tokenizer.model"), "").unwrap();
    refused(&copy, "", "tokenizer.model: its model is Unigram, which cannot be converted");
}

/// Settings without effect: other programs ignore them, or they change no text.
#[test]
fn tokenizers_that_say_nothing_more() {
    let copy = Copy::of("qwen2");
    copy.edit("tokenizer.json", |json| {
        json["normalizer"] = json!({ "type": "Sequence", "normalizers": [{ "type": "NFC" }] });
        json["model"]["end_of_word_suffix"] = "".into();
        json["model"]["dropout"] = Value::Null;
    });
    Conversion::open(&copy.0).unwrap();
    // All tokens are reached by merging, so a word that is one becomes it either way.
    copy.edit("tokenizer.json", |json| json["model"]["ignore_merges"] = true.into());
    Conversion::open(&copy.0).unwrap();
    copy.edit("tokenizer.json", |json| json["model"]["vocab"]["zzz"] = json!(1));
    refused(&copy, "tokenizer.json", "with the pre-tokenizer `qwen2`, which differs for the token \"zzz\"");
}

/// The files that `git clone` leaves where Git LFS is not installed.
#[test]
fn pointers_instead_of_files() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9877\n";
    for (model, file) in [
        ("llama", SHARDS[3]),
        ("llama", "tokenizer.json"),
        ("mistral-pieces", "tokenizer.model"),
        ("llama", INDEX),
    ] {
        let copy = Copy::of(model);
        fs::write(copy.path(file), pointer).unwrap();
        refused(&copy, file, "it is a pointer of Git LFS instead of the file: run `git lfs pull`");
    }
}

/// Files whose lengths would have to be read into memory.
#[test]
fn files_that_are_too_long() {
    let limits = [
        ("config.json", 4u64 << 20),
        ("generation_config.json", 4 << 20),
        ("tokenizer.json", 64 << 20),
        (INDEX, 64 << 20),
    ];
    for (file, limit) in limits {
        let copy = Copy::of("llama");
        let text = fs::read(copy.path(file)).unwrap();
        let lengthened = |length: u64| {
            let mut long = text.clone();
            long.resize(length as usize, b' ');
            fs::write(copy.path(file), long).unwrap();
        };
        lengthened(limit);
        Conversion::open(&copy.0).unwrap();
        lengthened(limit + 1);
        refused(&copy, file, &format!("it has {} bytes; expected at most {limit}", limit + 1));
    }
}

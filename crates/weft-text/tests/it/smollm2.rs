//! The vocabulary and template of a real model, SmolLM2-135M-Instruct, cut down to what some texts need
//! (`smollm2/make.py`).

use std::collections::BTreeMap;

use serde_json::Value;
use weft_text::{ChatTemplate, EncodeOptions, Message, RenderOptions, Tokenizer, TokenizerSpec};

/// The tokenizer and the cases.
fn golden() -> (Tokenizer, Value) {
    let golden: Value = serde_json::from_str(include_str!("../smollm2/golden.json")).unwrap();
    let number = |name: &str| golden[name].as_u64().unwrap() as u32;
    let ids = |name: &str| -> BTreeMap<String, u32> { serde_json::from_value(golden[name].clone()).unwrap() };
    let (control, normal) = (ids("control"), ids("tokens"));
    let length = number("vocabulary_length") as usize;
    // Tokens that were cut are there, but unused.
    let (mut tokens, mut types) = (vec![&b""[..]; length], vec![5; length]);
    for (kind, ids) in [(3, &control), (1, &normal)] {
        for (token, &id) in ids {
            tokens[id as usize] = token.as_bytes();
            types[id as usize] = kind;
        }
    }
    let spec = TokenizerSpec {
        model: "gpt2",
        pre: golden["pre"].as_str().unwrap(),
        tokens,
        token_types: Some(types),
        merges: golden["merges"]
            .as_array()
            .unwrap()
            .iter()
            .map(|merge| merge.as_str().map(str::as_bytes))
            .collect(),
        bos: Some(number("bos")),
        eos: Some(number("eos")),
        unk: Some(number("unk")),
        pad: Some(number("eos")),
        add_bos: golden["add_bos"].as_bool(),
        chat_template: golden["chat_template"].as_str(),
        ..TokenizerSpec::default()
    };
    (Tokenizer::new(&spec).unwrap(), golden)
}

#[test]
fn encodes_as_the_original() {
    let (tokenizer, golden) = golden();
    for case in golden["cases"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let ids = tokenizer.encode(text, EncodeOptions { parse_special: true, add_special: true });
        assert_eq!(Value::from(ids.clone()), case["ids"], "{text:?}");
        // The vocabulary cannot spell U+0004.
        assert_eq!(tokenizer.decode(&ids, false), text.replace('\u{4}', ""));
    }
}

#[test]
fn its_template_gives_the_prompt_of_the_first_case() {
    let (tokenizer, golden) = golden();
    let template = ChatTemplate::of(&tokenizer).unwrap();
    let question = [Message::new("user", "What is the capital of France?")];
    let prompt = template.render(&question, &RenderOptions::default()).unwrap();
    assert_eq!(prompt.text(), golden["cases"][0]["text"].as_str().unwrap());
    assert_eq!(Value::from(tokenizer.encode_chat(&prompt)), golden["cases"][0]["ids"]);
}

#[test]
fn its_replies_end_at_im_end() {
    let (tokenizer, _) = golden();
    let ends: Vec<_> =
        tokenizer.end_of_generation().iter().map(|&id| tokenizer.decode(&[id], false)).collect();
    // Its template writes `<|im_start|>` before every turn.
    assert_eq!(ends, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]);
    assert_eq!(tokenizer.decode(&[1, 9690, 2], true), "system");
    assert_eq!(tokenizer.vocab_len(), 49152);
}

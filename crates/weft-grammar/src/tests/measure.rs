//! What grammars cost with a real vocabulary: the figures of the module's documentation.
//!
//! ```sh
//! WEFT_MEASURE=model.gguf cargo test --release -p weft-serve --lib measure -- --ignored --nocapture
//! ```

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::support::{Model, calls, of_file, schema};
use crate::{CallForm, GrammarSpec, Reasoning, ToolChoice};

#[test]
#[ignore = "measures; needs a model's file"]
fn measure() {
    let path = std::env::var_os("WEFT_MEASURE").expect("WEFT_MEASURE is the path of a GGUF file");
    let model = of_file(Path::new(&path));
    let before = resident();
    let begun = Instant::now();
    let object = schema(json!({"type": "object"}));
    model.compile(&object).unwrap();
    let built = begun.elapsed();
    println!(
        "{} tokens: the first grammar took {built:.0?} and {} MB",
        model.tokenizer.vocab_len(),
        (resident() - before) >> 20
    );
    let person = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "email": {"type": "string", "format": "email"},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 40}},
            "address": {
                "type": "object",
                "properties": {"street": {"type": "string"}, "kind": {"enum": ["home", "work", "other"]}},
                "required": ["street", "kind"],
                "additionalProperties": false,
            },
        },
        "required": ["name", "age", "email", "tags", "address"],
        "additionalProperties": false,
    });
    let reply = json!({
        "name": "Ada Lovelace, née Byron, Countess of Lovelace (10 December 1815 – 27 November 1852)",
        "age": 36,
        "email": "ada.lovelace@analytical-engine.example.org",
        "tags": ["mathematics", "first published algorithm", "Bernoulli numbers", "poetical science", "Ünïcödé"],
        "address": {"street": "12 St James's Square, Westminster, London SW1Y 4JH", "kind": "home"},
    });
    let pretty = serde_json::to_string_pretty(&reply).unwrap();
    run(&model, "a JSON object", &object, &pretty);
    run(&model, "a person by schema", &schema(person.clone()), &pretty);
    let prose =
        "Well — he said — \"that\" depends: 2 < 3, and <b>bold</b> claims need evidence.\n".repeat(12);
    let reasoning = Reasoning::Open { end: "</think>".into() };
    let thinking = GrammarSpec { reasoning, ..object.clone() };
    run(&model, "reasoning before a JSON object", &thinking, &prose);
    let tools: Vec<(String, _)> = (0..20).map(|i| (format!("tool_{i}"), person.clone())).collect();
    let tools: Vec<(&str, _)> = tools.iter().map(|(name, schema)| (name.as_str(), schema.clone())).collect();
    let spec = calls(CallForm::Hermes, &tools, ToolChoice::Auto);
    let call =
        format!("I will look.\n<tool_call>\n{}\n</tool_call>", json!({"name": "tool_7", "arguments": reply}));
    run(&model, "20 strict tools", &spec, &call);
    run(&model, "text with 20 strict tools", &spec, &prose);
    let argument = |key: &str, value: &str| format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>");
    let arguments: String = reply
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| argument(key, &value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    // Not a format that GLM's unquoted strings can have.
    let mut person = person;
    person["properties"]["email"] = json!({"type": "string"});
    let tools: Vec<(&str, _)> = tools.iter().map(|(name, _)| (*name, person.clone())).collect();
    let spec = calls(CallForm::Glm, &tools, ToolChoice::Auto);
    run(
        &model,
        "20 strict tools of GLM",
        &spec,
        &format!("I will look.<tool_call>tool_7{arguments}</tool_call>"),
    );
}

/// Feeds a reply ten times and prints what its masks took.
fn run(model: &Model, name: &str, spec: &GrammarSpec, reply: &str) {
    let tokens = model.tokenizer.encode(reply, Default::default());
    let before = resident();
    let begun = Instant::now();
    model.compile(spec).unwrap();
    let compiled = begun.elapsed();
    let mut times: Vec<Duration> = vec![];
    for _ in 0..10 {
        let mut processor = model.compile(spec).unwrap();
        for end in 0..=tokens.len() {
            let mut logits = vec![0.0; model.tokenizer.vocab_len()];
            let begun = Instant::now();
            if end > 0 {
                processor.chosen(tokens[end - 1]);
            }
            processor.process(&tokens[..end], 0, &mut logits).unwrap();
            times.push(begun.elapsed());
            assert!(end == tokens.len() || logits[tokens[end] as usize] == 0.0, "token {end} of {name}");
        }
    }
    times.sort();
    let mean = times.iter().sum::<Duration>() / times.len() as u32;
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    println!(
        "{name}: compiled in {compiled:.1?}; {} tokens: mean {mean:.0?}, median {:.0?}, p99 {:.0?}, worst {:.1?}; {} MB more",
        tokens.len(),
        at(0.5),
        at(0.99),
        at(1.0),
        resident().saturating_sub(before) >> 20
    );
}

/// The memory of the process, in bytes; 0 where it is not known.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

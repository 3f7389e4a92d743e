//! Random replies to random schemas: all that ends is valid, as the parser of replies reads it.

use serde_json::{Map, Value, json};
use weft_random::Random;
use weft_text::reply::{ReplyFormat, ReplyParser, ReplyPiece, Tool, ToolSyntax};

use super::support::{DEEPSEEK, GLM, GPT_OSS, QWEN, calls, model, schema};
use super::validate::valid;
use crate::{CallForm, ToolChoice};

/// A schema of a random kind. References are to `#/$defs/leaf` and, where a value can do without, `#/$defs/tree`.
fn random_schema(random: &mut Random, depth: usize) -> Value {
    let kinds = if depth == 0 { 7 } else { 12 };
    let deeper = |random: &mut Random| random_schema(random, depth.saturating_sub(1));
    match random.below(kinds) {
        0 => {
            json!({"type": "integer", "minimum": -(random.below(50) as i64), "maximum": random.below(5_000)})
        }
        1 => json!({"type": "number"}),
        2 => json!({"type": ["boolean", "null"]}),
        3 => {
            let least = random.below(3);
            json!({"type": "string", "minLength": least, "maxLength": least + random.below(12)})
        }
        4 => {
            let pattern = ["^[a-c]{1,4}$", "^(x|yy)+z?$", "b"][random.below(3)];
            json!({"type": "string", "pattern": pattern})
        }
        5 => {
            let (text, number) = (["a", "b\"c", "d/e", "3"][random.below(4)], random.below(9));
            json!({"enum": [text, number, null, [1, "x"]]})
        }
        6 => json!({"$ref": "#/$defs/leaf"}),
        7 => json!({"anyOf": [deeper(random), deeper(random)]}),
        8 => {
            json!({"type": "array", "items": deeper(random), "minItems": random.below(2), "maxItems": 1 + random.below(3)})
        }
        9 => {
            json!({"type": "array", "prefixItems": [deeper(random)], "items": deeper(random), "maxItems": 2})
        }
        10 => json!({"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}),
        _ => object(random, depth - 1),
    }
}

fn object(random: &mut Random, depth: usize) -> Value {
    let mut properties = Map::new();
    let mut required = vec![];
    for name in ["a", "b b", "c\"", "名"].iter().take(1 + random.below(4)) {
        properties.insert((*name).to_owned(), random_schema(random, depth));
        if random.below(2) == 0 {
            required.push(*name);
        }
    }
    let mut object = json!({"type": "object", "properties": properties, "required": required});
    match random.below(3) {
        0 => object["additionalProperties"] = json!({"type": "integer"}),
        _ => object["additionalProperties"] = false.into(),
    }
    object
}

fn with_definitions(mut schema: Value) -> Value {
    schema["$defs"] = json!({
        "leaf": {"type": "string", "maxLength": 3},
        "tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2}},
            "additionalProperties": false},
    });
    schema
}

#[test]
fn random_replies_to_random_schemas_are_valid() {
    let model = model(QWEN);
    let mut random = Random::new(41);
    let (mut compiled, mut ended) = (0, 0);
    for _ in 0..80 {
        let document = with_definitions(random_schema(&mut random, 3));
        let spec = schema(document.clone());
        if let Err(why) = model.grammars.compile(&spec) {
            panic!("{document}: {why}");
        }
        compiled += 1;
        for _ in 0..2 {
            let Some(reply) = model.sample(&spec, &mut random, 250).filter(|reply| !has_huge_number(reply))
            else {
                continue;
            };
            let value: Value =
                serde_json::from_str(&reply).unwrap_or_else(|why| panic!("{document}: {why}: {reply}"));
            assert!(valid(&document, &document, &value), "{document}: {reply}");
            ended += 1;
        }
    }
    assert!(ended > compiled, "{ended} replies to {compiled} schemas ended");
}

#[test]
fn random_calls_of_random_tools_are_read_as_valid() {
    let forms = [
        (QWEN, CallForm::Hermes, ToolSyntax::Hermes),
        (GLM, CallForm::Glm, ToolSyntax::Glm),
        (DEEPSEEK, CallForm::DeepSeekV3, ToolSyntax::DeepSeekV3),
        (DEEPSEEK, CallForm::DeepSeekV31, ToolSyntax::DeepSeekV31),
        ("llama-tiny-q6_k", CallForm::Llama3, ToolSyntax::Llama3),
        (GPT_OSS, CallForm::Harmony, ToolSyntax::Harmony),
        (QWEN, CallForm::Qwen3Coder, ToolSyntax::Qwen3Coder),
        (QWEN, CallForm::KimiK2, ToolSyntax::KimiK2),
        (QWEN, CallForm::Gemma4, ToolSyntax::Gemma4),
        (QWEN, CallForm::Mistral, ToolSyntax::Mistral),
        (QWEN, CallForm::MistralList, ToolSyntax::MistralList),
    ];
    for (name, form, syntax) in forms {
        let model = model(name);
        let mut random = Random::named(11, &format!("{syntax:?}"));
        let (mut ended, mut several) = (0, 0);
        for round in 0..24 {
            let parameters = [(); 2].map(|()| with_definitions(object(&mut random, 2)));
            let [one, two] = &parameters;
            let choice = match round % 3 {
                0 => ToolChoice::Auto,
                1 => ToolChoice::Required,
                _ => ToolChoice::Named("two".into()),
            };
            let spec = calls(form, &[("one", one.clone()), ("two", two.clone())], choice.clone());
            if let Err(why) = model.grammars.compile(&spec) {
                panic!("{one} {two}: {why}");
            }
            let Some(reply) = model.sample(&spec, &mut random, 400).filter(|reply| !has_huge_number(reply))
            else {
                continue;
            };
            ended += 1;
            let tools = [("one", one), ("two", two)].map(|(name, schema)| Tool::new(name, schema.clone()));
            let (read, text) = read(syntax, &tools, &reply);
            several += usize::from(read.len() > 1);
            if choice != ToolChoice::Auto {
                assert!(!read.is_empty() && text.trim().is_empty(), "{syntax:?}: {text:?} of {reply}");
            }
            for (name, arguments) in read {
                let schema = if name == "one" { one } else { two };
                assert!(choice != ToolChoice::Named("two".into()) || name == "two");
                let value: Value = serde_json::from_str(&arguments)
                    .unwrap_or_else(|why| panic!("{why}: {arguments} of {reply}"));
                assert!(valid(schema, schema, &value), "{syntax:?}: {schema}: {arguments} of {reply}");
            }
        }
        assert!(ended >= 12, "{syntax:?}: {ended} replies ended");
        assert!(several > 0, "{syntax:?}: no reply had several calls");
    }
}

/// Whether a text may have a number such as 1e999. JSON allows it, but most parsers do not read it.
fn has_huge_number(text: &str) -> bool {
    text.split(['e', 'E']).skip(1).any(|rest| {
        let digits = rest.trim_start_matches(['+', '-']);
        digits.bytes().take_while(u8::is_ascii_digit).count() > 2
    })
}

/// The calls that the parser of replies finds, names with arguments, and the text around them.
fn read(syntax: ToolSyntax, tools: &[Tool], reply: &str) -> (Vec<(String, String)>, String) {
    let mut format = ReplyFormat::default();
    format.tools = Some(syntax);
    format.harmony = syntax == ToolSyntax::Harmony;
    let mut parser = ReplyParser::new(&format, tools, "<|start|>assistant");
    let mut pieces = vec![];
    parser.push(reply, &mut pieces);
    parser.finish(&mut pieces);
    let (mut calls, mut text, mut open) = (vec![], String::new(), 0);
    for piece in pieces {
        match piece {
            ReplyPiece::ToolCall { name, .. } => {
                calls.push((name, String::new()));
                open += 1;
            }
            ReplyPiece::Arguments { index, json } => calls[index].1.push_str(&json),
            ReplyPiece::ToolCallEnd { .. } => open -= 1,
            ReplyPiece::Text(more) => text.push_str(&more),
            _ => {}
        }
    }
    assert_eq!(open, 0, "each call ends: {reply}");
    (calls, text)
}

//! Random replies that call tools: every one can be read by the rules of its form.

use serde_json::{Value, json};
use weft_random::Random;

use super::support::{DEEPSEEK, GLM, QWEN, calls, model};
use super::validate::valid;
use crate::grammar::{CallForm, ToolChoice};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "maxLength": 12},
            "n": {"type": "integer"},
            "list": {"type": "array", "items": {"enum": ["a", 1]}, "maxItems": 3},
        },
        "required": ["text"],
        "additionalProperties": false,
    })
}

#[test]
fn random_calls_can_be_read() {
    let schema = parameters();
    let check = |name: &str, arguments: &Value| {
        assert!(["one", "two"].contains(&name), "{name}");
        assert!(valid(&schema, &schema, arguments), "{arguments}");
    };
    for (name, form, read) in [
        (QWEN, CallForm::Hermes, hermes as fn(&str) -> Vec<(String, Value)>),
        (GLM, CallForm::Glm, glm),
        (DEEPSEEK, CallForm::DeepSeekV31, deepseek),
    ] {
        let model = model(name);
        let mut random = Random::named(7, name);
        let (mut ended, mut several) = (0, 0);
        for choice in [ToolChoice::Required, ToolChoice::Auto, ToolChoice::Named("two".into())] {
            let spec = calls(form, &[("one", schema.clone()), ("two", schema.clone())], choice.clone());
            for _ in 0..12 {
                let Some(reply) = model.sample(&spec, &mut random, 400) else { continue };
                let calls = read(&reply);
                assert!(!calls.is_empty() || choice == ToolChoice::Auto, "{reply}");
                for (name, arguments) in &calls {
                    check(name, arguments);
                    assert!(choice != ToolChoice::Named("two".into()) || name == "two");
                }
                ended += 1;
                several += usize::from(calls.len() > 1);
            }
        }
        assert!(ended >= 24, "{name}: {ended} replies ended");
        assert!(several > 0, "{name}: no reply had several calls");
    }
}

/// What is between `begin` and `end`, each time.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> Vec<&'t str> {
    text.split(begin)
        .skip(1)
        .map(|rest| rest.split_once(end).unwrap_or_else(|| panic!("no {end}: {text}")).0)
        .collect()
}

/// The JSON after `begin`, each time, and what comes after it up to the next.
fn json_after<'t>(text: &'t str, begin: &str, mut call: impl FnMut(&'t str, Value)) {
    let mut rest = text;
    // Not by searching for the end: it may be in a string.
    while let Some((before, after)) = rest.split_once(begin) {
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
        let value = values.next().unwrap().unwrap_or_else(|why| panic!("{why}: {text}"));
        rest = &after[values.byte_offset()..];
        call(before, value);
    }
}

fn hermes(reply: &str) -> Vec<(String, Value)> {
    let mut calls = vec![];
    json_after(reply, "<tool_call>", |_, call| {
        calls.push((call["name"].as_str().unwrap().to_owned(), call["arguments"].clone()));
    });
    calls
}

fn glm(reply: &str) -> Vec<(String, Value)> {
    let calls = between(reply, "<tool_call>", "</tool_call>").into_iter();
    calls
        .map(|call| {
            let name = call.split("<arg_key>").next().unwrap().trim();
            let keys = between(call, "<arg_key>", "</arg_key>");
            let values = between(call, "<arg_value>", "</arg_value>");
            assert_eq!(keys.len(), values.len(), "{reply}");
            let arguments = keys.into_iter().zip(values).map(|(key, value)| {
                let value = match key {
                    "text" => Value::from(value),
                    _ => serde_json::from_str(value).unwrap_or_else(|why| panic!("{why}: {reply}")),
                };
                (key.to_owned(), value)
            });
            (name.to_owned(), Value::Object(arguments.collect()))
        })
        .collect()
}

fn deepseek(reply: &str) -> Vec<(String, Value)> {
    let mut calls = vec![];
    json_after(reply, "<｜tool▁sep｜>", |before, arguments| {
        let name = before.rsplit_once("<｜tool▁call▁begin｜>").unwrap().1;
        calls.push((name.to_owned(), arguments));
    });
    calls
}

//! The test of `fields.txt`: fields that clients send to each API, with their values, and what becomes of them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::expect_file;
use serde_json::{Value, json};
use weft_engine::GenerateOptions;

use super::chat::ChatRequest;
use super::completions::CompletionRequest;
use super::foreign;
use super::messages::MessageRequest;
use super::ollama::OllamaRequest;
use super::responses::ResponseRequest;
use crate::error::ApiError;
use crate::ignored::Ignored;
use crate::json::merged;

const TABLE: &str = include_str!("fields.txt");

/// Reads a body as an API does, from a request that is good without the field.
type Read = fn(Value, &Ignored) -> Result<(), ApiError>;

const APIS: [(&str, Read); 5] = [
    ("chat", |field, ignored| {
        let body = with(json!({ "messages": [{ "role": "user", "content": "Hi" }] }), field);
        ChatRequest::read(&body, &GenerateOptions::default(), 1000, ignored).map(drop)
    }),
    ("completions", |field, ignored| {
        let body = with(json!({ "prompt": "Hi" }), field);
        CompletionRequest::read(&body, &GenerateOptions::default(), 1000, ignored).map(drop)
    }),
    ("responses", |field, ignored| {
        let body = with(json!({ "input": "Hi" }), field);
        ResponseRequest::read(&body, &GenerateOptions::default(), 1000, ignored).map(drop)
    }),
    ("messages", |field, ignored| {
        let body = with(json!({ "max_tokens": 1, "messages": [{ "role": "user", "content": "Hi" }] }), field);
        MessageRequest::read(&body, &GenerateOptions::default(), 1000, false, ignored).map(drop)
    }),
    ("ollama", |field, ignored| {
        let body = json!({ "prompt": "Hi", "options": field });
        OllamaRequest::read_generate(&body, &GenerateOptions::default(), 1000, ignored).map(drop)
    }),
];

fn with(mut body: Value, field: Value) -> Value {
    let (Value::Object(body_map), Value::Object(field)) = (&mut body, field) else { return body };
    body_map.extend(field);
    merged(body)
}

/// The outcome for a field: it is accepted, left out and named, or refused.
fn outcome(read: Read, field: &Value, strict: bool) -> &'static str {
    let ignored = Ignored::new(strict);
    match read(field.clone(), &ignored) {
        Err(_) => "400",
        Ok(()) if ignored == Ignored::new(strict) => "ok",
        Ok(()) => "named",
    }
}

/// The fields of the table, each as an object.
fn rows() -> impl Iterator<Item = Value> {
    let rows = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|line| {
        let at = line.find('{').unwrap_or_else(|| panic!("no field in {line:?}"));
        serde_json::from_str(&line[at..]).unwrap_or_else(|error| panic!("{error} in {line:?}"))
    })
}

#[test]
fn every_field_has_the_outcome_of_the_table_in_every_api() {
    let mut table = String::new();
    let mut rows = rows();
    for line in TABLE.lines() {
        if line.is_empty() || line.starts_with('#') {
            writeln!(table, "{line}").unwrap();
            continue;
        }
        let field = rows.next().unwrap();
        let outcomes = APIS.map(|(_, read)| format!("{:6}", outcome(read, &field, false)));
        writeln!(table, "{}{}", outcomes.concat(), &line[line.find('{').unwrap()..]).unwrap();
    }
    expect_file!["fields.txt"].assert_eq(&table);
}

#[test]
fn the_table_has_every_field_of_other_servers_with_and_without_effect() {
    let (mut accepted, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for field in rows() {
        let name = field.as_object().unwrap().keys().next().unwrap().clone();
        for (_, read) in APIS {
            match outcome(read, &field, false) {
                "400" => refused.insert(name.clone()),
                _ => accepted.insert(name.clone()),
            };
        }
    }
    for (name, asks) in foreign::names() {
        assert!(accepted.contains(name) || asks == foreign::Asks::Always, "no value of {name} is accepted");
        assert!(refused.contains(name) || asks == foreign::Asks::Never, "no value of {name} is refused");
    }
}

#[test]
fn strict_servers_refuse_what_has_no_effect() {
    for (_, read) in APIS {
        for field in [json!({ "num_ctx": 1 }), json!({ "tfs_z": 1 }), json!({ "penalty": false })] {
            assert_eq!(outcome(read, &field, true), "400", "{field}");
        }
        for field in [json!({ "temperature": 1 }), json!({ "user": "u" })] {
            let both = [true, false].map(|strict| outcome(read, &field, strict));
            assert_eq!(both[0].replace("400", "named"), both[1], "{field}");
        }
    }
}

#[test]
fn the_documentation_names_every_field_of_other_servers() {
    let page = include_str!("../../../../docs/serving.md");
    for (name, _) in foreign::names() {
        assert!(page.contains(&format!("`{name}`")), "docs/serving.md does not have `{name}`");
    }
}

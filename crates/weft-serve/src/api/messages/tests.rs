//! Tests of the events of messages, and of how requests are read.

use expect_test::{ExpectFile, expect_file};
use proptest::prelude::*;
use serde_json::{Value, json};
use weft_engine::{Finish, GenerateOptions};

use super::events::{MessageEvents, Outline};
use super::request::MessageRequest;
use crate::api::dialogue::{OutputFormat, ToolChoice};
use crate::api::scripted::{
    any_reply, arguments, call, call_end, finished, fold, lines, parse, reasoning, stream, text,
};
use crate::error::{ApiError, Kind};
use crate::http::sse::{Events as _, Frames};
use crate::ignored::Ignored;
use crate::json::object_prefix;
use crate::reply::Update;

fn machine(thinking_shown: bool) -> MessageEvents {
    let outline = Outline {
        id: "1".into(),
        request_id: "req_1".into(),
        model: "m".into(),
        prompt_tokens: 30,
        thinking_shown,
    };
    MessageEvents::new(outline)
}

/// The message of a whole reply.
pub(in crate::api) fn answered(updates: &[Update]) -> Value {
    let mut machine = machine(true);
    fold(&mut machine, updates);
    machine.message()
}

fn read(body: &Value, ignored: &Ignored) -> Result<MessageRequest, ApiError> {
    MessageRequest::read(body, &GenerateOptions::default(), 1000, false, ignored)
}

fn check(thinking_shown: bool, updates: &[Update], expected: ExpectFile) {
    let events = stream(&mut machine(thinking_shown), updates);
    assert_whole(&events, thinking_shown, updates);
    expected.assert_eq(&lines(&events));
}

#[test]
fn thinking_then_text() {
    let updates = [reasoning("Hm"), reasoning(".\n"), text("Hi"), text(" you"), finished(Finish::EndOfTurn)];
    check(true, &updates, expect_file!["expected/text.txt"]);
    check(false, &updates, expect_file!["expected/omitted.txt"]);
}

#[test]
fn text_then_calls() {
    let updates = [
        text("Let me see."),
        call(0, "weather"),
        arguments(0, "{\"city\":"),
        arguments(0, "\"Bern\"}"),
        call_end(0),
        call(1, "time"),
        arguments(1, "{}"),
        call_end(1),
        finished(Finish::EndOfTurn),
    ];
    check(true, &updates, expect_file!["expected/calls.txt"]);
}

#[test]
fn every_end_has_its_reason() {
    let reason = |updates: &[Update]| {
        let mut machine = machine(true);
        fold(&mut machine, updates);
        let message = machine.message();
        (message["stop_reason"].as_str().unwrap().to_string(), message["stop_sequence"].clone())
    };
    let called = [call(0, "f"), arguments(0, "{}"), call_end(0)];
    let after = |finish: Finish| reason(&[&called[..], &[finished(finish)]].concat()).0;
    assert_eq!(reason(&[finished(Finish::EndOfTurn)]).0, "end_turn");
    assert_eq!(reason(&[finished(Finish::StopToken(3))]).0, "end_turn");
    assert_eq!(reason(&[finished(Finish::Stop("END".into()))]), ("stop_sequence".into(), "END".into()));
    assert_eq!(after(Finish::EndOfTurn), "tool_use");
    assert_eq!(after(Finish::Length), "max_tokens");
    assert_eq!(after(Finish::Context), "model_context_window_exceeded");
    // A call that broke off is not to be run.
    assert_eq!(reason(&[call(0, "f"), arguments(0, "{\"a"), finished(Finish::EndOfTurn)]).0, "max_tokens");
}

#[test]
fn the_input_of_a_call_that_is_cut_off_is_what_has_come() {
    let mut machine = machine(true);
    let updates = [call(0, "f"), arguments(0, "{\"a\": 1, \"b\": \"x"), finished(Finish::Length)];
    fold(&mut machine, &updates);
    assert_eq!(machine.message()["content"][0]["input"], json!({ "a": 1 }));
}

#[test]
fn a_failed_reply_ends_with_its_error() {
    let mut machine = machine(true);
    let mut frames = Frames::default();
    machine.begin(&mut frames);
    machine.ping(&mut frames);
    machine.update(0, text("Hel"), &mut frames);
    machine.error(&ApiError::new(Kind::Unavailable, "the server is shutting down"), &mut frames);
    expect_file!["expected/failed.txt"].assert_eq(&lines(&parse(frames.text())));
}

proptest! {
    #[test]
    fn events_add_up_to_the_message(updates in any_reply(&["f", "g"], "a"), shown: bool) {
        let events = stream(&mut machine(shown), &updates);
        assert_whole(&events, shown, &updates);
    }
}

/// Follows a stream as a client does, and compares what it adds up to with the message that is not streamed.
fn assert_whole(events: &[(String, Value)], thinking_shown: bool, updates: &[Update]) {
    let mut folded = machine(thinking_shown);
    fold(&mut folded, updates);
    let whole = folded.message();

    let mut message = Value::Null;
    let mut json = String::new();
    let mut open = false;
    for (i, (name, event)) in events.iter().enumerate() {
        assert_eq!(event["type"].as_str(), Some(name.as_str()));
        assert_eq!(name == "message_start", i == 0);
        assert_eq!(name == "message_stop", i + 1 == events.len());
        let content = |message: &Value| message["content"].as_array().unwrap().len();
        match name.as_str() {
            "message_start" => message = event["message"].clone(),
            "content_block_start" => {
                assert!(!open && event["index"] == content(&message));
                message["content"].as_array_mut().unwrap().push(event["content_block"].clone());
                (open, json) = (true, String::new());
            }
            "content_block_delta" => {
                let index = content(&message) - 1;
                assert!(open && event["index"] == index);
                let block = &mut message["content"][index];
                let delta = &event["delta"];
                let mut append = |field: &str| {
                    let more = delta[field].as_str().unwrap();
                    block[field] = format!("{}{more}", block[field].as_str().unwrap()).into();
                };
                match delta["type"].as_str().unwrap() {
                    "text_delta" => append("text"),
                    "thinking_delta" => append("thinking"),
                    "signature_delta" => append("signature"),
                    "input_json_delta" => json += delta["partial_json"].as_str().unwrap(),
                    other => panic!("an unknown delta: {other}"),
                }
            }
            "content_block_stop" => {
                let index = content(&message) - 1;
                assert!(open && event["index"] == index);
                if message["content"][index]["type"] == "tool_use" {
                    message["content"][index]["input"] = Value::Object(object_prefix(&json));
                }
                open = false;
            }
            "message_delta" => {
                assert!(!open);
                for field in ["stop_reason", "stop_sequence"] {
                    message[field] = event["delta"][field].clone();
                }
                message["usage"] = event["usage"].clone();
            }
            "message_stop" => {}
            _ => panic!("an unknown event: {name}"),
        }
    }
    assert_eq!(message, whole);
}

#[test]
fn blocks_become_messages() {
    let ignored = Ignored::default();
    let body = json!({
        "max_tokens": 5,
        "system": [
            { "type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=0ab1;" },
            { "type": "text", "text": "You help.", "cache_control": { "type": "ephemeral" } },
            { "type": "text", "text": "Briefly." },
        ],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "<reminder/>" }, { "type": "text", "text": "Hi" }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "Hm.", "signature": "weft" },
                { "type": "redacted_thinking", "data": "gAAA" },
                { "type": "text", "text": "Let me see." },
                { "type": "tool_use", "id": "a", "name": "f", "input": { "n": 1 }, "cache_control": null },
                { "type": "tool_use", "id": "b", "name": "g", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": "1" }, { "type": "text", "text": "2" }] },
                { "type": "tool_result", "tool_use_id": "b", "content": "no such file", "is_error": true },
                { "type": "text", "text": "Go on.", "novelty": 1 },
            ] },
            { "role": "assistant", "content": [{ "type": "thinking", "thinking": "", "signature": "weft:So." }, { "type": "text", "text": "Done." }] },
            { "role": "system", "content": "Be kind." },
            { "role": "user", "content": "Thanks" },
        ],
    });
    let request = read(&body, &ignored).unwrap();
    let messages: Vec<Value> = request
        .dialogue
        .messages
        .iter()
        .map(|message| {
            let mut value = Value::Object(message.extra.clone());
            value["role"] = message.role.as_str().into();
            value["content"] = message.content.clone();
            value
        })
        .collect();
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let expected = json!([
        { "role": "system", "content": "You help.\nBriefly." },
        { "role": "user", "content": "<reminder/>\nHi" },
        {
            "role": "assistant",
            "content": "Let me see.",
            "reasoning_content": "Hm.",
            "tool_calls": [call("a", "f", "{\"n\":1}"), call("b", "g", "{}")],
        },
        { "role": "tool", "content": "1\n2", "tool_call_id": "a" },
        { "role": "tool", "content": "Error: no such file", "tool_call_id": "b" },
        { "role": "user", "content": "Go on." },
        { "role": "assistant", "content": "Done.", "reasoning_content": "So." },
        { "role": "system", "content": "Be kind." },
        { "role": "user", "content": "Thanks" },
    ]);
    assert_eq!(Value::Array(messages), expected);
    let marked = ignored.mark(Default::default());
    let expected = "messages[1].content[1] (redacted_thinking), content[].novelty";
    assert_eq!(marked.headers()["x-weft-ignored"], expected);
}

#[test]
fn the_parameters_of_an_agent_are_read() {
    let ignored = Ignored::default();
    let body = json!({
        "model": "m",
        "max_tokens": 32000,
        "messages": [{ "role": "user", "content": "x" }],
        "stream": true,
        "stop_sequences": ["END"],
        "temperature": 1,
        "top_k": 5,
        "metadata": { "user_id": "u" },
        "service_tier": "auto",
        "betas": ["x"],
        "context_management": { "edits": [] },
        "thinking": { "type": "enabled", "budget_tokens": 1024 },
        "output_config": { "effort": "high", "format": { "type": "json_schema", "schema": { "type": "object" } } },
        "tools": [
            { "name": "mcp__a.b-c", "description": "d", "input_schema": { "type": "object" }, "strict": true },
            { "type": "web_search_20250305", "name": "web_search" },
        ],
        "tool_choice": { "type": "tool", "name": "mcp__a.b-c", "disable_parallel_tool_use": true },
    });
    let MessageRequest { dialogue, parameters, thinking_shown, stream } = read(&body, &ignored).unwrap();
    assert!(stream && thinking_shown && !dialogue.parallel);
    assert_eq!(parameters.options.max_tokens, Some(32000));
    assert_eq!(parameters.options.stop, ["END"]);
    assert_eq!(parameters.options.sampling.top_k, 5);
    assert_eq!(dialogue.thinking.variables["enable_thinking"], true);
    assert_eq!(dialogue.format, Some(OutputFormat::JsonSchema(json!({ "type": "object" }))));
    assert_eq!(dialogue.choice, ToolChoice::Named("mcp__a.b-c".into()));
    assert!(dialogue.tools.len() == 1 && dialogue.tools[0].strict);
    let marked = ignored.mark(Default::default());
    let expected = "tools[1] (web_search_20250305), context_management";
    assert_eq!(marked.headers()["x-weft-ignored"], expected);
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let with = |name: &str, value: Value| {
        let mut body = json!({ "max_tokens": 1, "messages": [{ "role": "user", "content": "x" }] });
        body[name] = value;
        read(&body, &Ignored::new(true)).map(|_| "accepted".to_string()).unwrap_or_else(|error| error.message)
    };
    let said = |content: Value| json!([{ "role": "user", "content": content }]);
    for (name, value, expected) in [
        ("max_tokens", Value::Null, "max_tokens is missing: expected an integer of at least 1"),
        (
            "max_tokens",
            json!(0),
            "max_tokens: expected an integer of at least 1, or -1 for no limit, found 0",
        ),
        ("messages", json!([]), "messages: expected 1 to 16384 messages, found 0"),
        ("messages", json!("x"), "messages: expected an array of messages, found \"x\""),
        ("messages", json!([{ "role": "tool", "content": "x" }]), "messages[0].role: expected one of `user`"),
        (
            "messages",
            json!([{ "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "f", "input": {} }] }]),
            "messages[0]: the last message is the assistant's, and its calls cannot be continued",
        ),
        ("messages", said(json!(7)), "messages[0].content: expected a string or an array of blocks, found 7"),
        (
            "messages",
            said(json!([{ "type": "image", "source": {} }])),
            "messages[0].content[0].type: this model reads text only, and cannot read a block of the type \"image\"",
        ),
        (
            "messages",
            said(json!([{ "type": "document", "source": { "type": "base64", "data": "" } }])),
            "messages[0].content[0].type: this model reads text only",
        ),
        ("system", json!([{ "type": "image" }]), "system[0].type: this model reads text only"),
        ("system", Value::Null, "accepted"),
        ("stop_sequences", json!("END"), "stop_sequences: expected an array of strings, found \"END\""),
        ("stop_sequences", json!([""]), "stop_sequences: a string is empty"),
        ("thinking", json!({}), "thinking.type is missing"),
        ("tools", json!([{ "name": "f" }]), "tools[0].input_schema is missing"),
        ("tools", json!([{ "name": "a b", "input_schema": {} }]), "tools[0].name: expected 1 to 128 letters"),
        ("tool_choice", json!({ "type": "any" }), "tool_choice requires a call"),
        ("tool_choice", json!({ "type": "tool", "name": "f" }), "tool_choice names \"f\""),
        ("mcp_servers", json!([]), "accepted"),
        ("mcp_servers", json!([{ "url": "x" }]), "mcp_servers is not supported"),
        ("container", json!("c"), "container is not supported"),
        ("novelty", json!(1), "novelty: this server does not know this parameter"),
    ] {
        let found = with(name, value);
        assert!(found.starts_with(expected), "{name}: {found}");
    }
    let count = json!({ "messages": [{ "role": "user", "content": "x" }] });
    assert!(
        MessageRequest::read(&count, &GenerateOptions::default(), 1000, true, &Ignored::new(true)).is_ok()
    );
}

#[test]
fn results_and_documents_keep_their_text() {
    let text = json!({ "type": "text", "text": "Two pictures." });
    let document = json!({ "type": "document", "title": "T", "source": { "type": "text", "media_type": "text/plain", "data": "D" } });
    let image =
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "" } });
    let ignored = Ignored::default();
    let body = json!({ "max_tokens": 1, "messages": [
        { "role": "user", "content": [document, { "type": "text", "text": "Look." }] },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "f", "input": {} }, image] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a", "content": [text, image, document] }] },
    ] });
    let request = read(&body, &ignored).unwrap();
    let texts: Vec<&str> =
        request.dialogue.messages.iter().map(|message| message.content.as_str().unwrap()).collect();
    let expected =
        ["T\nD\nLook.", "", "Two pictures.\n[An image was left out: this model reads text only.]\nT\nD\n"];
    assert_eq!(texts, expected);
    let marked = ignored.mark(Default::default());
    let expected = "messages[1].content[1] (image), messages[2].content[0].content[1] (image)";
    assert_eq!(marked.headers()["x-weft-ignored"], expected);
}

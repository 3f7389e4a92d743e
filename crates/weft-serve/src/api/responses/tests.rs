//! Tests of the events of responses, and of how requests are read.

use expect_test::{ExpectFile, expect_file};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use weft_engine::{Finish, GenerateOptions};

use super::events::{Outline, ResponseEvents};
use super::item::ReasoningForm;
use super::request::ResponseRequest;
use crate::api::dialogue::ToolChoice;
use crate::api::scripted::{
    any_reply, arguments, call, call_end, finished, fold, lines, parse, reasoning, stream, text,
};
use crate::error::{ApiError, Kind};
use crate::http::sse::{Events as _, Frames};
use crate::ignored::Ignored;
use crate::reply::Update;

const SHOWN: ReasoningForm = ReasoningForm { summary: false, encrypted: false };
const SUMMARY: ReasoningForm = ReasoningForm { summary: true, encrypted: true };

fn machine(reasoning: ReasoningForm) -> ResponseEvents {
    let request = read(&json!({ "input": "hi", "tools": tools() }), &Ignored::default()).unwrap();
    let outline = Outline {
        id: "1".into(),
        created: 1_700_000_000,
        fixed: Map::new(),
        callables: request.callables,
        reasoning,
        logprobs: None,
        clock: || 1_700_000_009,
    };
    ResponseEvents::new(outline)
}

/// The response of a whole reply.
pub(in crate::api) fn answered(updates: &[Update]) -> Value {
    let mut machine = machine(SHOWN);
    fold(&mut machine, updates);
    machine.response()
}

fn tools() -> Value {
    json!([
        { "type": "function", "name": "weather", "parameters": { "type": "object" } },
        { "type": "custom", "name": "patch" },
        { "type": "namespace", "name": "mcp__git", "tools": [{ "type": "function", "name": "log" }] },
    ])
}

fn read(body: &Value, ignored: &Ignored) -> Result<ResponseRequest, ApiError> {
    ResponseRequest::read(body, &GenerateOptions::default(), 1000, ignored)
}

fn check(reasoning: ReasoningForm, updates: &[Update], expected: ExpectFile) {
    let events = stream(&mut machine(reasoning), updates);
    assert_whole(&events, reasoning, updates);
    expected.assert_eq(&lines(&events));
}

#[test]
fn reasoning_then_text() {
    let updates = [reasoning("Hm"), reasoning(".\n"), text("Hi"), text(" you"), finished(Finish::EndOfTurn)];
    check(SHOWN, &updates, expect_file!["expected/text.txt"]);
    check(SUMMARY, &updates, expect_file!["expected/summary.txt"]);
}

#[test]
fn calls_of_all_kinds_of_tools() {
    let updates = [
        call(0, "weather"),
        arguments(0, "{\"city\":"),
        arguments(0, "\"Bern\"}"),
        call_end(0),
        call(1, "mcp__git__log"),
        arguments(1, "{}"),
        call_end(1),
        call(2, "patch"),
        arguments(2, "{\"input\": \"*** Begin\\"),
        arguments(2, "n+ä\"}"),
        call_end(2),
        finished(Finish::EndOfTurn),
    ];
    check(SHOWN, &updates, expect_file!["expected/calls.txt"]);
}

#[test]
fn a_reply_that_is_cut_off_is_incomplete() {
    let cut = |updates: &[Update]| {
        let mut machine = machine(SHOWN);
        let events = stream(&mut machine, updates);
        assert_eq!(events[events.len() - 2].0, "response.incomplete");
        let response = machine.response();
        assert_eq!(response["incomplete_details"]["reason"], "max_output_tokens");
        assert_eq!(response["completed_at"], Value::Null);
        let done = events.iter().filter(|(name, _)| name == "response.output_item.done").count();
        (response["output"].clone(), done)
    };
    let (output, done) = cut(&[text("Hel"), finished(Finish::Length)]);
    assert_eq!((output[0]["status"].as_str(), done), (Some("incomplete"), 1));
    let (output, done) = cut(&[call(0, "weather"), arguments(0, "{\"ci"), finished(Finish::Context)]);
    assert_eq!(
        (output[0]["status"].as_str(), output[0]["arguments"].as_str(), done),
        (Some("incomplete"), Some("{\"ci"), 1)
    );
    // Nobody may run half of a patch.
    let (output, done) =
        cut(&[call(0, "patch"), arguments(0, "{\"input\":\"*** Beg"), finished(Finish::Length)]);
    assert_eq!(
        (output[0]["status"].as_str(), output[0]["input"].as_str(), done),
        (Some("incomplete"), Some("*** Beg"), 0)
    );
}

#[test]
fn a_failed_reply_ends_with_its_error() {
    let mut machine = machine(SHOWN);
    let mut frames = Frames::default();
    machine.begin(&mut frames);
    machine.ping(&mut frames);
    machine.update(0, text("Hel"), &mut frames);
    machine.error(&ApiError::new(Kind::Internal, "the device is gone"), &mut frames);
    expect_file!["expected/failed.txt"].assert_eq(&lines(&parse(frames.text())));
}

#[test]
fn an_empty_reply_has_an_empty_message() {
    check(SHOWN, &[finished(Finish::EndOfTurn)], expect_file!["expected/empty.txt"]);
}

proptest! {
    #[test]
    fn events_add_up_to_the_response(
        updates in any_reply(&["weather", "patch", "mcp__git__log", "unknown"], "input"),
        summary: bool,
        encrypted: bool,
    ) {
        let reasoning = ReasoningForm { summary, encrypted };
        let events = stream(&mut machine(reasoning), &updates);
        assert_whole(&events, reasoning, &updates);
    }
}

/// Follows a stream as a client does, and compares what it adds up to with the response that is not streamed.
fn assert_whole(events: &[(String, Value)], reasoning: ReasoningForm, updates: &[Update]) {
    let mut folded = machine(reasoning);
    fold(&mut folded, updates);
    let whole = folded.response();

    let (last, events) = events.split_last().unwrap();
    assert_eq!(*last, (String::new(), json!("[DONE]")));
    let mut output: Vec<Value> = Vec::new();
    let mut done = 0;
    for (i, (name, event)) in events.iter().enumerate() {
        assert_eq!(
            (event["type"].as_str(), event["sequence_number"].as_u64()),
            (Some(name.as_str()), Some(i as u64))
        );
        match (i, name.as_str()) {
            (0, "response.created") | (1, "response.in_progress") => {
                assert_eq!(event["response"]["status"], "in_progress");
                assert_eq!(event["response"]["output"], json!([]));
            }
            (_, "response.output_item.added") => {
                assert_eq!(event["output_index"], output.len());
                output.push(event["item"].clone());
            }
            (_, "response.completed" | "response.incomplete") => {
                assert_eq!(i + 1, events.len());
                assert_eq!(event["response"], whole);
            }
            _ => {
                let index = output.len() - 1;
                assert_eq!(event["output_index"], index, "{name}");
                if name == "response.output_item.done" {
                    let item = &event["item"];
                    for field in ["status", "encrypted_content"] {
                        output[index][field] = item[field].clone();
                    }
                    if item["encrypted_content"].is_null() {
                        output[index].as_object_mut().unwrap().remove("encrypted_content");
                    }
                    assert_eq!(*item, output[index]);
                    done += 1;
                    continue;
                }
                assert_eq!(event["item_id"], output[index]["id"]);
                follow(&mut output[index], name, event);
            }
        }
    }
    let ended = whole["output"].as_array().unwrap();
    assert_eq!(ended.len(), output.len());
    for (ended, item) in ended.iter().zip(&mut output) {
        let unsaid = ended["type"] == "custom_tool_call" && ended["status"] == "incomplete";
        if unsaid {
            item["status"] = "incomplete".into();
            done += 1;
        }
        assert_eq!(ended, item);
    }
    assert_eq!(done, output.len());
}

/// Adds an event to an item.
fn follow(item: &mut Value, name: &str, event: &Value) {
    let append = |field: &mut Value| {
        *field = format!("{}{}", field.as_str().unwrap(), event["delta"].as_str().unwrap()).into()
    };
    let parts = if name.contains("summary") { "summary" } else { "content" };
    match name {
        "response.content_part.added" | "response.reasoning_summary_part.added" => {
            item[parts].as_array_mut().unwrap().push(event["part"].clone());
        }
        "response.content_part.done" | "response.reasoning_summary_part.done" => {
            assert_eq!(event["part"], item[parts][0]);
        }
        "response.output_text.delta"
        | "response.reasoning_text.delta"
        | "response.reasoning_summary_text.delta" => {
            append(&mut item[parts][0]["text"]);
        }
        "response.output_text.done"
        | "response.reasoning_text.done"
        | "response.reasoning_summary_text.done" => {
            assert_eq!(event["text"], item[parts][0]["text"]);
        }
        "response.function_call_arguments.delta" => append(&mut item["arguments"]),
        "response.function_call_arguments.done" => assert_eq!(event["arguments"], item["arguments"]),
        "response.custom_tool_call_input.delta" => append(&mut item["input"]),
        "response.custom_tool_call_input.done" => assert_eq!(event["input"], item["input"]),
        _ => panic!("an unknown event: {name}"),
    }
}

#[test]
fn items_become_messages() {
    let ignored = Ignored::default();
    let body = json!({
        "instructions": "Be brief.",
        "input": [
            { "role": "developer", "content": "Use tools." },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Hi" }, { "type": "input_text", "text": "!" }] },
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "weft:Hm." },
            { "type": "message", "role": "assistant", "status": "completed", "content": [{ "type": "output_text", "text": "Let me see.", "annotations": [] }] },
            { "type": "function_call", "call_id": "a", "name": "log", "namespace": "mcp__git", "arguments": "{\"n\":1}" },
            { "type": "custom_tool_call", "call_id": "b", "name": "patch", "input": "+\"x\"" },
            { "type": "function_call_output", "call_id": "a", "output": "none" },
            { "type": "custom_tool_call_output", "call_id": "b", "output": [{ "type": "input_text", "text": "ok" }] },
            { "type": "reasoning", "summary": [{ "type": "summary_text", "text": "So." }], "content": null, "encrypted_content": "gAAA" },
            { "type": "web_search_call", "id": "ws_1", "action": { "type": "search" } },
            { "type": "message", "role": "assistant", "content": "Done.", "novelty": 1 },
            { "type": "reasoning", "summary": [], "encrypted_content": "gAAA" },
            { "role": "user", "content": "Thanks" },
        ],
        "tools": tools(),
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
    let function = |name: &str, arguments: &str| json!({ "name": name, "arguments": arguments });
    let expected = json!([
        { "role": "system", "content": "Be brief." },
        { "role": "developer", "content": "Use tools." },
        { "role": "user", "content": "Hi!" },
        {
            "role": "assistant",
            "content": "Let me see.",
            "reasoning_content": "Hm.",
            "tool_calls": [
                { "id": "a", "type": "function", "function": function("mcp__git__log", "{\"n\":1}") },
                { "id": "b", "type": "function", "function": function("patch", "{\"input\":\"+\\\"x\\\"\"}") },
            ],
        },
        { "role": "tool", "content": "none", "tool_call_id": "a" },
        { "role": "tool", "content": "ok", "tool_call_id": "b" },
        { "role": "assistant", "content": "Done.", "reasoning_content": "So." },
        { "role": "user", "content": "Thanks" },
    ]);
    assert_eq!(Value::Array(messages), expected);
    let marked = ignored.mark(Default::default());
    assert_eq!(
        marked.headers()["x-weft-ignored"],
        "input[9] (web_search_call), input[].novelty, input[11].encrypted_content"
    );
}

#[test]
fn tools_that_only_vendors_have_are_left_out() {
    let ignored = Ignored::default();
    let body = json!({
        "input": [{ "type": "additional_tools", "role": "developer", "tools": [
            { "type": "namespace", "name": "functions", "tools": [{ "type": "custom", "name": "exec", "description": "Runs.",
                "format": { "type": "grammar", "syntax": "lark", "definition": "start: /x/" } }] },
            { "type": "function", "name": "weather", "parameters": { "type": "object" } },
        ] }, { "role": "user", "content": "x" }],
        "tools": [
            { "type": "web_search", "external_web_access": false },
            { "type": "function", "name": "weather", "strict": null, "defer_loading": true, "novelty": {} },
            { "type": "local_shell" },
        ],
        "tool_choice": { "type": "allowed_tools", "mode": "required", "tools": [{ "type": "custom", "name": "exec" }, { "type": "image_generation" }] },
    });
    let request = read(&body, &ignored).unwrap();
    let names: Vec<&str> = request.dialogue.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["exec"]);
    let description = request.dialogue.tools[0].description.as_deref();
    assert_eq!(description, Some("Runs.\n\nThe input must follow this lark grammar:\nstart: /x/"));
    assert_eq!(request.dialogue.choice, ToolChoice::Required);
    assert!(request.callables.get("exec").custom);
    assert_eq!(request.callables.get("exec").namespace, None);
    assert_eq!(request.echo["tools"].as_array().unwrap().len(), 2);
    assert_eq!(request.echo["tools"][0]["strict"], false);
    let marked = ignored.mark(Default::default());
    let expected = "tools[0] (web_search), tools[].novelty, tools[2] (local_shell), tool_choice.tools[1] (image_generation)";
    assert_eq!(marked.headers()["x-weft-ignored"], expected);
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let with = |name: &str, value: Value| {
        let mut body = json!({ "input": "x" });
        body[name] = value;
        read(&body, &Ignored::new(true)).map(|_| "accepted".to_string()).unwrap_or_else(|error| error.message)
    };
    for (name, value, expected) in [
        (
            "previous_response_id",
            json!("resp_1"),
            "previous_response_id is not supported: this server stores no responses",
        ),
        ("conversation", json!({ "id": "c" }), "conversation is not supported"),
        ("background", json!(true), "background is not supported"),
        ("background", json!(false), "accepted"),
        ("truncation", json!("auto"), "truncation is not supported: nothing is truncated in silence"),
        ("truncation", json!("disabled"), "accepted"),
        ("store", json!(true), "accepted"),
        ("prompt", json!({ "id": "p" }), "prompt is not supported"),
        (
            "max_output_tokens",
            json!(0),
            "max_output_tokens: expected an integer of at least 1, or -1 for no limit, found 0",
        ),
        ("temperature", json!("hot"), "temperature: expected a number from 0 to 2, found \"hot\""),
        ("include", json!(["everything"]), "include[0]: expected one of `message.output_text.logprobs`"),
        ("reasoning", json!({ "effort": "huge" }), "reasoning.effort: expected one of"),
        ("text", json!({ "format": { "type": "json_schema" } }), "text.format.schema is missing"),
        ("tool_choice", json!("required"), "tool_choice requires a call"),
        ("tool_choice", json!({ "type": "function", "name": "f" }), "tool_choice names \"f\""),
        (
            "tool_choice",
            json!({ "type": "web_search" }),
            "tool_choice: this server does not run tools of the type",
        ),
        ("tools", json!([{ "type": "function" }]), "tools[0].name is missing"),
        ("tools", json!([{ "type": "function", "name": "a b" }]), "tools[0].name: expected 1 to 128 letters"),
        ("input", json!([]), "input: expected at least one message"),
        ("input", json!(7), "input: expected a string or an array of items, found 7"),
        ("input", json!([{ "role": "robot", "content": "" }]), "input[0].role: expected one of"),
        (
            "input",
            json!([{ "type": "item_reference", "id": "msg_1" }]),
            "input[0] refers to an item of an earlier response",
        ),
        (
            "input",
            json!([{ "type": "compaction", "encrypted_content": "x" }]),
            "input[0] refers to a compacted conversation",
        ),
        (
            "input",
            json!([{ "role": "user", "content": [{ "type": "input_image", "image_url": "https://x" }] }]),
            "input[0].content[0].type: this model reads text only, so expected `input_text`, found \"input_image\"",
        ),
        ("novelty", json!(1), "novelty: this server does not know this parameter"),
    ] {
        let said = with(name, value);
        assert!(said.starts_with(expected), "{name}: {said}");
    }
    assert_eq!(
        read(&json!({}), &Ignored::default()).unwrap_err().message,
        "input is missing: expected a string or an array of items"
    );
}

#[test]
fn outputs_of_tools_keep_their_text() {
    let ignored = Ignored::default();
    let image = json!({ "type": "input_image", "image_url": "data:image/png;base64,AA==" });
    let body = json!({ "truncation": "auto", "include": ["novelty"], "service_tier": "new", "input": [
        { "role": "user", "content": "x" },
        { "type": "function_call", "call_id": "c", "name": "view_image", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "c", "output": [image, { "type": "input_text", "text": "a cat" }] },
    ] });
    let request = read(&body, &ignored).unwrap();
    let last = request.dialogue.messages.last().unwrap();
    assert_eq!(last.content, "[An image was left out: this model reads text only.]\na cat");
    let marked = ignored.mark(Default::default());
    let expected = "truncation, input[2].output[0] (input_image), include[0] (novelty)";
    assert_eq!(marked.headers()["x-weft-ignored"], expected);
}

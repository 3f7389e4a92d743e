//! `/v1/messages`.

use serde_json::{Value, json};

use crate::support::{Running, options};

const MODEL: &str = "glm-tiny-q4_0.gguf";

fn question() -> Value {
    json!({
        "model": "test",
        "system": "Answer.",
        "messages": [{ "role": "user", "content": "Hello" }],
        "max_tokens": 24,
        "temperature": 1,
        "seed": 5,
    })
}

/// Follows a stream as a client does.
fn streamed(events: &[Value]) -> Value {
    let mut message = events[0]["message"].clone();
    for event in events {
        let block = event["index"].as_u64().map(|index| index as usize);
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                message["content"].as_array_mut().unwrap().push(event["content_block"].clone());
            }
            "content_block_delta" => {
                let block = &mut message["content"][block.unwrap()];
                for field in ["text", "thinking", "signature"] {
                    if let Some(more) = event["delta"][field].as_str() {
                        block[field] = format!("{}{more}", block[field].as_str().unwrap()).into();
                    }
                }
            }
            "message_delta" => {
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                message["usage"] = event["usage"].clone();
            }
            _ => {}
        }
    }
    message
}

#[test]
fn a_stream_adds_up_to_the_message_that_is_not_streamed() {
    let server = Running::of(MODEL);
    let mut body = question();
    let count = |body: &Value| {
        let mut body = body.clone();
        body.as_object_mut().unwrap().remove("max_tokens");
        server.post("/v1/messages/count_tokens", &body).json()["input_tokens"].as_u64().unwrap()
    };
    let answer = server.post("/v1/messages", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.header("request-id").is_some_and(|id| Some(id) == answer.header("x-request-id")));
    let whole = answer.json();
    let usage = &whole["usage"];
    let tokens = |usage: &Value, name: &str| usage[name].as_u64().unwrap();
    assert_eq!(tokens(usage, "input_tokens") + tokens(usage, "cache_read_input_tokens"), count(&body));

    body["stream"] = true.into();
    let stream = server.post("/v1/messages", &body);
    let events = stream.events();
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], count(&body));
    assert_eq!(events.last().unwrap()["type"], "message_stop");
    let message = streamed(&events);
    for field in ["content", "stop_reason", "stop_sequence", "role", "type", "model"] {
        assert_eq!(message[field], whole[field], "{field}");
    }
    assert_eq!(message["usage"]["output_tokens"], usage["output_tokens"]);
    assert!(stream.body.starts_with("event: message_start\n") && stream.body.ends_with("\n\n"));
}

#[test]
fn errors_have_the_envelope_of_the_api() {
    let server = Running::of(MODEL);
    let mut body = question();
    body["grammar"] = "root".into();
    let answer = server.post("/v1/messages", &body);
    let error = answer.json();
    assert_eq!((answer.status, &error["type"]), (400, &json!("error")));
    assert_eq!(error["error"]["type"], "invalid_request_error");
    assert_eq!(error["request_id"].as_str(), answer.header("request-id"));
    body = question();
    body["model"] = "claude".into();
    let answer = server.post("/v1/messages", &body);
    assert_eq!((answer.status, &answer.json()["error"]["type"]), (404, &json!("not_found_error")));
    body = question();
    body["messages"][0]["content"] = "word ".repeat(400).into();
    let answer = server.post("/v1/messages", &body);
    assert_eq!(answer.status, 400);
    let message = answer.json()["error"]["message"].as_str().unwrap().to_string();
    assert!(
        message.starts_with("prompt is too long: ") && message.ends_with(" tokens > 256 maximum"),
        "{message}"
    );
}

#[test]
fn what_an_agent_sends_is_accepted() {
    let mut options = options(MODEL);
    options.engine = options.engine.context(4096);
    let server = Running::start(options);
    // The fields, blocks and tools of Claude Code.
    let body = json!({
        "model": "test",
        "max_tokens": 8,
        "system": [
            { "type": "text", "text": "x-anthropic-billing-header: cch=1;" },
            { "type": "text", "text": "You are an agent.", "cache_control": { "type": "ephemeral" } },
        ],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "List files.", "cache_control": { "type": "ephemeral" } }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "Easy.", "signature": "weft" },
                { "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": { "command": "ls" } },
            ] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1", "content": "README.md" }] },
        ],
        "tools": [
            { "name": "Bash", "description": "Runs.", "input_schema": { "type": "object", "properties": { "command": { "type": "string" } } } },
            { "type": "web_search_20250305", "name": "web_search" },
        ],
        "metadata": { "user_id": "u" },
        "thinking": { "type": "adaptive" },
        "context_management": { "edits": [] },
        "output_config": { "effort": "medium" },
        "stop_sequences": ["Z"],
        "stream": true,
        "seed": 1,
    });
    let headers = [
        ("Content-Type", "application/json"),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "interleaved-thinking-2025-05-14"),
        ("x-api-key", "any"),
    ];
    let answer = server.request("POST", "/v1/messages?beta=true", &headers, &body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("x-weft-ignored"), Some("tools[1] (web_search_20250305), context_management"));
    // The billing header differs from request to request.
    let with = |billing: &str| {
        let mut body = body.clone();
        body["system"][0]["text"] = format!("x-anthropic-billing-header: {billing}").into();
        server.post("/v1/messages/count_tokens", &body).json()["input_tokens"].as_u64().unwrap()
    };
    assert_eq!(with("a"), with("a long one that differs"));
}

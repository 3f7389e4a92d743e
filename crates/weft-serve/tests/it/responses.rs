//! `/v1/responses`.

use serde_json::{Value, json};

use crate::support::{Running, options};

const MODEL: &str = "glm-tiny-q4_0.gguf";

fn question() -> Value {
    json!({
        "model": "test",
        "instructions": "Answer.",
        "input": "Hello",
        "max_output_tokens": 24,
        "temperature": 1,
        "seed": 5,
        "metadata": { "k": "v" },
    })
}

/// Output without ids, which differ from one response to the next.
fn output(response: &Value) -> Vec<Value> {
    let mut items = response["output"].as_array().unwrap().clone();
    items.iter_mut().for_each(|item| item["id"] = Value::Null);
    items
}

#[test]
fn a_stream_ends_with_the_response_that_is_not_streamed() {
    let server = Running::of(MODEL);
    let mut body = question();
    body["include"] = json!(["message.output_text.logprobs"]);
    body["top_logprobs"] = 2.into();
    let answer = server.post("/v1/responses", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("x-weft-ignored"), None);
    let whole = answer.json();
    assert_eq!(whole["object"], "response");
    assert_eq!(whole["metadata"], json!({ "k": "v" }));
    assert_eq!(whole["store"], false);
    let usage = &whole["usage"];
    assert!(usage["output_tokens"].as_u64().unwrap() <= 24);
    assert_eq!(
        usage["total_tokens"].as_u64(),
        Some(usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap())
    );

    body["stream"] = true.into();
    let stream = server.post("/v1/responses", &body);
    assert_eq!(stream.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let events = stream.events();
    let names: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["response.created", "response.in_progress"]);
    let last = events.last().unwrap();
    assert!(matches!(*names.last().unwrap(), "response.completed" | "response.incomplete"), "{names:?}");
    assert_eq!(last["response"]["status"], whole["status"]);
    assert_eq!(output(&last["response"]), output(&whole));
    for (i, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], i);
        assert!(stream.body.contains(&format!("event: {}\n", names[i])));
    }
    for field in ["instructions", "metadata", "model", "tools", "temperature", "text", "truncation"] {
        assert!(events[0]["response"].get(field).is_some(), "{field}");
        assert_eq!(events[0]["response"][field], whole[field]);
    }
}

#[test]
fn a_conversation_goes_on_with_the_output() {
    let server = Running::of(MODEL);
    let first = server.post("/v1/responses", &question()).json();
    let mut body = question();
    let mut input = vec![json!({ "role": "user", "content": "Hello" })];
    input.extend(first["output"].as_array().unwrap().clone());
    input.push(json!({ "role": "user", "content": "Go on" }));
    body["input"] = input.into();
    let answer = server.post("/v1/responses", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let tokens = |response: &Value| response["usage"]["input_tokens"].as_u64().unwrap();
    assert!(tokens(&answer.json()) > tokens(&first));
}

#[test]
fn what_an_agent_sends_is_accepted() {
    let mut options = options(MODEL);
    options.engine = options.engine.context(4096);
    let server = Running::start(options);
    // The fields and tools of Codex.
    let body = json!({
        "model": "test",
        "instructions": "You are an agent.",
        "input": [
            { "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "Sandboxed." }] },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "List files." }] },
            { "type": "reasoning", "summary": [{ "type": "summary_text", "text": "Easy." }], "encrypted_content": "weft:Easy." },
            { "type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "call_1" },
            { "type": "function_call_output", "call_id": "call_1", "output": "README.md" },
        ],
        "tools": [
            { "type": "function", "name": "shell", "description": "Runs.", "strict": false,
              "parameters": { "type": "object", "properties": { "command": { "type": "array", "items": { "type": "string" } } } } },
            { "type": "custom", "name": "apply_patch", "description": "Patches.",
              "format": { "type": "grammar", "syntax": "lark", "definition": "start: /.+/" } },
            { "type": "web_search", "external_web_access": false },
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": false,
        "reasoning": { "effort": "medium", "summary": "auto" },
        "store": false,
        "stream": true,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "0199",
        "client_metadata": { "x": "y" },
        "max_output_tokens": 8,
        "seed": 1,
    });
    let answer = server.post("/v1/responses", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("x-weft-ignored"), Some("tools[2] (web_search)"));
    let events = answer.events();
    assert_eq!(events[0]["response"]["tools"].as_array().unwrap().len(), 2);
    assert_eq!(events[0]["response"]["prompt_cache_key"], "0199");
}

#[test]
fn what_is_not_stored_cannot_be_fetched() {
    let server = Running::of(MODEL);
    let answer = server.get("/v1/responses/resp_1");
    assert_eq!(answer.status, 404);
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains("stores no responses"));
    let mut body = question();
    body["previous_response_id"] = "resp_1".into();
    let answer = server.post("/v1/responses", &body);
    assert_eq!((answer.status, &answer.json()["error"]["param"]), (400, &json!("previous_response_id")));
    body = question();
    body["input"] = "word ".repeat(400).into();
    let error = server.post("/v1/responses", &body).json();
    assert_eq!(error["error"]["code"], "context_length_exceeded");
    assert_eq!(error["error"]["param"], "input");
    body = question();
    let schema = json!({ "type": "object", "properties": { "a": { "type": "robot" } } });
    body["text"] = json!({ "format": { "type": "json_schema", "name": "a", "schema": schema } });
    let answer = server.post("/v1/responses", &body);
    assert_eq!((answer.status, &answer.json()["error"]["param"]), (400, &json!("text.format.schema")));
}

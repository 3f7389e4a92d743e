//! Replies in the harmony format of gpt-oss: reasoning, text and calls come apart. The model is random, so what it writes is
//! forced by grammars, and by a bias towards the mark that ends a message.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use weft_engine::EngineOptions;
use weft_gguf::{Gguf, Writer};
use weft_serve::{ModelSource, ServeOptions};

use crate::support::{Running, fixture};

const MODEL: &str = "gpt-oss-tiny-mxfp4.gguf";

/// A server of the model with a chat template that has tools, and the token `<|end|>`.
fn server(test: &str) -> (Running, u32) {
    let source = fixture("../crates/weft-text/tests/templates/harmony.jinja");
    let template =
        fs::read_to_string(&source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    let model = Gguf::open(&fixture(MODEL)).unwrap();
    let tokenizer = weft_engine::tokenizer(model.metadata()).unwrap();
    let mut metadata = model.metadata().clone();
    metadata.insert("tokenizer.chat_template", template.as_str());
    let mut writer = Writer::new(metadata).unwrap();
    for tensor in model.tensors() {
        writer.declare(&tensor.name, tensor.ty, &tensor.shape).unwrap();
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("harmony-{test}.gguf"));
    let mut data = writer.create(&path).unwrap();
    for tensor in model.tensors() {
        data.write(&tensor.name, model.data(tensor)).unwrap();
    }
    data.finish().unwrap();
    let mut options = ServeOptions::new([ModelSource::new("test", path)]);
    options.address = crate::support::options(MODEL).address;
    options.engine = EngineOptions::default().sequences(1).threads(2).context(2048);
    (Running::start(options), tokenizer.find("<|end|>").unwrap())
}

fn tools() -> Value {
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "type": "string", "enum": ["Oslo", "Rome"] } },
        "required": ["city"],
        "additionalProperties": false,
    });
    json!({ "name": "weather", "parameters": parameters })
}

/// The bodies of requests for chat completions with this in addition, with different seeds.
fn bodies(end: u32, extra: &Value) -> impl Iterator<Item = Value> {
    (0..6).map(move |seed| {
        let mut body = json!({
            "messages": [{ "role": "user", "content": "Weather?" }],
            "max_tokens": 200, "temperature": 1, "seed": seed, "logit_bias": { end.to_string(): 5 },
        });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    })
}

fn has_marks(text: &str) -> bool {
    ["<|", "analysis", "commentary"].iter().any(|mark| text.contains(mark))
}

#[test]
fn a_chat_completion_has_reasoning_and_json() {
    let (server, end) = server("json");
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"], "additionalProperties": false });
    let format =
        json!({ "type": "json_schema", "json_schema": { "name": "x", "strict": true, "schema": schema } });
    let (mut reasoned, mut complete) = (0, 0);
    for mut body in bodies(end, &json!({ "response_format": format })) {
        let answer = server.post("/v1/chat/completions", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        let (choice, message) = (&answer["choices"][0], &answer["choices"][0]["message"]);
        let content = message["content"].as_str().unwrap_or_default();
        // Random models may reason for long.
        if choice["finish_reason"] == "stop" {
            let value: Value = serde_json::from_str(content).unwrap();
            assert!(value["ok"].is_boolean(), "{answer}");
            complete += 1;
        }
        let reasoning = message["reasoning_content"].as_str().unwrap_or_default();
        assert!(!has_marks(reasoning), "{answer}");
        let count = &answer["usage"]["completion_tokens_details"]["reasoning_tokens"];
        assert_eq!(count.as_u64().unwrap_or(0) > 0, !reasoning.is_empty(), "{answer}");
        reasoned += usize::from(!reasoning.is_empty());

        body["stream"] = true.into();
        let events = server.post("/v1/chat/completions", &body).events();
        let joined = |name: &str| -> String {
            events.iter().filter_map(|event| event["choices"][0]["delta"][name].as_str()).collect()
        };
        assert_eq!(joined("reasoning_content"), reasoning);
        assert_eq!(joined("content"), content);
    }
    assert!(reasoned > 0 && complete > 0, "{reasoned} replies had reasoning, {complete} were complete");
}

#[test]
fn a_required_tool_is_called() {
    let (server, end) = server("call");
    let tool = json!({ "type": "function", "function": tools() });
    let extra = json!({ "tools": [tool], "tool_choice": "required", "parallel_tool_calls": false });
    let mut conversation = json!([{ "role": "user", "content": "Weather?" }]);
    for mut body in bodies(end, &extra).take(3) {
        let answer = server.post("/v1/chat/completions", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        let choice = &answer["choices"][0];
        assert_eq!(choice["finish_reason"], "tool_calls", "{answer}");
        let calls = choice["message"]["tool_calls"].as_array().unwrap();
        assert_eq!((calls.len(), &calls[0]["function"]["name"]), (1, &json!("weather")), "{answer}");
        let text = calls[0]["function"]["arguments"].as_str().unwrap();
        let arguments: Value = serde_json::from_str(text).unwrap();
        assert!(["Oslo", "Rome"].contains(&arguments["city"].as_str().unwrap()), "{answer}");
        assert!(!has_marks(choice["message"]["content"].as_str().unwrap_or_default()), "{answer}");

        body["stream"] = true.into();
        let events = server.post("/v1/chat/completions", &body).events();
        let deltas = events.iter().filter_map(|event| event["choices"][0]["delta"]["tool_calls"].get(0));
        let streamed: String = deltas.filter_map(|delta| delta["function"]["arguments"].as_str()).collect();
        assert_eq!(streamed, text);

        // The call and its result are part of the next prompt.
        let turns = conversation.as_array_mut().unwrap();
        turns.truncate(1);
        turns.push(choice["message"].clone());
        turns.push(json!({ "role": "tool", "tool_call_id": calls[0]["id"], "content": "rain" }));
        let next = json!({ "messages": conversation, "tools": extra["tools"], "max_tokens": 4 });
        let answer = server.post("/v1/chat/completions", &next);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

#[test]
fn a_response_has_its_items() {
    let (server, end) = server("response");
    let mut tool = tools();
    tool["type"] = "function".into();
    tool["strict"] = true.into();
    let mut kinds = Vec::new();
    let format = json!({ "type": "json_schema", "name": "x", "schema": { "enum": ["yes", "no"] } });
    let expected = ["reasoning", "message", "function_call"];
    // The prompt has today's date in it, so which seeds give which items changes every day.
    for seed in 0..120 {
        if seed >= 12 && expected.iter().all(|kind| kinds.contains(kind)) {
            break;
        }
        let mut body = json!({
            "input": "Weather?", "max_output_tokens": 200, "temperature": 1, "seed": seed,
            "logit_bias": { end.to_string(): 5 }, "reasoning": { "effort": "high" },
        });
        if seed % 2 == 0 {
            body["tools"] = json!([tool]);
        } else {
            body["text"] = json!({ "format": format });
        }
        let answer = server.post("/v1/responses", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        for item in answer["output"].as_array().unwrap() {
            let text = match item["type"].as_str().unwrap() {
                "function_call" => {
                    let text = item["arguments"].as_str().unwrap();
                    let arguments: Value = serde_json::from_str(text).unwrap_or_default();
                    assert!(arguments["city"].is_string() || answer["status"] == "incomplete", "{item}");
                    kinds.push("function_call");
                    continue;
                }
                _ => item["content"][0]["text"].as_str().unwrap_or_default(),
            };
            assert!(!has_marks(text), "{item}");
            kinds.push(if item["type"] == "reasoning" { "reasoning" } else { "message" });
        }
    }
    for kind in expected {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
}

#[test]
fn the_effort_is_one_that_the_template_knows() {
    let (server, _) = server("effort");
    let tokens = |extra: Value| {
        let mut body = json!({ "messages": [{ "role": "user", "content": "Q" }], "max_tokens": 1 });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let answer = server.post("/v1/chat/completions", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["usage"]["prompt_tokens"].as_u64().unwrap()
    };
    let effort = |effort: &str| tokens(json!({ "reasoning_effort": effort }));
    let [low, medium, high] = ["low", "medium", "high"].map(effort);
    assert!(low != medium && medium != high, "{low} {medium} {high}");
    assert_eq!(tokens(json!({})), medium);
    assert_eq!((effort("none"), effort("minimal")), (low, low));
    assert_eq!((effort("xhigh"), effort("max")), (high, high));
    assert_eq!(tokens(json!({ "chat_template_kwargs": { "reasoning_effort": "low" } })), low);
}

#[test]
fn tools_need_a_template_that_writes_them() {
    let server = Running::of(MODEL);
    let tool = json!({ "type": "function", "function": tools() });
    let body = json!({ "messages": [{ "role": "user", "content": "Q" }], "tools": [tool], "max_tokens": 1 });
    let answer = server.post("/v1/chat/completions", &body);
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains("harmony"), "{answer:?}");
}

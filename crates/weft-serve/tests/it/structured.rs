//! Output of a form that the request asks for. The models are random, so nothing but the grammar makes it valid.

use serde_json::{Value, json};

use weft_engine::{EngineOptions, Speculate};

use crate::support::{Running, options};

const GLM: &str = "glm-tiny-q4_0.gguf";
/// Its template has no tools.
const PLAIN: &str = "llama-tiny-q6_k.gguf";

fn body(extra: Value) -> Value {
    let mut body = json!({
        "messages": [{ "role": "user", "content": "Weather?" }],
        "max_tokens": 400,
        "temperature": 1,
        "seed": 3,
        "chat_template_kwargs": { "enable_thinking": false },
    });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn weather() -> Value {
    let parameters = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "enum": ["Oslo", "Rome"] },
            "days": { "type": "integer", "minimum": 1, "maximum": 9 },
        },
        "required": ["city", "days"],
        "additionalProperties": false,
    });
    json!([{ "type": "function", "function": { "name": "weather", "parameters": parameters } }])
}

#[test]
fn a_schema_holds_for_every_seed() {
    let server = Running::of(GLM);
    let schema = json!({
        "type": "object",
        "properties": { "ok": { "type": "boolean" }, "size": { "enum": ["s", "m", "l"] } },
        "required": ["ok", "size"],
        "additionalProperties": false,
    });
    for seed in 0..6 {
        let format = json!({ "type": "json_schema", "json_schema": { "name": "answer", "strict": true, "schema": schema } });
        let answer =
            server.post("/v1/chat/completions", &body(json!({ "response_format": format, "seed": seed })));
        assert_eq!(answer.status, 200, "{answer:?}");
        let choice = &answer.json()["choices"][0];
        assert_eq!(choice["finish_reason"], "stop");
        let value: Value = serde_json::from_str(choice["message"]["content"].as_str().unwrap()).unwrap();
        assert!(
            value["ok"].is_boolean() && ["s", "m", "l"].contains(&value["size"].as_str().unwrap()),
            "{value}"
        );
    }
}

#[test]
fn a_required_tool_is_called_with_valid_arguments() {
    for model in [GLM, PLAIN] {
        let mut options = options(model);
        options.engine = EngineOptions::default().sequences(1).threads(2).context(1024);
        let server = Running::start(options);
        for choice in [json!("required"), json!({ "type": "function", "function": { "name": "weather" } })] {
            let asked = json!({ "tools": weather(), "tool_choice": choice, "parallel_tool_calls": false });
            let answer = server.post("/v1/chat/completions", &body(asked.clone()));
            assert_eq!(answer.status, 200, "{model}: {answer:?}");
            let complete = answer.json();
            let reply = &complete["choices"][0];
            assert_eq!(reply["finish_reason"], "tool_calls", "{model}: {complete}");
            let calls = reply["message"]["tool_calls"].as_array().unwrap();
            assert_eq!(calls.len(), 1);
            assert_eq!(calls[0]["function"]["name"], "weather");
            let text = calls[0]["function"]["arguments"].as_str().unwrap();
            let arguments: Value = serde_json::from_str(text).unwrap();
            assert!(["Oslo", "Rome"].contains(&arguments["city"].as_str().unwrap()), "{model}: {text}");
            assert!((1..=9).contains(&arguments["days"].as_i64().unwrap()), "{model}: {text}");

            let mut asked = asked;
            asked["stream"] = true.into();
            let events = server.post("/v1/chat/completions", &body(asked)).events();
            let deltas =
                || events.iter().filter_map(|event| event["choices"][0]["delta"]["tool_calls"].get(0));
            let first = deltas().next().unwrap();
            assert!(first["id"].is_string() && first["function"]["name"] == "weather", "{first}");
            let streamed: String =
                deltas().filter_map(|delta| delta["function"]["arguments"].as_str()).collect();
            assert_eq!(streamed, text);
        }
    }
}

#[test]
fn what_cannot_be_enforced_is_refused() {
    let server = Running::of(GLM);
    let schema = json!({ "type": "string", "pattern": "(" });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": schema } });
    let answer = server.post("/v1/chat/completions", &body(json!({ "response_format": format })));
    assert_eq!(answer.status, 400, "{answer:?}");
    assert_eq!(answer.json()["error"]["code"], "invalid_grammar");
}

#[test]
fn a_complete_reply_ends_before_it_has_min_tokens() {
    let server = Running::of(GLM);
    let schema = json!({ "enum": ["yes", "no"] });
    let format =
        json!({ "type": "json_schema", "json_schema": { "name": "x", "strict": true, "schema": schema } });
    let asked = |least: usize| {
        let extra = json!({ "response_format": format.clone(), "min_tokens": least });
        let answer = server.post("/v1/chat/completions", &body(extra));
        assert_eq!(answer.status, 200, "{answer:?}");
        let choice = answer.json()["choices"][0].clone();
        assert_eq!(choice["finish_reason"], "stop");
        choice["message"]["content"].as_str().unwrap().to_owned()
    };
    let free = asked(0);
    // As llama.cpp takes it.
    let format = json!({ "type": "json_object", "schema": schema });
    let answer = server.post("/v1/chat/completions", &body(json!({ "response_format": format }))).json();
    assert_eq!(answer["choices"][0]["message"]["content"], free);
    // White space may come first.
    assert!(["\"yes\"", "\"no\""].contains(&free.trim()), "{free}");
    assert_eq!(asked(50), free);
}

/// Grammars, penalties and log probabilities give the same with guessed tokens, and responses and metrics count them.
#[test]
fn guesses_change_no_answer() {
    let started = |speculate: Speculate| {
        let mut options = options(GLM);
        options.engine = options.engine.speculate(speculate);
        Running::start(options).ready()
    };
    let (plain, guessing) = (started(Speculate::Off), started(Speculate::Lookup));
    let schema = json!({
        "type": "object",
        "properties": { "names": { "type": "array", "items": { "enum": ["Ann", "Ben"] }, "minItems": 9, "maxItems": 9 } },
        "required": ["names"],
        "additionalProperties": false,
    });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "answer", "strict": true, "schema": schema } });
    let forms = [
        json!({ "response_format": format, "max_tokens": 150, "logprobs": true, "top_logprobs": 2 }),
        json!({ "max_tokens": 60, "temperature": 0, "n": 2, "stop": ["zzz"] }),
        json!({ "max_tokens": 60, "frequency_penalty": 0.5 }),
    ];
    // Each form twice: the reply to a prompt can be guessed once it is known.
    for form in forms.iter().chain(&forms) {
        let [plain, guessing] = [&plain, &guessing].map(|server| {
            let answer = server.post("/v1/chat/completions", &body(form.clone()));
            assert_eq!(answer.status, 200, "{answer:?}");
            answer.json()
        });
        assert_eq!(guessing["choices"], plain["choices"]);
        assert_eq!(guessing["usage"]["completion_tokens"], plain["usage"]["completion_tokens"]);
        assert!(plain["usage"]["completion_tokens_details"].get("accepted_prediction_tokens").is_none());
    }
    let answer = guessing.post("/v1/chat/completions", &body(forms[0].clone())).json();
    let accepted =
        answer["usage"]["completion_tokens_details"]["accepted_prediction_tokens"].as_u64().unwrap();
    assert!(accepted > 0, "{answer}");
    assert_eq!(answer["timings"]["draft_n_accepted"], accepted);
    let metric = |name: &str| guessing.metric(&format!("vllm:spec_decode_num_{name}_total"));
    assert!(metric("drafts") > 0.0 && metric("draft_tokens") >= metric("accepted_tokens"));
    assert!(metric("accepted_tokens") >= accepted as f64);
    let first = guessing.get("/metrics").body;
    assert!(
        first.contains(
            "vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name=\"test\",position=\"0\"}"
        )
    );
    assert!(first.contains("weft_guessed_tokens_total{model_name=\"test\",source=\"lookup\"}"), "{first}");
    assert_eq!(plain.metric("vllm:spec_decode_num_drafts_total"), 0.0);
}

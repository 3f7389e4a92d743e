//! Chat completions and completions.

use serde_json::{Value, json};

use crate::support::Running;

const MODEL: &str = "glm-tiny-q4_0.gguf";

fn question() -> Value {
    json!({
        "model": "test",
        "messages": [{ "role": "user", "content": "Hello" }],
        "max_tokens": 12,
        "temperature": 1,
        "seed": 5,
    })
}

/// The text of a streamed reply: reasoning and content.
fn streamed(events: &[Value], choice: usize) -> (String, String) {
    let deltas = events.iter().flat_map(|event| event["choices"].as_array().unwrap());
    let own = deltas.filter(|one| one["index"] == choice);
    own.fold(Default::default(), |(reasoning, content), one| {
        let text = |name: &str| one["delta"][name].as_str().unwrap_or_default();
        (reasoning + text("reasoning_content"), content + text("content"))
    })
}

fn whole(message: &Value) -> (String, String) {
    let text = |name: &str| message[name].as_str().unwrap_or_default().to_string();
    (text("reasoning_content"), text("content"))
}

#[test]
fn a_stream_adds_up_to_the_whole_answer() {
    let server = Running::of(MODEL);
    let mut body = question();
    body["n"] = 3.into();
    body["logprobs"] = true.into();
    body["top_logprobs"] = 2.into();
    let answer = server.post("/v1/chat/completions", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let complete = answer.json();
    body["stream"] = true.into();
    body["stream_options"] = json!({ "include_usage": true });
    let stream = server.post("/v1/chat/completions", &body);
    assert_eq!(stream.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert!(stream.body.ends_with("data: [DONE]\n\n"));
    let events = stream.events();
    for index in 0..3 {
        let choice = &complete["choices"][index];
        assert_eq!(streamed(&events, index), whole(&choice["message"]));
        let own =
            || events.iter().flat_map(|e| e["choices"].as_array().unwrap()).filter(|c| c["index"] == index);
        let logprobs: Vec<&Value> =
            own().filter_map(|c| c["logprobs"]["content"].as_array()).flatten().collect();
        assert_eq!(logprobs, choice["logprobs"]["content"].as_array().unwrap().iter().collect::<Vec<_>>());
        assert_eq!(logprobs.len(), 12);
        let reasons: Vec<&str> = own().filter_map(|c| c["finish_reason"].as_str()).collect();
        assert_eq!(reasons, [choice["finish_reason"].as_str().unwrap()]);
        assert_eq!(own().next().unwrap()["delta"]["role"], "assistant");
    }
    let last = events.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["completion_tokens"], 36);
    assert_eq!(last["usage"]["completion_tokens"], complete["usage"]["completion_tokens"]);
    assert!(
        events[..events.len() - 1].iter().all(|event| event["usage"].is_null() && event["id"] == last["id"])
    );
}

#[test]
fn a_stream_says_how_far_the_prompt_is_if_asked() {
    let server = Running::of(MODEL);
    let mut body = question();
    body["stream"] = true.into();
    body["stream_options"] = json!({ "include_usage": true });
    let progress = |body: &Value| {
        let events = server.post("/v1/chat/completions", body).events();
        let told: Vec<Value> = events.iter().map(|event| event["prompt_progress"].clone()).collect();
        let told: Vec<Value> = told.into_iter().filter(|progress| !progress.is_null()).collect();
        (told, events.last().unwrap()["usage"]["prompt_tokens"].clone())
    };
    assert_eq!(progress(&body).0, Vec::<Value>::new());
    body["return_progress"] = true.into();
    // Longer than a page, which the prefix cache keeps.
    body["messages"][0]["content"] = "Hello again. ".repeat(20).into();
    let (told, tokens) = progress(&body);
    let last = told.last().unwrap();
    assert_eq!((&last["total"], &last["processed"]), (&tokens, &tokens));
    // The first report counts the tokens from the cache.
    assert!(
        told.iter().all(|one| one["cache"] == told[0]["processed"] && one["time_ms"].is_u64()),
        "{told:?}"
    );
    let (again, _) = progress(&body);
    assert!(again[0]["cache"].as_u64() > told[0]["cache"].as_u64(), "{again:?} after {told:?}");
}

#[test]
fn a_seed_decides_the_reply() {
    let server = Running::of(MODEL);
    let text = |seed: u64| {
        let mut body = question();
        body["seed"] = seed.into();
        whole(&server.post("/v1/chat/completions", &body).json()["choices"][0]["message"])
    };
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2));
}

#[test]
fn prompts_are_texts_or_tokens() {
    let server = Running::of(MODEL);
    let tokens = server.post("/tokenize", &json!({ "prompt": "Hello there" })).json()["tokens"].clone();
    let complete = |prompt: Value| {
        let body = json!({ "prompt": prompt, "max_tokens": 6, "temperature": 0, "echo": true });
        server.post("/v1/completions", &body).json()
    };
    let by_text = complete("Hello there".into());
    let by_tokens = complete(tokens.clone());
    assert!(by_text["choices"][0]["text"].as_str().unwrap().starts_with("Hello there"), "{by_text}");
    let own = |answer: &Value| {
        answer["choices"][0]["text"].as_str().unwrap().rsplit("there").next().unwrap().to_string()
    };
    assert_eq!(own(&by_text), own(&by_tokens));
    let both = complete(json!([tokens, tokens]));
    assert_eq!(both["choices"].as_array().unwrap().len(), 2);
    assert_eq!(both["usage"]["prompt_tokens"], 2 * tokens.as_array().unwrap().len());
}

#[test]
fn models_health_and_metrics_are_there() {
    let server = Running::of(MODEL).ready();
    assert_eq!(server.get("/health").status, 200);
    let models = server.get("/v1/models").json();
    assert_eq!(models["data"][0]["id"], "test");
    assert_eq!(models["data"][0]["max_model_len"], 256);
    let defaults = &models["data"][0]["default_parameters"];
    assert_eq!((&defaults["top_p"], &defaults["top_k"]), (&json!(0.95), &json!(40)));
    let props = server.get("/props").json();
    assert_eq!(&props["default_generation_settings"]["params"], defaults);
    assert_eq!(props["model"]["device"], models["data"][0]["device"]);
    assert!(props["threads"].as_u64().unwrap() > 0);
    assert_eq!(props["requests"], json!([]));
    assert_eq!(server.get("/v1/models/test").json(), models["data"][0]);
    assert_eq!(server.get("/v1/models/other").status, 404);
    server.post("/v1/chat/completions", &question());
    let metrics = server.get("/metrics").body;
    for line in [
        "vllm:num_requests_waiting{model_name=\"test\"} 0",
        "vllm:generation_tokens_total{model_name=\"test\"} 12",
        "vllm:time_to_first_token_seconds_count{model_name=\"test\"} 1",
    ] {
        assert!(metrics.contains(line), "no {line:?} in {metrics}");
    }
}

#[test]
fn an_echo_has_the_log_probabilities_of_the_prompt() {
    let server = Running::of(MODEL);
    let mut body =
        json!({ "prompt": "Hello there", "max_tokens": 3, "temperature": 0, "echo": true, "logprobs": 1 });
    let complete = server.post("/v1/completions", &body).json();
    let whole = &complete["choices"][0];
    let lists = &whole["logprobs"];
    let tokens = complete["usage"]["total_tokens"].as_u64().unwrap() as usize;
    for name in ["tokens", "token_logprobs", "top_logprobs", "text_offset"] {
        assert_eq!(lists[name].as_array().unwrap().len(), tokens, "{name} in {lists}");
    }
    assert!(lists["token_logprobs"][0].is_null() && lists["token_logprobs"][1].as_f64().unwrap() < 0.0);
    // The reply's own are those of a reply without the echo.
    body["echo"] = false.into();
    let own = server.post("/v1/completions", &body).json();
    let own = own["choices"][0]["logprobs"]["token_logprobs"].as_array().unwrap().clone();
    assert_eq!(lists["token_logprobs"].as_array().unwrap()[tokens - own.len()..], own);
    // A stream adds up to the same lists.
    body["echo"] = true.into();
    body["stream"] = true.into();
    let events = server.post("/v1/completions", &body).events();
    let streamed =
        events.iter().filter_map(|event| event["choices"][0]["logprobs"]["token_logprobs"].as_array());
    assert_eq!(
        streamed.flatten().collect::<Vec<_>>(),
        lists["token_logprobs"].as_array().unwrap().iter().collect::<Vec<_>>()
    );
}

#[test]
fn a_request_can_leave_the_prefix_cache_alone() {
    let server = Running::of(MODEL);
    let cached = |cache: bool| {
        let prompt: Vec<u32> = (300..400).collect();
        let body = json!({ "prompt": prompt, "max_tokens": 1, "temperature": 0, "cache_prompt": cache });
        let answer = server.post("/v1/completions", &body).json();
        answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap()
    };
    assert_eq!((cached(false), cached(true)), (0, 0));
    assert!(cached(true) > 0);
    assert_eq!(cached(false), 0);
}

//! Ollama's API: replies as lines and whole, options, tools, forms, what clients ask about models, and how long these stay.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_serve::{ModelSource, Server};

use super::support::{Answer, Running, fixture, options};

const MODEL: &str = "glm-tiny-q4_0.gguf";

fn question(stream: bool) -> Value {
    let options = json!({ "temperature": 1, "seed": 5, "num_predict": 12 });
    json!({ "model": "test:latest", "messages": [{ "role": "user", "content": "Hello" }], "stream": stream, "options": options })
}

/// The lines of a stream.
fn lines(answer: &Answer) -> Vec<Value> {
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("application/x-ndjson")),
        "{answer:?}"
    );
    answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A text of all lines.
fn sum(lines: &[Value], at: &str) -> String {
    lines.iter().filter_map(|line| line.pointer(at)?.as_str()).collect()
}

#[test]
fn lines_add_up_to_the_answer_and_to_that_of_the_chat_api() {
    let server = Running::of(MODEL);
    let whole = server.post("/api/chat", &question(false)).json();
    assert_eq!(
        (&whole["model"], &whole["done"], &whole["done_reason"]),
        (&json!("test:latest"), &json!(true), &json!("length"))
    );
    assert_eq!(whole["eval_count"], 12);
    let lines = lines(&server.post("/api/chat", &question(true)));
    let (last, before) = lines.split_last().unwrap();
    assert!(before.iter().all(|line| line["done"] == false));
    assert_eq!((&last["done"], &last["message"]["content"]), (&json!(true), &json!("")));
    for name in ["content", "thinking"] {
        let text = whole["message"][name].as_str().unwrap_or_default();
        assert_eq!(sum(&lines, &format!("/message/{name}")), text, "{name}");
    }
    let body = json!({ "messages": [{ "role": "user", "content": "Hello" }], "temperature": 1, "seed": 5, "max_tokens": 12 });
    let chat = server.post("/v1/chat/completions", &body).json();
    let message = &chat["choices"][0]["message"];
    assert_eq!(message["content"].as_str().unwrap_or_default(), whole["message"]["content"]);
    assert_eq!(message.get("reasoning_content"), whole["message"].get("thinking"));
    // Streamed unless the request says otherwise.
    let mut body = question(true);
    body.as_object_mut().unwrap().remove("stream");
    assert_eq!(
        sum(&self::lines(&server.post("/api/chat", &body)), "/message/content"),
        whole["message"]["content"]
    );
}

#[test]
fn generate_answers_a_prompt_and_continues_a_raw_one() {
    let server = Running::of(MODEL);
    let ask = |more: Value| {
        let mut body =
            json!({ "model": "test", "prompt": "Hello", "options": { "temperature": 0, "num_predict": 8 } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.post("/api/generate", &body)
    };
    let whole = ask(json!({ "stream": false })).json();
    let streamed = lines(&ask(json!({})));
    assert_eq!(sum(&streamed, "/response"), whole["response"]);
    assert_eq!(sum(&streamed, "/thinking"), whole["thinking"].as_str().unwrap_or_default());
    let raw = ask(json!({ "stream": false, "raw": true })).json();
    let body = json!({ "prompt": "Hello", "temperature": 0, "max_tokens": 8 });
    assert_eq!(raw["response"], server.post("/v1/completions", &body).json()["choices"][0]["text"]);
    let options = json!({ "num_predict": 100, "seed": 1 });
    let form =
        json!({ "stream": false, "raw": true, "format": { "enum": ["yes", "no"] }, "options": options });
    let form = ask(form).json();
    assert!(["\"yes\"", "\"no\""].contains(&form["response"].as_str().unwrap().trim()), "{form}");
    let listed = ask(json!({ "stream": false, "raw": true, "logprobs": true, "top_logprobs": 2 })).json();
    let logprobs = listed["logprobs"].as_array().unwrap();
    assert_eq!((logprobs.len(), logprobs[0]["top_logprobs"].as_array().unwrap().len()), (8, 2));
    let streamed = lines(&ask(json!({ "raw": true, "logprobs": true, "top_logprobs": 2 })));
    let parts: Vec<&Value> =
        streamed.iter().filter_map(|line| line["logprobs"].as_array()).flatten().collect();
    assert_eq!(parts.len(), 8);
    assert!(parts.iter().zip(logprobs).all(|(part, whole)| *part == whole));
}

#[test]
fn tools_and_schemas_are_enforced() {
    let mut options = options(MODEL);
    options.engine = options.engine.context(2048);
    let server = Running::start(options);
    let schema = json!({ "type": "object", "properties": { "city": { "enum": ["Rome", "Oslo"] } }, "required": ["city"], "additionalProperties": false });
    let tool = json!({ "type": "function", "function": { "name": "look", "parameters": schema } });
    let mut body = question(false);
    body["think"] = false.into();
    body["options"]["num_predict"] = 600.into();
    body["tools"] = json!([tool]);
    body["tool_choice"] = "required".into();
    body["parallel_tool_calls"] = false.into();
    let answer = server.post("/api/chat", &body).json();
    let call = &answer["message"]["tool_calls"][0]["function"];
    assert_eq!((&call["name"], &answer["done_reason"]), (&json!("look"), &json!("stop")), "{answer}");
    assert!(["Rome", "Oslo"].contains(&call["arguments"]["city"].as_str().unwrap()), "{answer}");
    // The reply and its result come back.
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(answer["message"].clone());
    messages.push(json!({ "role": "tool", "tool_name": "look", "content": "rain" }));
    assert_eq!(server.post("/api/chat", &body).status, 200);
    let mut body = question(false);
    body["think"] = false.into();
    body["options"]["num_predict"] = 600.into();
    body["format"] = schema;
    let answer = server.post("/api/chat", &body).json();
    let value: Value = serde_json::from_str(answer["message"]["content"].as_str().unwrap()).unwrap();
    assert!(value["city"].is_string(), "{answer}");
}

#[test]
fn clients_learn_about_models() {
    let mut options = options(MODEL);
    options.models.push(ModelSource::new("other:tag", fixture("qwen3-tiny-q4_0.gguf")));
    let server = Running::start(options).ready();
    let tags = server.get("/api/tags").json();
    let names: Vec<&Value> = tags["models"].as_array().unwrap().iter().map(|model| &model["name"]).collect();
    assert_eq!(names, ["test:latest", "other:tag"]);
    let model = &tags["models"][0];
    assert_eq!(
        (&model["details"]["family"], &model["details"]["quantization_level"]),
        (&json!("deepseek2"), &json!("Q4_0"))
    );
    assert_eq!(model["size"], std::fs::metadata(fixture(MODEL)).unwrap().len());
    assert_eq!(model["digest"].as_str().unwrap().len(), 64);
    let loaded = server.get("/api/ps").json();
    assert_eq!(loaded["models"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&loaded["models"][0]["name"], &loaded["models"][0]["context_length"]),
        (&json!("test:latest"), &json!(256))
    );
    let shown = server.post("/api/show", &json!({ "model": "test" })).json();
    assert_eq!(shown["model_info"]["general.architecture"], "deepseek2");
    assert_eq!(shown["model_info"]["tokenizer.ggml.tokens"], Value::Null);
    assert!(shown["capabilities"].as_array().unwrap().contains(&json!("completion")));
    let verbose = server.post("/api/show", &json!({ "name": "test", "verbose": true })).json();
    assert!(verbose["model_info"]["tokenizer.ggml.tokens"].is_array());
    assert!(server.get("/api/version").json()["version"].is_string());
    assert_eq!(server.post("/api/pull", &json!({ "model": "test" })).body, "{\"status\":\"success\"}\n");
    let missing = server.post("/api/pull", &json!({ "model": "llama3.2" }));
    assert_eq!(missing.status, 404);
    assert!(missing.json()["error"].as_str().unwrap().contains("weft pull"), "{missing:?}");
}

#[test]
fn fields_without_effect_are_named() {
    let server = Running::of(MODEL).ready();
    let mut body = question(false);
    body["options"]["num_ctx"] = 8192.into();
    body["options"]["num_gpu"] = 99.into();
    body["truncate"] = true.into();
    let answer = server.post("/api/chat", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("x-weft-ignored"), Some("options.num_ctx, options.num_gpu, truncate"));
}

/// Waits until so many models are loaded.
fn wait(server: &Running, count: usize) {
    let begun = Instant::now();
    while server.get("/api/ps").json()["models"].as_array().unwrap().len() != count {
        assert!(begun.elapsed() < Duration::from_secs(30), "there are not {count} models");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_model_is_unloaded_when_its_time_is_over_and_comes_back() {
    let server = Running::of(MODEL).ready();
    let text = || server.post("/api/chat", &question(false)).json()["message"].clone();
    let expected = text();
    let with = |keep: Value| {
        let mut body = question(false);
        body["keep_alive"] = keep;
        server.post("/api/chat", &body)
    };
    // Without end, and then for no time.
    assert_eq!(with(json!(-1)).status, 200);
    std::thread::sleep(Duration::from_millis(300));
    wait(&server, 1);
    assert_eq!(with(json!("50ms")).json()["message"], expected);
    wait(&server, 0);
    assert_eq!(server.get("/ready").status, 200);
    // Its time is that of the last who said so.
    assert_eq!(text(), expected);
    std::thread::sleep(Duration::from_millis(300));
    wait(&server, 1);
    let load =
        |keep: Value| server.post("/api/generate", &json!({ "model": "test", "keep_alive": keep })).json();
    assert_eq!(load(json!("10m"))["done_reason"], "load");
    let left = server.get("/api/ps").json()["models"][0]["expires_at"].clone();
    assert!(left.as_str().unwrap().starts_with("20"), "{left}");
    assert_eq!(load(json!(0))["done_reason"], "unload");
    wait(&server, 0);
    assert_eq!(load(json!(0))["done_reason"], "unload");
    wait(&server, 0);
    assert_eq!(text(), expected);
}

#[test]
fn a_model_in_use_is_not_unloaded() {
    let server = Running::of(MODEL).ready();
    let long = json!({ "model": "test", "prompt": "Hello", "raw": true, "options": { "num_predict": 200, "ignore_eos": true } });
    let answer = std::thread::scope(|scope| {
        let reply = scope.spawn(|| lines(&server.post("/api/generate", &long)));
        server.wait_for("vllm:num_requests_running", |running| running == 1.0);
        server.post("/api/generate", &json!({ "model": "test", "keep_alive": 0 }));
        reply.join().unwrap()
    });
    assert_eq!(answer.last().unwrap()["eval_count"], 200);
    wait(&server, 0);
}

#[test]
fn the_api_can_be_switched_off_and_have_a_port_of_its_own() {
    // A port that is free now.
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let mut off = options(MODEL);
    (off.ollama, off.also) = (false, Some(free));
    let server = Running::start(off).ready();
    let answer = server.get("/api/tags");
    assert_eq!((answer.status, answer.json()["error"].is_string()), (404, true));
    assert!(
        std::net::TcpStream::connect(("127.0.0.1", free)).is_err(),
        "there is no second port without the API"
    );
    drop(server);
    let mut both = options(MODEL);
    both.also = Some(free);
    let mut server = Running::start(both).ready();
    let first = server.get("/api/tags");
    server.address.set_port(free);
    assert_eq!(server.get("/api/tags").body, first.body);
    let mut taken = options(MODEL);
    taken.also = Some(free);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(Server::bind(taken)).err().unwrap().to_string();
    assert!(error.starts_with(&format!("cannot listen on 127.0.0.1:{free}: ")), "{error}");
}

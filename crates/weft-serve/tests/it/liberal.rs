//! What the server accepts although it has no effect, and how the answer says so.

use serde_json::{Value, json};
use weft_serve::ModelSource;

use super::support::{Running, fixture, one_token, options};

const MODEL: &str = "glm-tiny-q4_0.gguf";

fn question() -> Value {
    json!({ "messages": [{ "role": "user", "content": "Hello" }], "max_tokens": 12, "temperature": 1, "seed": 5 })
}

fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[test]
fn fields_without_effect_are_named_and_change_nothing() {
    let server = Running::of(MODEL).ready();
    let more = json!({ "num_ctx": 1, "typical_p": 1, "extra_body": { "top_a": 0, "tool_ids": [] } });
    let message = json!({ "max_tokens": 4, "messages": [{ "role": "user", "content": "Hello" }] });
    let response = json!({ "max_output_tokens": 4, "input": "Hello" });
    for (path, body) in [
        ("/v1/chat/completions", question()),
        ("/v1/completions", one_token()),
        ("/v1/responses", response),
        ("/v1/messages", message),
        ("/v1/messages/count_tokens", json!({ "messages": [{ "role": "user", "content": "Hello" }] })),
        ("/apply-template", question()),
        ("/tokenize", json!({ "prompt": "Hello" })),
        ("/detokenize", json!({ "tokens": [5] })),
    ] {
        let plain = server.post(path, &body);
        assert_eq!((plain.status, plain.header("x-weft-ignored")), (200, None), "{path}: {plain:?}");
        let answer = server.post(path, &with(body, &more));
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let named = answer.header("x-weft-ignored").unwrap_or_default();
        assert!(named.contains("num_ctx") && named.contains("tool_ids"), "{path}: {named}");
    }
    let text = |body: &Value| server.post("/v1/chat/completions", body).json()["choices"].clone();
    assert_eq!(text(&with(question(), &more)), text(&question()));
    let streamed = with(with(question(), &more), &json!({ "stream": true }));
    let named = server.post("/v1/chat/completions", &streamed);
    assert_eq!(named.header("x-weft-ignored"), Some("num_ctx, tool_ids"));
}

#[test]
fn a_strict_server_refuses_them() {
    let mut options = options(MODEL);
    options.strict = true;
    let server = Running::start(options).ready();
    assert_eq!(server.post("/v1/chat/completions", &question()).status, 200);
    for more in [json!({ "num_ctx": 1 }), json!({ "tfs_z": 1 }), json!({ "extra_body": {} })] {
        let answer = server.post("/v1/chat/completions", &with(question(), &more));
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (400, &json!("unknown_parameter")),
            "{more}"
        );
    }
}

#[test]
fn names_of_other_servers_have_the_same_effect() {
    let server = Running::of(MODEL).ready();
    let text = |more: Value| {
        let mut body = question();
        body.as_object_mut().unwrap().remove("max_tokens");
        let answer = server.post("/v1/chat/completions", &with(body, &more));
        assert_eq!((answer.status, answer.header("x-weft-ignored")), (200, None), "{more}: {answer:?}");
        let choice = &answer.json()["choices"][0];
        let part = |name: &str| choice["message"][name].as_str().unwrap_or_default().to_string();
        (part("reasoning_content"), part("content"), choice["finish_reason"].clone())
    };
    let ours = text(json!({ "max_completion_tokens": 7 }));
    assert_eq!(ours.2, "length");
    for name in ["max_tokens", "max_output_tokens", "max_new_tokens", "n_predict"] {
        assert_eq!(text(json!({ name: 7 })), ours, "{name}");
    }
    // Without a limit the reply fills the context.
    let long = text(json!({ "max_tokens": -1, "ignore_eos": true }));
    assert!(long.0.len() + long.1.len() > 4 * (ours.0.len() + ours.1.len()), "{long:?}");
    let end: String = ours.0.chars().chain(ours.1.chars()).skip(2).take(2).collect();
    assert_eq!(
        text(json!({ "stop_sequences": [end], "n_predict": 7 })),
        text(json!({ "stop": end, "max_tokens": 7 }))
    );
}

#[test]
fn programs_need_no_content_type_and_pages_do() {
    let server = Running::of(MODEL).ready();
    let body = one_token().to_string();
    let post = |headers: &[(&str, &str)]| server.request("POST", "/v1/completions", headers, &body);
    let ours = format!("http://localhost:{}", server.address.port());
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let text = ("Content-Type", "text/plain;charset=UTF-8");
    for headers in [vec![], vec![form], vec![text], vec![text, ("Sec-Fetch-Mode", "cors")]] {
        assert_eq!(post(&headers).status, 200, "{headers:?}");
    }
    for page in [("Origin", ours.as_str()), ("Referer", ours.as_str()), ("Sec-Fetch-Site", "same-origin")] {
        for headers in [vec![page], vec![page, form], vec![page, text]] {
            let headers = [&[("Host", ours.trim_start_matches("http://"))][..], &headers].concat();
            let bytes =
                headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<String>();
            let length = body.len();
            let request = format!(
                "POST /v1/completions HTTP/1.1\r\nConnection: close\r\n{bytes}Content-Length: {length}\r\n\r\n{body}"
            );
            let answer = server.raw(request.as_bytes());
            assert_eq!(answer.status, 415, "{headers:?}: {answer:?}");
            assert!(answer.body.contains("-H 'Content-Type: application/json'"), "{answer:?}");
        }
    }
}

#[test]
fn a_long_prompt_is_refused_in_the_words_of_each_api() {
    let server = Running::of(MODEL).ready();
    for text in ["te ".repeat(600), "te ".repeat(1_000_000)] {
        let messages = json!({ "max_tokens": 2, "messages": [{ "role": "user", "content": text }] });
        let answer = server.post("/v1/messages", &messages);
        let message = answer.json()["error"]["message"].as_str().unwrap().to_string();
        let count = message
            .strip_prefix("prompt is too long: ")
            .and_then(|rest| rest.strip_suffix(" tokens > 256 maximum"));
        assert!(count.is_some_and(|count| count.parse::<usize>().unwrap() > 256), "{message}");
        let completion = json!({ "prompt": text, "max_tokens": 2 });
        let response = json!({ "input": text });
        for (path, body, param) in [
            ("/v1/chat/completions", &messages, "messages"),
            ("/v1/completions", &completion, "prompt"),
            ("/v1/responses", &response, "input"),
        ] {
            let error = server.post(path, body).json()["error"].clone();
            assert_eq!(
                (&error["code"], &error["param"]),
                (&json!("context_length_exceeded"), &json!(param)),
                "{path}"
            );
            assert!(
                error["message"]
                    .as_str()
                    .unwrap()
                    .starts_with("this model's maximum context length is 256 tokens")
            );
        }
        // The route that counts tokens counts all of them.
        let count = server.post("/v1/messages/count_tokens", &messages).json();
        assert!(count["input_tokens"].as_u64().unwrap() > text.len() as u64 / 3, "{count}");
    }
}

#[test]
fn models_have_the_fields_of_both_apis() {
    let server = Running::of(MODEL).ready();
    let models = server.get("/v1/models").json();
    assert_eq!(
        (&models["first_id"], &models["last_id"], &models["has_more"]),
        (&json!("test"), &json!("test"), &json!(false))
    );
    let model = &models["data"][0];
    assert_eq!((&model["type"], &model["display_name"]), (&json!("model"), &json!("test")));
    assert!(
        model["created_at"].as_str().is_some_and(|time| time.len() == 20 && time.ends_with('Z')),
        "{model}"
    );
    let missing = server.get("/nothing").json();
    assert!(missing["error"]["message"].as_str().unwrap().contains("/openapi.json"));
}

#[test]
fn a_model_can_have_its_own_settings() {
    let mut own = ModelSource::new("own", fixture(MODEL));
    own.system = Some("Be brief.".into());
    own.think = Some(false);
    own.engine = Some(options(MODEL).engine.context(128));
    let mut both = options(MODEL);
    both.models.push(own);
    let server = Running::start(both).ready();
    let prompt = |model: &str, messages: Value| {
        let answer = server.post("/apply-template", &json!({ "model": model, "messages": messages }));
        answer.json()["prompt"].as_str().unwrap().to_string()
    };
    let hello = json!([{ "role": "user", "content": "Hello" }]);
    let instructed =
        json!([{ "role": "system", "content": "Rhyme." }, { "role": "user", "content": "Hello" }]);
    assert!(
        prompt("own", hello.clone()).contains("Be brief.") && !prompt("test", hello).contains("Be brief.")
    );
    let prompt = prompt("own", instructed);
    assert!(prompt.contains("Rhyme.") && !prompt.contains("Be brief."), "{prompt}");
    let models = server.get("/v1/models").json();
    let contexts: Vec<&Value> =
        models["data"].as_array().unwrap().iter().map(|model| &model["max_model_len"]).collect();
    assert_eq!(contexts, [256, 128]);
}

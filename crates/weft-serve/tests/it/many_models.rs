//! Several models in less memory than all of them need: which are unloaded, who waits, and what they are told.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_serve::{ModelSource, ServeOptions};

use super::support::{Answer, Running, fixture, options, request_bytes};

const FILES: [(&str, &str); 3] =
    [("glm", "glm-tiny-q4_0.gguf"), ("qwen", "qwen3-tiny-q4_0.gguf"), ("moe", "qwen2moe-tiny-q4_0.gguf")];

/// A server of the three models, with a limit of memory for the two that need most.
fn three(change: impl FnOnce(&mut ServeOptions)) -> Running {
    let mut options = options(FILES[0].1);
    options.engine = options.engine.context(512).threads(1);
    options.models = FILES.map(|(name, file)| ModelSource::new(name, fixture(file))).to_vec();
    options.models[0].aliases = vec!["first".into()];
    let mut needs: Vec<u64> =
        options.models.iter().map(|model| options.engine.memory(&model.path).unwrap()).collect();
    needs.sort_unstable();
    options.limits.memory = Some(needs[1] + needs[2]);
    change(&mut options);
    Running::start(options).ready()
}

fn ask(model: &str, seed: u64, stream: bool) -> Value {
    json!({ "model": model, "prompt": format!("Number {seed} is"), "max_tokens": 12, "temperature": 1, "seed": seed,
            "ignore_eos": true, "stream": stream })
}

fn send(server: &Running, path: &str, body: &Value) -> TcpStream {
    let mut stream = server.connect();
    let json = [("Content-Type", "application/json")];
    stream.write_all(&request_bytes("POST", path, &json, &body.to_string())).unwrap();
    stream
}

/// The text of an answer of `/v1/completions`.
fn text(answer: &Answer, stream: bool) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    let events = if stream { answer.events() } else { vec![answer.json()] };
    events.iter().filter_map(|event| event["choices"][0]["text"].as_str()).collect()
}

/// The models with this status.
fn with_status(server: &Running, status: &str) -> Vec<String> {
    let list = server.get("/models").json();
    let models = list["data"].as_array().unwrap().iter();
    let found = models.filter(|model| model["status"]["value"] == status);
    found.map(|model| model["id"].as_str().unwrap().to_string()).collect()
}

/// Waits until the models with this status are these.
fn wait_for(server: &Running, status: &str, names: &[&str]) {
    let begun = Instant::now();
    while with_status(server, status) != names {
        assert!(begun.elapsed() < Duration::from_secs(60), "{status}: {:?}", with_status(server, status));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A reply that goes on until its client leaves or some seconds are over.
fn long(server: &Running, model: &str) -> TcpStream {
    let body = json!({ "model": model, "prompt": "a", "max_tokens": 500, "ignore_eos": true, "stream": true, "n": 8 });
    let stream = send(server, "/v1/completions", &body);
    server.wait_for("vllm:num_requests_running", |_| running(server, model));
    stream
}

/// Whether a request for this model is in work.
fn running(server: &Running, model: &str) -> bool {
    let props = server.get("/props").json();
    props["requests"].as_array().unwrap().iter().any(|one| one["model"] == model && one["state"] == "reply")
}

#[test]
fn the_model_used_least_recently_makes_room_and_a_pinned_one_does_not() {
    let server = three(|_| {});
    let say = |model: &str| server.post("/v1/completions", &ask(model, 1, false));
    assert_eq!(with_status(&server, "loaded"), [""; 0], "none is to be loaded at the start");
    for model in ["qwen", "first", "qwen"] {
        assert_eq!(say(model).status, 200);
    }
    assert_eq!(with_status(&server, "loaded"), ["glm", "qwen"]);
    let answer = say("moe");
    assert!(answer.header("x-weft-model-wait-ms").is_some(), "{answer:?}");
    assert_eq!(answer.json()["model"], "moe");
    assert_eq!(with_status(&server, "loaded"), ["qwen", "moe"]);
    assert!(say("moe").header("x-weft-model-wait-ms").is_none(), "it is loaded");
    let pin = |model: &str, pinned: bool| {
        let answer = server.post("/models/pin", &json!({ "model": model, "pinned": pinned }));
        assert_eq!((answer.status, &answer.json()["pinned"]), (200, &json!(pinned)));
    };
    pin("qwen", true);
    assert_eq!(say("moe").status, 200);
    assert_eq!(say("glm").status, 200);
    assert_eq!(
        with_status(&server, "loaded"),
        ["glm", "qwen"],
        "the pinned one stays, though it was used before"
    );
    pin("glm", true);
    let refused = say("moe");
    assert_eq!(refused.status, 500, "{refused:?}");
    assert!(
        refused.body.contains("pinned models leave") && refused.body.contains("unpin one"),
        "{refused:?}"
    );
    let list = server.get("/v1/models/moe").json();
    assert_eq!((&list["status"]["value"], &list["status"]["failed"]), (&json!("unloaded"), &json!(true)));
    pin("glm", false);
    assert_eq!(say("moe").status, 200);
}

#[test]
fn models_are_loaded_and_unloaded_by_request() {
    let server = three(|_| {});
    let change = |what: &str, body: Value| server.post(&format!("/models/{what}"), &body);
    let loaded = change("load", json!({ "model": "first", "pinned": true }));
    let expected =
        json!({ "success": true, "model": "glm", "status": { "value": "loaded" }, "pinned": true });
    assert_eq!((loaded.status, loaded.json()), (200, expected));
    assert_eq!(change("load", json!({ "model": "qwen", "wait": false })).status, 200);
    wait_for(&server, "loaded", &["glm", "qwen"]);
    // By name, a pinned one is unloaded too.
    assert_eq!(change("unload", json!({ "model": "glm" })).json()["status"], json!({ "value": "unloaded" }));
    assert_eq!(with_status(&server, "loaded"), ["qwen"]);
    // A model in use first completes its answer.
    let stream = long(&server, "qwen");
    assert_eq!(change("unload", json!({ "model": "qwen" })).json()["status"]["value"], "loaded");
    drop(stream);
    wait_for(&server, "loaded", &[]);
    for (body, status, says) in [
        (json!({ "model": "none" }), 404, "there is no such model; this server has `glm`, `qwen`, `moe`"),
        (json!({}), 400, "model is missing"),
        (json!({ "model": 1 }), 400, "model"),
        (json!({ "model": "glm", "pinned": 3 }), 400, "pinned"),
    ] {
        let answer = change("load", body);
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().starts_with(says), "{answer:?}");
    }
}

#[test]
fn a_model_that_never_fits_is_refused_at_once() {
    let server = three(|options| options.limits.memory = Some(1_000_000));
    let refused = server.post("/v1/completions", &ask("qwen", 1, false));
    assert_eq!(refused.status, 500, "{refused:?}");
    assert!(refused.body.contains("more than the limit of 1 MB; raise --memory"), "{refused:?}");
}

/// Memory for one: the first is busy for longer than streams wait in silence.
#[test]
fn streams_are_told_what_they_wait_for() {
    let server = three(|options| {
        let needs = options.models.iter().map(|model| options.engine.memory(&model.path).unwrap());
        options.limits.memory = needs.max();
        options.engine = options.engine.clone().context(4096).sequences(1);
        let needs = options.models.iter().map(|model| options.engine.memory(&model.path).unwrap());
        options.limits.memory = needs.max();
    });
    let body =
        json!({ "model": "glm", "prompt": "a", "max_tokens": 4000, "ignore_eos": true, "stream": true });
    let busy = send(&server, "/v1/completions", &body);
    server.wait_for("vllm:num_requests_running", |_| running(&server, "glm"));
    let asks = [
        ("/v1/completions", ask("qwen", 1, true)),
        (
            "/v1/chat/completions",
            json!({ "model": "qwen", "messages": [{ "role": "user", "content": "Hi" }], "max_tokens": 2, "stream": true }),
        ),
        (
            "/v1/messages",
            json!({ "model": "qwen", "messages": [{ "role": "user", "content": "Hi" }], "max_tokens": 2, "stream": true, "made_up": 1 }),
        ),
        ("/v1/responses", json!({ "model": "qwen", "input": "Hi", "max_output_tokens": 16, "stream": true })),
        (
            "/api/chat",
            json!({ "model": "qwen", "messages": [{ "role": "user", "content": "Hi" }], "options": { "num_predict": 2 } }),
        ),
        ("/api/generate", json!({ "model": "qwen", "prompt": "Hi", "options": { "num_predict": 2 } })),
        // An error after the stream has begun.
        ("/v1/chat/completions", json!({ "model": "qwen", "messages": [], "stream": true })),
        ("/v1/messages", json!({ "model": "qwen", "messages": [], "max_tokens": 2, "stream": true })),
        ("/v1/responses", json!({ "model": "qwen", "input": 3, "stream": true })),
        ("/api/chat", json!({ "model": "qwen", "messages": 3 })),
    ];
    let waiting: Vec<TcpStream> = asks.iter().map(|(path, body)| send(&server, path, body)).collect();
    let silent = send(&server, "/v1/completions", &ask("qwen", 1, false));
    std::thread::sleep(Duration::from_millis(3500));
    assert_eq!(with_status(&server, "unloading"), ["glm"], "it answers the one that came before");
    let status = server.get("/v1/models/qwen").json()["status"].clone();
    let task = json!({ "task": "waiting for memory, which other models have" });
    assert_eq!(status, json!({ "value": "loading", "progress": task }));
    drop(busy);
    let answers: Vec<Answer> = waiting.into_iter().map(Answer::read).collect();
    for (answer, (path, _)) in answers.iter().zip(&asks) {
        assert_eq!(answer.status, 200, "{path}");
        let told = match path.starts_with("/api/") {
            true => {
                answer.body.starts_with("{\"model\":\"qwen\"")
                    && answer.body.contains("\"status\":\"loading: waiting for memory")
            }
            false => answer
                .body
                .starts_with(": loading qwen: waiting for memory, which other models have (2 s)\n\n"),
        };
        assert!(told, "{path}: {answer:?}");
    }
    let silent = Answer::read(silent);
    assert!(silent.header("x-weft-model-wait-ms").unwrap().parse::<u64>().unwrap() > 3000, "{silent:?}");
    assert_eq!(text(&answers[0], true), text(&silent, false));
    let ends = [
        "data: [DONE]\n\n",
        "data: [DONE]\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
        "data: [DONE]\n\n",
        "}\n",
        "}\n",
        "data: [DONE]\n\n",
        "\n\n",
        "data: [DONE]\n\n",
        "\n",
    ];
    for ((answer, (path, _)), end) in answers.iter().zip(&asks).zip(ends) {
        assert!(answer.body.ends_with(end), "{path}: {answer:?}");
    }
    assert!(answers[2].body.contains(": x-weft-ignored: made_up\n\n"), "{:?}", answers[2]);
    assert!(answers[2].body.contains("event: ping\n"), "{:?}", answers[2]);
    for (answer, says) in answers[6..].iter().zip([
        "data: {\"error\":{\"message\":",
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\"",
        "event: error\ndata: {\"type\":\"error\",\"sequence_number\":0,",
        "{\"error\":\"",
    ]) {
        assert!(answer.body.contains(says), "{answer:?}");
    }
}

#[test]
fn a_model_sleeps_after_its_own_time_and_wakes() {
    let server = three(|options| {
        options.models[1].keep_alive = Some(Duration::from_millis(200));
        options.models[2].keep_alive = Some(Duration::from_millis(200));
        options.models[2].pinned = true;
    });
    let say = |model: &str| text(&server.post("/v1/completions", &ask(model, 2, false)), false);
    let first = say("qwen");
    wait_for(&server, "sleeping", &["qwen"]);
    assert_eq!(server.get("/ready").status, 200);
    assert_eq!(say("qwen"), first);
    assert_eq!(server.post("/models/load", &json!({ "model": "moe" })).status, 200);
    wait_for(&server, "sleeping", &["qwen"]);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(with_status(&server, "loaded"), ["moe"], "it is pinned");
    assert_eq!(server.post("/models/pin", &json!({ "model": "moe", "pinned": false })).status, 200);
    wait_for(&server, "sleeping", &["qwen", "moe"]);
}

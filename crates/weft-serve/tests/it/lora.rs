//! LoRA adapters that requests choose, over HTTP: by llama.cpp's field, and by a name in place of the model's in every API.

use std::path::PathBuf;

use serde_json::{Value, json};
use weft_engine::AdapterFile;
use weft_gguf::Gguf;
use weft_serve::{ModelSource, Server};

use super::adapter::write;
use super::support::{Answer, Running, fixture, options};

const MODEL: &str = "glm-tiny-q4_0.gguf";
const EMBEDDING: &str = "pooled/qwen3-embedding.gguf";
const NAMES: [&str; 2] = ["style", "terms"];

/// Adapters of random numbers for a fixture, in a folder that is removed when dropped.
struct Adapters {
    folder: PathBuf,
    files: Vec<AdapterFile>,
}

impl Drop for Adapters {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Adapters {
    fn of(model: &str, test: &str) -> Adapters {
        let folder = std::env::temp_dir().join(format!("weft-serve-lora-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files = NAMES.iter().enumerate().map(|(i, name)| {
            let path = folder.join(format!("{name}.gguf"));
            write(&path, &Gguf::open(&fixture(model)).unwrap(), 2 + 3 * i);
            AdapterFile { name: Some((*name).into()), path, scale: 1.0 }
        });
        Adapters { files: files.collect(), folder }
    }

    /// A server of the model with these adapters.
    fn server(&self, model: &str) -> Running {
        let mut options = options(model);
        options.engine = options.engine.adapters(self.files.clone());
        Running::start(options).ready()
    }
}

/// A completion, with more fields.
fn completion(more: Value) -> Value {
    let mut body =
        json!({ "prompt": "Once upon a time", "max_tokens": 12, "temperature": 0, "ignore_eos": true });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn text(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["choices"][0]["text"].as_str().unwrap().to_string()
}

#[test]
fn a_request_chooses_an_adapter_by_number_or_as_its_model() {
    let adapters = Adapters::of(MODEL, "chosen");
    let server = adapters.server(MODEL);
    let say = |more: Value| text(&server.post("/v1/completions", &completion(more)));
    let base = text(&Running::start(options(MODEL)).ready().post("/v1/completions", &completion(json!({}))));
    assert_eq!(say(json!({})), base, "loaded adapters change nothing");
    let [style, terms] = NAMES.map(|name| say(json!({ "model": name })));
    assert!(style != base && terms != base && style != terms, "{base} {style} {terms}");
    assert_eq!(say(json!({ "lora": [{ "id": 0 }] })), style);
    assert_eq!(say(json!({ "lora": [{ "id": 0, "scale": 0.0 }, { "id": 1, "scale": 1.0 }] })), terms);
    assert_ne!(say(json!({ "lora": [{ "id": 0, "scale": -1.5 }] })), style);
    // The field takes the place of the adapter that is named as the model.
    assert_eq!(say(json!({ "model": "style", "lora": [{ "id": 1 }] })), terms);
    assert_eq!(say(json!({ "model": "style", "lora": [] })), base);
    // At the same time, each has its own.
    std::thread::scope(|scope| {
        let all = [
            (json!({}), &base),
            (json!({ "model": "style" }), &style),
            (json!({ "lora": [{ "id": 1 }] }), &terms),
        ];
        for (more, expected) in all.into_iter().cycle().take(12) {
            let say = &say;
            scope.spawn(move || assert_eq!(say(more.clone()), *expected, "{more}"));
        }
    });
    let answer = server.post("/v1/completions", &completion(json!({ "model": "terms" })));
    assert_eq!(answer.json()["model"], "terms");
    let grammar = completion(
        json!({ "model": "style", "structured_outputs": { "choice": ["yes", "no"] }, "ignore_eos": false }),
    );
    assert!(["yes", "no"].contains(&text(&server.post("/v1/completions", &grammar)).as_str()));
}

#[test]
fn adapters_are_listed_beside_their_model() {
    let adapters = Adapters::of(MODEL, "listed");
    let server = adapters.server(MODEL);
    let list = server.get("/v1/models").json();
    let names: Vec<(&Value, &Value)> =
        list["data"].as_array().unwrap().iter().map(|model| (&model["id"], &model["parent"])).collect();
    let own = [json!("test"), json!("style"), json!("terms")];
    assert_eq!(names, [(&own[0], &Value::Null), (&own[1], &own[0]), (&own[2], &own[0])]);
    assert_eq!(server.get("/v1/models/terms").json()["parent"], "test");
    let one = |id: usize, name: &str| json!({ "id": id, "name": name, "path": name, "scale": 0.0, "model": "test" });
    assert_eq!(server.get("/lora-adapters").json(), json!([one(0, "style"), one(1, "terms")]));
    let tags = server.get("/api/tags").json();
    let names: Vec<&Value> = tags["models"].as_array().unwrap().iter().map(|model| &model["name"]).collect();
    assert_eq!(names, ["test:latest", "style:latest", "terms:latest"]);
    let set = server.post("/lora-adapters", &json!([{ "id": 0, "scale": 0.5 }]));
    assert!(set.status == 400 && set.body.contains("send `lora` with the request"), "{set:?}");
}

#[test]
fn every_api_knows_the_name_of_an_adapter() {
    let adapters = Adapters::of(MODEL, "apis");
    let server = adapters.server(MODEL);
    let messages = json!([{ "role": "user", "content": "Count." }]);
    for (path, body, said) in [
        (
            "/v1/chat/completions",
            json!({ "messages": messages, "max_tokens": 12, "temperature": 0 }),
            "/choices/0/message",
        ),
        ("/v1/messages", json!({ "messages": messages, "max_tokens": 12, "temperature": 0 }), "/content"),
        (
            "/v1/responses",
            json!({ "input": "Count.", "max_output_tokens": 16, "temperature": 0 }),
            "/output/0/content",
        ),
        (
            "/api/chat",
            json!({ "messages": messages, "stream": false, "options": { "temperature": 0, "num_predict": 12 } }),
            "/message",
        ),
        (
            "/api/generate",
            json!({ "prompt": "Count.", "raw": true, "stream": false, "options": { "temperature": 0, "num_predict": 12 } }),
            "/response",
        ),
    ] {
        let ask = |name: &str| {
            let mut body = body.clone();
            body["model"] = name.into();
            let answer = server.post(path, &body);
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            answer.json().pointer(said).cloned()
        };
        let [base, style] = ["test", "style"].map(ask);
        assert!(base.is_some() && base != style, "{path}: {base:?} {style:?}");
        if path.starts_with("/api/") {
            assert_eq!(ask("style:latest"), style, "{path}");
        }
    }
}

#[test]
fn embeddings_are_those_of_the_adapter() {
    let adapters = Adapters::of(EMBEDDING, "embeddings");
    let server = adapters.server(EMBEDDING);
    let embed = |model: &str| {
        let openai = server.post("/v1/embeddings", &json!({ "model": model, "input": ["one", "two"] }));
        assert_eq!(openai.status, 200, "{openai:?}");
        let ollama = server.post("/api/embed", &json!({ "model": model, "input": ["one", "two"] })).json();
        let values: Vec<Value> =
            openai.json()["data"].as_array().unwrap().iter().map(|one| one["embedding"].clone()).collect();
        assert_eq!(Value::from(values), ollama["embeddings"], "{model}");
        ollama["embeddings"].clone()
    };
    let [base, style, terms] = ["test", "style", "terms"].map(embed);
    assert!(base != style && style != terms);
    let plain = Running::start(options(EMBEDDING)).ready();
    let answer = plain.post("/api/embed", &json!({ "input": ["one", "two"] })).json();
    assert_eq!(answer["embeddings"], base, "loaded adapters change nothing");
    let refused = server.post("/v1/embeddings", &json!({ "input": "one", "lora": [{ "id": 0 }] }));
    assert!(refused.status == 400 && refused.body.contains("name the adapter as the `model`"), "{refused:?}");
}

#[test]
fn what_does_not_fit_is_refused_with_the_reason() {
    let adapters = Adapters::of(MODEL, "refused");
    let server = adapters.server(MODEL);
    for (more, status, says) in [
        (
            json!({ "lora": [{ "id": 2 }] }),
            400,
            "no LoRA adapter number 2 to choose: it has `style` (number 0), `terms` (number 1)",
        ),
        (
            json!({ "lora": [{ "id": 0 }, { "id": 1 }] }),
            400,
            "expected one adapter with a scale other than 0",
        ),
        (json!({ "lora": [{ "id": 0, "scale": 1e9 }] }), 400, "lora[0].scale"),
        (json!({ "lora": [{ "scale": 1 }] }), 400, "lora[0].id"),
        (json!({ "lora": [{ "id": -1 }] }), 400, "lora[0].id"),
        (json!({ "lora": { "id": 0 } }), 400, "lora"),
        (
            json!({ "lora": (0..65).map(|_| json!({ "id": 0, "scale": 0 })).collect::<Value>() }),
            400,
            "at most 64",
        ),
        (json!({ "model": "other" }), 404, "this server has `test`, `style`, `terms`"),
    ] {
        let answer = server.post("/v1/completions", &completion(more.clone()));
        assert_eq!(answer.status, status, "{more}: {answer:?}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(says), "{more}: {answer:?}");
    }
    let without = Running::start(options(MODEL)).ready();
    let answer = without.post("/v1/completions", &completion(json!({ "lora": [{ "id": 0 }] })));
    assert!(answer.status == 400 && answer.body.contains("it has none"), "{answer:?}");
}

#[tokio::test]
async fn an_adapter_needs_a_name_of_its_own() {
    let adapters = Adapters::of(MODEL, "names");
    let mut both = options(MODEL);
    both.models.push(ModelSource::new("style", fixture(MODEL)));
    both.engine = both.engine.clone().adapters(adapters.files.clone());
    let mut two = options(MODEL);
    two.models.push(ModelSource::new("other", fixture(MODEL)));
    two.engine = two.engine.clone().adapters(adapters.files.clone());
    for options in [both, two] {
        let error = Server::bind(options).await.err().unwrap().to_string();
        assert!(error.contains("the LoRA adapter `style` has the name of a model"), "{error}");
    }
}

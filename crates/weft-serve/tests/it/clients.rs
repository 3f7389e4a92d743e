//! The requests that clients send, with all their fields: `tests/clients/requests` has one on each page. Each says whether it
//! was recorded or is modelled on what the client documents. Every one is answered, as the client asks.

use std::path::PathBuf;

use serde_json::Value;

use weft_serve::ModelSource;

use super::support::{Running, fixture, options};

#[test]
fn requests_of_clients_are_answered() {
    let mut options = options("glm-tiny-q4_0.gguf");
    options.engine = options.engine.context(8192);
    // They ask for thousands of tokens.
    options.limits.max_tokens = Some(4);
    for (name, file) in [("embed", "embedding"), ("rank", "reranker")] {
        options.models.push(ModelSource::new(name, fixture(&format!("pooled/qwen3-{file}.gguf"))));
    }
    // That of these two models is shorter.
    for model in &mut options.models[1..] {
        model.engine = Some(options.engine.clone().context(1024));
    }
    let server = Running::start(options).ready();
    // The model above has no tokens to fill a gap.
    let editors = Running::of("qwen3-tiny-q4_0.gguf");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/requests");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 20, "only {} requests", files.len());
    for file in &files {
        let request: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let name = file.file_stem().unwrap().display();
        assert!(request["client"].is_string() && request["origin"].is_string(), "{name}");
        let headers = request["headers"].as_object().unwrap();
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        let (path, body) = (request["path"].as_str().unwrap(), &request["body"]);
        let fills = path == "/infill";
        let answer =
            if fills { &editors } else { &server }.request("POST", path, &headers, &body.to_string());
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        if fills {
            let several = body["n_cmpl"].as_u64().filter(|n| *n > 1);
            assert_eq!(
                answer.json().as_array().map(|all| all.len() as u64),
                several,
                "{name}: {}",
                answer.body
            );
            continue;
        }
        let streamed = answer.header("content-type").unwrap().starts_with("text/event-stream");
        assert_eq!(streamed, body["stream"] == true, "{name}");
        if streamed {
            assert!(!answer.body.contains("\"error\":{"), "{name}: {}", answer.body);
            assert!(answer.events().len() > 1, "{name}: {}", answer.body);
        } else {
            assert!(answer.json()["usage"].is_object(), "{name}: {}", answer.body);
        }
    }
}

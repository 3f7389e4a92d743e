//! LoRA adapters in a file of models: for requests to choose, for all requests of one model, and those that are refused.

use serde_json::{Value, json};
use weft_gguf::Gguf;

use super::Serving;
use crate::adapter::write;
use crate::support::{Folder, model, weft};

const MODEL: &str = "glm-tiny-q4_0";

/// A folder with two adapters of the model and one of another.
fn folder() -> Folder {
    let folder = Folder::new();
    for (name, of, rank) in [("style", MODEL, 2), ("terms", MODEL, 5), ("other", "qwen3-tiny-q4_0", 3)] {
        write(&folder.join(&format!("{name}.gguf")), &Gguf::open(&model(of)).unwrap(), rank);
    }
    folder
}

fn say(server: &Serving, more: &Value) -> String {
    let mut body =
        json!({ "prompt": "Once upon a time", "max_tokens": 12, "temperature": 0, "ignore_eos": true });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.complete(&body).0
}

fn listed(server: &Serving, path: &str) -> Value {
    serde_json::from_str(server.get(path).split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn a_file_of_models_names_adapters_of_each() {
    let folder = folder();
    let file = folder.join("models.toml");
    let path = model(MODEL).display().to_string();
    let text = format!(
        "context = 256\n\n[plain]\nmodel = \"{path}\"\n\n[chosen]\nmodel = \"{path}\"\n\
         lora = \"style=style.gguf, terms=terms.gguf:0.5\"\n\n[always]\nmodel = \"{path}\"\nlora = style.gguf\n\n\
         [less]\nmodel = \"{path}\"\nlora = terms.gguf:0.5\n"
    );
    std::fs::write(&file, text).unwrap();
    let server = Serving::of(&folder.join("cache"), &["--models", file.to_str().unwrap()]);
    let models = listed(&server, "/v1/models");
    let names: Vec<(&Value, &Value)> =
        models["data"].as_array().unwrap().iter().map(|model| (&model["id"], &model["parent"])).collect();
    let expected = ["plain", "chosen", "style", "terms", "always", "less"].map(Value::from);
    let parents = [None, None, Some("chosen"), Some("chosen"), None, None].map(Value::from);
    assert_eq!(names, expected.iter().zip(&parents).collect::<Vec<_>>());
    let of_chosen: Vec<Value> = listed(&server, "/lora-adapters")
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["id"], one["name"], one["model"]]))
        .collect();
    assert_eq!(of_chosen, [json!([0, "style", "chosen"]), json!([1, "terms", "chosen"])]);
    let [plain, chosen, style, terms, always, less] = ["plain", "chosen", "style", "terms", "always", "less"]
        .map(|name| say(&server, &json!({ "model": name })));
    assert_eq!(plain, chosen, "adapters that no request chose change nothing");
    assert!(plain != style && plain != terms && style != terms, "{plain} {style} {terms}");
    // Chosen by a request, an adapter does what it does to all requests of a model, with the same scale.
    assert_eq!((style, terms.clone()), (always, less));
    assert_eq!(say(&server, &json!({ "model": "chosen", "lora": [{ "id": 1 }] })), terms);
    assert_ne!(say(&server, &json!({ "model": "chosen", "lora": [{ "id": 1, "scale": 1.0 }] })), terms);
}

#[test]
fn adapters_that_cannot_be_used_end_the_server_with_the_reason() {
    let folder = folder();
    let file = folder.join("models.toml");
    let path = model(MODEL).display().to_string();
    for (lora, code, says) in [
        ("style=none-such.gguf", 1, "none-such.gguf"),
        ("a=style.gguf, a=terms.gguf", 1, "`a`"),
        ("own=style.gguf", 1, "the LoRA adapter `own` has the name of a model"),
        ("style=other.gguf", 1, "other.gguf"),
        ("style=style.gguf:nan", 1, "style.gguf"),
    ] {
        let text = format!("context = 256\n[own]\nmodel = \"{path}\"\nload = true\nlora = \"{lora}\"\n");
        std::fs::write(&file, text).unwrap();
        let error = weft(["serve", "--models", file.to_str().unwrap(), "--port", "0"]).run().failed(code);
        assert!(error.contains(says), "{lora}: {error}");
    }
}

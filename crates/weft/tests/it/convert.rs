//! Tests of `convert`, on the models of `weft-convert`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Folder, weft};

#[path = "../../../weft-convert/tests/it/weights.rs"]
mod weights;

fn folder_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../weft-convert/tests/models").join(name)
}

#[test]
fn a_converted_model_runs() {
    let folder = Folder::new();
    for (name, architecture) in
        [("llama", "llama"), ("glm4-moe-lite", "deepseek2"), ("mistral-pieces", "llama")]
    {
        let (from, out) =
            (folder_of(name).display().to_string(), folder.join("out.gguf").display().to_string());
        let done = weft(["convert", &from, &out, "--json"]).run().json();
        assert_eq!((&done["architecture"], &done["quant"]), (&architecture.into(), &"bf16".into()));
        let shown = weft(["inspect", "--json", &out]).run().json();
        assert_eq!(shown["model"]["architecture"], architecture, "{shown}");
        let said = weft(["run", &out, "hi", "-n", "8", "--temperature", "0"]).run().ok();
        assert!(!said.trim().is_empty());
        let line = weft(["convert", &from, &out]).run().ok();
        assert!(
            line.contains(architecture) && line.contains("parameters in") && line.contains("bf16"),
            "{line}"
        );
    }
    assert_eq!(folder.files(), ["out.gguf"], "nothing else is left");
}

/// The fixtures of other families come without their weights.
#[test]
fn a_converted_model_of_every_family_runs() {
    let families = [
        ("mixtral", "llama"),
        ("qwen2", "qwen2"),
        ("qwen2-moe", "qwen2moe"),
        ("qwen3", "qwen3"),
        ("qwen3-moe", "qwen3moe"),
        ("deepseek-v2", "deepseek2"),
        ("deepseek-v3", "deepseek2"),
        ("glm4-moe", "glm4moe"),
        ("phi3-long", "phi3"),
        ("gpt-oss", "gpt-oss"),
        ("gemma3", "gemma3"),
        ("qwen35", "qwen35"),
        ("qwen35-moe", "qwen35moe"),
        ("qwen3-next", "qwen3next"),
        ("kimi-linear", "kimi-linear"),
        ("ling3", "bailingmoe3"),
        ("mistral4", "mistral4"),
    ];
    for (name, architecture) in families {
        let folder = Folder::new();
        copy_files(name, &folder);
        weights::write(folder.path());
        let (from, out) =
            (folder.path().display().to_string(), folder.join("out.gguf").display().to_string());
        let done = weft(["convert", &from, &out, "--json"]).run().json();
        assert_eq!(done["architecture"], architecture, "{name}");
        let said = weft(["run", &out, "hi", "-n", "4", "--temperature", "0"]).run().ok();
        assert!(!said.trim().is_empty(), "{name}");
    }
}

fn copy_files(name: &str, folder: &Folder) {
    for file in fs::read_dir(folder_of(name)).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join(&file.file_name().to_string_lossy())).unwrap();
    }
}

#[test]
fn of_two_chat_templates_the_choice_is_told() {
    let folder = Folder::new();
    copy_files("llama", &folder);
    let settings = folder.join("tokenizer_config.json");
    let mut text: serde_json::Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    text["chat_template"] = "OLD".into();
    fs::write(&settings, text.to_string()).unwrap();
    let out = folder.join("out.gguf");
    let convert = || weft(["convert", folder.path().to_str().unwrap(), out.to_str().unwrap()]).run();
    assert!(!convert().err.contains("chat_template"), "there is only one");
    fs::write(folder.join("chat_template.jinja"), "NEW").unwrap();
    let told = convert();
    assert!(told.code == Some(0) && told.err.contains("chat_template.jinja is taken"), "{told:?}");
}

#[test]
fn commands_that_need_a_gguf_file_say_how_to_make_one() {
    let folder = Folder::new();
    for file in ["config.json", "model.safetensors"] {
        fs::write(folder.join(file), "").unwrap();
    }
    let name = folder.path().display().to_string();
    let hint = format!("expected a GGUF file, as `weft convert {name} OUT.gguf` makes it");
    // Alone, the folder is a model and no prompt.
    let alone = weft(["run", &name]).input("hi");
    for call in [weft(["run", &name, "hi"]), weft(["inspect", &name]), alone] {
        let refused = call.run().failed(1);
        assert!(refused.contains(&hint), "{refused}");
    }
    // One of its files can be named, or there is nothing to convert.
    fs::write(folder.join("model-Q4_0.gguf"), "").unwrap();
    let refused = || weft(["inspect", &name]).run().failed(1);
    assert!(refused().contains("is a folder: expected one of the GGUF files in it"), "{}", refused());
    for file in ["model-Q4_0.gguf", "model.safetensors"] {
        fs::remove_file(folder.join(file)).unwrap();
    }
    assert!(!refused().contains("convert"), "{}", refused());
}

#[test]
fn to_quantise_on_the_way_is_to_quantise_later() {
    let folder = Folder::new();
    let [exact, later, once] =
        ["exact.gguf", "later.gguf", "once.gguf"].map(|name| folder.join(name).display().to_string());
    for (name, quant) in [("llama", "q4_0"), ("glm4-moe-lite", "q8_0"), ("llama", "f32")] {
        let from = folder_of(name).display().to_string();
        weft(["convert", &from, &exact]).run().ok();
        weft(["quantize", &exact, &later, "--quant", quant]).run().ok();
        let done = weft(["convert", &from, &once, "--quant", quant, "--threads", "3", "--json"]).run().json();
        assert_eq!(done["quant"], quant);
        assert!(fs::read(&later).unwrap() == fs::read(&once).unwrap(), "{name} {quant}");
        assert!(fs::read(&once).unwrap() != fs::read(&exact).unwrap());
    }
}

#[test]
fn what_cannot_be_converted_is_refused_and_leaves_no_file() {
    let folder = Folder::new();
    let out = folder.join("out.gguf").display().to_string();
    let none = folder.path().display().to_string();
    let refused = weft(["convert", &none, &out]).run().failed(1);
    assert!(refused.contains("it has no config.json"), "{refused}");
    let shard = folder.join("model-00001-of-00004.safetensors");
    copy_files("llama", &folder);
    let bytes = fs::read(&shard).unwrap();
    fs::write(&shard, &bytes[..bytes.len() - 10]).unwrap();
    let files = folder.files();
    let refused = weft(["convert", &none, &out]).run().failed(1);
    assert!(
        refused.contains("model-00001-of-00004.safetensors: ") && refused.contains("cut short"),
        "{refused}"
    );
    assert_eq!(folder.files(), files);
    // Found out only when the file is being written.
    let mut large = bytes;
    let end = large.len();
    large[end - 2..].copy_from_slice(&0x7f00u16.to_le_bytes());
    fs::write(&shard, large).unwrap();
    let refused = weft(["convert", &none, &out, "--quant", "f16"]).run().failed(1);
    assert!(refused.contains("f16"), "{refused}");
    assert_eq!(folder.files(), files);
    weft(["convert", &none, &out]).run().ok();
    let refused = weft(["convert", &none, &out, "--quant", "q9"]).run().failed(2);
    assert!(refused.contains("q4_k_m"), "{refused}");
}

#[test]
fn files_of_the_model_are_not_written_over() {
    let folder = Folder::new();
    copy_files("llama", &folder);
    fs::write(folder.join("README.md"), "A card.").unwrap();
    fs::create_dir(folder.join("images")).unwrap();
    fs::write(folder.join("images/logo.png"), "A picture.").unwrap();
    let files = folder.files();
    let contents = || files.iter().map(|file| fs::read(folder.join(file)).unwrap()).collect::<Vec<_>>();
    let before = contents();
    let from = folder.path().display().to_string();
    for file in &files {
        let out = folder.path().join("images").join("..").join(file).display().to_string();
        let refused = weft(["convert", &from, &out]).run().failed(1);
        assert!(
            refused.contains("is a file of the model itself; choose another output file"),
            "{file}: {refused}"
        );
    }
    // Links lead out of the folder, or into it.
    #[cfg(unix)]
    {
        let (elsewhere, link) = (Folder::new(), Folder::new());
        fs::rename(folder.join("config.json"), elsewhere.join("blob")).unwrap();
        std::os::unix::fs::symlink(elsewhere.join("blob"), folder.join("config.json")).unwrap();
        std::os::unix::fs::symlink(folder.join("tokenizer.json"), link.join("out.gguf")).unwrap();
        for out in [folder.join("config.json"), elsewhere.join("blob"), link.join("out.gguf")] {
            let refused = weft(["convert", &from, &out.display().to_string()]).run().failed(1);
            assert!(refused.contains("is a file of the model itself"), "{}: {refused}", out.display());
        }
        fs::rename(elsewhere.join("blob"), folder.join("config.json")).unwrap();
    }
    assert!(contents() == before);
    // GGUF files in it are results, and are replaced.
    let out = folder.join("out.gguf").display().to_string();
    weft(["convert", &from, &out]).run().ok();
    weft(["convert", &from, &out]).run().ok();
}

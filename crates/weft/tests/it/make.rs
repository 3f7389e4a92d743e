//! Tests of `synth` and `quantize`.

use std::fs;

use crate::support::{Folder, model, weft};

#[test]
fn a_synthetic_model_runs_before_and_after_quantisation() {
    let folder = Folder::new();
    let [exact, small] = ["f16.gguf", "small.gguf"].map(|name| folder.join(name).display().to_string());
    let made = weft(["synth", "--quant", "f16", "--seed", "5", "--json", &exact]).run().json();
    assert_eq!(made["parameters"], 9_833_760);
    assert_eq!(weft(["inspect", "--json", &exact]).run().json()["model"]["name"], "tiny, synthetic");
    let done = weft(["quantize", &exact, &small, "--quant", "q4_0", "--json"]).run().json();
    assert_eq!(done["before"]["f16"]["tensors"], 35);
    assert_eq!(done["after"]["q4_0"]["tensors"], 34);
    assert_eq!(done["after"]["q6_k"]["tensors"], 1);
    for model in [&exact, &small] {
        let said = weft(["run", model, "hi", "-n", "8", "--temperature", "0"]).run().ok();
        assert!(!said.trim().is_empty());
    }
    assert_eq!(folder.files(), ["f16.gguf", "small.gguf"], "nothing else is left");
}

#[test]
fn a_model_is_quantised_by_its_importance_matrix() {
    let folder = Folder::new();
    let [exact, text, matrix, small] = ["f16.gguf", "text.txt", "matrix.gguf", "small.gguf"]
        .map(|name| folder.join(name).display().to_string());
    weft(["synth", "--quant", "f16", "--json", &exact]).run().json();
    fs::write(&text, "The quick brown fox jumps over the lazy dog. ".repeat(20)).unwrap();
    let call = ["imatrix", &exact, &text, "--out", &matrix, "--context", "32", "--windows", "3", "--json"];
    let made = weft(call).run().json();
    // Two layers, one of them with experts; neither embedding nor head.
    assert_eq!((&made["windows"]["of"], &made["windows"]["context"]), (&3.into(), &32.into()));
    let experts = made["experts"].as_array().unwrap();
    let counts: u64 =
        experts[0]["tokens"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    assert!(counts > 0 && counts.is_multiple_of(96), "{counts} uses of experts by 96 tokens");
    let table = weft(&call[..9]).run().ok();
    assert!(table.starts_with("LAYER  EXPERTS  UNUSED"), "{table}");
    assert!(table.contains("weights measured on 3 windows of 32 tokens"), "{table}");

    let done = weft(["quantize", &exact, &small, "--imatrix", &matrix, "--json"]).run().json();
    let [weighted, of] = ["tensors", "of"].map(|key| done["imatrix"][key].as_u64().unwrap());
    assert!(weighted > 0 && made["tensors"].as_u64() >= Some(weighted), "routers have entries, too: {done}");
    assert_eq!(weighted + 2, of, "embedding and head have none");
    let other = model("llama-tiny-q6_k").display().to_string();
    // Another model's matrix, and a file that is not a matrix.
    let refused =
        weft(["quantize", &other, &small, "--imatrix", &matrix, "--allow-requantize"]).run().failed(1);
    assert!(refused.contains("it was computed for another"), "{refused}");
    let refused = weft(["quantize", &exact, &small, "--imatrix", &exact]).run().failed(1);
    assert!(refused.contains("expected a file whose `general.type` is `imatrix`"), "{refused}");
}

#[cfg(unix)]
#[test]
fn signals_leave_no_files() {
    use std::process::{Command, Stdio};

    if !crate::support::signals_work() {
        return;
    }
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let folder = Folder::new();
        let out = folder.join("large.gguf").display().to_string();
        // Too large to be finished before the signal.
        let mut call =
            weft(["synth", "--preset", "deepseek-v2-lite", "--layers", "3", "--quant", "q8_0", &out]);
        let mut child = call.command().stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while folder.files().is_empty() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let kill = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert!(folder.files().is_empty(), "{signal}: {:?}", folder.files());
    }
}

#[test]
fn a_folder_cannot_be_written() {
    let folder = Folder::new();
    let refused = weft(["synth".as_ref(), folder.path().as_os_str()]).run().failed(1);
    assert!(refused.contains("it is a folder"), "{refused}");
    assert!(folder.files().is_empty());
}

#[test]
fn models_that_cannot_be_made_are_refused() {
    let folder = Folder::new();
    let out = folder.join("out.gguf").display().to_string();
    let fixture = model("glm-tiny-q4_0").display().to_string();
    let refused = weft(["quantize", &fixture, &out, "--quant", "q8_0"]).run().failed(1);
    assert!(
        refused.contains("is already quantised as q6_k; converting it to q8_0")
            && refused.contains("--allow-requantize"),
        "{refused}"
    );
    let refused = weft(["quantize", &fixture, &out, "--quant", "q3_k"]).run().failed(2);
    assert!(refused.contains("q4_k_m"), "{refused}");
    let refused = weft(["synth", "--preset", "glm-9", &out]).run().failed(2);
    assert!(refused.contains("glm-4.7-flash"), "{refused}");
    let refused = weft(["synth", &folder.join("no").join("out.gguf").display().to_string()]).run().failed(1);
    assert!(refused.contains("cannot create"), "{refused}");
    assert!(folder.files().is_empty());

    let same = folder.join("same.gguf");
    fs::copy(&fixture, &same).unwrap();
    let same = same.display().to_string();
    let refused = weft(["quantize", &same, &same, "--quant", "f16"]).run().failed(1);
    assert!(refused.contains("is a file of the model itself"), "{refused}");
    assert!(fs::read(same).unwrap() == fs::read(fixture).unwrap());
}

#[test]
fn what_a_killed_process_left_is_swept() {
    let folder = Folder::new();
    fs::write(folder.join("old.gguf.0123456789abcdef.part"), "unfinished").unwrap();
    fs::write(folder.join("mine.part"), "not ours").unwrap();
    let out = folder.join("small.gguf").display().to_string();
    weft(["synth", "--layers", "1", &out]).run().ok();
    assert_eq!(folder.files(), ["mine.part", "small.gguf"]);
}

//! Tests of `logits`, on every fixture.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{FIXTURES, Folder, fixture, model, weft};

/// The logits of a model's prompt, as bytes.
#[track_caller]
fn logits(name: &str, args: &[&str]) -> Vec<u8> {
    let folder = Folder::new();
    let out = folder.join("logits.f32");
    let path = model(name);
    let tokens = prompt(name);
    let call = ["logits", path.to_str().unwrap(), "--tokens", &tokens, "--out", out.to_str().unwrap()];
    assert_eq!(weft([&call, args].concat()).run().ok(), "");
    assert_eq!(folder.files(), ["logits.f32"], "nothing else is left");
    fs::read(out).unwrap()
}

/// The description of a fixture's golden logits.
fn golden(name: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture(&format!("{name}.json"))).unwrap()).unwrap()
}

/// The prompt, as an argument.
fn prompt(name: &str) -> String {
    let tokens = golden(name)["tokens"].clone();
    tokens.as_array().unwrap().iter().map(Value::to_string).collect::<Vec<_>>().join(",")
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect()
}

#[test]
fn the_oracle_agrees_with_the_golden_logits() {
    for name in FIXTURES {
        let expected = floats(&fs::read(fixture(&format!("{name}.logits.f32"))).unwrap());
        let found = floats(&logits(name, &["--oracle"]));
        assert_eq!(found.len(), expected.len());
        let norm =
            |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
        let distance =
            norm(&mut found.iter().zip(&expected).map(|(a, b)| a - b)) / norm(&mut expected.iter().copied());
        assert!(distance <= if name.starts_with("ds2") { 1e-3 } else { 1e-4 }, "{name}: {distance:e}");
    }
}

#[test]
fn threads_and_chunks_change_no_bit() {
    for name in FIXTURES {
        let one = logits(name, &["--threads", "1"]);
        let shape = golden(name);
        assert_eq!(one.len() as u64, shape["rows"].as_u64().unwrap() * shape["vocab"].as_u64().unwrap() * 4);
        for args in [["--threads", "2"], ["--chunk", "1"], ["--chunk", "7"]] {
            assert!(logits(name, &args) == one, "{name}: {args:?} gives other bits");
        }
    }
}

#[test]
fn a_text_gives_the_logits_of_its_tokens() {
    let folder = Folder::new();
    let path = model("glm-tiny-q4_0");
    let path = path.to_str().unwrap();
    let tokens = weft(["tokenize", path, "--json", "Hello"]).run().json();
    let ids: Vec<String> = tokens.as_array().unwrap().iter().map(|token| token["id"].to_string()).collect();
    let write = |args: [&str; 2], out: &Path| {
        weft(["logits", path, args[0], args[1], "--out", out.to_str().unwrap()]).run().ok();
        fs::read(out).unwrap()
    };
    let by_text = write(["--text", "Hello"], &folder.join("text"));
    assert!(by_text == write(["--tokens", &ids.join(",")], &folder.join("ids")));
    let error = weft(["logits", path, "--text", "", "--out", "x"]).run().failed(1);
    assert!(error.contains("no tokens"), "{error}");
}

#[test]
fn failures_keep_the_old_file_and_leave_no_new_one() {
    let folder = Folder::new();
    let out = folder.join("logits.f32");
    fs::write(&out, "before").unwrap();
    let path = model("glm-tiny-q4_0");
    for extra in [&[][..], &["--oracle"]] {
        let call = ["logits", path.to_str().unwrap(), "--tokens", "1,999999", "--out", out.to_str().unwrap()];
        let error = weft([&call, extra].concat()).run().failed(1);
        assert!(error.contains("token 999999 is not in the vocabulary of 2048"), "{error}");
    }
    assert_eq!(folder.files(), ["logits.f32"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), "before");
    let nowhere = folder.join("no/such/folder");
    let call = ["logits", path.to_str().unwrap(), "--tokens", "1", "--out", nowhere.to_str().unwrap()];
    assert!(weft(call).run().failed(1).contains("cannot create"));
    let call = ["logits", path.to_str().unwrap(), "--tokens", "1", "--out", folder.path().to_str().unwrap()];
    assert!(weft(call).run().failed(1).contains("it is a folder"));
}

#[test]
fn the_model_is_not_overwritten() {
    let folder = Folder::new();
    let own = folder.join("model.gguf");
    fs::copy(model("glm-tiny-q4_0"), &own).unwrap();
    let own = own.to_str().unwrap();
    for extra in [&[][..], &["--oracle"]] {
        let call = [&["logits", own, "--tokens", "1", "--out", own], extra].concat();
        let error = weft(call).run().failed(1);
        assert!(error.contains("is a file of the model itself"), "{error}");
    }
    assert!(fs::read(own).unwrap() == fs::read(model("glm-tiny-q4_0")).unwrap());
}

#[test]
fn a_decision_changes_only_rounding() {
    let name = "glm-tiny-q4_k_m";
    let (on, off) = (floats(&logits(name, &[])), floats(&logits(name, &["--set", "fuse.tail=off"])));
    let largest = on.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    assert_eq!(on.len(), off.len());
    assert!(on.iter().zip(&off).all(|(a, b)| (a - b).abs() <= 1e-3 * largest));
}

/// The size of one token's logits in bytes.
#[cfg(unix)]
const ROW: usize = 2048 * 4;

#[cfg(unix)]
#[test]
fn links_and_pipes_are_written_through() {
    use std::io::Read as _;
    use std::os::unix::fs::{FileTypeExt as _, symlink};

    let folder = Folder::new();
    let path = model("glm-tiny-q4_0");
    let write = |out: &Path| {
        weft(["logits", path.to_str().unwrap(), "--tokens", "1", "--out", out.to_str().unwrap()]).run()
    };
    let file = folder.join("file");
    write(&file).ok();
    let expected = fs::read(&file).unwrap();
    assert_eq!(expected.len(), ROW);

    fs::write(&file, "before").unwrap();
    let link = folder.join("link");
    symlink("file", &link).unwrap();
    write(&link).ok();
    assert!(link.is_symlink() && fs::read(&file).unwrap() == expected);

    let nowhere = folder.join("nowhere");
    symlink("not there", &nowhere).unwrap();
    assert!(write(&nowhere).failed(1).contains("it is a broken symbolic link"));

    let pipe = folder.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Opened for reading and writing, the pipe blocks neither side, and one row fits into its buffer.
    let mut reader = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    write(&pipe).ok();
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    let mut found = vec![0; ROW];
    reader.read_exact(&mut found).unwrap();
    assert!(found == expected);
    assert_eq!(folder.files(), ["file", "link", "nowhere", "pipe"], "nothing else is left");

    let mut call = weft(["logits", path.to_str().unwrap(), "--tokens", "1", "--out", "-"]);
    let output = call.command().current_dir(folder.path()).output().unwrap();
    assert!(output.status.success() && output.stdout == expected);
    assert_eq!(folder.files().len(), 4);
}

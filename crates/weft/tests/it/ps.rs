//! Tests of `ps`.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Folder, Weft, model, weft};

fn ps(folder: &Folder, args: &[&str]) -> Weft {
    weft([&["ps"], args].concat()).env("XDG_RUNTIME_DIR", folder.path())
}

/// A conversation that has loaded its model.
fn chat(folder: &Folder) -> (std::process::Child, Weft) {
    let path = model("glm-tiny-q4_0");
    let args = ["chat", path.to_str().unwrap(), "--max-tokens", "1", "--threads", "1"];
    let mut call = weft(args).env("XDG_RUNTIME_DIR", folder.path());
    let command = call.command().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"Hello\n").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    (child, call)
}

#[test]
fn what_runs_is_listed_until_it_ends() {
    let folder = Folder::new();
    let nothing = ps(&folder, &[]).run();
    assert!(nothing.err.contains("no models are running") && nothing.out.is_empty(), "{nothing:?}");
    let (mut first, _first) = chat(&folder);
    let (mut second, _second) = chat(&folder);
    let listed = ps(&folder, &["--json"]).run().json();
    let mut pids: Vec<u64> =
        listed.as_array().unwrap().iter().map(|one| one["pid"].as_u64().unwrap()).collect();
    let mut expected = [first.id(), second.id()].map(u64::from);
    pids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(pids, expected, "{listed}");
    for one in listed.as_array().unwrap() {
        assert_eq!((&one["command"], &one["address"]), (&json!("chat"), &Value::Null));
        assert_eq!(one["models"], json!([model("glm-tiny-q4_0").display().to_string()]));
        assert!(one["device"].as_str().unwrap().starts_with("cpu"), "{one}");
        assert!(!cfg!(target_os = "linux") || one["memory_bytes"].as_u64().unwrap() > 1_000_000, "{one}");
    }
    let text = ps(&folder, &[]).run().ok();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.starts_with("  PID  COMMAND  MODEL") || text.contains("PID  COMMAND  MODEL"), "{text}");
    assert!(text.contains("chat     glm-tiny-q4_0  cpu"), "{text}");
    // One ends by itself, the other is killed and leaves its file.
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    assert_eq!(folder.files().len(), 1);
    second.kill().unwrap();
    second.wait().unwrap();
    assert_eq!(ps(&folder, &["--json"]).run().json(), json!([]));
    assert_eq!(folder.files(), [""; 0]);
}

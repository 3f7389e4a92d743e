//! The command line.

use std::process::{Command, Output};

use serde_json::Value;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weft-explore")).args(args).output().unwrap()
}

fn refusal(args: &[&str]) -> String {
    let output = run(args);
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

/// A file for one test.
fn file(name: &str, text: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("weft-explore-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_graph_is_explored_for_the_named_machine() {
    let text = "graph g {\n%0 = input x : f32[T, 64]\n%1 = weight w : q4_0[64, 64]\n%2 = dot %0 %1 : f32[T, 64]\n\
        %3 = slice %2 axis=1 start=0 len=32 : f32[T, 32]\noutput y = %3\n}";
    let path = file("good", text);
    let output = run(&[path.to_str().unwrap(), "--machine", "gpu", "--json"]);
    std::fs::remove_file(&path).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let reports: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reports.as_array().map(Vec::len), Some(1));
    assert_eq!((&reports[0]["machine"], &reports[0]["graph"]), (&"gpu".into(), &"g".into()));
    assert_eq!(reports[0]["stopped"], "saturated");
    let [rules, best] = ["rules", "best"].map(|of| reports[0]["results"][0][of]["weight_bytes"].as_u64());
    // Half of the rows, of 36 bytes each.
    assert_eq!((rules, best), (Some(32 * 36), Some(32 * 36)));
}

#[test]
fn invalid_graphs_are_refused() {
    let path = file("bad", "graph g {\n%0 = turn : f32[T, 64]\n}");
    let said = refusal(&[path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert!(said.contains("line 2: unknown operation `turn`"), "{said}");
    let path = file("large", &" ".repeat((1 << 20) + 1));
    let said = refusal(&[path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert!(said.contains("at most 1048576"), "{said}");
    assert!(refusal(&["no such file"]).contains("no such file"));
    assert!(refusal(&["--machine", "abacus"]).contains("[possible values: cpu, gpu]"));
}

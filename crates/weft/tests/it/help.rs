//! Tests of the help. `UPDATE_EXPECT=1 cargo test -p weft help` updates the expected texts.

use expect_test::{ExpectFile, expect_file};

use crate::support::weft;

#[track_caller]
fn check(args: &[&str], expected: ExpectFile) {
    // Clap pads empty cells with spaces at the end of lines.
    let help = weft(args).run().ok();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn the_program() {
    check(&["--help"], expect_file!["help/weft.txt"]);
    check(&["help"], expect_file!["help/weft.txt"]);
}

#[test]
fn every_command() {
    check(&["run", "--help"], expect_file!["help/run.txt"]);
    check(&["chat", "--help"], expect_file!["help/chat.txt"]);
    check(&["serve", "--help"], expect_file!["help/serve.txt"]);
    check(&["embed", "--help"], expect_file!["help/embed.txt"]);
    check(&["ps", "--help"], expect_file!["help/ps.txt"]);
    check(&["pull", "--help"], expect_file!["help/pull.txt"]);
    check(&["list", "--help"], expect_file!["help/list.txt"]);
    check(&["rm", "--help"], expect_file!["help/rm.txt"]);
    check(&["config", "--help"], expect_file!["help/config.txt"]);
    check(&["completions", "--help"], expect_file!["help/completions.txt"]);
    check(&["cache", "--help"], expect_file!["help/cache.txt"]);
    check(&["inspect", "--help"], expect_file!["help/inspect.txt"]);
    check(&["explain", "--help"], expect_file!["help/explain.txt"]);
    check(&["tokenize", "--help"], expect_file!["help/tokenize.txt"]);
    check(&["logits", "--help"], expect_file!["help/logits.txt"]);
    check(&["bench", "--help"], expect_file!["help/bench.txt"]);
    check(&["bench-serve", "--help"], expect_file!["help/bench-serve.txt"]);
    check(&["ablate", "--help"], expect_file!["help/ablate.txt"]);
    check(&["tune", "--help"], expect_file!["help/tune.txt"]);
    check(&["optimize", "--help"], expect_file!["help/optimize.txt"]);
    check(&["journal", "--help"], expect_file!["help/journal.txt"]);
    check(&["report", "--help"], expect_file!["help/report.txt"]);
    check(&["profile", "--help"], expect_file!["help/profile.txt"]);
    check(&["bench-block", "--help"], expect_file!["help/bench-block.txt"]);
    check(&["roofline", "--help"], expect_file!["help/roofline.txt"]);
    check(&["devices", "--help"], expect_file!["help/devices.txt"]);
    check(&["verify", "--help"], expect_file!["help/verify.txt"]);
    check(&["perplexity", "--help"], expect_file!["help/perplexity.txt"]);
    check(&["kl", "--help"], expect_file!["help/kl.txt"]);
    check(&["synth", "--help"], expect_file!["help/synth.txt"]);
    check(&["convert", "--help"], expect_file!["help/convert.txt"]);
    check(&["imatrix", "--help"], expect_file!["help/imatrix.txt"]);
    check(&["quantize", "--help"], expect_file!["help/quantize.txt"]);
}

#[test]
fn the_short_help_is_a_part_of_the_long_one() {
    let long = weft(["run", "--help"]).run().ok();
    assert_eq!(weft(["help", "run"]).run().ok(), long);
    let short = weft(["run", "-h"]).run().ok();
    assert!(short.contains("--temperature") && !short.contains("--top-p"), "{short}");
    assert!(short.contains("`weft run --help` has examples, and "), "{short}");
    assert!(short.lines().count() < long.lines().count() - 20, "{short}");
}

#[test]
fn completions_and_manual_pages_are_made_from_the_table() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = weft(["completions", shell]).run().ok();
        assert!(text.contains("temperature") && text.contains("quantize"), "{shell}");
    }
    let error = weft(["completions", "sh"]).run().failed(2);
    assert!(error.contains("expected bash, zsh, fish"), "{error}");
    let folder = crate::support::Folder::new();
    weft(["completions", "man", folder.path().to_str().unwrap()]).run().ok();
    assert!(folder.files().contains(&"weft-run.1".to_string()), "{:?}", folder.files());
    let page = std::fs::read_to_string(folder.join("weft-run.1")).unwrap();
    assert!(page.contains("weft\\-run") && page.contains("\\-\\-temperature"), "{page}");
}

#[test]
fn the_version_says_if_it_is_a_debug_build() {
    let version = weft(["--version"]).run().ok();
    assert!(version.starts_with(concat!("weft ", env!("CARGO_PKG_VERSION"))), "{version}");
    assert_eq!(version.contains("debug build"), cfg!(debug_assertions), "{version}");
    assert!(version.contains("devices: cpu"), "{version}");
}

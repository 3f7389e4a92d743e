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
    check(&["pull", "--help"], expect_file!["help/pull.txt"]);
    check(&["list", "--help"], expect_file!["help/list.txt"]);
    check(&["rm", "--help"], expect_file!["help/rm.txt"]);
    check(&["cache", "--help"], expect_file!["help/cache.txt"]);
    check(&["inspect", "--help"], expect_file!["help/inspect.txt"]);
    check(&["explain", "--help"], expect_file!["help/explain.txt"]);
    check(&["tokenize", "--help"], expect_file!["help/tokenize.txt"]);
    check(&["logits", "--help"], expect_file!["help/logits.txt"]);
    check(&["bench", "--help"], expect_file!["help/bench.txt"]);
    check(&["bench-serve", "--help"], expect_file!["help/bench-serve.txt"]);
    check(&["ablate", "--help"], expect_file!["help/ablate.txt"]);
    check(&["tune", "--help"], expect_file!["help/tune.txt"]);
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
    check(&["quantize", "--help"], expect_file!["help/quantize.txt"]);
}

#[test]
fn all_forms_of_help_are_the_same() {
    let help = weft(["run", "--help"]).run().ok();
    assert_eq!(weft(["run", "-h"]).run().ok(), help);
    assert_eq!(weft(["help", "run"]).run().ok(), help);
}

#[test]
fn the_version_says_if_it_is_a_debug_build() {
    let version = weft(["--version"]).run().ok();
    assert!(version.starts_with(concat!("weft ", env!("CARGO_PKG_VERSION"))), "{version}");
    assert_eq!(version.contains("debug build"), cfg!(debug_assertions), "{version}");
}

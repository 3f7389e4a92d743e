//! Tells the program the commit that it is built from: what `WEFT_COMMIT` says, or else git, in release builds.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=WEFT_COMMIT");
    // Builds while developing do not begin anew with every commit.
    if env::var_os("WEFT_COMMIT").is_some() || env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    let git = |arguments: &[&str]| -> Option<String> {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some();
    println!("cargo::rustc-env=WEFT_COMMIT={commit}{}", if changed { "-changed" } else { "" });
    for name in ["HEAD", "logs/HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

//! Repository chores, run as `cargo xtask CHORE`.
//!
//! Without third-party crates, so that they build quickly and run anywhere. All but `install` only read text.
#![forbid(unsafe_code)]

mod install;
mod lex;
mod manifest;
mod markdown;
mod prose;
mod rooms;
mod tidy;
mod tree;

use std::path::Path;
use std::process::ExitCode;

use tree::Tree;

const USAGE: &str = "\
usage: cargo xtask CHORE

  tidy     check the repository's own rules (as cargo test --workspace does)
  rules    list the rules with their reasons and remedies
  install  install the program, completions for the shells that are there, and manual pages";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(),
        ["rules"] => {
            for rule in tidy::RULES {
                println!("{rule}\n");
            }
            ExitCode::SUCCESS
        }
        ["install", ref options @ ..] => install::run(repository(), options),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run_tidy() -> ExitCode {
    let tree = match Tree::read(repository()) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: cannot read the repository: {error}");
            return ExitCode::FAILURE;
        }
    };
    let violations = tidy::check(&tree);
    for violation in &violations {
        eprintln!("{violation}\n");
    }
    if violations.is_empty() {
        println!("tidy: {} rules hold over {} text files", tidy::RULES.len(), tree.files().count());
        ExitCode::SUCCESS
    } else {
        eprintln!("tidy: {} violations", violations.len());
        ExitCode::FAILURE
    }
}

/// The root of the checkout that this program was built in.
fn repository() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

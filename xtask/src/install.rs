//! `cargo xtask install`: installs the program, completions for shells, and manual pages.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Installs everything for this user. `options` go to `cargo install`.
pub(crate) fn run(repository: &Path, options: &[&str]) -> ExitCode {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let package = repository.join("crates/weft");
    let installed =
        Command::new(cargo).args(["install", "--locked", "--path"]).arg(package).args(options).status();
    if !installed.is_ok_and(|status| status.success()) {
        return ExitCode::FAILURE;
    }
    let Some(home) = env::home_dir() else {
        eprintln!("install: there is no home folder for completions and manual pages");
        return ExitCode::FAILURE;
    };
    let root = options.iter().skip_while(|option| **option != "--root").nth(1).map(PathBuf::from);
    let cargo_home = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let weft = root.unwrap_or(cargo_home).join("bin/weft");
    let data = env::var_os("XDG_DATA_HOME").map_or_else(|| home.join(".local/share"), PathBuf::from);
    let config = env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
    let files = [
        ("bash", data.join("bash-completion/completions/weft")),
        ("zsh", data.join("zsh/site-functions/_weft")),
        ("fish", config.join("fish/completions/weft.fish")),
    ];
    let mut failed = false;
    for (shell, path) in files {
        let written = || -> Result<(), String> {
            let output = Command::new(&weft).args(["completions", shell]).output();
            let output = output.map_err(|error| error.to_string())?;
            path.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| error.to_string())?;
            fs::write(&path, output.stdout).map_err(|error| error.to_string())
        };
        match written() {
            Ok(()) => println!("completions for {shell}: {}", path.display()),
            Err(error) => {
                eprintln!("install: cannot write {}: {error}", path.display());
                failed = true;
            }
        }
    }
    let manual = data.join("man/man1");
    let status = Command::new(&weft).args(["completions", "man"]).arg(&manual).status();
    failed |= !status.is_ok_and(|status| status.success());
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

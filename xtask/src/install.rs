//! `cargo xtask install`: installs the program, completions for shells, and manual pages.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Installs everything for this user. `options` go to `cargo install`.
pub(crate) fn run(repository: &Path, options: &[&str]) -> ExitCode {
    let places = Places::find(options, &|name| env::var_os(name), env::home_dir());
    let installed = places.and_then(|places| install(repository, options, &places));
    match installed {
        Ok(written) => {
            written.iter().for_each(|path| println!("installed {}", path.display()));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("install: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Where things are, and where they go.
struct Places {
    cargo: OsString,
    /// The program, once it is installed.
    weft: PathBuf,
    /// The user's data folder.
    data: PathBuf,
    /// The user's configuration folder.
    config: PathBuf,
}

impl Places {
    /// The places for `cargo install` with these options, in this environment.
    fn find(
        options: &[&str],
        variable: &dyn Fn(&str) -> Option<OsString>,
        home: Option<PathBuf>,
    ) -> Result<Places, String> {
        let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = home.ok_or("there is no home folder for completions and manual pages")?;
        // As cargo looks for it.
        let root = option(options, "--root").map(PathBuf::from);
        let root = root.or_else(|| folder("CARGO_INSTALL_ROOT")).or_else(|| folder("CARGO_HOME"));
        let program = format!("weft{}", env::consts::EXE_SUFFIX);
        Ok(Places {
            cargo: variable("CARGO").unwrap_or_else(|| "cargo".into()),
            weft: root.unwrap_or_else(|| home.join(".cargo")).join("bin").join(program),
            data: folder("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share")),
            config: folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
        })
    }
}

/// The value of an option: the next argument, or what follows `=`.
fn option<'a>(options: &[&'a str], name: &str) -> Option<&'a str> {
    options.iter().enumerate().find_map(|(at, option)| match option.strip_prefix(name)? {
        "" => options.get(at + 1).copied(),
        rest => rest.strip_prefix('='),
    })
}

/// Installs the program with completions and manual pages. Returns the paths of the completions and of the folder of manual pages.
fn install(repository: &Path, options: &[&str], places: &Places) -> Result<Vec<PathBuf>, String> {
    let Places { cargo, weft, data, config } = places;
    let package = repository.join("crates/weft");
    let mut call = Command::new(cargo);
    call.args(["install", "--locked", "--path"]).arg(package).args(options);
    output(&mut call, true)?;
    let files = [
        ("bash", data.join("bash-completion/completions/weft")),
        ("zsh", data.join("zsh/site-functions/_weft")),
        ("fish", config.join("fish/completions/weft.fish")),
    ];
    let mut written = Vec::new();
    for (shell, path) in files {
        let text = output(Command::new(weft).args(["completions", shell]), false)?;
        let failed = |error| format!("cannot write {}: {error}", path.display());
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, text))
            .map_err(failed)?;
        written.push(path);
    }
    let manual = data.join("man/man1");
    output(Command::new(weft).args(["completions", "man"]).arg(&manual), true)?;
    written.push(manual);
    Ok(written)
}

/// Runs a command and returns its output, which is shown instead if `show`.
fn output(command: &mut Command, show: bool) -> Result<Vec<u8>, String> {
    let ran = if show {
        command.status().map(|status| (status, Vec::new()))
    } else {
        command.output().map(|output| (output.status, output.stdout))
    };
    let name = command.get_program().display().to_string();
    match ran {
        Ok((status, output)) if status.success() => Ok(output),
        Ok((status, _)) => Err(format!("{name} failed: {status}")),
        Err(error) => Err(format!("cannot run {name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(options: &[&str], variables: &[(&str, &str)]) -> Places {
        let variable = |name: &str| {
            variables.iter().find_map(|(known, value)| (*known == name).then(|| OsString::from(value)))
        };
        Places::find(options, &variable, Some("/people/me".into())).unwrap()
    }

    #[test]
    fn the_program_is_looked_for_where_cargo_puts_it() {
        let program = format!("weft{}", env::consts::EXE_SUFFIX);
        let root = ("CARGO_INSTALL_ROOT", "/all");
        let cargo = ("CARGO_HOME", "/cargo");
        for (options, variables, expected) in [
            (&[][..], &[][..], "/people/me/.cargo"),
            (&[], &[("CARGO_HOME", "")], "/people/me/.cargo"),
            (&["--debug"], &[cargo], "/cargo"),
            (&[], &[cargo, root], "/all"),
            (&["--root", "/there"], &[cargo, root], "/there"),
            (&["--debug", "--root=/there"], &[root], "/there"),
        ] {
            let found = places(options, variables).weft;
            assert_eq!(found, Path::new(expected).join("bin").join(&program), "{options:?} {variables:?}");
        }
        assert!(Places::find(&[], &|_| None, None).is_err());
    }

    /// Shell scripts stand in for cargo and for the program that it installs.
    #[cfg(unix)]
    #[test]
    fn everything_is_installed_or_the_failure_is_told() {
        let folder = env::temp_dir().join(format!("weft-xtask-install-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let script = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::create_dir_all(&folder).unwrap();

            fs::write(&path, text).unwrap();
            path
        };
        let weft = folder.join("there/bin/weft");
        let made = script(
            "weft",
            "#!/bin/sh\n[ \"$2\" = man ] && mkdir -p \"$3\" && echo page > \"$3/weft.1\" || echo for $2\n",
        );
        // `cargo install --locked --path PACKAGE --root ROOT`
        let cargo = script(
            "cargo",
            &format!(
                "#!/bin/sh\n[ \"$1 $2 $3 $5\" = 'install --locked --path --root' ] || exit 1\nmkdir -p \"$6/bin\" && cp {} \"$6/bin/weft\"\n",
                made.display()
            ),
        );
        for path in [&made, &cargo] {
            assert!(Command::new("chmod").arg("+x").arg(path).status().unwrap().success());
        }
        let text = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
        let there = folder.join("there");
        let options = ["--root", there.to_str().unwrap()];
        let place = |cargo: PathBuf, weft: PathBuf| Places {
            cargo: cargo.into(),
            weft,
            data: folder.join("data"),
            config: folder.join("config"),
        };
        let written = install(Path::new("/repository"), &options, &place(cargo.clone(), weft)).unwrap();
        assert_eq!(written.len(), 4);
        assert!(written.iter().all(|path| path.exists()), "{written:?}");
        assert_eq!(text("data/bash-completion/completions/weft"), "for bash\n");
        assert_eq!(text("data/zsh/site-functions/_weft"), "for zsh\n");
        assert_eq!(text("config/fish/completions/weft.fish"), "for fish\n");
        assert_eq!(text("data/man/man1/weft.1"), "page\n");
        // A program that is not where it should be, and one that cannot be built.
        let error = install(Path::new("/repository"), &options, &place(cargo, "/nowhere/weft".into()));
        assert!(error.unwrap_err().contains("cannot run /nowhere/weft"));
        let error = install(Path::new("/repository"), &options, &place("false".into(), "weft".into()));
        assert!(error.unwrap_err().contains("false failed: exit status: 1"));
        fs::remove_dir_all(&folder).unwrap();
    }
}

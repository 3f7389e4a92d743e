//! `weft completions`: completions for shells, and manual pages.

use clap::ValueEnum as _;
use clap::error::ErrorKind;
use clap_complete::Shell;

use super::{Command, Outcome, Positional};
use crate::cli::args::Args;

const SHELL: Positional = Positional {
    name: "SHELL",
    help: "bash, zsh, fish, elvish, powershell, or `man` for manual pages",
    required: true,
};
const FOLDER: Positional = Positional { name: "DIR", help: "Folder for manual pages", required: false };

pub(super) const COMMAND: Command = Command {
    name: "completions",
    about: "Print completions for a shell, or write manual pages",
    notes: "\
`cargo xtask install` installs all of them with the program.

Examples:
  weft completions bash > ~/.local/share/bash-completion/completions/weft
  weft completions zsh > ~/.zfunc/_weft
  weft completions fish > ~/.config/fish/completions/weft.fish
  weft completions man ~/.local/share/man/man1",
    positionals: &[SHELL, FOLDER],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let usage = |problem: String| clap::Error::raw(ErrorKind::InvalidValue, problem);
    let name = args.text(SHELL.name).unwrap_or_default();
    match (name, args.path(FOLDER.name)) {
        ("man", Some(folder)) => Ok(Outcome::Manual(folder.to_path_buf())),
        ("man", None) => Err(usage("manual pages need a folder: `weft completions man DIR`".into()).into()),
        (_, Some(_)) => Err(usage("DIR has no effect: completions go to standard output".into()).into()),
        (name, None) => match Shell::from_str(name, true) {
            Ok(shell) => Ok(Outcome::Completions(shell)),
            Err(_) => {
                let problem = format!(
                    "there is no shell `{name}`; expected bash, zsh, fish, elvish, powershell or man"
                );
                Err(usage(problem).into())
            }
        },
    }
}

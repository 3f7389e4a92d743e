//! The parts of a command.

use crate::cli::args::Args;
use crate::model::model_ref;

/// A command.
pub(crate) struct Command {
    /// The word after `weft`.
    pub(crate) name: &'static str,
    /// One line for the help, in the imperative.
    pub(crate) about: &'static str,
    /// The text at the end of the help: what the output means, and examples.
    pub(crate) notes: &'static str,
    /// The positional arguments, in order.
    pub(crate) positionals: &'static [Positional],
    /// Runs the command.
    pub(crate) run: fn(Args<'_>) -> anyhow::Result<Outcome>,
}

/// A positional argument.
pub(crate) struct Positional {
    /// Its name in the help. A name that ends in `...` takes one or more values.
    pub(crate) name: &'static str,
    /// Its help.
    pub(crate) help: &'static str,
    /// Whether it must be given.
    pub(crate) required: bool,
}

impl Positional {
    /// Whether its values may be the names of files, and so need not be UTF-8.
    pub(crate) fn is_path(&self) -> bool {
        ["MODEL", "MODEL...", "BASE", "OTHER", "FILE", "OUT", "DIR"].contains(&self.name)
    }
}

/// How a command ended that did not fail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It ran to its end.
    Done,
    /// Ctrl-C stopped it.
    Interrupted,
    /// A reply ended before it had the form that it must have.
    CutOff,
    /// It asks for completions for this shell, which only the program knows.
    Completions(clap_complete::Shell),
    /// It asks for manual pages in this folder.
    Manual(std::path::PathBuf),
}

/// The required argument `MODEL`.
pub(super) const MODEL: Positional = Positional { name: "MODEL", help: model_ref::HELP, required: true };

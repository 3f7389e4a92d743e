//! The commands, one file each.

mod ablate;
mod bench;
mod bench_block;
mod cache;
mod chat;
mod devices;
mod explain;
mod inspect;
mod journal;
mod kl;
mod list;
mod logits;
mod make;
mod perplexity;
mod profile;
mod pull;
mod quantize;
mod report;
mod roofline;
mod run;
mod synth;
mod tokenize;
mod tune;
mod verify;

use crate::args::Args;
use crate::model_ref;

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

/// How a command ended that did not fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It ran to its end.
    Done,
    /// Ctrl-C stopped it.
    Interrupted,
}

/// Every command, in the order the help shows them.
pub(crate) const COMMANDS: &[Command] = &[
    run::COMMAND,
    chat::COMMAND,
    pull::COMMAND,
    list::COMMAND,
    cache::COMMAND,
    inspect::COMMAND,
    explain::COMMAND,
    tokenize::COMMAND,
    logits::COMMAND,
    bench::COMMAND,
    profile::COMMAND,
    bench_block::COMMAND,
    roofline::COMMAND,
    ablate::COMMAND,
    tune::COMMAND,
    journal::COMMAND,
    report::COMMAND,
    devices::COMMAND,
    verify::COMMAND,
    perplexity::COMMAND,
    kl::COMMAND,
    synth::COMMAND,
    quantize::COMMAND,
];

/// The required argument `MODEL`.
const MODEL: Positional = Positional { name: "MODEL", help: model_ref::HELP, required: true };

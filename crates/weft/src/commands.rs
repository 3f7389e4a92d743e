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

/// A command: how it is called and what it does.
pub(crate) struct Command {
    /// The word after `weft`.
    pub(crate) name: &'static str,
    /// One sentence for the help.
    pub(crate) about: &'static str,
    /// What the help says at its end.
    pub(crate) notes: &'static str,
    /// What it is given beside its knobs, in order.
    pub(crate) positionals: &'static [Positional],
    /// Does it.
    pub(crate) run: fn(Args<'_>) -> anyhow::Result<Outcome>,
}

/// An argument that is known by its place.
pub(crate) struct Positional {
    /// Its name, as the help shows it. One that ends in `...` may be given more than once.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) help: &'static str,
    /// Whether the command cannot do without.
    pub(crate) required: bool,
}

/// How a command that did not fail ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It did what it was asked to.
    Done,
    /// Ctrl-C ended it.
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

/// The model a command cannot do without.
const MODEL: Positional = Positional { name: "MODEL", help: model_ref::HELP, required: true };

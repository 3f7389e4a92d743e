//! The table of commands. Each has a file of its own, in a folder of its kind.

mod command;
mod completions;
mod config;
mod devices;
mod explain;
mod make;
mod measure;
mod models;
mod quality;
mod replies;
mod tables;

use command::MODEL;
pub(crate) use command::{Command, Outcome, Positional};

/// Every command, in the order the help shows them.
pub(crate) const COMMANDS: &[Command] = &[
    replies::run::COMMAND,
    replies::chat::COMMAND,
    replies::serve::COMMAND,
    replies::embed::COMMAND,
    models::ps::COMMAND,
    models::pull::COMMAND,
    models::list::COMMAND,
    models::rm::COMMAND,
    models::cache::COMMAND,
    config::COMMAND,
    models::inspect::COMMAND,
    explain::COMMAND,
    models::tokenize::COMMAND,
    quality::logits::COMMAND,
    measure::bench::COMMAND,
    measure::bench_serve::COMMAND,
    measure::profile::COMMAND,
    measure::bench_block::COMMAND,
    measure::roofline::COMMAND,
    measure::ablate::COMMAND,
    measure::tune::COMMAND,
    measure::optimize::COMMAND,
    measure::journal::COMMAND,
    measure::report::COMMAND,
    devices::COMMAND,
    quality::verify::COMMAND,
    quality::perplexity::COMMAND,
    quality::kl::COMMAND,
    make::synth::COMMAND,
    make::convert::COMMAND,
    make::imatrix::COMMAND,
    make::quantize::COMMAND,
    completions::COMMAND,
];

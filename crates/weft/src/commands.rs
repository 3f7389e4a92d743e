//! The table of commands. Each has a file of its own.

mod ablate;
mod bench;
mod bench_block;
mod bench_serve;
mod cache;
mod chat;
mod command;
mod completions;
mod config;
mod convert;
mod devices;
mod explain;
mod imatrix;
mod inspect;
mod journal;
mod kl;
mod list;
mod logits;
mod make;
mod optimize;
mod perplexity;
mod profile;
mod ps;
mod pull;
mod quantize;
mod report;
mod rm;
mod roofline;
mod run;
mod serve;
mod synth;
mod tokenize;
mod tune;
mod verify;

use command::MODEL;
pub(crate) use command::{Command, Outcome, Positional};

/// Every command, in the order the help shows them.
pub(crate) const COMMANDS: &[Command] = &[
    run::COMMAND,
    chat::COMMAND,
    serve::COMMAND,
    ps::COMMAND,
    pull::COMMAND,
    list::COMMAND,
    rm::COMMAND,
    cache::COMMAND,
    config::COMMAND,
    inspect::COMMAND,
    explain::COMMAND,
    tokenize::COMMAND,
    logits::COMMAND,
    bench::COMMAND,
    bench_serve::COMMAND,
    profile::COMMAND,
    bench_block::COMMAND,
    roofline::COMMAND,
    ablate::COMMAND,
    tune::COMMAND,
    optimize::COMMAND,
    journal::COMMAND,
    report::COMMAND,
    devices::COMMAND,
    verify::COMMAND,
    perplexity::COMMAND,
    kl::COMMAND,
    synth::COMMAND,
    convert::COMMAND,
    imatrix::COMMAND,
    quantize::COMMAND,
    completions::COMMAND,
];

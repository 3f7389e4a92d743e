//! `weft chat`: a conversation, typed in a terminal or read from standard input line by line.

mod commands;
mod complete;
mod input;
mod local;
mod partner;
mod remote;
mod session;
mod settings;
mod talk;

use std::path::Path;

use anyhow::Context as _;
use clap::error::ErrorKind;

use crate::cli::args::Args;
use crate::commands::{Command, Outcome, Positional};
use crate::terminal::mode::Quiet;
use local::Local;
use remote::Remote;
use talk::Talk;

const MODEL: Positional = Positional { required: false, ..crate::commands::MODEL };

pub(in crate::commands) const COMMAND: Command = Command {
    name: "chat",
    about: "Chat with a model",
    notes: "\
Ctrl-C stops a reply, Ctrl-D ends the conversation, /help lists commands. To write a message of several lines, end \
each line but the last with a backslash, or put the message between \"\"\". If standard input is not a terminal, \
each of its lines is a message, and Ctrl-C ends the program. \
MODEL defaults to WEFT_MODEL, or the `model` of `weft config`, or else to smollm2, or to glm-small, which is in the program, where smollm2 cannot be downloaded.

Conversations in a terminal are kept in the user's data folder, the last twenty of them: --resume continues the last \
one, with its own model unless MODEL names another, and /load any of them. /save makes a copy under a name, which stays as it is.

With --server, a running server answers: `weft serve`, or any other with OpenAI's API. It is sent only the sampling \
options that you set, and chooses the others itself.

On a terminal, a model's reasoning is shown dimmed before its answer; elsewhere it is left out.

Examples:
  weft chat
  weft chat model.gguf --system \"Answer in one sentence.\"
  weft chat --server http://127.0.0.1:8090",
    positionals: &[MODEL],
    run,
};

/// Options of a model in this process, which a server has in its own hands.
const LOCAL: &[&str] = &[
    "device",
    "gpu-layers",
    "experts",
    "gpu-memory",
    "threads",
    "context",
    "batch",
    "kv",
    "set",
    "kernel",
    "cache",
    "no-cache",
    "no-tuned",
    "cache-limit",
    "cache-prompts",
    "chat-template",
    "schema",
    "grammar",
    "hub",
    "hub-token",
];

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    // Text typed while the model loads is for the first prompt.
    let quiet = Quiet::new();
    let outcome = converse(args);
    drop(quiet);
    outcome
}

fn converse(args: Args<'_>) -> anyhow::Result<Outcome> {
    let resumed = if args.flag("resume") { Some(session::resume()?) } else { None };
    let own = resumed.as_ref().and_then(|(_, conversation)| conversation.with.as_ref());
    let Some(url) = args.text("server") else {
        if args.is_set("model") {
            let problem = "--model has no effect without --server; MODEL names a model of this machine";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem).into());
        }
        let own = own.filter(|own| own.server.is_none()).and_then(|own| own.model.as_deref());
        let mut local = match (args.path(MODEL.name), own) {
            (None, Some(own)) => Local::new(args, Some(Path::new(own))).with_context(|| {
                format!(
                    "cannot go on with {own}, which the last conversation was held with; `weft chat MODEL --resume` goes on with \
                     another model"
                )
            })?,
            (named, _) => Local::new(args, named)?,
        };
        return Talk::new(args, &mut local, resumed)?.run();
    };
    args.refuse_with("--server, which has its own", LOCAL)?;
    if let Some(model) = args.path(MODEL.name) {
        let model = model.display();
        let problem =
            format!("MODEL has no effect with --server; `--model {model}` asks the server for a model");
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem).into());
    }
    let own = own.and_then(|own| own.model.as_deref());
    let mut remote = Remote::new(args, url, own)?;
    Talk::new(args, &mut remote, resumed)?.run()
}

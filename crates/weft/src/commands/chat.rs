//! `weft chat`: a conversation, typed in a terminal or read from standard input line by line.

mod input;
mod local;
mod partner;
mod remote;

use std::io::Write as _;

use clap::error::ErrorKind;

use super::{Command, Outcome, Positional};
use crate::args::Args;
use crate::out::{self, Out, note};
use input::Input;
use local::Local;
use partner::{Ended, Partner};
use remote::Remote;

const MODEL: Positional = Positional { required: false, ..super::MODEL };

pub(super) const COMMAND: Command = Command {
    name: "chat",
    about: "Chat with a model",
    notes: "\
Ctrl-C stops a reply, Ctrl-D ends the conversation, /help lists commands. To write a message of several lines, end \
each line but the last with a backslash, or put the message between \"\"\". If standard input is not a terminal, \
each of its lines is a message, and Ctrl-C ends the program. \
MODEL defaults to smollm2.

With --server, a running server answers: `weft serve`, or any other with OpenAI's API. It gets only the sampling options \
that are set, and decides about the others itself. On a terminal, its reasoning is shown dimmed.

Examples:
  weft chat
  weft chat model.gguf --system \"Answer in one sentence.\"
  weft chat --server http://127.0.0.1:8090",
    positionals: &[MODEL],
    run,
};

const HELP: &str = "\
/clear        start a new conversation
/system TEXT  set the system message; without TEXT, show it
/help         show this list
/quit         end the conversation, like Ctrl-D
End a line with \\ to continue it on the next, or put several lines between \"\"\". Ctrl-C stops a reply.";

/// Options of a model in this process, which a server has in its own hands.
const LOCAL: &[&str] = &[
    "device",
    "threads",
    "context",
    "batch",
    "kv",
    "set",
    "cache",
    "no-cache",
    "cache-limit",
    "cache-prompts",
    "hub",
    "hub-token",
];

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let Some(url) = args.text("server") else {
        if args.is_set("model") {
            let problem = "--model has no effect without --server; MODEL names a model of this machine";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem).into());
        }
        return converse(args, &mut Local::new(args)?);
    };
    args.refuse_with("--server, which has its own", LOCAL)?;
    if let Some(model) = args.text(MODEL.name) {
        let problem =
            format!("MODEL has no effect with --server; `--model {model}` asks the server for a model");
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem).into());
    }
    converse(args, &mut Remote::new(args, url)?)
}

fn converse(args: Args<'_>, partner: &mut dyn Partner) -> anyhow::Result<Outcome> {
    let mut input = Input::new()?;
    let mut out = Out::new();
    if input.is_terminal() {
        note!("{}; /help lists commands, Ctrl-D ends", partner.name());
    }
    while let Some(message) = input.message()? {
        if let Some(command) = message.strip_prefix('/') {
            if !carry_out(command, partner, &mut out)? {
                break;
            }
            continue;
        }
        match partner.say(&message, &mut out) {
            Ok(reply) => {
                if reply.ended == Ended::Full {
                    note!("{}", partner.full());
                }
                if args.flag("verbose") {
                    note!("{}", reply.statistics);
                }
                if reply.ended == Ended::Cancelled && !input.is_terminal() {
                    return Ok(Outcome::Interrupted);
                }
            }
            // Clearing the conversation makes room, unless it is empty already.
            Err(error) if partner.is_full(&error) && !partner.messages().is_empty() => {
                note!("{}", partner.full());
            }
            // A person can try again; a program must see the failure.
            Err(error) if input.is_terminal() && !out::is_closed(&error) => out::error(&error),
            Err(error) => return Err(error),
        }
    }
    Ok(Outcome::Done)
}

/// Carries out a line that begins with a slash. Returns whether the conversation continues.
fn carry_out(command: &str, partner: &mut dyn Partner, out: &mut Out) -> anyhow::Result<bool> {
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    match (name, rest.trim()) {
        ("quit" | "exit" | "bye", _) => return Ok(false),
        ("help" | "?", _) => writeln!(out, "{HELP}")?,
        ("clear", _) => {
            partner.messages().clear();
            note!("started a new conversation");
        }
        ("system", "") => {
            let system = partner.messages().system().filter(|text| !text.is_empty());
            writeln!(out, "{}", system.unwrap_or("there is no system message"))?;
        }
        ("system", text) => partner.messages().set_system(Some(text)),
        _ => note!(
            "there is no command /{name}; /help lists them. To send this as a message, put a space before the slash"
        ),
    }
    Ok(true)
}

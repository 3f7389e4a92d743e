//! `weft chat`: a conversation, typed in a terminal or read from standard input line by line.

mod input;

use std::io::Write as _;

use weft_engine::{Error, Finish};

use super::{Command, Outcome, Positional};
use crate::args::Args;
use crate::conversation::{Conversation, timings};
use crate::load::load;
use crate::model_ref;
use crate::out::{self, Out, note};
use input::Input;

const MODEL: Positional = Positional { required: false, ..super::MODEL };

pub(super) const COMMAND: Command = Command {
    name: "chat",
    about: "Chat with a model",
    notes: "\
Ctrl-C stops a reply, Ctrl-D ends the conversation, /help lists commands. To write a message of several lines, end \
each line but the last with a backslash, or put the message between \"\"\". If standard input is not a terminal, \
each of its lines is a message, and Ctrl-C ends the program. \
MODEL defaults to smollm2.

Examples:
  weft chat
  weft chat model.gguf --system \"Answer in one sentence.\"",
    positionals: &[MODEL],
    run,
};

const HELP: &str = "\
/clear        start a new conversation
/system TEXT  set the system message; without TEXT, show it
/help         show this list
/quit         end the conversation, like Ctrl-D
End a line with \\ to continue it on the next, or put several lines between \"\"\". Ctrl-C stops a reply.";

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let model = args.text(MODEL.name);
    let path = model_ref::find(args, model)?;
    let own = model_ref::named(model).map(|known| &known.settings);
    let (engine, loaded) = load(&path, &args.engine())?;
    let options = args.generate(own);
    let seed = options.sampling.seed;
    let mut conversation = Conversation::new(engine, args, own, options)?;
    let mut input = Input::new()?;
    let mut out = Out::new();
    if input.is_terminal() {
        let config = &conversation.engine().model().graph().config;
        let name = config.name.as_deref().unwrap_or(config.architecture).escape_debug();
        note!("{name} on {}; /help lists commands, Ctrl-D ends", conversation.engine().device().name);
    }
    while let Some(message) = input.message()? {
        if let Some(command) = message.strip_prefix('/') {
            if !carry_out(command, &mut conversation, &mut out)? {
                break;
            }
            continue;
        }
        match conversation.say(&message, Some(&mut out)) {
            Ok(generated) => {
                if generated.finish == Finish::Context {
                    full(&conversation);
                }
                if args.flag("verbose") {
                    note!("{}", timings(&generated, loaded, seed));
                }
                if generated.finish == Finish::Cancelled && !input.is_terminal() {
                    return Ok(Outcome::Interrupted);
                }
            }
            // Clearing the conversation makes room, unless it is empty already.
            Err(error)
                if matches!(error.downcast_ref(), Some(Error::Context { .. }))
                    && !conversation.is_empty() =>
            {
                full(&conversation);
            }
            // A person can try again; a program must see the failure.
            Err(error) if input.is_terminal() && !out::is_closed(&error) => out::error(&error),
            Err(error) => return Err(error),
        }
    }
    Ok(Outcome::Done)
}

/// Reports that the context is full, and how to continue.
fn full(conversation: &Conversation) {
    let engine = conversation.engine();
    let (context, most) = (engine.context(), engine.model().graph().config.context);
    note!(
        "the context of {context} tokens is full; /clear starts a new conversation, and --context N (up to {most} for \
         this model) makes room for longer ones"
    );
}

/// Carries out a line that begins with a slash. Returns whether the conversation continues.
fn carry_out(command: &str, conversation: &mut Conversation, out: &mut Out) -> anyhow::Result<bool> {
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    match (name, rest.trim()) {
        ("quit" | "exit" | "bye", _) => return Ok(false),
        ("help" | "?", _) => writeln!(out, "{HELP}")?,
        ("clear", _) => {
            conversation.clear();
            note!("started a new conversation");
        }
        ("system", "") => {
            let system = conversation.system().filter(|text| !text.is_empty());
            writeln!(out, "{}", system.unwrap_or("there is no system message"))?;
        }
        ("system", text) => conversation.set_system(Some(text)),
        _ => note!(
            "there is no command /{name}; /help lists them. To send this as a message, put a space before the slash"
        ),
    }
    Ok(true)
}

//! `weft chat`: a conversation in the terminal, or line by line from elsewhere.

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
    about: "Hold a conversation",
    notes: "\
        Ctrl-C ends a reply, Ctrl-D the conversation. A line that ends in a backslash goes on in the next, and so does \
        everything between two \"\"\". /help lists what can be done on the way. If standard input is no terminal, every \
        line of it is a message, and Ctrl-C ends it all.",
    positionals: &[MODEL],
    run,
};

const HELP: &str = "\
/clear        forget the conversation so far
/system TEXT  change the system message; without a text, show it
/help         this list
/quit         end; so does Ctrl-D
A line that ends in \\ goes on in the next, and so does everything between two \"\"\". Ctrl-C ends a reply.";

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
        note!("{name} on {}; /help lists what can be done, Ctrl-D ends", conversation.engine().device().name);
    }
    while let Some(message) = input.message()? {
        if let Some(command) = message.strip_prefix('/') {
            if !obey(command, &mut conversation, &mut out)? {
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
            // Forgetting what was said makes room, if anything was.
            Err(error)
                if matches!(error.downcast_ref(), Some(Error::Context { .. }))
                    && !conversation.is_empty() =>
            {
                full(&conversation);
            }
            // A person can say something else; a program should know that something is wrong.
            Err(error) if input.is_terminal() && !out::is_closed(&error) => out::error(&error),
            Err(error) => return Err(error),
        }
    }
    Ok(Outcome::Done)
}

/// Says that the context is full, and how to go on.
fn full(conversation: &Conversation) {
    let engine = conversation.engine();
    let (context, most) = (engine.context(), engine.model().graph().config.context);
    note!(
        "the conversation fills the context of {context} tokens: /clear begins a new one, and --context N, up to {most} \
         for this model, makes room for more"
    );
}

/// Does what a line that begins with a slash says. Returns whether the conversation goes on.
fn obey(command: &str, conversation: &mut Conversation, out: &mut Out) -> anyhow::Result<bool> {
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    match (name, rest.trim()) {
        ("quit" | "exit" | "bye", _) => return Ok(false),
        ("help" | "?", _) => writeln!(out, "{HELP}")?,
        ("clear", _) => {
            conversation.clear();
            note!("the conversation begins anew");
        }
        ("system", "") => {
            let system = conversation.system().filter(|text| !text.is_empty());
            writeln!(out, "{}", system.unwrap_or("there is no system message"))?;
        }
        ("system", text) => conversation.set_system(Some(text)),
        _ => note!(
            "there is no /{name}; /help lists what there is, and a space before the slash makes it a message"
        ),
    }
    Ok(true)
}

//! `weft run`: answers a prompt.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use clap::error::ErrorKind;
use serde_json::{Value, json};
use weft_engine::Finish;

use super::tokenize::standard_input;
use super::{Command, Outcome, Positional};
use crate::args::Args;
use crate::conversation::{Conversation, Generated, complete, decode_rate, timings};
use crate::load::load;
use crate::model_ref;
use crate::out::{Out, note};

const FIRST: Positional = Positional { name: "MODEL", help: model_ref::HELP, required: false };
const SECOND: Positional = Positional {
    name: "PROMPT",
    help: "The prompt; `-` or nothing reads standard input. A single argument is the PROMPT, unless it names a \
           model and standard input is not a terminal",
    required: false,
};

pub(super) const COMMAND: Command = Command {
    name: "run",
    about: "Answer a prompt",
    notes: "\
The reply is printed to standard output as it is generated. Ctrl-C ends it early, with exit code 130. \
MODEL defaults to smollm2, which has its own defaults: temperature 0.2, top-p 0.9 and no system message.

Examples:
  weft run \"What is the capital of France?\"
  weft run model.gguf --temperature 0 --max-tokens 100 \"Count to ten.\"
  git diff | weft run model.gguf --system \"Summarise this change.\"
  weft run \"Summarise this: $(cat notes.txt)\"",
    positionals: &[FIRST, SECOND],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let (model, prompt) = model_and_prompt(args)?;
    if args.flag("raw") {
        args.refuse_with("--raw, which skips the chat template", &["system", "think", "no-think"])?;
    }
    let prompt = match prompt {
        Some(prompt) => prompt.to_string(),
        // The last line end belongs to the shell, not to the prompt.
        None => standard_input()?.trim_end_matches(['\r', '\n']).to_string(),
    };
    ensure!(!prompt.trim().is_empty(), "the prompt is empty");
    let path = model_ref::find(args, model)?;
    let (mut engine, loaded) = load(&path, &args.engine().prompts(args.prompt_cache()?))?;
    let (device, context) = (engine.device().name.clone(), engine.context());
    let own = model_ref::settings(model, &path);
    let options = args.generate(own);
    let json = args.flag("json");
    let mut out = Out::new();
    let shown = (!json).then_some(&mut out);
    let generated = if args.flag("raw") {
        complete(&mut engine, &prompt, &options, shown)?
    } else {
        Conversation::new(engine, args, own, options.clone())?.say(&prompt, shown)?
    };
    let seed = options.sampling.seed;
    if json {
        out.json(&report(&generated, &path, &device, loaded, seed))?;
    } else if generated.finish == Finish::Context {
        note!("the reply ends here: the context of {context} tokens is full; --context sets a larger one");
    }
    if args.flag("verbose") {
        note!("{device}; {}", timings(&generated, loaded, seed));
    }
    Ok(if generated.finish == Finish::Cancelled { Outcome::Interrupted } else { Outcome::Done })
}

/// Tells the model and the prompt apart. Without a prompt, it is read from standard input.
///
/// # Errors
/// A usage error if there is no prompt.
fn model_and_prompt(args: Args<'_>) -> Result<(Option<&str>, Option<&str>), clap::Error> {
    let terminal = io::stdin().is_terminal();
    let (model, prompt) = match (args.text(FIRST.name), args.text(SECOND.name)) {
        (Some(model), Some(prompt)) => (Some(model), Some(prompt)),
        (Some(model), None) if model_ref::looks_like_model(model) => (Some(model), None),
        // The prompt may be piped.
        (Some(model), None) if !terminal && model_ref::is_there(args, model) => (Some(model), None),
        (prompt, _) => (None, prompt),
    };
    if prompt.is_none() && terminal {
        let named = model.map_or(String::new(), |model| format!(" {model}"));
        let problem = format!(
            "a prompt is required, for example:\n  weft run{named} \"What is the capital of France?\"\nFor a conversation, \
             use `weft chat{named}`."
        );
        return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, problem));
    }
    Ok((model, prompt.filter(|prompt| *prompt != "-")))
}

fn report(generated: &Generated, path: &Path, device: &str, loaded: Duration, seed: u64) -> Value {
    let (finish, stop) = match &generated.finish {
        Finish::EndOfTurn => ("end_of_turn", None),
        Finish::Stop(text) => ("stop", Some(text)),
        Finish::Length => ("length", None),
        Finish::Context => ("context", None),
        Finish::Cancelled => ("cancelled", None),
        _ => ("other", None),
    };
    json!({
        "text": generated.text,
        "finish": finish,
        "stop": stop,
        "prompt_tokens": generated.usage.prompt_tokens,
        "tokens": generated.usage.tokens,
        "timings": {
            "load_seconds": loaded.as_secs_f64(),
            "prompt_seconds": generated.timings.prompt.as_secs_f64(),
            "decode_seconds": generated.timings.decode.as_secs_f64(),
            "decode_tokens_per_second": decode_rate(generated),
        },
        "seed": seed,
        "model": path.display().to_string(),
        "device": device,
    })
}

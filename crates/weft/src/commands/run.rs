//! `weft run`: answers a prompt.

mod prompts;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::error::ErrorKind;
use serde_json::{Value, json};
use weft_engine::{EngineOptions, Finish, Model};

use super::tokenize::standard_input;
use super::{Command, Outcome, Positional};
use crate::args::Args;
use crate::conversation::{Conversation, Generated, complete, decode_rate, finish_name, timings};
use crate::form::Form;
use crate::load::load;
use crate::model_ref;
use crate::out::{Out, note};
use crate::show::{Show, event};

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
What a model writes before its answer, its reasoning, is shown dimmed on a terminal, and left out elsewhere; --json and --events have it. \
MODEL defaults to WEFT_MODEL, or the `model` of `weft config`, or else to smollm2, which has its own defaults: temperature 0.2, top-p 0.9 and no system message. Where smollm2 can be neither found nor downloaded, \
it is glm-small, which is in the program: it tells very short stories and knows little.

Examples:
  weft run \"What is the capital of France?\"
  weft run model.gguf --temperature 0 --max-tokens 100 \"Count to ten.\"
  git diff | weft run model.gguf --system \"Summarise this change.\"
  weft run -f question.txt
  weft run --schema '{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}}' \"Name a city.\"
  weft run \"Summarise this: $(cat notes.txt)\"",
    positionals: &[FIRST, SECOND],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let Call { model, prompt } = call(args)?;
    if args.flag("raw") {
        let useless = ["system", "think", "no-think", "chat-template"];
        args.refuse_with("--raw, which skips the chat template", &useless)?;
    }
    let (prompt, from) = match prompt {
        Prompt::Many(file) => return prompts::run(args, model, file),
        Prompt::Text(prompt) => (prompt.to_string(), "PROMPT has no text".to_string()),
        Prompt::File(file) => {
            let (prompt, file) = (fs::read_to_string(file), file.display());
            (prompt.with_context(|| format!("cannot read the prompt {file}"))?, format!("{file} has no text"))
        }
        Prompt::StandardInput => {
            let other = "give a prompt there, as PROMPT or with --prompt-file";
            (standard_input()?, format!("standard input has no text; {other}"))
        }
    };
    // The last line end belongs to the shell or the editor, not to the prompt.
    let prompt = prompt.trim_end_matches(['\r', '\n']).to_string();
    ensure!(!prompt.trim().is_empty(), "the prompt is empty: {from}");
    let path = model_ref::find(args, model)?;
    let engine = model_ref::answering(args)?;
    let context = context_for(&path, &prompt, args, &engine)?;
    let (mut engine, loaded) = load(&path, &engine.context(context).prompts(args.prompt_cache()?))?;
    let (device, context) = (engine.device().name.clone(), engine.context());
    let own = model_ref::settings(model, &path);
    let options = args.generate(own);
    let (json, events) = (args.flag("json"), args.flag("events"));
    let mut out = Out::new();
    let show = match (events, json) {
        (true, _) => Show::Events(&mut out),
        (false, true) => Show::Nothing,
        (false, false) => Show::Text(&mut out),
    };
    let generated = if args.flag("raw") {
        let form = Form::of(args, engine.model())?;
        complete(&mut engine, &prompt, &options, form.as_ref(), show)?
    } else {
        Conversation::new(engine, args, own, options.clone())?.answer(&prompt, show)?
    };
    let seed = options.sampling.seed;
    if events {
        let mut end = report(&generated, &path, &device, loaded, seed);
        end["event"] = "end".into();
        event(&mut out, &end)?;
    } else if json {
        out.json(&report(&generated, &path, &device, loaded, seed))?;
    } else if generated.finish == Finish::Context {
        note!("the reply ends here: the context of {context} tokens is full; --context sets a larger one");
    } else if generated.finish == Finish::Length
        && generated.text.is_empty()
        && !generated.reasoning.is_empty()
    {
        note!("the model was still reasoning; a larger --max-tokens leaves room for an answer");
    }
    if args.flag("verbose") {
        note!("{device}; {}", timings(&generated, loaded, seed));
    }
    Ok(if generated.finish == Finish::Cancelled { Outcome::Interrupted } else { Outcome::Done })
}

/// What to run.
struct Call<'a> {
    model: Option<&'a str>,
    prompt: Prompt<'a>,
}

/// Where the prompt is.
enum Prompt<'a> {
    Text(&'a str),
    StandardInput,
    File(&'a Path),
    /// One on each line of a file.
    Many(&'a Path),
}

/// Tells the model and the prompt apart. Without a prompt, it is read from standard input.
///
/// # Errors
/// A usage error if there is no prompt, or more than one.
fn call(args: Args<'_>) -> Result<Call<'_>, clap::Error> {
    let terminal = io::stdin().is_terminal();
    let file = |path: &'_ Path| path != Path::new("-");
    let from_file = match (args.path("prompt-file"), args.path("prompts")) {
        (Some(path), None) if file(path) => Some(Prompt::File(path)),
        (Some(_), None) => Some(Prompt::StandardInput),
        (None, Some(path)) => Some(Prompt::Many(path)),
        (None, None) => None,
        (Some(_), Some(_)) => {
            let problem = "--prompt-file and --prompts exclude each other";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem));
        }
    };
    if let Some(prompt) = from_file {
        if args.text(SECOND.name).is_some() {
            let problem = "PROMPT has no effect with a file of prompts";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem));
        }
        return Ok(Call { model: args.text(FIRST.name), prompt });
    }
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
    let prompt = prompt.filter(|prompt| *prompt != "-").map_or(Prompt::StandardInput, Prompt::Text);
    Ok(Call { model, prompt })
}

/// The context that a prompt needs, where the user has set none: the default, unless the prompt is long.
fn context_for(
    path: &Path,
    prompt: &str,
    args: Args<'_>,
    engine: &EngineOptions,
) -> anyhow::Result<Option<usize>> {
    /// The default of the engine.
    const DEFAULT: usize = 4096;
    /// Room for the chat template.
    const FRAME: usize = 256;
    let system = args.text("system").map_or(0, str::len);
    let reply = args.count("max-tokens").unwrap_or(1024);
    // A token has at least one byte, so a short prompt need not be counted.
    if engine.context.is_some() || prompt.len() + system + FRAME + reply <= DEFAULT {
        return Ok(engine.context);
    }
    let model = Model::open_with(path, engine)?;
    let needed = model.tokens(prompt).len() + system + FRAME + reply;
    Ok((needed > DEFAULT).then(|| needed.next_multiple_of(256).min(model.graph().config.context)))
}

fn report(generated: &Generated, path: &Path, device: &str, loaded: Duration, seed: u64) -> Value {
    let stop = match &generated.finish {
        Finish::Stop(text) => Some(text),
        _ => None,
    };
    json!({
        "text": generated.text,
        "reasoning": generated.reasoning,
        "finish": finish_name(&generated.finish),
        "stop": stop,
        "prompt_tokens": generated.usage.prompt_tokens,
        "tokens": generated.usage.tokens,
        "guessed_tokens": generated.usage.guessed,
        "accepted_tokens": generated.usage.accepted,
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

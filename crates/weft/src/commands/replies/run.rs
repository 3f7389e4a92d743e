//! `weft run`: answers a prompt.

mod places;
mod prompts;

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::time::Duration;

use clap::error::ErrorKind;
use serde_json::{Value, json};
use weft_engine::{EngineOptions, Finish, Model};

use crate::chat::conversation::{
    Conversation, Generated, complete, cut_off, decode_rate, finish_name, timings,
};
use crate::chat::reply_form::Form;
use crate::chat::show::{Show, event};
use crate::cli::args::Args;
use crate::cli::text_file::NotUtf8;
use crate::commands::{Command, Outcome, Positional};
use crate::model::load::load;
use crate::model::model_ref;
use crate::terminal::streams::{Out, note};
use places::Places;

const FIRST: Positional = Positional { name: "MODEL", help: model_ref::HELP, required: false };
const SECOND: Positional = Positional {
    name: "PROMPT",
    help: "The prompt; `-` or nothing reads standard input. A single argument is the PROMPT, unless it names a \
           model and standard input is not a terminal",
    required: false,
};

pub(in crate::commands) const COMMAND: Command = Command {
    name: "run",
    about: "Answer a prompt",
    notes: "\
The reply is printed to standard output as it is generated. Ctrl-C ends it early, with exit code 130. \
What a model writes before its answer, its reasoning, is shown dimmed on a terminal, and left out elsewhere; --json and --events have it. \
The text of a pipe or a file as standard input follows PROMPT and the file of --prompt-file; `< /dev/null` leaves it out, as in loops \
that read a list from there. \
A reply that is cut off before it has the form of --schema or --grammar ends with exit code 3. \
MODEL defaults to WEFT_MODEL, or the `model` of `weft config`, or else to smollm2, which has its own defaults: temperature 0.2, top-p 0.9 and no system message. Where smollm2 can be neither found nor downloaded, \
it is glm-small, which is in the program: it tells very short stories and knows little.

Examples:
  weft run \"What is the capital of France?\"
  weft run model.gguf --temperature 0 --max-tokens 100 \"Count to ten.\"
  git diff | weft run model.gguf \"Summarise this change:\"
  weft run -f question.txt
  weft run -f notes.txt \"Summarise this:\"
  weft run --schema '{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}}' \"Name a city.\"
  weft run --raw \"Once upon a time\"",
    positionals: &[FIRST, SECOND],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let Call { model, prompt } = call(args)?;
    if args.flag("raw") {
        let useless = ["system", "think", "no-think", "reasoning-budget", "chat-template"];
        args.refuse_with("--raw, which skips the chat template", &useless)?;
    }
    let prompt = match prompt {
        Prompt::Many(file) => return prompts::run(args, model, file),
        Prompt::One(places) => places.read()?,
    };
    let path = model_ref::find(args, model)?;
    let args = model_ref::configured(args, None, model, &path);
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
    }
    if let Some(option) = generated.lacks {
        note!("{}", cut_off(&generated.finish, option));
    } else if events || json {
        // They say how the reply ended.
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
    Ok(match (&generated.finish, generated.lacks) {
        (Finish::Cancelled, _) => Outcome::Interrupted,
        (_, Some(_)) => Outcome::CutOff,
        (_, None) => Outcome::Done,
    })
}

/// The arguments of a run.
struct Call<'a> {
    model: Option<&'a Path>,
    prompt: Prompt<'a>,
}

/// Where the prompt is.
enum Prompt<'a> {
    One(Places<'a>),
    /// One on each line of a file.
    Many(&'a Path),
}

/// Tells the model and the prompt apart. Without a prompt, it is read from standard input.
///
/// # Errors
/// A usage error if there is no prompt, or it is not text.
fn call(args: Args<'_>) -> Result<Call<'_>, clap::Error> {
    let terminal = io::stdin().is_terminal();
    let conflict = |problem: &str| Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem));
    let (first, second) = (args.path(FIRST.name), args.text(SECOND.name));
    let file = args.path("prompt-file");
    if let Some(many) = args.path("prompts") {
        return match (file, second) {
            (Some(_), _) => conflict("--prompt-file and --prompts exclude each other"),
            (_, Some(_)) => conflict("PROMPT has no effect with --prompts"),
            _ => Ok(Call { model: first, prompt: Prompt::Many(many) }),
        };
    }
    let (model, text) = match (first, second) {
        (Some(model), Some(text)) => (Some(model), Some(text)),
        // With a file there is a prompt already.
        (Some(model), None) if file.is_some() && !is_sentence(model) => (Some(model), None),
        (Some(model), None) if model_ref::looks_like_model(model) => (Some(model), None),
        // The prompt may be piped.
        (Some(model), None) if !terminal && model_ref::is_there(args, model) => (Some(model), None),
        (text, _) => (None, text.map(prompt_of).transpose()?),
    };
    if text.is_none() && file.is_none() && terminal {
        let named = model.map_or(String::new(), |model| format!(" {}", model.display()));
        let problem = format!(
            "a prompt is required, for example:\n  weft run{named} \"What is the capital of France?\"\nFor a conversation, \
             use `weft chat{named}`."
        );
        return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, problem));
    }
    Ok(Call { model, prompt: Prompt::One(Places::new(text, file, terminal)) })
}

/// Whether an argument has several words, and is no file.
fn is_sentence(argument: &Path) -> bool {
    argument.to_str().is_some_and(|text| text.contains(char::is_whitespace)) && !argument.exists()
}

/// An argument as a prompt.
///
/// # Errors
/// If it is not UTF-8.
fn prompt_of(argument: &Path) -> Result<&str, clap::Error> {
    argument.to_str().ok_or_else(|| {
        let problem = NotUtf8::find(argument.as_os_str()).map(|bad| format!("the prompt is {bad}"));
        clap::Error::raw(ErrorKind::InvalidUtf8, problem.unwrap_or_default())
    })
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
    let reply = args.limit("max-tokens").unwrap_or(1024);
    // A token has at least one byte, so a short prompt need not be counted.
    if engine.context.is_some() || prompt.len() + system + FRAME + reply <= DEFAULT {
        return Ok(engine.context);
    }
    let model = Model::open_with(path, engine)?;
    let most = model.graph().config.context;
    if model.tokenizer().fewest_tokens(prompt) > most {
        return Ok(Some(most));
    }
    let needed = model.tokens(prompt).len() + system + FRAME + reply;
    Ok((needed > DEFAULT).then(|| needed.next_multiple_of(256).min(most)))
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

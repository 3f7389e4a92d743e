//! `weft embed`: prints the embeddings of texts.

use std::io::Write as _;
use std::sync::atomic::Ordering;

use anyhow::{anyhow, bail, ensure};
use serde_json::{Value, json};
use weft_engine::{Engine, Event, Finish, Generation, Head, Pooling, Request, normalised};
use weft_text::EncodeOptions;

use crate::cli::args::Args;
use crate::cli::text_file;
use crate::commands::{Command, MODEL, Outcome, Positional};
use crate::model::load::load;
use crate::model::model_ref;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::streams::Out;

const TEXTS: Positional = Positional {
    name: "TEXT...",
    help: "The texts; without one, or with `-`, every line of standard input is one",
    required: false,
};

pub(in crate::commands) const COMMAND: Command = Command {
    name: "embed",
    about: "Print the embeddings of texts",
    notes: "\
Prints a line for each text: the values of its embedding, a vector of length 1; with --json, an object with the number of its tokens \
too. Many texts are computed at once, and no embedding depends on the others. Names of control tokens in a text are text. The file of an \
embedding model says how its hidden states are pooled; one that does not needs --pooling.

Examples:
  weft embed embedding.gguf \"What is the capital of France?\"
  weft embed embedding.gguf --json \"one text\" \"another\"
  weft embed embedding.gguf --dimensions 256 < lines.txt",
    positionals: &[MODEL, TEXTS],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let mut texts = args.texts(TEXTS.name);
    if texts.is_empty() || texts == ["-"] {
        texts = text_file::input()?.lines().map(str::to_string).collect();
    }
    let model = args.path(MODEL.name);
    let path = model_ref::find(args, model)?;
    let args = model_ref::configured(args, None, model, &path);
    let dimensions = args.count("dimensions");
    let (mut engine, _) = load(&path, &args.engine().pooling(pooling(args)?))?;
    let config = &engine.model().graph().config;
    match config.head {
        Head::Embedding(_) => {}
        Head::Logits => bail!(
            "{} writes text and has no embeddings: use an embedding model, such as Qwen3-Embedding, or say how to pool the hidden states \
             of this one with --pooling last or --pooling mean",
            path.display()
        ),
        Head::Scores { .. } => {
            bail!("{} ranks documents and has no embeddings: use an embedding model", path.display())
        }
    }
    let width = config.hidden;
    ensure!(
        dimensions.is_none_or(|dimensions| dimensions <= width),
        "--dimensions is {}: expected at most {width}, the values of this model's embeddings",
        dimensions.unwrap_or(0)
    );
    let prompts = prompts(&engine, &texts)?;
    let counts: Vec<usize> = prompts.iter().map(Vec::len).collect();
    let Some(embeddings) = embed(&mut engine, prompts)? else { return Ok(Outcome::Interrupted) };
    let embeddings: Vec<Vec<f32>> =
        embeddings.iter().map(|values| normalised(values, dimensions.unwrap_or(width))).collect();
    let mut out = Out::new();
    for (index, (values, tokens)) in embeddings.iter().zip(&counts).enumerate() {
        if args.flag("json") {
            let embedding: Value = values.iter().map(|value| number(*value)).collect();
            writeln!(out, "{}", json!({ "index": index, "tokens": tokens, "embedding": embedding }))?;
        } else {
            let values: Vec<String> = values.iter().map(f32::to_string).collect();
            writeln!(out, "{}", values.join(" "))?;
        }
    }
    Ok(Outcome::Done)
}

/// How hidden states are pooled, if the user or the configuration says so.
///
/// # Errors
/// If the configuration has another word.
pub(super) fn pooling(args: Args<'_>) -> anyhow::Result<Option<Pooling>> {
    args.text("pooling").map(named_pooling).transpose()
}

/// The pooling of this name.
///
/// # Errors
/// If there is none.
pub(super) fn named_pooling(name: &str) -> anyhow::Result<Pooling> {
    let found = Pooling::ALL.into_iter().find(|pooling| pooling.name() == name);
    found.ok_or_else(|| anyhow!("--pooling is {name:?}: expected last, mean or cls"))
}

/// The tokens of the texts.
fn prompts(engine: &Engine, texts: &[String]) -> anyhow::Result<Vec<Vec<u32>>> {
    let (tokenizer, context) = (engine.model().tokenizer(), engine.context());
    let mut prompts = Vec::with_capacity(texts.len());
    for (i, text) in texts.iter().enumerate() {
        let tokens = tokenizer.encode(text, EncodeOptions { parse_special: false, add_special: true });
        ensure!(!tokens.is_empty(), "text {} is empty: expected at least one token", i + 1);
        ensure!(
            tokens.len() <= context,
            "text {} has {} tokens, and the context has {context}: use a larger --context or a shorter text",
            i + 1,
            tokens.len()
        );
        prompts.push(tokens);
    }
    Ok(prompts)
}

/// Computes the embeddings of prompts, many at once. `None` after Ctrl-C.
fn embed(engine: &mut Engine, prompts: Vec<Vec<u32>>) -> anyhow::Result<Option<Vec<Vec<f32>>>> {
    let listener = Listener::new();
    let counts: Vec<usize> = prompts.iter().map(Vec::len).collect();
    let mut progress = Progress::new("computing", counts.iter().sum::<usize>() as u64, Unit::Tokens);
    let pushed = prompts.into_iter().map(|prompt| engine.push(Request::pooled(prompt)));
    let mut generations = pushed.collect::<Result<Vec<Generation>, _>>()?;
    let mut embeddings = vec![Vec::new(); generations.len()];
    let (mut left, mut done) = (generations.len(), 0);
    while left > 0 {
        if listener.pressed().load(Ordering::SeqCst) {
            return Ok(None);
        }
        engine.step()?;
        for ((generation, embedding), tokens) in generations.iter_mut().zip(&mut embeddings).zip(&counts) {
            while let Some(event) = generation.poll() {
                match event {
                    Event::Output(values) => *embedding = values,
                    Event::Finished(Finish::Failed(why)) => bail!("{why}"),
                    Event::Finished(_) => {
                        left -= 1;
                        done += tokens;
                    }
                    _ => {}
                }
            }
        }
        progress.set(done as u64);
    }
    Ok(Some(embeddings))
}

/// A value as a JSON number with as few digits as tell it apart.
fn number(value: f32) -> Value {
    value.to_string().parse::<f64>().unwrap_or(f64::from(value)).into()
}

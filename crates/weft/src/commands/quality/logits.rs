//! `weft logits`: writes the logits of a sequence, computed by the engine or the float oracle.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::ensure;
use clap::error::ErrorKind;
use weft_engine::inspect::{Batch, oracle_logits};
use weft_engine::open_adapted;
use weft_text::EncodeOptions;

use crate::cli::args::Args;
use crate::commands::{Command, MODEL, Outcome};
use crate::model::load::load;
use crate::model::model_ref;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::result_file::{Output, check_output};
use crate::terminal::streams::note;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "logits",
    about: "Write the logits of every token of a sequence to a file",
    notes: "\
The same tokens give the same bytes, regardless of --threads and --chunk.

Examples:
  weft logits model.gguf --tokens 1,2,3 --out fast.f32
  weft logits model.gguf --tokens 1,2,3 --out exact.f32 --oracle",
    positionals: &[MODEL],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let out = args.path("out").ok_or_else(|| incomplete("an output file is required: --out FILE"))?;
    if args.ids("tokens").is_some() == args.text("text").is_some() {
        return Err(incomplete("exactly one of --tokens 1,2,3 and --text TEXT is required").into());
    }
    if args.flag("oracle") {
        args.refuse_with(
            "--oracle",
            &["device", "threads", "chunk", "kv", "set", "kernel", "no-cache", "no-tuned", "cache-limit"],
        )?;
    }
    let model = model_ref::find(args, args.path(MODEL.name))?;
    let gguf = open_adapted(&model, &args.adapters())?;
    check_output(out, &gguf)?;
    let tokens = match (args.ids("tokens"), args.text("text")) {
        (Some(ids), _) => ids.to_vec(),
        (None, text) => {
            let all = EncodeOptions { parse_special: true, add_special: true };
            weft_engine::tokenizer(gguf.metadata())?.encode(text.unwrap_or_default(), all)
        }
    };
    ensure!(!tokens.is_empty(), "the text has no tokens, so there are no logits");
    let started = Instant::now();
    let outcome = if args.flag("oracle") {
        let logits = oracle_logits(&gguf, &tokens)?;
        let mut file = Output::create(out)?;
        write(&mut file, &logits)?;
        file.commit()?;
        Outcome::Done
    } else {
        compute(args, &model, &tokens, out)?
    };
    if args.flag("verbose") {
        note!("{} tokens in {:.2} s, including loading", tokens.len(), started.elapsed().as_secs_f64());
    }
    Ok(outcome)
}

/// A usage error that the parser cannot detect.
fn incomplete(problem: &str) -> clap::Error {
    clap::Error::raw(ErrorKind::MissingRequiredArgument, problem)
}

/// Runs the tokens through an engine in chunks, and writes the logits of each.
fn compute(args: Args<'_>, model: &Path, tokens: &[u32], out: &Path) -> anyhow::Result<Outcome> {
    let chunk = args.count("chunk").unwrap_or(1);
    let options = args.device_options().context(tokens.len()).batch(chunk);
    let (mut engine, _) = load(model, &options)?;
    let runner = engine.inspect_mut();
    // Listen before the file is created, so that none is left behind.
    let listener = Listener::new();
    let mut file = Output::create(out)?;
    let mut progress = Progress::new("computing", tokens.len() as u64, Unit::Tokens);
    let (mut batch, seq) = (Batch::new(), runner.new_sequence());
    for (at, tokens) in tokens.chunks(chunk).enumerate() {
        if listener.pressed().load(Ordering::SeqCst) {
            return Ok(Outcome::Interrupted);
        }
        progress.set((at * chunk) as u64);
        batch.clear();
        tokens.iter().for_each(|&token| batch.push(seq, token, true));
        write(&mut file, runner.step(&batch)?)?;
    }
    file.commit()?;
    Ok(Outcome::Done)
}

fn write(file: &mut Output, logits: &[f32]) -> anyhow::Result<()> {
    logits.iter().try_for_each(|logit| file.write(&logit.to_le_bytes()))
}

//! `weft perplexity`: measures how well a model predicts a text.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};
use weft_engine::EngineOptions;
use weft_lab::{Perplexity, Windows, perplexity};

use crate::cli::args::Args;
use crate::cli::text_file;
use crate::commands::measure::measurement;
use crate::commands::measure::recording;
use crate::commands::{Command, MODEL, Outcome, Positional};
use crate::model::load::load;
use crate::model::model_ref;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::streams::Out;

/// The text file to score.
pub(in crate::commands) const TEXT: Positional =
    Positional { name: "FILE", help: "UTF-8 text file to predict; `-` for standard input", required: true };

pub(in crate::commands) const COMMAND: Command = Command {
    name: "perplexity",
    about: "Measure how well a model predicts a text",
    notes: "\
The text is cut into consecutive windows of --context tokens, each computed on its own. Only predictions in the second \
half of a window are scored, so that each has at least half a window of context. Perplexity is e to the mean of -ln p of \
the actual next tokens. This follows llama.cpp's rules: with the same --context, figures are comparable. Control tokens \
in the text are read as plain text. The error is one standard error, assuming independent tokens.

Ctrl-C stops early and prints the result so far. It is recorded as interrupted.

Examples:
  weft perplexity model.gguf wiki.test.raw
  weft perplexity model.gguf book.txt --context 2048 --windows 20 --json",
    positionals: &[MODEL, TEXT],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let path = model_ref::find(args, args.path(MODEL.name))?;
    let text = text_file::read(args.path(TEXT.name).unwrap_or(Path::new("")))?;
    let (mut engine, _) = load(&path, &args.engine())?;
    let windows = windows(args, engine.model().tokenizer(), &text.text)?;
    let listener = Listener::new();
    let mut progress = None;
    let found = perplexity(engine.inspect_mut(), &windows, listener.pressed(), &mut |done, total| {
        let begin = || Progress::new("scoring", total, Unit::Tokens).at_once(true);
        progress.get_or_insert_with(begin).set(done);
    })?;
    drop(progress);
    if found.nll.count() == 0 {
        return Ok(measurement::interrupted("recorded"));
    }
    let mut out = Out::new();
    let mut json = about(&path, &engine.device().name, &args.engine());
    json["text"] = text.json();
    let json = weft_lab::joined(json, found.json());
    if args.flag("json") {
        out.json(&json)?;
    } else {
        show(&found, &mut out)?;
    }
    recording::append(args, COMMAND.name, Some(engine.model().gguf()), json);
    Ok(if found.is_whole() { Outcome::Done } else { Outcome::Interrupted })
}

/// Cuts the text into the windows that the arguments ask for.
pub(in crate::commands) fn windows(
    args: Args<'_>,
    tokenizer: &weft_text::Tokenizer,
    text: &str,
) -> anyhow::Result<Windows> {
    let context = args.count("context").unwrap_or(Windows::LEAST);
    Ok(Windows::new(tokenizer, text, context, args.count("windows"))?)
}

/// The model, the device and the KV type, as JSON.
pub(in crate::commands) fn about(model: &Path, device: &str, options: &EngineOptions) -> Value {
    json!({
        "model": model.display().to_string(),
        "device": device,
        "kv": options.kv.name(),
    })
}

/// Prints how much of the text was scored, unless it was all.
pub(in crate::commands) fn so_far(out: &mut impl Write, windows: usize, of: usize) -> io::Result<()> {
    if windows < of { writeln!(out, "after {windows} of {of} windows:") } else { Ok(()) }
}

fn show(found: &Perplexity, out: &mut impl Write) -> io::Result<()> {
    let (windows, scored) = (found.windows.all().len(), found.nll.count());
    so_far(out, windows, found.of)?;
    writeln!(out, "perplexity  {:.4} ± {:.4}", found.value(), found.standard_error())?;
    writeln!(out, "mean -ln p  {:.5} ± {:.5}", found.nll.mean(), found.nll.standard_error())?;
    let rate = found.computed as f64 / found.seconds;
    writeln!(out, "{}; {rate:.1} tokens/s", how_many(scored, windows, found.of, found.context))?;
    interrupted(out, windows, found.of, "perplexity")
}

/// How many tokens were scored, of which windows.
pub(in crate::commands) fn how_many(
    scored: impl Display,
    windows: usize,
    of: usize,
    context: usize,
) -> String {
    let of = if windows < of { format!("{windows} of {of}") } else { of.to_string() };
    format!("{scored} tokens scored, in the second halves of {of} windows of {context}")
}

/// Says at the end that the text was not read to its end, unless it was.
pub(in crate::commands) fn interrupted(
    out: &mut impl Write,
    windows: usize,
    of: usize,
    what: &str,
) -> io::Result<()> {
    if windows < of {
        writeln!(
            out,
            "interrupted after {windows} of {of} windows: this is not the {what} of the whole text"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn partial_results_say_so() {
        let mut found = Perplexity {
            nll: [2f64.ln(), 8f64.ln()].into_iter().collect(),
            windows: [1.5, 1.25].into_iter().collect(),
            of: 2,
            context: 4,
            computed: 6,
            seconds: 0.5,
        };
        let shown = |found: &Perplexity| {
            let mut text = Vec::new();
            show(found, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        expect![[r#"
            perplexity  4.0000 ± 2.7726
            mean -ln p  1.38629 ± 0.69315
            2 tokens scored, in the second halves of 2 windows of 4; 12.0 tokens/s
        "#]]
        .assert_eq(&shown(&found));
        found.of = 9;
        assert!(shown(&found).starts_with("after 2 of 9 windows:\nperplexity"), "{}", shown(&found));
        let last: Vec<String> = shown(&found).lines().skip(3).map(String::from).collect();
        expect![[r#"
            2 tokens scored, in the second halves of 2 of 9 windows of 4; 12.0 tokens/s
            interrupted after 2 of 9 windows: this is not the perplexity of the whole text"#]]
        .assert_eq(&last.join("\n"));
    }
}

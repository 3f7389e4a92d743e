//! `weft kl`: measures how far the predictions of two models are apart.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;
use weft_engine::Engine;
use weft_engine::inspect::fingerprint;
use weft_lab::{Divergence, divergence};

use super::perplexity::{TEXT, about, how_many, interrupted, so_far, windows};
use crate::cli::args::Args;
use crate::cli::text_file;
use crate::commands::measure::measurement;
use crate::commands::measure::recording;
use crate::commands::{Command, Outcome, Positional};
use crate::model::load::load;
use crate::model::model_ref;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::streams::Out;

const BASE: Positional = Positional {
    name: "BASE",
    help: "Reference model: a GGUF file, a name from `weft list`, or hf:ORG/REPO:QUANT",
    required: true,
};
const OTHER: Positional = Positional {
    name: "OTHER",
    help: "Model to compare with it, for example a smaller quantisation",
    required: true,
};

pub(in crate::commands) const COMMAND: Command = Command {
    name: "kl",
    about: "Measure how far the predictions of two models are apart",
    notes: "\
Scores both models on the same windows of the text, as `weft perplexity` does. They must have the same vocabulary. The KL \
divergence is the sum of p * ln(p / q) over the vocabulary, in nats, where p is the probability that BASE gives a token and q \
the one that OTHER gives it; it is 0 where both agree. The shift is q - p of the actual next token. Errors are one standard \
error, assuming independent tokens.

Both models are in memory at the same time. Ctrl-C stops early and prints the results so far. They are recorded as \
interrupted.

Examples:
  weft kl model-q8_0.gguf model-q4_0.gguf wiki.test.raw
  weft kl model-f16.gguf model-q4_k_m.gguf book.txt --windows 20 --json",
    positionals: &[BASE, OTHER, TEXT],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let paths = [BASE, OTHER].map(|model| model_ref::find(args, args.path(model.name)));
    let [base_path, other_path] = paths;
    let (base_path, other_path) = (base_path?, other_path?);
    let text = text_file::read(args.path(TEXT.name).unwrap_or(Path::new("")))?;
    let options = args.engine();
    let (mut base, _) = load(&base_path, &options).context("cannot load BASE")?;
    let (mut other, _) = load(&other_path, &options).context("cannot load OTHER")?;
    let windows = windows(args, base.model().tokenizer(), &text.text)?;
    let listener = Listener::new();
    let mut progress = None;
    let found = divergence(
        base.inspect_mut(),
        other.inspect_mut(),
        &windows,
        listener.pressed(),
        &mut |done, total| {
            let begin = || Progress::new("scoring", total, Unit::Tokens).at_once(true);
            progress.get_or_insert_with(begin).set(done);
        },
    )?;
    drop(progress);
    if found.each.all().is_empty() {
        return Ok(measurement::interrupted("recorded"));
    }
    let mut out = Out::new();
    let model = |path: &Path, engine: &Engine| {
        let mut json = about(path, &engine.device().name, &options);
        json["fingerprint"] = json!(format!("{:016x}", fingerprint(engine.model().gguf())));
        json
    };
    let json = json!({
        "base": model(&base_path, &base),
        "other": model(&other_path, &other),
        "text": text.json(),
    });
    let json = weft_lab::joined(json, found.json());
    if args.flag("json") {
        out.json(&json)?;
    } else {
        show(&found, windows.scored(), &mut out)?;
    }
    recording::append(args, COMMAND.name, Some(other.model().gguf()), json);
    Ok(if found.whole { Outcome::Done } else { Outcome::Interrupted })
}

fn show(found: &Divergence, scored: usize, out: &mut impl Write) -> io::Result<()> {
    let (of, context) = found.windows;
    let positions = found.each.all().len();
    let read = positions / scored.max(1);
    so_far(out, read, of)?;
    let mean = found.mean();
    let [median, p99, most] = [0.5, 0.99, 1.0].map(|share| found.each.quantile(share));
    writeln!(out, "KL, mean     {:.6} ± {:.6}", mean.mean(), mean.standard_error())?;
    writeln!(out, "    median   {median:.6}")?;
    writeln!(out, "    99 %     {p99:.6}")?;
    writeln!(out, "    largest  {most:.6}")?;
    writeln!(out, "same top token         {:.3} %", 100.0 * found.same_top_share())?;
    let [shift, error, rms] =
        [found.shift.mean(), found.shift.standard_error(), found.square_shift.mean().sqrt()]
            .map(|p| 100.0 * p);
    writeln!(out, "probability shift      {shift:+.3} ± {error:.3} %, root mean square {rms:.3} %")?;
    let [base, other] = found.perplexities();
    writeln!(out, "perplexity             {base:.4} and {other:.4}")?;
    writeln!(out, "{}", how_many(positions, read, of, context))?;
    interrupted(out, read, of, "divergence")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn every_figure_is_named() {
        let found = Divergence {
            each: [0.5, 0.0, 0.25, 0.125].into_iter().collect(),
            same_top: 3,
            shift: [-0.25, 0.0, 0.125, 0.0].into_iter().collect(),
            square_shift: [0.0625, 0.0, 0.015625, 0.0].into_iter().collect(),
            nll: [[2f64.ln()], [4f64.ln()]].map(|nll| nll.into_iter().collect()),
            windows: (2, 5),
            whole: true,
            seconds: 1.0,
        };
        let mut text = Vec::new();
        show(&found, 2, &mut text).unwrap();
        expect![[r#"
            KL, mean     0.218750 ± 0.106739
                median   0.187500
                99 %     0.492500
                largest  0.500000
            same top token         75.000 %
            probability shift      -3.125 ± 7.864 %, root mean square 13.975 %
            perplexity             2.0000 and 4.0000
            4 tokens scored, in the second halves of 2 windows of 5
        "#]]
        .assert_eq(&String::from_utf8(text).unwrap());
        let part = Divergence { windows: (9, 5), whole: false, ..found };
        let mut text = Vec::new();
        show(&part, 2, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let last: Vec<&str> = text.lines().skip(7).collect();
        expect![[r#"
            perplexity             2.0000 and 4.0000
            4 tokens scored, in the second halves of 2 of 9 windows of 5
            interrupted after 2 of 9 windows: this is not the divergence of the whole text"#]]
        .assert_eq(&last.join("\n"));
    }
}

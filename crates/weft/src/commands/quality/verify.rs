//! `weft verify`: checks a device against the kernel interpreter, on a model's own activations.

use std::io::{self, Write};

use anyhow::{bail, ensure};
use serde_json::json;
use weft_lab::{Difference, Error, Verification, Verifier, VerifyOptions};
use weft_text::EncodeOptions;

use crate::cli::args::Args;
use crate::commands::measure::measurement::interrupted;
use crate::commands::measure::recording;
use crate::commands::{Command, MODEL, Outcome};
use crate::model::load::with_report;
use crate::model::model_ref;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::streams::Out;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "verify",
    about: "Check a device's results against the reference interpreter, kernel by kernel",
    notes: "\
Runs --tokens or --text (or a built-in sentence) through the model in three steps: most of it as a prompt, then eight \
tokens together, then the last one alone. Each checked kernel runs by itself, and the interpreter gets the same inputs, \
bit for bit. A value may differ by what rounding explains: an error bound is computed along with each value, and ERROR is \
the largest error as a share of its bound. It is 1 where a value stored in few bits was rounded to the neighbour, within \
the bound. Outputs are poisoned first, so that missing and misplaced writes show. Finally, every whole step must give the \
same bits as its kernels one by one.

By default, the first, middle and last layer of each kind are checked, and --columns columns of each product: the first, \
the last, and others sampled with a fixed seed. --all and --columns 0 check everything. UNKNOWN counts values that are not \
compared because they depend on a choice of experts too close to decide within rounding; later kernels get the device's \
choice. The exit code is 1 if anything is wrong.

Examples:
  weft verify model.gguf
  weft verify model.gguf --device gpu --text \"What is the capital of France?\" --all",
    positionals: &[MODEL],
    run,
};

/// The default text. It has more than [`TOKENS`] tokens in most vocabularies.
const TEXT: &str = "The quick brown fox jumps over the lazy dog. In 1969, two people walked on the moon; \
    \"that's one small step\", said one of them. Übung macht den Meister.";

/// The number of its tokens to run: a prompt of 24, then 8, then 1.
const TOKENS: usize = 33;

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    if args.ids("tokens").is_some() && args.text("text").is_some() {
        let problem = "--tokens and --text cannot be used together";
        return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, problem).into());
    }
    let path = model_ref::find(args, args.path(MODEL.name))?;
    let gguf = weft_engine::open_adapted(&path, &args.adapters())?;
    let tokens = tokens(args, &gguf)?;
    ensure!(!tokens.is_empty(), "the text has no tokens, so there is nothing to verify");
    let options = args.device_options().context(tokens.len()).batch(args.count("batch"));
    let (mut verifier, _) = with_report(|report| Verifier::load(&path, &options, report))?;
    let wanted = VerifyOptions { all: args.flag("all"), columns: args.count("columns").unwrap_or(0) };
    let listener = Listener::new();
    let mut progress = None;
    let verified = verifier.verify(&tokens, &wanted, listener.pressed(), &mut |done, total| {
        progress.get_or_insert_with(|| Progress::new("verifying", total, Unit::Kernels)).set(done);
    });
    drop(progress);
    let found = match verified {
        Err(Error::Interrupted) => return Ok(interrupted("recorded")),
        found => found?,
    };
    let mut out = Out::new();
    let json = json!({
        "model": path.display().to_string(),
        "device": verifier.runner().device().name,
        "kv": options.kv.name(),
        "columns": wanted.columns,
    });
    let json = weft_lab::joined(json, found.json());
    if args.flag("json") {
        out.json(&json)?;
    } else {
        writeln!(out, "{}", verifier.runner().device().name)?;
        show(&found, wanted.columns, &mut out)?;
    }
    recording::append(args, COMMAND.name, Some(&gguf), json);
    let wrong = found.launches.iter().filter(|launch| launch.faults().next().is_some()).count();
    match found.faults().next() {
        None => Ok(Outcome::Done),
        Some(first) => bail!("{wrong} of {} checked kernels are wrong; {first}", found.launches.len()),
    }
}

/// The tokens to run.
fn tokens(args: Args<'_>, gguf: &weft_gguf::Gguf) -> anyhow::Result<Vec<u32>> {
    if let Some(ids) = args.ids("tokens") {
        return Ok(ids.to_vec());
    }
    let all = EncodeOptions { parse_special: true, add_special: true };
    let mut tokens = weft_engine::tokenizer(gguf.metadata())?.encode(args.text("text").unwrap_or(TEXT), all);
    if args.text("text").is_none() {
        tokens.truncate(TOKENS);
    }
    Ok(tokens)
}

fn show(found: &Verification, columns: usize, out: &mut impl Write) -> io::Result<()> {
    let steps: Vec<String> = found.steps.iter().map(ToString::to_string).collect();
    let columns = match columns {
        0 => "every column".into(),
        columns => format!("up to {columns} columns of each product, sampled with a fixed seed"),
    };
    writeln!(
        out,
        "steps of {} tokens: checked {} of {} kernels, {columns}",
        steps.join(", "),
        found.launches.len(),
        found.of
    )?;
    writeln!(out)?;
    // One line for all kernels of the same name.
    let mut names: Vec<&str> = Vec::new();
    for launch in &found.launches {
        if !names.contains(&launch.kernel.as_str()) {
            names.push(&launch.kernel);
        }
    }
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).clamp(6, 60);
    let titles = ["TIMES", "VALUES", "COMPARED", "UNKNOWN", "ERROR"];
    let [times, values, compared, unknown, error] = titles;
    writeln!(
        out,
        "{:<width$}  {times:>5}  {values:>9}  {compared:>9}  {unknown:>7}  {error:>7}  AT",
        "KERNEL"
    )?;
    for name in names {
        let own = || found.launches.iter().filter(|launch| launch.kernel == name);
        let sum = |of: fn(&weft_lab::Checked) -> u64| own().map(|launch| of(&launch.checked)).sum::<u64>();
        let worst = own().filter_map(|launch| Some((launch, launch.checked.worst.as_ref()?)));
        let worst = worst.max_by(|(_, a), (_, b)| a.share().total_cmp(&b.share()));
        let (share, at) = match worst {
            None => (String::new(), String::new()),
            Some((launch, worst)) => {
                (share(worst), format!("{}, step of {}: {worst}", launch.segment, launch.tokens))
            }
        };
        let (times, values, compared, unknown) =
            (own().count(), sum(|c| c.values), sum(|c| c.compared), sum(|c| c.unknown));
        writeln!(
            out,
            "{name:<width$}  {times:>5}  {values:>9}  {compared:>9}  {unknown:>7}  {share:>7}  {at}"
        )?;
    }
    writeln!(out)?;
    if found.faults().next().is_some() {
        return found.faults().try_for_each(|fault| writeln!(out, "wrong: {fault}"));
    }
    let unknown = found.launches.iter().map(|launch| launch.checked.unknown).sum::<u64>();
    writeln!(out, "all compared values are within the error bounds ({unknown} unknown)")
}

/// An error as a share of its bound.
fn share(worst: &Difference) -> String {
    let share = worst.share();
    if share < 1000.0 { format!("{share:.3}") } else { format!("{share:.0e}") }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weft_lab::{Checked, Fault, FaultKind, Place, Verified};

    use super::*;

    fn launch(tokens: usize, segment: &str, worst: Option<(f32, f64)>) -> Verified {
        let place = Place { param: 1, part: 0, row: vec![2], column: 511 };
        let worst = worst.map(|(found, bound)| Difference { place, expected: 1.0, found, bound });
        let fault = worst.clone().filter(|worst| worst.share() > 1.0);
        let faults =
            fault.map(|worst| Fault { kind: FaultKind::Value(worst), count: 3 }).into_iter().collect();
        Verified {
            tokens,
            kernel: "dot_768x2048_q4_0".into(),
            segment: segment.into(),
            arguments: vec!["input x".into(), "arena 0".into()],
            checked: Checked { values: 768, compared: 256, unknown: 1, worst, faults },
        }
    }

    fn shown(launches: Vec<Verified>) -> String {
        let found = Verification { steps: vec![24, 8, 1], launches, of: 60 };
        let mut text = Vec::new();
        show(&found, 256, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn kernels_show_their_worst_value() {
        let launches = vec![
            launch(24, "layer 1", Some((1.5, 2.0))),
            launch(8, "layer 2", None),
            launch(1, "layer 0", Some((1.0, 0.0))),
        ];
        expect![[r#"
            steps of 24, 8, 1 tokens: checked 3 of 60 kernels, up to 256 columns of each product, sampled with a fixed seed

            KERNEL             TIMES     VALUES   COMPARED  UNKNOWN    ERROR  AT
            dot_768x2048_q4_0      3       2304        768        3    0.250  layer 1, step of 24: p1, part 0, row [2], column 511: 1.5e0, expected 1e0 ± 2.0e0

            all compared values are within the error bounds (3 unknown)
        "#]]
        .assert_eq(&shown(launches));
    }

    #[test]
    fn faults_are_named() {
        let text = shown(vec![launch(8, "layer 3", Some((f32::NAN, 1.0)))]);
        let said = "wrong: `dot_768x2048_q4_0` in layer 3, step of 8, p1 being arena 0: 3 values are off, most at p1, part 0, \
            row [2], column 511: NaN, expected 1e0 ± 1.0e0\n";
        assert!(text.ends_with(said) && text.contains("      inf  layer 3"), "{text}");
    }
}

//! Prints an ablation as text, Markdown or JSON.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};
use weft_engine::Engine;
use weft_lab::{AblateOptions, Ablation, Combined, Gate, MARGIN, Measured, Outcome, Row};

use crate::commands::tables::{Form, table};
use crate::terminal::streams::Out;

/// An ablation and its subject.
pub(super) struct Tested<'a> {
    pub(super) path: &'a Path,
    pub(super) engine: &'a Engine,
    pub(super) wanted: &'a AblateOptions,
    pub(super) ablation: &'a Ablation,
}

impl Tested<'_> {
    /// Everything as JSON.
    pub(super) fn json(&self) -> Value {
        let Tested { path, engine, wanted, ablation } = self;
        let config = &engine.model().graph().config;
        let json = json!({
            "model": {
                "path": path.display().to_string(),
                "architecture": config.architecture,
                "layers": config.layers(),
            },
            "device": engine.device().name,
            "threads": engine.device().threads,
            "kv": engine.model().kv().name(),
            "prefill": wanted.prefill,
            "decode": wanted.decode,
            "depth": wanted.depth,
            "pairs": wanted.pairs,
        });
        weft_lab::joined(json, ablation.json())
    }

    /// Prints it; `json` is the result of [`Tested::json`].
    pub(super) fn write(&self, form: Form, json: &Value, out: &mut Out) -> io::Result<()> {
        if form == Form::Json {
            return out.json(json);
        }
        let mut text = Vec::new();
        self.text(form, json, &mut text)?;
        // It contains the model's name, which is not trusted.
        out.foreign(&String::from_utf8_lossy(&text))
    }

    fn text(&self, form: Form, json: &Value, out: &mut impl Write) -> io::Result<()> {
        let Tested { path, engine, wanted, ablation } = self;
        let AblateOptions { prefill, decode, depth, pairs, .. } = wanted;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let config = &engine.model().graph().config;
        let line_end = form.line_end();
        let (architecture, layers) = (config.architecture, config.layers());
        write!(
            out,
            "{file}: {architecture}, {layers} layers; KV cache in {}{line_end}",
            engine.model().kv()
        )?;
        write!(out, "{}; {}{line_end}", engine.device().name, ablation.host.cpu)?;
        write!(
            out,
            "replies of {decode} and prompts of {prefill} tokens at depth {depth}; up to {pairs} pairs of samples,{line_end}"
        )?;
        let confidence = 100.0 * ablation.rule.confidence();
        writeln!(out, "{confidence:.1} % confidence intervals, verdicts beyond ±{} %\n", 100.0 * MARGIN)?;
        rows(form, &ablation.rows, out)?;
        if let Some(together) = &ablation.combined {
            combined(form, together, ablation.interrupted, out)?;
        }
        match weft_lab::interruption(json) {
            Some(how) => writeln!(out, "\n{how}: changes that are missing above were not tried"),
            None => Ok(()),
        }
    }
}

/// Writes every change and the combination of the winners as text.
pub(crate) fn write_changes(ablation: &Ablation, out: &mut impl Write) -> io::Result<()> {
    rows(Form::Text, &ablation.rows, out)?;
    ablation.combined.iter().try_for_each(|found| combined(Form::Text, found, ablation.interrupted, out))
}

/// The gains in decode and prefill, with their confidence intervals.
pub(crate) fn gains(outcome: &Outcome) -> [String; 2] {
    ["decode", "prefill"].map(|phase| gain(outcome, phase))
}

const TITLES: [&str; 6] = ["CHANGE", "KERNELS", "LOGITS", "DECODE", "PREFILL", "VERDICT"];

fn rows(form: Form, rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let cells: Vec<[String; 6]> = rows.iter().map(cells).collect();
    table(form, TITLES, &[1, 3, 4], &cells, out)
}

/// Prints the combination of the winners.
fn combined(
    form: Form,
    Combined { tried, kept, together }: &Combined,
    interrupted: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if !tried.is_empty() {
        writeln!(out, "\nCombined, each on top of those kept before it:\n")?;
        rows(form, tried, out)?;
    } else if !interrupted {
        writeln!(out, "\nNo change wins, so there is nothing to combine.")?;
    }
    let Some(together) = together else { return Ok(()) };
    let names: Vec<String> = kept.iter().map(ToString::to_string).collect();
    let [decode, prefill] = ["decode", "prefill"].map(|phase| gain(together, phase));
    let (verdict, why) = (together.verdict().name(), together.why());
    writeln!(
        out,
        "\nAll together ({}): decode {decode}, prefill {prefill}; {verdict}: {why}",
        names.join(", ")
    )
}

fn cells(Row { change, outcome }: &Row) -> [String; 6] {
    let [decode, prefill] = ["decode", "prefill"].map(|phase| gain(outcome, phase));
    let why = outcome.why();
    let (kernels, logits) = match outcome {
        Outcome::Measured(gate, phases) => (kernels(phases), logits(gate)),
        _ => ("–".into(), "–".into()),
    };
    let verdict = format!("{}: {why}", outcome.verdict().name());
    [change.to_string(), kernels, logits, decode, prefill, verdict]
}

/// The number of kernels in a step, and its change, in the first phase that was measured.
fn kernels(phases: &[Measured]) -> String {
    let Some([base, change]) = phases.first().map(|one| one.kernels) else { return "–".into() };
    if base == change {
        return change.to_string();
    }
    format!("{change} ({:+})", change as i64 - base as i64)
}

fn logits(gate: &Gate) -> String {
    if gate.same_bits {
        return "same bits".into();
    }
    let (of, distance) = match gate.from_golden {
        Some([_, found]) => ("golden ", found),
        None => ("", gate.from_base),
    };
    format!("{of}KL {:.1e}, {:.0} % same", distance.mean_kl, 100.0 * distance.greedy)
}

/// The gain in a phase, with its confidence interval.
fn gain(outcome: &Outcome, phase: &str) -> String {
    let Outcome::Measured(_, phases) = outcome else { return "–".into() };
    let Some(one) = phases.iter().find(|one| one.phase.name() == phase) else { return "–".into() };
    let [median, low, high] = [one.gain.median, one.gain.low, one.gain.high].map(|part| 100.0 * part);
    if low.is_nan() {
        return format!("{median:+.1} % (too few samples)");
    }
    format!("{median:+.1} % ({low:+.1} to {high:+.1})")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weft_engine::{Mode, decision};
    use weft_lab::{Change, Distance, Gain, Phase};

    use super::*;

    fn all() -> Vec<Row> {
        let gate = |same_bits, mean_kl, passes| {
            let from_base = Distance { mean_kl, max_kl: mean_kl, greedy: 0.9375 };
            Gate { same_bits, from_base, from_golden: None, passes }
        };
        let one = |phase, kernels, [median, low, high]: [f64; 3]| {
            let gain = Gain { median, low, high };
            Measured { phase, tokens: 8, kernels, pairs: vec![(1.0, 1.0)], gain }
        };
        let measured = |gate, kernels, decode, prefill| {
            let phases = vec![one(Phase::Decode, kernels, decode), one(Phase::Prefill, kernels, prefill)];
            Outcome::Measured(gate, phases)
        };
        let change = |name, mode| Change::Decision(decision(name).unwrap(), mode);
        let row = |change, outcome| Row { change, outcome };
        let (nothing, unknown) = ([0.001, -0.004, 0.006], [0.5, f64::NAN, f64::NAN]);
        vec![
            row(Change::Nothing, measured(gate(true, 0.0, true), [75, 75], nothing, nothing)),
            row(
                change("fuse.tail", Mode::Off),
                measured(gate(true, 0.0, true), [75, 139], [-0.081, -0.093, -0.07], nothing),
            ),
            row(
                change("fuse.router", Mode::On),
                measured(gate(false, 0.0234, false), [75, 67], [0.12, 0.11, 0.13], unknown),
            ),
            row(change("tidy.constants", Mode::Off), Outcome::Same),
            row(change("split.heads", Mode::Off), Outcome::Refused("no | memory".into())),
        ]
    }

    fn printed(form: Form) -> String {
        let mut text = Vec::new();
        rows(form, &all(), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// Prints a combination in Markdown.
    fn printed_combined(found: &Combined, interrupted: bool) -> String {
        let mut text = Vec::new();
        combined(Form::Markdown, found, interrupted, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn winners_that_fail_together_are_not_reported_as_a_success() {
        let [_, tail, router, _, refused] = all().try_into().unwrap();
        let kept = vec![tail.change, router.change];
        let found = |together: &Row| Combined {
            tried: vec![tail.clone()],
            kept: kept.clone(),
            together: Some(together.outcome.clone()),
        };
        let last = |row: &Row| printed_combined(&found(row), false).lines().last().unwrap().to_string();
        expect![[r#"
            All together (fuse.tail=off, fuse.router=on): decode +12.0 % (+11.0 to +13.0), prefill +50.0 % (too few samples); drop: its logits differ
            All together (fuse.tail=off, fuse.router=on): decode –, prefill –; undecided: no | memory
        "#]]
        .assert_eq(&format!("{}\n{}\n", last(&router), last(&refused)));
    }

    #[test]
    fn only_a_finished_ablation_says_that_nothing_wins() {
        let none = Combined::default();
        assert_eq!(printed_combined(&none, false), "\nNo change wins, so there is nothing to combine.\n");
        assert_eq!(printed_combined(&none, true), "");
    }

    #[test]
    fn a_table_is_aligned() {
        expect![[r#"
            CHANGE                KERNELS  LOGITS                                  DECODE                    PREFILL  VERDICT
            aa                         75  same bits                +0.1 % (-0.4 to +0.6)      +0.1 % (-0.4 to +0.6)  undecided: does less than 2 %
            fuse.tail=off       139 (+64)  same bits                -8.1 % (-9.3 to -7.0)      +0.1 % (-0.4 to +0.6)  drop: loses in decode
            fuse.router=on        67 (-8)  KL 2.3e-2, 94 % same  +12.0 % (+11.0 to +13.0)  +50.0 % (too few samples)  drop: its logits differ
            tidy.constants=off          –  –                                            –                          –  undecided: the kernels are the same
            split.heads=off             –  –                                            –                          –  undecided: no | memory
        "#]]
        .assert_eq(&printed(Form::Text));
    }

    #[test]
    fn markdown_escapes_bars() {
        expect![[r#"
            | change | kernels | logits | decode | prefill | verdict |
            |---|--:|---|--:|--:|---|
            | `aa` | 75 | same bits | +0.1 % (-0.4 to +0.6) | +0.1 % (-0.4 to +0.6) | undecided: does less than 2 % |
            | `fuse.tail=off` | 139 (+64) | same bits | -8.1 % (-9.3 to -7.0) | +0.1 % (-0.4 to +0.6) | drop: loses in decode |
            | `fuse.router=on` | 67 (-8) | KL 2.3e-2, 94 % same | +12.0 % (+11.0 to +13.0) | +50.0 % (too few samples) | drop: its logits differ |
            | `tidy.constants=off` | – | – | – | – | undecided: the kernels are the same |
            | `split.heads=off` | – | – | – | – | undecided: no \| memory |
        "#]].assert_eq(&printed(Form::Markdown));
    }
}

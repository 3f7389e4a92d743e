//! `weft bench`: measures a model's speed, and compares it with the machine's limits.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

use anyhow::ensure;
use clap::error::ErrorKind;
use serde_json::{Value, json};
use weft_engine::{Crossings, SlotUse, Speculate, open_adapted};
use weft_lab::{Against, Bench, BenchOptions, Phase, Record, Rule, Setting, against, bench, diff};
use weft_models::{BuildOptions, ModelGraph};

use crate::cli::args::Args;
use crate::commands::measure::measurement::{alone, context_for, interrupted, measure};
use crate::commands::measure::recording;
use crate::commands::measure::report_head::{Measured, known, meanwhile, percent};
use crate::commands::{Command, MODEL, Outcome};
use crate::model::load::load;
use crate::model::model_ref;
use crate::terminal::progress::Unit;
use crate::terminal::streams::{Out, note};
use crate::terminal::units;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "bench",
    about: "Measure the speed of a model, and compare it with the machine's limits",
    notes: "\
Computes random tokens: prompts of --prefill tokens, with logits for the last, and replies of --decode tokens, each after \
--depth other tokens. With --parallel, several replies are decoded together, and the figure is their total. All figures are \
sampled in turns, --repeat times after one warm-up, and the table shows medians. With --guesses, so many wrong tokens are computed beside \
each token of a reply: what speculation costs if no guess is right. With --vocabulary, only so many different tokens are drawn, so that \
experts are chosen again as often as in a text: it says how fast a model is whose experts are partly on the CPU. The machine's limits are measured in the same run, \
as by `weft roofline`. The limit of decode is reading the weights once per step and each reply's cache once per \
token (READ); experts count as if no two replies chose the same. The limit of prefill is multiplying by the weights (DOT), \
without attention. With --against, the samples are compared with those of an earlier run by the rule of `weft ablate`: a figure is \
slower if its whole confidence interval is below -2 %, and then the exit code is 1. That takes about ten samples of each figure \
(-r 10) and a machine that does nothing else. Devices other than the CPU have no known multiplication rate, and so no limit for prefill.

Examples:
  weft bench model.gguf
  weft bench model.gguf -p 128 -n 16 -d 0 -r 3 --json
  weft bench model.gguf -p 0 -d 0 --parallel 1,4,16
  weft bench model.gguf -r 10 --against 12",
    positionals: &[MODEL],
    run,
};

/// A benchmark and its subject.
struct Report<'a> {
    on: Measured<'a>,
    bench: &'a Bench,
}

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let count = |knob| args.count(knob).unwrap_or(0);
    let mut own = model_ref::answering(args)?;
    let depths: BTreeSet<usize> = args.counts("depth").unwrap_or_default().into_iter().collect();
    let mut wanted = BenchOptions {
        prefill: count("prefill"),
        decode: count("decode"),
        depths,
        parallel: args.counts("parallel").unwrap_or_default().into_iter().collect(),
        guesses: args.counts("guesses").unwrap_or_default().into_iter().collect(),
        speculate: own.guesser().clone(),
        repeat: count("repeat"),
        vocabulary: args.count("vocabulary").unwrap_or(usize::MAX),
    };
    if wanted.prefill == 0 && wanted.decode == 0 {
        let problem = "with --prefill 0 and --decode 0, there is nothing to measure";
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem).into());
    }
    let before = args.text("against").map(|number| earlier(args, number)).transpose()?;
    if let Some(before) = &before {
        tell_too_few(before, &wanted);
    }
    let path = model_ref::find(args, args.path(MODEL.name))?;
    let gguf = open_adapted(&path, &args.adapters())?;
    let build = BuildOptions { kv: args.kv(), ..BuildOptions::default() };
    let model = weft_models::build(&gguf, &build)?;
    let room = args.count("context").unwrap_or(usize::MAX).min(model.config.context);
    if !args.is_set("depth")
        && let Some((wish, depth)) = fit(&mut wanted, room)
    {
        note!("measuring at depth {depth}, because the context has no room for {wish}; --depth sets others");
    }
    check_room(&wanted, args, &model)?;
    if wanted.guesses.last() > Some(&0) && *own.guesser() == Speculate::Off {
        // As many logits in a step as speculation takes.
        own = own.speculate(Speculate::Lookup);
    }
    let context = context_for(wanted.context(), wanted.prefill, &own, &model);
    let options = own.context(context).sequences(wanted.parallel.last().copied().unwrap_or(1));
    let _alone = alone(args, COMMAND.name)?;
    let (mut engine, loaded) = load(&path, &options)?;
    let measured = measure(args, &mut engine, Unit::Tokens, |engine, meter, cancel, on| {
        bench(engine, meter, &wanted, cancel, on)
    })?;
    let Some(bench) = measured else { return Ok(interrupted("recorded")) };
    let report =
        Report { on: Measured::new(&path, &gguf, engine.inspect(), &options, loaded), bench: &bench };
    let mut out = Out::new();
    let mut json = report.json();
    let compared = before.as_ref().map(|before| against(&before.results, &json));
    if let (Some(before), Some(compared)) = (&before, &compared) {
        json["against"] = json!({ "run": before.number(), "figures": compared.iter().map(Against::json).collect::<Value>() });
    }
    if args.flag("json") {
        out.json(&json)?;
    } else {
        report.text(&mut out)?;
        if let (Some(before), Some(compared)) = (&before, &compared) {
            write_against(before, compared, &mut out)?;
        }
    }
    let record = recording::append(args, COMMAND.name, Some(&gguf), json);
    let (Some(before), Some(compared)) = (before, compared) else { return Ok(Outcome::Done) };
    for (name, a, b) in record.iter().flat_map(|record| diff(&before, record).settings) {
        note!("not the same as in run {}: {name}: {a} -> {b}", before.number());
    }
    ensure!(!compared.is_empty(), "run {} has no figure of the same settings", before.number());
    let slower = compared.iter().filter(|one| one.verdict() == "slower").count();
    ensure!(slower == 0, "{slower} of {} figures are slower than in run {}", compared.len(), before.number());
    Ok(Outcome::Done)
}

/// The benchmark to compare with.
fn earlier(args: Args<'_>, number: &str) -> anyhow::Result<Record> {
    let record = super::journal::one(&recording::path(args)?, number)?;
    ensure!(
        record.command == COMMAND.name,
        "run {number} is of `weft {}`; expected one of `weft bench`, which `weft journal search bench` lists",
        record.command
    );
    Ok(record)
}

/// Says that there are too few samples for any verdict, if so, before the time is spent.
fn tell_too_few(before: &Record, wanted: &BenchOptions) {
    let is_wanted = |setting: &&Value| {
        let number = |name: &str, absent| setting[name].as_u64().unwrap_or(absent) as usize;
        let decodes = setting["phase"] == "decode";
        let tokens = if decodes { wanted.decode } else { wanted.prefill };
        let replies = (number("sequences", 1), number("wrong_guesses", 0));
        number("tokens", 0) == tokens
            && wanted.depths.contains(&number("depth", 0))
            && (!decodes || wanted.parallel.contains(&replies.0) && wanted.guesses.contains(&replies.1))
    };
    let shared: Vec<&Value> =
        before.results["settings"].as_array().into_iter().flatten().filter(is_wanted).collect();
    let count = |setting: &&Value| setting["tokens_per_second"]["samples"].as_array().map_or(0, Vec::len);
    let (then, now) = (shared.iter().map(count).max().unwrap_or(0), wanted.repeat);
    let fewest = Rule::fewest(shared.len());
    if then.min(now) < fewest {
        note!(
            "no figure can be told to be slower, because that takes at least {fewest} samples of each in both runs: run {} has {then}, and -r is {now}",
            before.number()
        );
    }
}

/// Writes the comparison with an earlier run.
fn write_against(before: &Record, compared: &[Against], out: &mut impl Write) -> io::Result<()> {
    let run = format!("run {}", before.number());
    writeln!(out, "\n{:<28}  {run:>9}  {:>9}  {:>26}  VERDICT", "AGAINST", "NOW", "GAIN")?;
    for one in compared {
        let Against { name, rates: [then, now], gain, .. } = one;
        let [median, low, high] = [gain.median, gain.low, gain.high].map(|part| 100.0 * part);
        let interval = if low.is_nan() { String::new() } else { format!(" ({low:+.1} to {high:+.1})") };
        let verdict = one.verdict();
        let gain = format!("{median:+.1} %{interval}");
        writeln!(out, "{name:<28}  {then:>9.2}  {now:>9.2}  {gain:>26}  {verdict}")?;
    }
    Ok(())
}

/// Makes the deepest of the depths as small as a context needs it. Returns what it was and is, if it changed.
fn fit(wanted: &mut BenchOptions, context: usize) -> Option<(usize, usize)> {
    let excess = wanted.context().saturating_sub(context);
    let deepest = wanted.depths.last().copied().filter(|&depth| depth > 0 && excess > 0)?;
    let depth = deepest.saturating_sub(excess);
    wanted.depths.remove(&deepest);
    wanted.depths.insert(depth);
    Some((deepest, depth))
}

/// Checks that the model and the context have room for the measurement, before anything is loaded.
fn check_room(wanted: &BenchOptions, args: Args<'_>, model: &ModelGraph) -> anyhow::Result<()> {
    let parallel = wanted.parallel.last().copied().unwrap_or(1);
    let batch = args.count("batch").unwrap_or(usize::MAX);
    ensure!(
        wanted.decode == 0 || parallel <= batch,
        "--parallel {parallel} needs steps of {parallel} tokens, but --batch is {batch}; use a larger --batch"
    );
    let needed = wanted.context();
    let deepest = wanted.depths.last().copied().unwrap_or(0);
    let more = needed.saturating_sub(deepest);
    let trained = model.config.context;
    ensure!(
        needed <= trained,
        "{more} tokens at depth {deepest} need a context of {needed} tokens, but the model's limit is {trained}; use a smaller --depth"
    );
    if let Some(context) = args.count("context") {
        ensure!(
            needed <= context,
            "{more} tokens at depth {deepest} need a context of {needed} tokens, but --context is {context}"
        );
    }
    Ok(())
}

impl Report<'_> {
    /// Everything as JSON.
    fn json(&self) -> Value {
        let mut json = self.on.json(self.bench.json());
        json["threads"] = json!(self.bench.roofs.threads);
        json
    }

    fn text(&self, out: &mut impl Write) -> io::Result<()> {
        let Report { on, bench } = self;
        on.text(&bench.host, out)?;
        meanwhile(&bench.roofs, out)?;
        writeln!(out)?;
        let guesses = bench.settings.iter().any(|setting| setting.speculation[1] > 0);
        let columns = ["REPLIES", "DEPTH", "TOKENS", "TOKENS/S", "MIN", "MAX", "LIMIT", "OF LIMIT"];
        let [sequences, depth, tokens, rate, least, most, limit, share] = columns;
        write!(
            out,
            "{:<7}  {sequences:>7}  {depth:>7}  {tokens:>6}  {rate:>9}  {least:>9}  {most:>9}  {limit:>9}  {share:>8}",
            ""
        )?;
        writeln!(out, "{}", if guesses { "  GUESSED" } else { "" })?;
        for setting in &bench.settings {
            let Setting { phase, sequences, depth, tokens, rates, .. } = setting;
            let figures = [rates.median(), rates.min(), rates.max(), bench.limit(setting)];
            let [rate, least, most, limit] = figures.map(|rate| known(rate, 2));
            let share = percent(bench.share(setting));
            let phase = phase.name();
            write!(
                out,
                "{phase:<7}  {sequences:>7}  {depth:>7}  {tokens:>6}  {rate:>9}  {least:>9}  {most:>9}  {limit:>9}  {share:>8}"
            )?;
            writeln!(out, "{}{}{}", guessed(setting), in_slots(setting), crossed(setting))?;
        }
        writeln!(out)?;
        let per_token = bench.per_token;
        let [weights, cache] = [per_token.weight_bytes, per_token.kv_bytes].map(units::bytes);
        let multiplications = units::count(per_token.multiplications);
        let prefill = match bench.roofs.dot.all() {
            [] => "that of prefill is unknown",
            _ => "that of prefill DOT, without attention",
        };
        writeln!(
            out,
            "A token of a reply reads {weights} of weights, and {cache} of cache per token before it,"
        )?;
        writeln!(
            out,
            "and makes {multiplications} multiplications by weights. The limit of decode is READ, {prefill}."
        )?;
        write_scattered(bench, out)
    }
}

/// Samples whose interquartile range is more than this fraction of their median scatter.
const SCATTERED: f64 = 0.1;

/// Names the figures whose samples scatter, if any do.
fn write_scattered(bench: &Bench, out: &mut impl Write) -> io::Result<()> {
    let mut told = false;
    for setting in bench.settings.iter().filter(|setting| setting.rates.scatter() > SCATTERED) {
        let Setting { phase, sequences, depth, rates, .. } = setting;
        let replies = if *sequences > 1 { format!(" × {sequences}") } else { String::new() };
        if !std::mem::replace(&mut told, true) {
            writeln!(out, "\nsamples scatter, so these figures are uncertain:")?;
        }
        writeln!(
            out,
            "{}{replies} at {depth}: the middle half of the samples spans {:.0} % of the median, all are from {:.2} to {:.2} tokens/s",
            phase.name(),
            100.0 * rates.scatter(),
            rates.min(),
            rates.max()
        )?;
    }
    if told {
        writeln!(out, "measure again while the machine does nothing else, with more samples (-r)")?;
    }
    Ok(())
}

/// The guesses of a step, if there were any: tokens for each reply, and how many of them were right.
fn guessed(setting: &Setting) -> String {
    let [steps, guessed, accepted] = setting.speculation;
    if guessed == 0 {
        return String::new();
    }
    let each = guessed as f64 / (steps.max(1) * setting.sequences as u64) as f64;
    format!("  {each:.2} a token, {:.0} % right", 100.0 * accepted as f64 / guessed as f64)
}

/// What the CPU did beside a GPU, as the end of a line.
fn crossed(setting: &Setting) -> String {
    let Crossings { count, waited, second } = setting.crossings;
    let steps = setting.rates.all().len() * setting.tokens;
    if count == 0 || setting.phase == Phase::Prefill || steps == 0 {
        return String::new();
    }
    let each = |time: Duration| 1e3 * time.as_secs_f64() / steps as f64;
    format!("  CPU {:.2} ms a step, waits {:.2} ms", each(second), each(waited))
}

/// How often experts were in slots, as the end of a line.
fn in_slots(setting: &Setting) -> String {
    let SlotUse { chosen, found, copied } = setting.slots;
    if chosen == 0 {
        return String::new();
    }
    let share = 100.0 * found as f64 / chosen as f64;
    format!("  {share:.0} % of experts in slots, {} copied", units::bytes(copied))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::path::Path;
    use std::time::Duration;

    use expect_test::expect;
    use weft_engine::inspect::CostModel;
    use weft_lab::{Host, Need, PerToken, Roof, Roofs, Samples};

    use weft_engine::{EngineOptions, Switches};

    use super::*;

    #[test]
    fn the_deepest_depth_fits_a_short_context() {
        let wanted = |prefill| BenchOptions {
            prefill,
            decode: 32,
            depths: [0, 4096].into(),
            parallel: [1].into(),
            guesses: [0].into(),
            speculate: Speculate::Off,
            repeat: 5,
            vocabulary: usize::MAX,
        };
        let mut fits = wanted(512);
        assert_eq!((fit(&mut fits, 4608), fits.depths), (None, [0, 4096].into()));
        let mut short = wanted(512);
        assert_eq!(fit(&mut short, 1024), Some((4096, 512)));
        assert_eq!((short.context(), short.depths), (1024, [0, 512].into()));
        let mut none = wanted(512);
        assert_eq!((fit(&mut none, 100), none.depths), (Some((4096, 0)), [0].into()));
    }

    fn samples(rates: &[f64]) -> Samples {
        rates.iter().copied().collect()
    }

    /// The roofs of a CPU.
    fn cpu() -> Roofs {
        Roofs {
            threads: NonZeroUsize::new(2).unwrap(),
            read: samples(&[29e9, 30e9, 31e9]),
            read_in_order: samples(&[25e9]),
            dot: samples(&[310e9, 320e9, 321e9]),
            mul_add: Samples::new(),
        }
    }

    /// Shows an example measurement.
    fn with_report<T>(roofs: Roofs, show: impl FnOnce(&Report<'_>) -> T) -> T {
        let setting = |phase, depth, tokens, roof, amount, rates: &[f64]| {
            let need = Need { roof, amount };
            Setting {
                phase,
                depth,
                sequences: 1,
                tokens,
                guesses: 0,
                speculation: [0; 3],
                slots: SlotUse::default(),
                crossings: Crossings::default(),
                rates: samples(rates),
                need,
            }
        };
        let bench = Bench {
            host: Host { cpu: "A Processor".into(), threads: NonZeroUsize::new(4).unwrap(), ..Host::this() },
            roofs,
            per_token: PerToken {
                weight_bytes: 2_010_000_000,
                kv_bytes: 54_144,
                multiplications: 3_580_000_000,
            },
            settings: vec![
                setting(Phase::Prefill, 0, 512, Roof::Dot, 512.0 * 3.2e9, &[50.0, 49.0, 51.5]),
                setting(Phase::Decode, 4096, 32, Roof::Read, 32.0 * 2e9, &[7.5]),
            ],
        };
        let on = Measured {
            path: Path::new("models/a.gguf"),
            bytes: 16_900_000_000,
            architecture: "deepseek2",
            layers: 47,
            device: "cpu (avx2), 2 threads",
            hardware: "cpu",
            costs: CostModel::default(),
            decisions: &Switches::default(),
            options: &EngineOptions::default().context(4608),
            batch: 512,
            loaded: Duration::from_millis(1500),
        };
        show(&Report { on, bench: &bench })
    }

    #[test]
    fn every_rate_has_its_limit() {
        let mut text = Vec::new();
        with_report(cpu(), |report| report.text(&mut text)).unwrap();
        expect![[r#"
            a.gguf: deepseek2, 47 layers, 16.9 GB; KV cache in f16
            cpu (avx2), 2 threads; A Processor, 4 threads
            limits, measured meanwhile: READ 30.0 (29.0 to 31.0) GB/s, in order 25.0 (25.0 to 25.0),
            DOT 320.0 (310.0 to 321.0) GMAC/s in 8 bits

                     REPLIES    DEPTH  TOKENS   TOKENS/S        MIN        MAX      LIMIT  OF LIMIT
            prefill        1        0     512      50.00      49.00      51.50     100.00    50.0 %
            decode         1     4096      32       7.50       7.50       7.50      15.00    50.0 %

            A token of a reply reads 2.01 GB of weights, and 54.1 kB of cache per token before it,
            and makes 3.58 B multiplications by weights. The limit of decode is READ, that of prefill DOT, without attention.
        "#]].assert_eq(&String::from_utf8(text).unwrap());
    }

    #[test]
    fn prefill_has_no_limit_if_only_reading_is_known() {
        let none = Samples::new;
        let read = samples(&[4.2e12, 4.25e12]);
        let roofs = Roofs { read, read_in_order: none(), dot: none(), ..cpu() };
        let mut text = Vec::new();
        with_report(roofs, |report| report.text(&mut text)).unwrap();
        expect![[r#"
            a.gguf: deepseek2, 47 layers, 16.9 GB; KV cache in f16
            cpu (avx2), 2 threads; A Processor, 4 threads
            limits, measured meanwhile: READ 4225 (4200 to 4250) GB/s; the multiplication rate is unknown,
            and so is what it may limit (-)

                     REPLIES    DEPTH  TOKENS   TOKENS/S        MIN        MAX      LIMIT  OF LIMIT
            prefill        1        0     512      50.00      49.00      51.50          -         -
            decode         1     4096      32       7.50       7.50       7.50    2112.50     0.4 %

            A token of a reply reads 2.01 GB of weights, and 54.1 kB of cache per token before it,
            and makes 3.58 B multiplications by weights. The limit of decode is READ, that of prefill is unknown.
        "#]]
        .assert_eq(&String::from_utf8(text).unwrap());
    }

    #[test]
    fn samples_that_scatter_are_named() {
        let shown = |rates: &[f64], sequences| {
            let mut text = Vec::new();
            with_report(cpu(), |report| {
                let mut bench = report.bench.clone();
                bench.settings[1].rates = samples(rates);
                bench.settings[1].sequences = sequences;
                write_scattered(&bench, &mut text)
            })
            .unwrap();
            String::from_utf8(text).unwrap()
        };
        expect![[r#"

            samples scatter, so these figures are uncertain:
            decode × 4 at 4096: the middle half of the samples spans 68 % of the median, all are from 161.00 to 743.00 tokens/s
            measure again while the machine does nothing else, with more samples (-r)
        "#]]
        .assert_eq(&shown(&[161.0, 440.0, 743.0, 500.0, 200.0], 4));
        // A sample that is far off is none of the half in the middle.
        assert_eq!(shown(&[440.0, 441.0, 161.0, 439.0, 440.0], 1), "");
    }

    #[test]
    fn the_json_has_every_sample_and_the_subject() {
        let json = with_report(cpu(), |report| report.json());
        let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        expect!["weft model device hardware cost_model decisions kv batch context load_seconds machine roofs per_token settings threads"]
            .assert_eq(&keys.join(" "));
        assert_eq!(json["settings"][0]["tokens_per_second"]["samples"], json!([50.0, 49.0, 51.5]));
        assert_eq!(json["settings"][1]["share_of_limit"], 0.5);
        assert_eq!(json["model"]["path"], "models/a.gguf");
        assert_eq!((&json["threads"], &json["kv"]), (&json!(2), &json!("f16")));
    }
}

//! `weft optimize`: finds settings that make a model faster on this machine, checks them, and keeps them.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use clap::error::ErrorKind;
use serde_json::{Value, json};
use weft_engine::inspect::TunedDecision;
use weft_engine::{EngineOptions, Model};
use weft_gguf::Gguf;
use weft_lab::{
    AblateOptions, Change, Error, Meter, OptimizeEnd, OptimizeProgress, Optimized, Roofline, TuneEnd,
    TuneOptions, Tuned, Verifier, optimize, optimize_context, report, roofline, tune,
};

use crate::cli::args::Args;
use crate::commands::measure::kept_decisions;
use crate::commands::measure::machine_speed;
use crate::commands::measure::measurement::{Prepared, alone, interrupted, prepare};
use crate::commands::measure::recording;
use crate::commands::measure::report_head::Measured;
use crate::commands::{Command, MODEL, Outcome};
use crate::model::load::with_report;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::result_file::Output;
use crate::terminal::streams::{Out, note};

pub(in crate::commands) const COMMAND: Command = Command {
    name: "optimize",
    about: "Find what makes a model faster on this machine, check it, and keep it",
    notes: "\
One unattended run of what `roofline`, `tune`, `ablate --combine` and `verify` do. The device's speed is measured for \
decisions by cost. On a GPU, faster schedules are searched for --seconds. Then every compiler decision is tried the other \
way; those that win are combined, and measured again in fresh samples. If they win again and the interpreter agrees with \
every checked kernel, they are kept: every later run of this model on this machine uses them. A page with all results is \
written to --out.

Nothing is lost by Ctrl-C: the speed, schedules and decisions found until then are kept, and the next run continues from \
there. A run that finds nothing new says so. `weft explain` shows what is kept, --no-tuned ignores it, and \
`weft cache clear` removes it.

Examples:
  weft optimize model.gguf
  weft optimize model.gguf --device gpu --seconds 600 -o found.html",
    positionals: &[MODEL],
    run,
};

/// The results of all stages.
struct Report<'a> {
    on: Measured<'a>,
    wanted: &'a AblateOptions,
    roofline: &'a Roofline,
    tuned: Option<&'a Tuned>,
    found: &'a Optimized,
    /// The decisions kept after it.
    kept: Vec<TunedDecision>,
}

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let count = |knob| args.count(knob).unwrap_or(0);
    kept_decisions::folder(args)?;
    let mut wanted = AblateOptions {
        prefill: count("prefill"),
        decode: count("decode"),
        depth: count("depth"),
        pairs: count("repeat"),
        switches: args.switches(),
        golden: None,
        most_kl: args.number("max-kl"),
        combine: true,
    };
    if wanted.prefill == 0 && wanted.decode == 0 {
        let problem = "with --prefill 0 and --decode 0, there is nothing to measure";
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem).into());
    }
    let tokens = wanted.prefill.max(wanted.decode);
    let Prepared { path, gguf, options } = prepare(args, MODEL.name, wanted.depth, tokens)?;
    let page = args.path("out").unwrap_or("optimize.html".as_ref());
    crate::terminal::result_file::check_output(page, &gguf)?;
    let trained = weft_models::build(&gguf, &weft_models::BuildOptions::default())?.config.context;
    let needed = optimize_context(&wanted);
    ensure!(
        needed <= trained,
        "comparing and verifying needs a context of {needed} tokens, but the model's limit is {trained}"
    );
    let context = needed.max(options.context.unwrap_or(0));
    let options = options.context(context).sequences(2);
    super::ablate::tell_too_few(&wanted);
    let _alone = alone(args, COMMAND.name)?;
    let roofline = limits(args, &options)?;
    let tuned = schedules(args, &path, &options, &wanted)?;
    let (mut verifier, loaded) = with_report(|report| Verifier::load(&path, &options, report))?;
    let listener = Listener::new();
    wanted.switches = verifier.runner().switches().clone();
    // Schedules have been tuned, and the size of steps is not kept.
    let is_decision = |change: &Change| matches!(change, Change::Decision(..));
    let changes = Change::all(&wanted.switches, &options.device).into_iter().filter(is_decision);
    let changes: Vec<Change> = changes.collect();
    let mut shown: Option<(&str, Progress)> = None;
    let found = optimize(&mut verifier, &changes, &wanted, listener.pressed(), &mut |stage| {
        let (label, done, total, unit) = match stage {
            OptimizeProgress::Trying(done, total) => ("trying changes", done, total, Unit::Samples),
            OptimizeProgress::Confirming(done, total) => ("confirming", done, total, Unit::Samples),
            OptimizeProgress::Verifying(done, total) => ("verifying", done, total, Unit::Kernels),
        };
        if shown.as_ref().is_none_or(|(known, _)| *known != label) {
            shown = Some((label, Progress::new(label, total, unit).at_once(true)));
        }
        shown.iter_mut().for_each(|(_, progress)| {
            progress.expect(total);
            progress.set(done);
        });
    })?;
    drop(shown);
    let hardware = verifier.runner().device().hardware.clone();
    let kept = kept_decisions::keep(args, &hardware, &gguf, &found.keep)?;
    let on = Measured::new(&path, &gguf, verifier.runner(), &options, loaded);
    let results =
        Report { on, wanted: &wanted, roofline: &roofline, tuned: tuned.as_ref(), found: &found, kept };
    let json = results.json();
    let mut out = Out::new();
    if args.flag("json") {
        out.json(&json)?;
    } else {
        let mut text = Vec::new();
        results.text(&json, &mut text)?;
        out.foreign(&String::from_utf8_lossy(&text))?;
    }
    write_page(args, page, &gguf, json)?;
    Ok(if found.end == OptimizeEnd::Interrupted { Outcome::Interrupted } else { Outcome::Done })
}

/// Measures the limits of the device, and stores its speed for decisions by cost.
fn limits(args: Args<'_>, options: &EngineOptions) -> anyhow::Result<Roofline> {
    let listener = Listener::new();
    let mut device = options.open_device()?;
    let most = NonZeroUsize::new(device.caps().threads).unwrap_or(NonZeroUsize::MIN);
    let mut progress = None;
    let measured = Meter::new(&mut *device).and_then(|mut meter| {
        roofline(&mut *device, &mut meter, most, listener.pressed(), &mut |done, total| {
            let begin = || Progress::new("measuring limits", total, Unit::Samples).at_once(true);
            progress.get_or_insert_with(begin).set(done);
        })
    });
    let roofline = uninterrupted(measured)?;
    if let Some(found) = &roofline.machine {
        machine_speed::keep(args, &device.caps().hardware, found);
    }
    Ok(roofline)
}

/// Searches faster schedules, if the device has any, and stores them; `None` if it has none.
fn schedules(
    args: Args<'_>,
    path: &Path,
    options: &EngineOptions,
    wanted: &AblateOptions,
) -> anyhow::Result<Option<Tuned>> {
    let seconds = args.count("seconds").unwrap_or(0);
    if seconds == 0 || options.device.departures().is_empty() {
        return Ok(None);
    }
    let prefill = if wanted.prefill == 0 { 0 } else { options.batch.unwrap_or(wanted.prefill) };
    let time = Duration::from_secs(seconds as u64);
    let tuning = TuneOptions { time, beam: 3, depth: wanted.depth, prefill };
    let context = tuning.context().max(options.context.unwrap_or(0));
    let own = options.clone().context(context);
    let device = own.open_device()?;
    let (mut verifier, _) =
        with_report(|report| Verifier::new(Model::open_with(path, &own)?, device, &own, report))?;
    let listener = Listener::new();
    let mut shown: Option<(&str, Progress)> = None;
    let tuned = tune(&mut verifier, &tuning, listener.pressed(), &mut |stage| {
        super::tune::show_progress(&mut shown, stage);
    });
    uninterrupted(tuned).map(Some)
}

/// Turns an interruption into the error that loading a model has for it, which ends the program quietly.
fn uninterrupted<T>(result: Result<T, Error>) -> anyhow::Result<T> {
    match result {
        Err(Error::Interrupted) => {
            interrupted("recorded");
            Err(weft_engine::Error::Interrupted.into())
        }
        result => Ok(result?),
    }
}

/// Records the run, and writes its page.
fn write_page(args: Args<'_>, page: &Path, gguf: &Gguf, json: Value) -> anyhow::Result<()> {
    let Some(record) = recording::append(args, COMMAND.name, Some(gguf), json) else {
        note!("no page without the journal; leave --no-journal out");
        return Ok(());
    };
    let mut file = Output::create(page)?;
    file.write(report(&[record]).as_bytes())?;
    file.commit()?;
    note!("all results: {}", page.display());
    Ok(())
}

impl Report<'_> {
    fn json(&self) -> Value {
        let Report { on, wanted, roofline, tuned, found, kept } = self;
        let kept = kept.iter().map(|TunedDecision { decision, mode, why }| {
            json!({ "change": format!("{}={}", decision.name, mode.name()), "why": why })
        });
        let own = json!({
            "prefill": wanted.prefill,
            "decode": wanted.decode,
            "depth": wanted.depth,
            "pairs": wanted.pairs,
            "limits": roofline.json(),
            "schedules": tuned.map(Tuned::json),
            "kept": kept.collect::<Value>(),
        });
        on.json(weft_lab::joined(found.json(), own))
    }

    fn text(&self, json: &Value, out: &mut impl Write) -> io::Result<()> {
        let Report { on, wanted, tuned, found, kept, .. } = self;
        on.text(&found.ablation.host, out)?;
        let AblateOptions { prefill, decode, depth, pairs, .. } = wanted;
        writeln!(
            out,
            "replies of {decode} and prompts of {prefill} tokens at depth {depth}; up to {pairs} pairs of samples\n"
        )?;
        if let Some(tuned) = tuned {
            let what = match &tuned.end {
                TuneEnd::Nothing => "no faster ones",
                TuneEnd::Kept(_) => "faster ones are saved",
                TuneEnd::Slower => "whole steps are slower with those found, which are discarded",
            };
            writeln!(out, "schedules of {} kernels: {what}", tuned.kernels.len())?;
        }
        super::ablate::write_changes(&found.ablation, out)?;
        if let Some(confirmed) = &found.confirmed {
            let [decode, prefill] = super::ablate::gains(confirmed);
            writeln!(out, "\nMeasured again: decode {decode}, prefill {prefill}")?;
        }
        if let Some(checked) = &found.verification {
            let (some, of, faults) = (checked.launches.len(), checked.of, checked.faults().count());
            writeln!(out, "Verified: {some} of {of} kernels compared with the interpreter, {faults} faults")?;
        }
        let kept = if kept.is_empty() { "the defaults".into() } else { kept_decisions::words(kept) };
        match &found.end {
            OptimizeEnd::Nothing => {
                writeln!(out, "\nNothing new: no decision is faster than what is used already ({kept}).")
            }
            OptimizeEnd::Confirmed => writeln!(out, "\nKept for this model on this machine: {kept}."),
            OptimizeEnd::Unconfirmed => {
                writeln!(out, "\nNothing new: what won did not win again ({kept} stay in use).")
            }
            OptimizeEnd::Wrong(fault) => {
                writeln!(out, "\nNothing new: what won is wrong ({fault}); {kept} stay in use.")
            }
            OptimizeEnd::Interrupted => {
                let how = weft_lab::interruption(json).unwrap_or_else(|| "interrupted".into());
                writeln!(out, "\n{how}. In use from now on: {kept}. The next run continues from there.")
            }
        }
    }
}

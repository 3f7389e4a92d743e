//! `weft tune`: finds faster schedules for a model's kernels and stores them.

mod show;

use std::time::Duration;

use weft_engine::Model;
use weft_lab::{Error, TuneOptions, TuneProgress, Verifier, tune};

use crate::cli::args::Args;
use crate::commands::measure::measurement::{Prepared, alone, interrupted, prepare};
use crate::commands::measure::recording;
use crate::commands::measure::report_head::Measured;
use crate::commands::tables::Form;
use crate::commands::{Command, MODEL, Outcome};
use crate::model::load::with_report;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::streams::Out;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "tune",
    about: "Find faster schedules for a model's kernels on a GPU",
    notes: "\
A schedule maps a kernel to workgroups and threads. The search tries the neighbours of each kernel's schedule, all \
kernels at once: it compiles a step with a new schedule for every kernel, and runs it in turns with the unchanged step \
while timing each kernel. Winners are timed again, and must be faster by more than 2 % beyond their confidence interval. \
Where kernels overlap (CUDA) or several run as one (NVIDIA GPUs through Vulkan), these times only propose schedules: \
each is then tried in whole steps, and kept if they are certainly faster. The interpreter then checks their results, as `weft verify` does; wrong schedules are dropped and reported. Half of \
--seconds goes to steps of one token. Confirming and verifying come on top.

The result is stored beside the packed weights, for this GPU and driver, and every command that runs or explains a model \
uses it. Tuning again continues from there. `weft cache clear` removes it, --no-cache ignores it.

Examples:
  weft tune model.gguf --device gpu
  weft tune model.gguf --device gpu --seconds 600 -d 4096 --markdown",
    positionals: &[MODEL],
    run,
};

/// The default context of other commands: kernels are tuned for the steps they will run in.
const DEFAULT_CONTEXT: usize = 4096;

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let count = |knob| args.count(knob).unwrap_or(0);
    let form = Form::of(args)?;
    let prefill = count("prefill").min(args.count("batch").unwrap_or(usize::MAX));
    let time = Duration::from_secs(count("seconds") as u64);
    let wanted = TuneOptions { time, beam: count("beam"), depth: count("depth"), prefill };
    let Prepared { path, gguf, options } = prepare(args, MODEL.name, wanted.depth, prefill.max(1))?;
    let needed = wanted.context();
    let context = args.count("context").or((needed > DEFAULT_CONTEXT).then_some(needed));
    let options = options.context(context);
    let _alone = alone(args, COMMAND.name)?;
    let mut device = options.open_device()?;
    // Fail before loading the model if the device cannot be tuned.
    weft_lab::schedules(&mut *device)?;
    let (mut verifier, loaded) =
        with_report(|report| Verifier::new(Model::open_with(&path, &options)?, device, &options, report))?;
    let listener = Listener::new();
    let mut shown: Option<(&str, Progress)> = None;
    let tuned = tune(&mut verifier, &wanted, listener.pressed(), &mut |tuning| {
        show_progress(&mut shown, tuning);
    });
    drop(shown);
    let tuned = match tuned {
        Err(Error::Interrupted) => return Ok(interrupted("saved or recorded")),
        tuned => tuned?,
    };
    let on = Measured::new(&path, &gguf, verifier.runner(), &options, loaded);
    let json = on.json(tuned.json());
    let mut out = Out::new();
    if form == Form::Json {
        out.json(&json)?;
    } else {
        let mut text = Vec::new();
        on.text(&tuned.host, &mut text)?;
        show::write(&tuned, form, &mut text)?;
        out.foreign(&String::from_utf8_lossy(&text))?;
    }
    recording::append(args, COMMAND.name, Some(&gguf), json);
    Ok(Outcome::Done)
}

/// Shows how far tuning is: a line for each of its stages.
pub(in crate::commands) fn show_progress(shown: &mut Option<(&str, Progress)>, tuning: TuneProgress) {
    let (label, done, total, unit) = match tuning {
        TuneProgress::Searching(done, total) => ("tuning", done, total, Unit::Seconds),
        TuneProgress::Verifying(done, total) => ("verifying", done, total, Unit::Kernels),
        TuneProgress::Measuring(done, total) => ("measuring", done, total, Unit::Samples),
    };
    if shown.as_ref().is_none_or(|(known, _)| *known != label) {
        *shown = Some((label, Progress::new(label, total, unit).at_once(true)));
    }
    shown.iter_mut().for_each(|(_, progress)| progress.set(done));
}

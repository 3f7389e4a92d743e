//! `weft profile`: measures the time of a step, kernel by kernel.

mod text;

use std::path::Path;

use weft_lab::{ProfileOptions, profile};

use crate::cli::args::Args;
use crate::commands::measure::measurement::{Prepared, alone, interrupted, measure, prepare};
use crate::commands::measure::recording;
use crate::commands::measure::report_head::Measured;
use crate::commands::{Command, MODEL, Outcome};
use crate::model::load::load;
use crate::terminal::progress::Unit;
use crate::terminal::result_file::{Output, check_output};
use crate::terminal::streams::Out;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "profile",
    about: "Measure the time of a step, kernel by kernel; `weft report` makes a page of it",
    notes: "\
Runs --steps steps of one random token after --depth others, or of --prefill prompt tokens, with a clock at every kernel on \
every thread, and as many steps without it. Figures are medians per kernel. A kernel's time lasts until the next one begins, \
as the mean over the threads, and includes waiting. Bytes are those of weights and cache, multiplications those of products \
and attention; both are counted on the plan, with experts as if no two tokens selected the same. OF ROOF is the share of the \
machine's bandwidth or multiplication rate, measured in the same run as by `weft roofline`, and LOST the time above that \
limit. Devices other than the CPU have no known multiplication rate; what it may limit has a dash. A kernel with several \
roles is divided by the minimum time of each.

Examples:
  weft profile model.gguf
  weft profile model.gguf -d 4096 -n 50 --trace trace.json
  weft profile model.gguf --prefill 128 -n 5 --json
  weft report 12 -o profile.html                    # of the run that was recorded as 12",
    positionals: &[MODEL],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let count = |knob| args.count(knob).unwrap_or(0);
    let wanted = ProfileOptions {
        steps: count("steps"),
        depth: count("depth"),
        tokens: args.count("prefill").unwrap_or(1),
    };
    // A trace on standard output must be the only output.
    let trace_alone = args.path("trace") == Some(Path::new("-"));
    if trace_alone {
        args.refuse_with("--trace -", &["json", "with-source"])?;
    } else if args.flag("json") {
        args.refuse_with("--json", &["with-source"])?;
    }
    let prepared = prepare(args, MODEL.name, wanted.depth, wanted.tokens)?;
    let Prepared { path, gguf, options } = &prepared;
    if let Some(trace) = args.path("trace") {
        check_output(trace, gguf)?;
    }
    let _alone = alone(args, COMMAND.name)?;
    let (mut engine, loaded) = load(path, options)?;
    let measured = measure(args, &mut engine, Unit::Tokens, |engine, meter, cancel, on| {
        profile(engine.inspect_mut(), meter, &wanted, cancel, on)
    })?;
    let Some(profile) = measured else { return Ok(interrupted("recorded")) };
    if let Some(trace) = args.path("trace") {
        let mut file = Output::create(trace)?;
        file.write(profile.trace().to_string().as_bytes())?;
        file.commit()?;
    }
    let on = Measured::new(path, gguf, engine.inspect(), options, loaded);
    let json = on.json(profile.json());
    let mut out = Out::new();
    if args.flag("json") {
        out.json(&json)?;
    } else if !trace_alone {
        on.text(&profile.host, &mut out)?;
        let runner = engine.inspect();
        let source = |launch: usize| {
            let text = runner.text(&profile.shape, launch)?;
            Some(text.unwrap_or_else(|why| format!("cannot run: {why}")))
        };
        let source: Option<text::LaunchText<'_>> =
            if args.flag("with-source") { Some(&source) } else { None };
        text::write(&profile, source, &mut out)?;
    }
    recording::append(args, COMMAND.name, Some(gguf), json);
    Ok(Outcome::Done)
}

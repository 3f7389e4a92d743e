//! `weft profile`: measures the time of a step, kernel by kernel.

mod text;

use std::path::Path;

use weft_lab::{ProfileOptions, profile};

use super::{Command, MODEL, Outcome};
use crate::args::Args;
use crate::journal;
use crate::load::load;
use crate::measured::Measured;
use crate::measuring::{Prepared, measure, prepare};
use crate::out::Out;
use crate::output::{Output, check_output};
use crate::progress::Unit;

pub(super) const COMMAND: Command = Command {
    name: "profile",
    about: "Measure where the time of a step goes, kernel by kernel",
    notes: "\
It computes --steps steps of one random token each after --depth others, or of a prompt's --prefill tokens, with a clock at \
every kernel on every thread, and as many without it. Figures are medians, kernel by kernel; a kernel's time is that from \
its beginning to the beginning of the next, the mean over the threads, and includes what threads wait. Bytes are those of \
weights and cache, multiplications those of products and attention; both are counted on the plan, and experts as if no two \
tokens picked the same. OF ROOF is how much of it the machine itself did meanwhile, as `weft roofline` measures it, LOST the \
time beyond; of another device than the processor only reading is measured, and what multiplying may limit has a dash. A kernel for several purposes is divided by what each of them takes at least.

Examples:
  weft profile model.gguf
  weft profile model.gguf -d 4096 -n 50 --trace trace.json
  weft profile model.gguf --prefill 128 -n 5 --json",
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
    // A trace on standard output is all that is there.
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
    let (mut engine, loaded) = load(path, options)?;
    let measured = measure(args, &mut engine, Unit::Tokens, |engine, meter, cancel, on| {
        profile(engine.inspect_mut(), meter, &wanted, cancel, on)
    })?;
    let Some(profile) = measured else { return Ok(Outcome::Interrupted) };
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
        text::write(&profile, args.flag("with-source"), &mut out)?;
    }
    journal::append(args, COMMAND.name, Some(gguf), json);
    Ok(Outcome::Done)
}

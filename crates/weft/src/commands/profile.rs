//! `weft profile`: where the time of a step goes, kernel by kernel.

mod text;

use std::path::Path;

use weft_engine::EngineOptions;
use weft_gguf::Gguf;
use weft_lab::{Error, ProfileOptions, profile};
use weft_models::BuildOptions;

use super::{Command, MODEL, Outcome};
use crate::args::Args;
use crate::interrupt::Listener;
use crate::journal;
use crate::load::load;
use crate::measured::{Measured, check_step};
use crate::model_ref;
use crate::out::Out;
use crate::progress::{Progress, Unit};
use crate::replacement::{Replacement, check_output};

pub(super) const COMMAND: Command = Command {
    name: "profile",
    about: "Measure where the time of a step goes, kernel by kernel",
    notes: "\
It computes --steps steps of one random token each after --depth others, or of a prompt's --prefill tokens, with a clock at \
every kernel on every thread, and as many without it. Figures are medians, kernel by kernel; a kernel's time is that from \
its beginning to the beginning of the next, the mean over the threads, and includes what threads wait. Bytes are those of \
weights and cache, multiplications those of products and attention; both are counted on the plan, and experts as if no two \
tokens picked the same. OF ROOF is how much of it the machine itself did meanwhile, as `weft roofline` measures it, LOST the \
time beyond. A kernel for several purposes is divided by what each of them takes at least.

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
    let path = model_ref::find(args, args.text(MODEL.name))?;
    let gguf = Gguf::open(&path)?;
    if let Some(trace) = args.path("trace") {
        check_output(trace, &gguf)?;
    }
    let own = args.engine();
    let model = weft_models::build(&gguf, &BuildOptions { kv: args.kv(), ..BuildOptions::default() })?;
    check_step(wanted.depth, wanted.tokens, own.context, own.batch, &model)?;
    let options = EngineOptions { context: own.context.or(Some(wanted.context())), ..own };
    let (mut engine, loaded) = load(&path, &options)?;
    let listener = Listener::new();
    let mut progress = None;
    let mut probe = weft_lab::probe()?;
    let measured = profile(&mut engine, &mut probe, &wanted, listener.pressed(), &mut |done, total| {
        let begin = || Progress::new("measuring", total, Unit::Tokens).at_once(true);
        progress.get_or_insert_with(begin).set(done);
    });
    drop(progress);
    let profile = match measured {
        Err(Error::Interrupted) => return Ok(Outcome::Interrupted),
        measured => measured?,
    };
    if let Some(trace) = args.path("trace") {
        let mut file = Replacement::create(trace)?;
        file.write(profile.trace().to_string().as_bytes())?;
        file.commit()?;
    }
    let on = Measured::new(&path, &gguf, &engine, &options, loaded);
    let json = on.json(profile.json());
    let mut out = Out::new();
    if args.flag("json") {
        out.json(&json)?;
    } else if !trace_alone {
        on.text(&profile.host, &mut out)?;
        text::write(&profile, args.flag("with-source"), &mut out)?;
    }
    journal::append(args, COMMAND.name, Some(&gguf), json);
    Ok(Outcome::Done)
}

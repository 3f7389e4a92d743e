//! `weft synth`: creates a model with random weights.

use std::io::Write as _;
use std::path::Path;

use serde_json::json;
use weft_make::{Preset, QuantMix, SynthOptions, Synthesised, synth};

use super::{OUT, threads, with_progress};
use crate::cli::args::Args;
use crate::commands::{Command, Outcome};
use crate::terminal::streams::Out;
use crate::terminal::units;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "synth",
    about: "Create a model with random weights and the shape of a real one",
    notes: "\
Such models produce gibberish. They are for tests, and for benchmarks of models that are too large to download. \
The same options give the same file on every machine.

Examples:
  weft synth tiny.gguf
  weft synth --preset glm-4.7-flash --layers 2 --quant q4_0 two-layers.gguf
  weft synth --preset qwen3moe-odd --vocab 1003 odd.gguf",
    positionals: &[OUT],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let path = args.path(OUT.name).unwrap_or(Path::new(""));
    let mut preset = *Preset::named(args.text("preset").unwrap_or_default())?;
    if let Some(tokens) = args.count("vocab") {
        preset.vocabulary = u32::try_from(tokens).unwrap_or(u32::MAX);
    }
    let options = SynthOptions {
        preset,
        layers: args.count("layers").map(|layers| u32::try_from(layers).unwrap_or(u32::MAX)),
        mtp: args.flag("mtp"),
        mix: QuantMix::named(args.text("quant").unwrap_or_default())?,
        seed: args.0.get_one("seed").copied().unwrap_or_default(),
        threads: threads(args),
    };
    let made = with_progress("making weights", |progress| synth(&options, path, progress))?;
    let Some(Synthesised { tensors, parameters, bytes }) = made else { return Ok(Outcome::Interrupted) };
    let mut out = Out::new();
    if args.flag("json") {
        let path = path.display().to_string();
        out.json(&json!({ "path": path, "tensors": tensors, "parameters": parameters, "bytes": bytes }))?;
    } else {
        let (parameters, bytes) = (units::count(parameters), units::bytes(bytes));
        writeln!(out, "{}: {parameters} parameters in {tensors} tensors, {bytes}", path.display())?;
    }
    Ok(Outcome::Done)
}

//! `weft convert`: makes a GGUF file of a model from Hugging Face.

use std::io::Write as _;
use std::path::Path;

use serde_json::json;
use weft_make::{ConvertOptions, Converted, QuantMix, convert};

use super::{OUT, threads, with_progress};
use crate::cli::args::Args;
use crate::commands::{Command, Outcome, Positional};
use crate::terminal::streams::{Out, note};
use crate::terminal::units;

const DIR: Positional = Positional {
    name: "DIR",
    help: "Folder with config.json, tokenizer.json and *.safetensors",
    required: true,
};

pub(in crate::commands) const COMMAND: Command = Command {
    name: "convert",
    about: "Convert a model from Hugging Face's safetensors to GGUF",
    notes: "\
Names, metadata and types are those that llama.cpp's converter writes. With --quant, weights are quantised on the way, as \
`weft quantize` does it.

Examples:
  weft convert SmolLM2-135M-Instruct smollm2.gguf
  weft convert Qwen3-30B-A3B qwen3-q4_k_m.gguf --quant q4_k_m",
    positionals: &[DIR, OUT],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let [folder, path] = [DIR, OUT].map(|name| args.path(name.name).unwrap_or(Path::new("")));
    let mix = args.text("quant").map(QuantMix::named).transpose()?;
    let options = ConvertOptions { mix, threads: threads(args) };
    let done = with_progress("converting", |progress| convert(folder, path, &options, progress))?;
    let Some(Converted { architecture, quant, tensors, parameters, bytes, note }) = done else {
        return Ok(Outcome::Interrupted);
    };
    if let Some(note) = note {
        note!("{note}");
    }
    let mut out = Out::new();
    if args.flag("json") {
        let path = path.display().to_string();
        out.json(&json!({
            "path": path, "architecture": architecture, "quant": quant,
            "tensors": tensors, "parameters": parameters, "bytes": bytes,
        }))?;
    } else {
        let (parameters, bytes) = (units::count(parameters), units::bytes(bytes));
        writeln!(
            out,
            "{}: {architecture}, {parameters} parameters in {tensors} tensors, {quant}, {bytes}",
            path.display()
        )?;
    }
    Ok(Outcome::Done)
}

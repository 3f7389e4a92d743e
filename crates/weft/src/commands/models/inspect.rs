//! `weft inspect`: shows what a model file contains and what a token costs.

mod facts;
mod roles;
mod show;

use std::io::Write as _;

use serde_json::json;
use weft_engine::inspect::memory_need;
use weft_engine::{EngineOptions, MemoryNeed, open_file};
use weft_gguf::Gguf;
use weft_models::BuildOptions;

use crate::cli::args::Args;
use crate::commands::{Command, MODEL, Outcome};
use crate::model::model_ref;
use crate::terminal::streams::Out;
use facts::Facts;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "inspect",
    about: "Show what a model contains and what a token costs",
    notes: "\
Reads headers only, and works for models that Weft cannot run. Long metadata values are shortened. With --device it also \
compiles the model and says how much memory it needs there.

Examples:
  weft inspect model.gguf
  weft inspect model.gguf --device cuda --context 32768
  weft inspect model.gguf --tensors --json",
    positionals: &[MODEL],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let path = model_ref::find(args, args.path(MODEL.name))?;
    let gguf = open_file(&path)?;
    let facts = Facts::of(&gguf, args.flag("tensors"));
    let need = if args.is_set("device") { Some(memory(args, &gguf)?) } else { None };
    let mut out = Out::new();
    if args.flag("json") {
        let mut report = facts.json();
        if let Some(MemoryNeed { device, tokens, weights, cache, states, values, free, .. }) = &need {
            report["memory"] = json!({
                "device": device,
                "context": tokens,
                "weight_bytes": weights,
                "cache_bytes": cache,
                "state_bytes": states,
                "value_bytes": values,
                "free_bytes": free,
            });
        }
        out.json(&report)?;
    } else {
        show::text(&facts, &mut out)?;
        if let Some(need) = need {
            writeln!(out, "\n{need}")?;
        }
    }
    Ok(Outcome::Done)
}

/// The memory that a model needs on the device that was named.
fn memory(args: Args<'_>, gguf: &Gguf) -> anyhow::Result<MemoryNeed> {
    let model = weft_models::build(gguf, &BuildOptions { kv: args.kv(), ..BuildOptions::default() })?;
    let options = EngineOptions::default().kv(args.kv()).context(args.count("context"));
    let device = args.device().open(None, None)?;
    Ok(memory_need(&model, &*device, &options)?)
}

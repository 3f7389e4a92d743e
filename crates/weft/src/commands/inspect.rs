//! `weft inspect`: shows what a model file contains and what a token costs.

mod facts;
mod roles;
mod show;

use weft_gguf::Gguf;

use super::{Command, MODEL, Outcome};
use crate::args::Args;
use crate::model_ref;
use crate::out::Out;
use facts::Facts;

pub(super) const COMMAND: Command = Command {
    name: "inspect",
    about: "Show what a model contains and what a token costs",
    notes: "\
Reads headers only, and works for models that Weft cannot run. Long metadata values are shortened.

Examples:
  weft inspect model.gguf
  weft inspect model.gguf --tensors --json",
    positionals: &[MODEL],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let path = model_ref::find(args, args.text(MODEL.name))?;
    let gguf = Gguf::open(&path)?;
    let facts = Facts::of(&gguf, args.flag("tensors"));
    let mut out = Out::new();
    if args.flag("json") {
        out.json(&facts.json())?;
    } else {
        show::text(&facts, &mut out)?;
    }
    Ok(Outcome::Done)
}

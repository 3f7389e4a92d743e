//! `weft inspect`: what is in a model file, and what a token of it costs.

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
    about: "Show what is in a model, and what a token of it costs",
    notes: "It reads headers only, and shows files that Weft cannot run, too. Long lists of the metadata are cut short.",
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

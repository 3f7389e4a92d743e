//! Keeps decisions that were measured to pay, and says which.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::error::ErrorKind;
use weft_engine::inspect::{Hardware, TunedDecision, keep_decisions, tuned_decisions};
use weft_gguf::Gguf;
use weft_lab::kept_together;

use crate::cli::args::Args;
use crate::terminal::streams::note;

/// The folder to keep decisions in.
///
/// # Errors
/// A usage error if nothing can be kept: without a cache, or if decisions were set by hand, without which those found may
/// not pay.
pub(crate) fn folder(args: Args<'_>) -> Result<PathBuf, clap::Error> {
    let problem = match args.packed() {
        Some(folder) if !args.is_set("set") => return Ok(folder),
        Some(_) => {
            "cannot keep decisions that were measured with others set by --set, which later runs do not have"
        }
        None => {
            "cannot keep decisions without a cache; leave --no-cache out, or set a folder with --cache DIR"
        }
    };
    Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem))
}

/// Keeps decisions on top of those kept before, unless these were ignored. Returns all that are kept.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn keep(
    args: Args<'_>,
    hardware: &Hardware,
    model: &Gguf,
    found: &[TunedDecision],
) -> anyhow::Result<Vec<TunedDecision>> {
    let folder = folder(args)?;
    let known = tuned_decisions(hardware, Some(&folder), model);
    let before = if args.uses_tuned() { known } else { Vec::new() };
    if found.is_empty() {
        note!("no new decision to keep");
        return Ok(before);
    }
    let all = kept_together(&before, found);
    let kept = keep_decisions(hardware, &folder, model, &all);
    match kept.context("cannot keep the decisions that win")? {
        Some(path) => note!("kept for this model on this hardware: {} ({})", words(&all), path.display()),
        None => note!("the defaults are best for this model on this hardware, and nothing else is kept"),
    }
    Ok(all)
}

/// Decisions in words: `fuse.tail=off (decode +3.1 %)`.
pub(crate) fn words(decisions: &[TunedDecision]) -> String {
    let one = |TunedDecision { decision, mode, why }: &TunedDecision| {
        format!("{}={} ({why})", decision.name, mode.name())
    };
    decisions.iter().map(one).collect::<Vec<_>>().join(", ")
}

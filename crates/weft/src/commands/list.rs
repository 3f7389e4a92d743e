//! `weft list`: lists the models in the cache.

use std::io::Write as _;

use serde_json::json;
use weft_hub::CachedModel;

use super::{Command, Outcome};
use crate::args::Args;
use crate::out::{Out, note};
use crate::units;

pub(super) const COMMAND: Command = Command {
    name: "list",
    about: "List the models in the cache",
    notes: "Use a model's name wherever a command takes a MODEL. `weft rm` removes one.",
    positionals: &[],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let cache = args.cache()?;
    let models = cache.list()?;
    let mut out = Out::new();
    if args.flag("json") {
        let model = |CachedModel { name, quant, bytes, path, packed, .. }: &CachedModel| json!({ "name": name, "quant": quant, "bytes": bytes, "packed": packed, "path": path.display().to_string() });
        out.json(&models.iter().map(model).collect())?;
    } else if models.is_empty() {
        note!("no models in {}; `weft pull smollm2` downloads a small one", cache.models().display());
    } else {
        let width = models.iter().map(|model| model.name.chars().count()).max().unwrap_or(0);
        writeln!(out, "{:width$}  {:>8}  {:>9}  PATH", "NAME", "QUANT", "SIZE")?;
        for CachedModel { name, quant, bytes, path, .. } in &models {
            let (quant, size) = (quant.as_deref().unwrap_or("-"), units::bytes(*bytes));
            writeln!(out, "{name:width$}  {quant:>8}  {size:>9}  {}", path.display())?;
        }
    }
    Ok(Outcome::Done)
}

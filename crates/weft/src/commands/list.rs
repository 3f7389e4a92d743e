//! `weft list`: lists the models in the cache.

use std::io::Write as _;

use serde_json::json;
use weft_hub::{BUILT_IN, CachedModel};

use super::{Command, Outcome};
use crate::args::Args;
use crate::out::{Out, note};
use crate::units;

pub(super) const COMMAND: Command = Command {
    name: "list",
    about: "List the models in the cache and in the program",
    notes: "Use a model's name wherever a command takes a MODEL. `weft rm` removes one.",
    positionals: &[],
    run,
};

/// The quantisation of the model in the program.
const QUANT: &str = "Q8_0";

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let cache = args.cache()?;
    let models = cache.list()?;
    let mut out = Out::new();
    // Until it is used, the model in the program is no file.
    let own = BUILT_IN.filter(|own| !models.iter().any(|model| model.name == own.name));
    if args.flag("json") {
        let model = |CachedModel { name, quant, bytes, path, packed, .. }: &CachedModel| json!({ "name": name, "quant": quant, "bytes": bytes, "packed": packed, "path": path.display().to_string() });
        let own = own.map(|own| json!({ "name": own.name, "quant": QUANT, "bytes": own.bytes, "packed": false, "path": null }));
        out.json(&models.iter().map(model).chain(own).collect())?;
        return Ok(Outcome::Done);
    }
    if models.is_empty() {
        note!("no models in {}; `weft pull smollm2` downloads a small one", cache.models().display());
    }
    if !models.is_empty() || own.is_some() {
        let names = models.iter().map(|model| model.name.as_str()).chain(own.map(|own| own.name));
        let width = names.map(|name| name.chars().count()).max().unwrap_or(0);
        writeln!(out, "{:width$}  {:>8}  {:>9}  PATH", "NAME", "QUANT", "SIZE")?;
        for CachedModel { name, quant, bytes, path, .. } in &models {
            let (quant, size) = (quant.as_deref().unwrap_or("-"), units::bytes(*bytes));
            writeln!(out, "{name:width$}  {quant:>8}  {size:>9}  {}", path.display())?;
        }
        if let Some(own) = own {
            let size = units::bytes(own.bytes);
            writeln!(out, "{:width$}  {QUANT:>8}  {size:>9}  (in the program)", own.name)?;
        }
    }
    Ok(Outcome::Done)
}

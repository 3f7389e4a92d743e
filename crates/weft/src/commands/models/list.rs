//! `weft list`: lists the models in the cache, and with `--all` those of the catalogue too.

use std::io::Write as _;

use serde_json::json;
use weft_hub::{BUILT_IN, CachedModel, DEFAULT_MODEL, LISTED};

use crate::cli::args::Args;
use crate::commands::{Command, Outcome};
use crate::terminal::streams::{Out, note};
use crate::terminal::units;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "list",
    about: "List the models in the cache and in the program",
    notes: "\
Use a model's name wherever a command takes a MODEL. `weft rm` removes one.

With --all, models of the catalogue follow that are not in the cache. `weft pull` and any command that is given such a name download \
it; NAME:QUANT is another quantisation. Their files are checked against the size and checksum that the hub states at that time, and \
their sizes are not known before; those of smollm2 are in the program.",
    positionals: &[],
    run,
};

/// The quantisation of the model in the program.
const QUANT: &str = "Q8_0";

/// The quantisation of the default model.
const DEFAULT_QUANT: &str = "Q4_1";

/// A line of the list.
struct Row {
    name: String,
    quant: String,
    bytes: Option<u64>,
    /// Where it is, or where it would be downloaded from.
    place: String,
}

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let cache = args.cache()?;
    let models = cache.list()?;
    let mut out = Out::new();
    // Until it is used, the model in the program is no file.
    let own = BUILT_IN.filter(|own| !models.iter().any(|model| model.name == own.name));
    let more = if args.flag("all") { catalogue(&models) } else { Vec::new() };
    if args.flag("json") {
        let model = |CachedModel { name, quant, bytes, path, packed, .. }: &CachedModel| json!({ "name": name, "quant": quant, "bytes": bytes, "packed": packed, "path": path.display().to_string() });
        let own = own.map(|own| json!({ "name": own.name, "quant": QUANT, "bytes": own.bytes, "packed": false, "path": null }));
        let more = more.iter().map(|Row { name, quant, bytes, place }| json!({ "name": name, "quant": quant, "bytes": bytes, "packed": false, "path": null, "from": place }));
        out.json(&models.iter().map(model).chain(own).chain(more).collect())?;
        return Ok(Outcome::Done);
    }
    if models.is_empty() && more.is_empty() {
        note!("no models in {}; `weft pull smollm2` downloads a small one", cache.models().display());
    }
    let here = models.iter().map(|CachedModel { name, quant, bytes, path, .. }| Row {
        name: name.clone(),
        quant: quant.clone().unwrap_or("-".into()),
        bytes: Some(*bytes),
        place: path.display().to_string(),
    });
    let own = own.map(|own| Row {
        name: own.name.into(),
        quant: QUANT.into(),
        bytes: Some(own.bytes),
        place: "(in the program)".into(),
    });
    let rows: Vec<Row> = here.chain(own).chain(more).collect();
    if rows.is_empty() {
        return Ok(Outcome::Done);
    }
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    writeln!(out, "{:width$}  {:>8}  {:>9}  PATH", "NAME", "QUANT", "SIZE")?;
    for Row { name, quant, bytes, place } in &rows {
        let size = bytes.map_or("-".into(), units::bytes);
        writeln!(out, "{name:width$}  {quant:>8}  {size:>9}  {place}")?;
    }
    Ok(Outcome::Done)
}

/// The models of the catalogue that are not in the cache.
fn catalogue(cached: &[CachedModel]) -> Vec<Row> {
    let is_there = |name: &str| cached.iter().any(|model| model.name.eq_ignore_ascii_case(name));
    let default = DEFAULT_MODEL;
    let default = (!is_there(default.name)).then(|| Row {
        name: default.name.into(),
        quant: DEFAULT_QUANT.into(),
        bytes: Some(default.bytes),
        place: format!("to download ({})", default.about),
    });
    let listed = LISTED.iter().filter(|model| !is_there(&model.hub_name().to_string())).map(|model| Row {
        name: model.name.into(),
        quant: model.quant.into(),
        bytes: None,
        place: format!("to download from hf:{} ({})", model.repo, model.about),
    });
    default.into_iter().chain(listed).collect()
}

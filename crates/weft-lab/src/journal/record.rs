//! Runs as the journal stores them.

use std::path::Path;

use serde_json::{Value, json};

use super::interrupted::interruption;

/// A run to append to a journal.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The command: `bench`.
    pub command: String,
    /// The model, if there was one.
    pub model: Option<Model>,
    /// The knobs that were set: an object of values by name.
    pub knobs: Value,
    /// The results with every sample: an object.
    pub results: Value,
}

/// A model that was measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    /// The path of its file.
    pub path: String,
    /// The size of all its files.
    pub bytes: u64,
    /// A hash that identifies it wherever it is stored.
    pub fingerprint: u64,
}

impl Model {
    pub(super) fn json(&self) -> Value {
        let Model { path, bytes, fingerprint } = self;
        // As text, since programs that read numbers as floating point would round it.
        json!({ "path": path, "bytes": bytes, "fingerprint": format!("{fingerprint:016x}") })
    }
}

/// A run from a journal.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Its number.
    pub id: i64,
    /// When it was appended, in UTC: `2026-11-20T16:02:59Z`.
    pub time: String,
    /// The command.
    pub command: String,
    /// The program's `version`, its `commit` if known, and whether it was a `debug` build.
    pub weft: Value,
    /// The machine, as [`Host::json`](crate::Host::json) writes it.
    pub machine: Value,
    /// The model's `path`, `bytes` and `fingerprint`; null if there was none.
    pub model: Value,
    /// The knobs that were set, by name.
    pub knobs: Value,
    /// The results.
    pub results: Value,
}

impl Record {
    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let Record { id, time, command, weft, machine, model, knobs, results } = self;
        json!({
            "id": id, "time": time, "command": command, "weft": weft, "machine": machine, "model": model, "knobs": knobs,
            "results": results,
        })
    }

    /// How far it came before it was interrupted; `None` if it is whole.
    pub fn interruption(&self) -> Option<String> {
        interruption(&self.results)
    }

    /// The file name of the model, if there was one.
    pub fn model_name(&self) -> Option<&str> {
        let path = self.model["path"].as_str()?;
        Path::new(path).file_name().and_then(|name| name.to_str()).or(Some(path))
    }

    /// Whether another run was of the same model: by its fingerprint or, where a run has none, by its name.
    pub fn is_of_same_model(&self, other: &Record) -> bool {
        match [self, other].map(|record| record.model["fingerprint"].as_str()) {
            [Some(a), Some(b)] => a == b,
            _ => self.model_name() == other.model_name(),
        }
    }
}

/// Returns the results of a run in a line, which begins with its interruption if it had one; empty if no
/// results are known.
pub fn summary(record: &Record) -> String {
    let results = &record.results;
    let list = |name: &str| results[name].as_array().map_or(&[][..], Vec::as_slice);
    if let Some(note) = results["note"].as_str() {
        return note.into();
    }
    let mut said: Vec<String> = interruption(results).into_iter().collect();
    if let Some(end) = results["optimized"].as_str() {
        let kept =
            list("keep").iter().filter_map(|one| one["change"].as_str()).collect::<Vec<_>>().join(", ");
        said.push(match (end, kept.as_str()) {
            ("interrupted", "") => "nothing kept".into(),
            ("interrupted", kept) => format!("unconfirmed: {kept}"),
            (_, "") => "nothing new".into(),
            (end, kept) => format!("{end}: {kept}"),
        });
    }
    for setting in list("settings") {
        if let Some(rate) = setting["tokens_per_second"]["median"].as_f64() {
            let (phase, depth) = (setting["phase"].as_str().unwrap_or("?"), &setting["depth"]);
            let sequences = setting["sequences"].as_u64().map_or(String::new(), |n| format!(" × {n}"));
            said.push(format!("{phase}{sequences} at {depth}: {rate:.2} tokens/s"));
        }
    }
    let rows = list("rows");
    for verdict in ["keep", "drop", "undecided"] {
        let names =
            rows.iter().filter(|row| row["verdict"] == verdict).filter_map(|row| row["change"].as_str());
        let names: Vec<&str> = names.collect();
        match (verdict, names.len()) {
            (_, 0) => {}
            ("undecided", many) => said.push(format!("{many} undecided")),
            _ => said.push(format!("{verdict} {}", names.join(", "))),
        }
    }
    for (path, digits, unit) in
        [("/tokens_per_second", 2, "tokens/s"), ("/perplexity", 4, "perplexity"), ("/kl/mean", 5, "mean KL")]
    {
        let value = results.pointer(path).unwrap_or(&Value::Null);
        if let Some(value) = value.as_f64().or(value["median"].as_f64()) {
            said.push(format!("{value:.digits$} {unit}"));
        }
    }
    said.join("; ")
}

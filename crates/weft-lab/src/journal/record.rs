//! What is kept of a run.

use std::path::Path;

use serde_json::{Value, json};

/// A run, to be appended to a journal.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// What was called: `bench`.
    pub command: String,
    /// What it was called on, if on a model.
    pub model: Option<Model>,
    /// How it was called: an object, by the names of the knobs.
    pub knobs: Value,
    /// What came out, every sample included: an object.
    pub results: Value,
}

/// A model that was measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    /// Where its file was.
    pub path: String,
    /// Bytes of all its files.
    pub bytes: u64,
    /// What tells it from others, wherever it lies.
    pub fingerprint: u64,
}

impl Model {
    pub(super) fn json(&self) -> Value {
        let Model { path, bytes, fingerprint } = self;
        // As text: programs that read numbers as floating point would round it.
        json!({ "path": path, "bytes": bytes, "fingerprint": format!("{fingerprint:016x}") })
    }
}

/// A run as a journal has it.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Its number.
    pub id: i64,
    /// When it was appended, in UTC: `2026-11-20T16:02:59Z`.
    pub time: String,
    /// What was called.
    pub command: String,
    /// Which weft: `version`, `commit` if known, and whether it was a `debug` build.
    pub weft: Value,
    /// The machine, as [`Host::json`](crate::Host::json) has it.
    pub machine: Value,
    /// The model, as `path`, `bytes` and `fingerprint`; null if there was none.
    pub model: Value,
    /// How it was called, by the names of the knobs.
    pub knobs: Value,
    /// What came out.
    pub results: Value,
}

impl Record {
    /// All of it, for programs.
    pub fn json(&self) -> Value {
        let Record { id, time, command, weft, machine, model, knobs, results } = self;
        json!({
            "id": id, "time": time, "command": command, "weft": weft, "machine": machine, "model": model, "knobs": knobs,
            "results": results,
        })
    }

    /// The name of the model's file, if there was a model.
    pub fn model_name(&self) -> Option<&str> {
        let path = self.model["path"].as_str()?;
        Path::new(path).file_name().and_then(|name| name.to_str()).or(Some(path))
    }
}

/// What came out of a run, in a line; empty for what is not known.
pub fn summary(record: &Record) -> String {
    let results = &record.results;
    let list = |name: &str| results[name].as_array().map_or(&[][..], Vec::as_slice);
    let mut said: Vec<String> = Vec::new();
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

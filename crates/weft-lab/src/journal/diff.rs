//! Compares two runs: their machines, models and options, and every figure that both have.

use serde_json::{Map, Value};

use super::record::Record;

/// Where to find figures in the results of a command: in the objects of a list, identified by some of their entries.
struct Figures {
    /// The list.
    list: &'static str,
    /// The entries that identify an object, if it has them, with the word before each.
    known_by: &'static [(&'static str, &'static str)],
    /// The path of the figure.
    figure: &'static [&'static str],
    unit: &'static str,
}

/// Every kind of figure that is compared.
const FIGURES: &[Figures] = &[
    Figures {
        list: "settings",
        known_by: &[("phase", ""), ("sequences", "× "), ("tokens", "of "), ("depth", "at ")],
        figure: &["tokens_per_second", "median"],
        unit: "tokens/s",
    },
    Figures {
        list: "kernels",
        known_by: &[("kernel", ""), ("role", ""), ("segments", "in ")],
        figure: &["ms"],
        unit: "ms",
    },
    Figures {
        list: "blocks",
        known_by: &[("block", ""), ("segment", "in ")],
        figure: &["seconds", "median"],
        unit: "s",
    },
    Figures { list: "roles", known_by: &[("role", "")], figure: &["ms"], unit: "ms" },
    Figures {
        list: "rows",
        known_by: &[("change", "")],
        figure: &["decode", "gain", "median"],
        unit: "gain in decode",
    },
    Figures {
        list: "rows",
        known_by: &[("change", "")],
        figure: &["prefill", "gain", "median"],
        unit: "gain in prefill",
    },
];

/// The differences of two runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Diff {
    /// Settings that differ: the name and both values as text.
    pub settings: Vec<(String, String, String)>,
    /// Figures that both have, the largest change first.
    pub changes: Vec<Compared>,
    /// Figures that only the first has.
    pub gone: Vec<String>,
    /// Figures that only the second has.
    pub new: Vec<String>,
}

/// A figure in both runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// The measured quantity.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Its value in the first run.
    pub before: f64,
    /// Its value in the second run.
    pub after: f64,
}

impl Compared {
    /// The relative change; `None` if it is not meaningful, as from 0.
    pub fn relative(&self) -> Option<f64> {
        let relative = self.after / self.before - 1.0;
        (relative.is_finite() && self.before > 0.0).then_some(relative)
    }

    fn size(&self) -> f64 {
        let ratio = (self.after / self.before).ln().abs();
        // Gains can be negative; then only their difference is meaningful.
        if ratio.is_finite() { ratio } else { (self.after - self.before).abs() }
    }
}

/// Compares two runs.
pub fn diff(before: &Record, after: &Record) -> Diff {
    let mut diff = Diff::default();
    for (part, before, after) in [
        ("weft", &before.weft, &after.weft),
        ("machine", &before.machine, &after.machine),
        ("model", &before.model, &after.model),
        ("knob", &before.knobs, &after.knobs),
        ("decision", &before.results["decisions"], &after.results["decisions"]),
        // Other files that were read.
        ("text", &before.results["text"], &after.results["text"]),
        ("base", &before.results["base"], &after.results["base"]),
    ] {
        let none = Map::new();
        let [a, b] = [before, after].map(|value| value.as_object().unwrap_or(&none));
        for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
            if a.get(name) != b.get(name) {
                let [a, b] = [a, b].map(|map| map.get(name).map_or("–".into(), text));
                diff.settings.push((format!("{part} {name}"), a, b));
            }
        }
    }
    let (before, mut after) = (figures(&before.results), figures(&after.results));
    for (name, unit, value) in before {
        match after.iter().position(|other| other.0 == name && other.1 == unit) {
            Some(at) => {
                let (.., found) = after.remove(at);
                diff.changes.push(Compared { name, unit: unit.into(), before: value, after: found });
            }
            None => diff.gone.push(name),
        }
    }
    diff.new = after.into_iter().map(|(name, ..)| name).collect();
    diff.changes.sort_by(|a, b| b.size().total_cmp(&a.size()));
    diff
}

/// A value as text for people.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// Returns every figure: its name, unit and value. Figures of the same name, as of equal kernels, are added up.
fn figures(results: &Value) -> Vec<(String, &'static str, f64)> {
    let mut found: Vec<(String, &'static str, f64)> = Vec::new();
    for Figures { list, known_by, figure, unit } in FIGURES {
        for object in results[*list].as_array().into_iter().flatten() {
            let value = figure.iter().fold(object, |value, name| &value[*name]);
            let Some(value) = value.as_f64() else { continue };
            let known = known_by.iter().map(|(name, word)| (word, &object[*name]));
            let known = known.filter(|(_, value)| !value.is_null());
            let name =
                known.map(|(word, value)| format!("{word}{}", text(value))).collect::<Vec<_>>().join(" ");
            match found.iter_mut().find(|(known, of, _)| *known == name && of == unit) {
                Some((.., sum)) => *sum += value,
                None => found.push((name, unit, value)),
            }
        }
    }
    for (name, value) in results.as_object().into_iter().flatten() {
        // Sampled figures are compared by their median.
        let value = ["median", "mean"].iter().fold(value, |value, part| value.get(part).unwrap_or(value));
        // A whole number is a setting or a count, not a measurement.
        if let Some(value) = value.as_f64().filter(|_| value.is_f64()) {
            found.push((name.replace('_', " "), "", value));
        }
    }
    found
}

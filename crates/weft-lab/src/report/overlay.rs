//! Benchmarks side by side: each setting once, with a bar for every run on the same scale.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::html::{Escaped, place, short, signed_percent, tick};
use super::roles::{list, number};
use crate::journal::Record;

/// Width of a picture, and the height of one run in it, in its units.
const WIDTH: f64 = 300.0;
const LANE: f64 = 18.0;

/// The settings of a measurement: phase, tokens, depth and sequences.
type Key = (String, String, String, String);

fn key(setting: &Value) -> Key {
    let phase = setting["phase"].as_str().unwrap_or("?").to_string();
    let rest = ["tokens", "depth", "sequences"].map(|name| setting[name].to_string());
    let [tokens, depth, sequences] = rest;
    (phase, tokens, depth, sequences)
}

/// Writes the settings that several runs have, if there are any.
pub(super) fn write(records: &[Record], out: &mut String) -> fmt::Result {
    let benches: Vec<&Record> =
        records.iter().filter(|record| !list(&record.results, "settings").is_empty()).collect();
    let mut keys: Vec<Key> = Vec::new();
    for setting in benches.iter().flat_map(|record| list(&record.results, "settings")) {
        if !keys.contains(&key(setting)) {
            keys.push(key(setting));
        }
    }
    let of = |record: &Record, wanted: &Key| {
        list(&record.results, "settings").iter().find(|setting| key(setting) == *wanted).cloned()
    };
    keys.retain(|key| benches.iter().filter(|record| of(record, key).is_some()).count() > 1);
    if keys.is_empty() {
        return Ok(());
    }
    out.write_str(
        "<section class=\"run\" id=\"together\">\n<h2>Tokens per second, together</h2>\n<p class=\"legend\">",
    )?;
    for (at, record) in benches.iter().enumerate() {
        let name = record.model_name().unwrap_or("this machine");
        write!(out, "<span><i class=\"r{}\"></i>run {}: {}</span> ", at % 10, record.id, Escaped(name))?;
    }
    // Between different models there is a ratio, but nothing has changed.
    let same = benches.windows(2).all(|pair| pair[0].is_of_same_model(pair[1]));
    let change = if same {
        "The change is from the first run to the last."
    } else {
        "The runs are of different models, so no change is given."
    };
    write!(
        out,
        "</p>\n<p class=\"soft\">A bar is the median, each mark a sample. {change}</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Tokens per second of all runs\">\n<table>\n<thead><tr><th>Phase</th>\
         <th class=\"num\">Tokens</th><th class=\"num\">After</th><th style=\"width:50%\">Runs</th><th class=\"num\">Tokens/s</th>\
         <th class=\"num\">Change</th></tr></thead>\n<tbody>\n",
    )?;
    for key in &keys {
        let found: Vec<(usize, i64, Rates)> = benches
            .iter()
            .enumerate()
            .filter_map(|(at, record)| Some((at, record.id, Rates::of(&of(record, key)?))))
            .collect();
        row(key, &found, same, out)?;
    }
    out.write_str("</tbody>\n</table>\n</div>\n</section>\n")
}

/// The rates of one setting in one run.
struct Rates {
    median: f64,
    samples: Vec<f64>,
}

impl Rates {
    fn of(setting: &Value) -> Rates {
        let rates = &setting["tokens_per_second"];
        Rates {
            median: number(&rates["median"]),
            samples: list(rates, "samples").iter().map(number).collect(),
        }
    }
}

fn row(
    (phase, tokens, depth, sequences): &Key,
    found: &[(usize, i64, Rates)],
    same_model: bool,
    out: &mut String,
) -> fmt::Result {
    let most = found
        .iter()
        .flat_map(|(.., rates)| rates.samples.iter().copied().chain([rates.median]))
        .fold(0.0, f64::max);
    let medians: Vec<f64> = found.iter().map(|(.., rates)| rates.median).collect();
    let words: Vec<String> =
        found.iter().map(|(_, id, rates)| format!("run {id}: {}", short(rates.median))).collect();
    let words = words.join("; ");
    let height = LANE * found.len() as f64;
    let figure = |text: &str| tick(text.parse().unwrap_or(f64::NAN));
    let sequences = sequences.parse::<u64>().map_or(String::new(), |n| format!("{n} × "));
    write!(
        out,
        "<tr><td>{}</td><td class=\"num\">{sequences}{}</td><td class=\"num\">{}</td><td><svg class=\"strip\" style=\"height:{height}px\" \
         viewBox=\"0 0 {WIDTH} {height}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{words}\"><title>{words}</title>",
        Escaped(phase),
        figure(tokens),
        figure(depth),
        words = Escaped(&words),
    )?;
    for (lane, (at, _, rates)) in found.iter().enumerate() {
        let y = lane as f64 * LANE;
        let place = |value| place(value, [0.0, most], WIDTH);
        write!(
            out,
            "<rect class=\"r{}\" x=\"0\" y=\"{:.1}\" width=\"{:.1}\" height=\"8\" rx=\"2\"/>",
            at % 10,
            y + 5.0,
            place(rates.median)
        )?;
        for sample in &rates.samples {
            let x = place(*sample) - 0.6;
            write!(
                out,
                "<rect class=\"dot\" x=\"{x:.1}\" y=\"{:.1}\" width=\"1.2\" height=\"14\"/>",
                y + 2.0
            )?;
        }
    }
    let shown: Vec<String> = medians.iter().map(|median| short(*median)).collect();
    let change = match medians[..] {
        [first, .., last] if first > 0.0 && same_model => signed_percent(last / first - 1.0),
        _ => "–".to_string(),
    };
    writeln!(
        out,
        "</svg></td><td class=\"num\"><b>{}</b></td><td class=\"num\">{change}</td></tr>",
        Escaped(&shown.join(if same_model { " → " } else { ", " }))
    )
}

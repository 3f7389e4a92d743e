//! `weft journal`: looks up past measurements.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, ensure};
use clap::error::ErrorKind;
use serde_json::{Value, json};
use weft_lab::{Compared, Diff, Journal, JournalError, Record, diff, summary};

use super::{Command, Outcome, Positional};
use crate::args::Args;
use crate::journal;
use crate::out::{Out, note};

const ACTION: Positional = Positional {
    name: "ACTION",
    help: "`list` all runs, `search` for some, `show` one, `diff` two, or `export` all [default: list]",
    required: false,
};
const WHAT: Positional =
    Positional { name: "WHAT...", help: "Words to search for, or the numbers of runs", required: false };

pub(super) const COMMAND: Command = Command {
    name: "journal",
    about: "Look up past measurements",
    notes: "\
Commands that measure record their options, every sample and the machine in the journal, which is never changed. `search` \
lists the runs that contain all of the words: in the name of the model or the machine, an option, or a tried change. \
`diff` shows how two runs differ, the largest change first. `export` prints each run as a line of JSON.

Examples:
  weft journal
  weft journal search ablate fold.query
  weft journal diff 12 14
  weft journal export > runs.jsonl",
    positionals: &[ACTION, WHAT],
    run,
};

/// The maximum length of a summary in a list, in characters.
const SUMMARY: usize = 100;

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let action = args.text(ACTION.name).unwrap_or("list");
    let what = args.texts(WHAT.name);
    let wanted = match action {
        "list" | "export" => 0..=0,
        "search" => 1..=usize::MAX,
        "show" => 1..=1,
        "diff" => 2..=2,
        _ => {
            let problem =
                format!("there is no action `{action}`; expected list, search, show, diff or export");
            return Err(clap::Error::raw(ErrorKind::InvalidValue, problem).into());
        }
    };
    if !wanted.contains(&what.len()) {
        let problem = match action {
            "search" => "words to search for are required: weft journal search WORDS".into(),
            "show" => "the number of one run is required: weft journal show NUMBER".into(),
            "diff" => "the numbers of two runs are required: weft journal diff NUMBER NUMBER".into(),
            _ => format!("`{action}` takes no arguments; to find runs, use `search`"),
        };
        return Err(clap::Error::raw(ErrorKind::WrongNumberOfValues, problem).into());
    }
    let path = journal::path(args)?;
    let mut out = Out::new();
    let json = args.flag("json");
    match action {
        "show" => {
            let record = one(&path, &what[0])?;
            if json { out.json(&record.json())? } else { show(&record, &mut out)? }
        }
        "diff" => {
            let [a, b] = [one(&path, &what[0])?, one(&path, &what[1])?];
            let found = diff(&a, &b);
            if json {
                out.json(&difference_json(&a, &b, &found))?
            } else {
                difference(&a, &b, &found, &mut out)?
            }
        }
        _ => each(&path, action, &what, json, &mut out)?,
    }
    Ok(Outcome::Done)
}

/// Lists, searches or exports runs.
fn each(path: &Path, action: &str, words: &[String], json: bool, out: &mut Out) -> anyhow::Result<()> {
    let Some(journal) = Journal::open(path)? else {
        note!("no measurements yet: there is no journal at {}", path.display());
        if json {
            out.json(&json!([]))?;
        }
        return Ok(());
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ids = journal.find(&words)?;
    let mut listed = Vec::new();
    if action != "export" && !json && !ids.is_empty() {
        writeln!(out, "{:>5}  {:<20}  {:<10}  {:<24}  RESULT", "RUN", "TIME", "COMMAND", "MODEL")?;
    }
    for id in &ids {
        let record = match journal.run(*id) {
            Ok(Some(record)) => record,
            // Weft removes no runs, but something else may have.
            Ok(None) => continue,
            // One damaged run does not affect the others.
            Err(damaged @ JournalError::Damaged { .. }) => {
                note!("{damaged}");
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if action == "export" {
            writeln!(out, "{}", record.json())?;
        } else if json {
            let Record { id, time, command, .. } = &record;
            let model = record.model_name();
            listed.push(json!({
                "id": id, "time": time, "command": command, "model": model, "summary": summary(&record),
            }));
        } else {
            out.foreign(&line(&record))?;
        }
    }
    match (action, json) {
        ("export", _) => {}
        (_, true) => out.json(&Value::Array(listed))?,
        _ => note!("{} runs in {}", ids.len(), path.display()),
    }
    Ok(())
}

/// The line of a run in a list.
fn line(record: &Record) -> String {
    let Record { id, time, command, .. } = record;
    let model = shortened(record.model_name().unwrap_or("–"), 24);
    let result = shortened(&summary(record), SUMMARY);
    format!("{id:>5}  {time:<20}  {command:<10}  {model:<24}  {result}\n")
}

/// A text on one line, cut to `most` characters.
fn shortened(text: &str, most: usize) -> String {
    let text = text.replace(char::is_control, " ");
    match text.chars().count() {
        count if count <= most => text,
        _ => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// Reads a run by its number.
fn one(path: &Path, number: &str) -> anyhow::Result<Record> {
    let id: i64 = number
        .parse()
        .map_err(|_| anyhow::anyhow!("`{number}` is not the number of a run; `weft journal` lists them"))?;
    let journal = Journal::open(path)?;
    let journal = journal.with_context(|| format!("there is no journal at {}", path.display()))?;
    let record = journal.run(id)?;
    record.with_context(|| format!("there is no run {id} in {}; `weft journal` lists them", path.display()))
}

fn show(record: &Record, out: &mut Out) -> io::Result<()> {
    let Record { id, time, command, weft, machine, model, knobs, results } = record;
    let mut text = format!("run {id}: {command}, {time}\n");
    for (name, value) in [("weft", weft), ("machine", machine), ("model", model), ("knobs", knobs)] {
        let entries = value.as_object().into_iter().flatten().map(|(name, value)| match value.as_str() {
            Some(value) => format!("{name} {value}"),
            None => format!("{name} {value}"),
        });
        let entries: Vec<String> = entries.collect();
        if !entries.is_empty() {
            text += &format!("{name:<8} {}\n", entries.join(", "));
        }
    }
    let said = summary(record);
    if !said.is_empty() {
        text += &format!("result   {said}\n");
    }
    text += &format!("\n{results:#}\n");
    out.foreign(&text)
}

fn difference(a: &Record, b: &Record, found: &Diff, out: &mut Out) -> io::Result<()> {
    let mut text = String::new();
    for (record, name) in [(a, "A"), (b, "B")] {
        let model = record.model_name().unwrap_or("–");
        text += &format!("{name}  run {}: {}, {}, {model}\n", record.id, record.command, record.time);
    }
    for (name, a, b) in &found.settings {
        text += &format!("   {name}: {a} -> {b}\n");
    }
    if !found.changes.is_empty() {
        text += &format!("\n{:>12}  {:>12}  {:>9}  FIGURE\n", "A", "B", "CHANGE");
    }
    for change in &found.changes {
        let Compared { name, unit, before, after } = change;
        let relative = change.relative().map_or("–".into(), |part| format!("{:+.1} %", 100.0 * part));
        let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
        text += &format!("{before:>12.4}  {after:>12.4}  {relative:>9}  {name}{unit}\n");
    }
    for (names, who) in [(&found.gone, "A"), (&found.new, "B")] {
        if !names.is_empty() {
            text += &format!("\nonly in {who}: {}\n", names.join(", "));
        }
    }
    if found.changes.is_empty() && found.gone.is_empty() && found.new.is_empty() {
        text += "\nThe runs have no figures to compare.\n";
    }
    out.foreign(&text)
}

fn difference_json(a: &Record, b: &Record, found: &Diff) -> Value {
    let Diff { settings, changes, gone, new } = found;
    let settings = settings.iter().map(|(name, a, b)| json!({ "name": name, "a": a, "b": b }));
    let changes = changes.iter().map(|change| {
        let Compared { name, unit, before, after } = change;
        json!({ "name": name, "unit": unit, "a": before, "b": after, "relative": change.relative() })
    });
    json!({
        "a": a.id, "b": b.id,
        "settings": settings.collect::<Value>(),
        "figures": changes.collect::<Value>(),
        "only_in_a": gone, "only_in_b": new,
    })
}

/// Reads the runs with these numbers, for a report.
pub(super) fn records(path: &Path, numbers: &[String]) -> anyhow::Result<Vec<Record>> {
    ensure!(!numbers.is_empty(), "the numbers of runs are required; `weft journal` lists them");
    numbers.iter().map(|number| one(path, number)).collect()
}

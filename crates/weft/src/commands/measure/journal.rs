//! `weft journal`: looks up past measurements.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context as _, ensure};
use clap::error::ErrorKind;
use serde_json::{Value, json};
use weft_lab::{Compared, Diff, Imported, Journal, JournalError, Record, Run, diff, shipped, summary};

use crate::cli::args::Args;
use crate::commands::measure::recording;
use crate::commands::{Command, Outcome, Positional};
use crate::terminal::readable::readable;
use crate::terminal::streams::{Out, note};

const ACTION: Positional = Positional {
    name: "ACTION",
    help: "`list` all runs, `search` for some, `show` one, `diff` two, add a `note`, `export` all, or `import` a file [default: list]",
    required: false,
};
const WHAT: Positional = Positional {
    name: "WHAT...",
    help: "Words to search for or to note, the numbers of runs, or a file",
    required: false,
};

pub(in crate::commands) const COMMAND: Command = Command {
    name: "journal",
    about: "Look up past measurements",
    notes: "\
Commands that measure record their options, every sample and the machine in the journal, which is never changed. `search` \
lists the runs that contain all of the words: in the name of the model or the machine, an option, or a tried change. `show` \
shows one; with --json, exactly as it was recorded. `diff` shows how two runs differ, the largest change first. `note` records \
a finding in words. `export` prints each run as \
a line of JSON; `import` adds the runs of such a file, or of standard input (`-`), and leaves out those that are known.

`search` also finds what came with the program, with numbers such as s3: measurements made while Weft was written, and \
notes of an earlier system. `ablate` looks there too before it measures.

Examples:
  weft journal
  weft journal search fold
  weft journal note \"two threads are as fast as four here\"
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
        "search" | "note" => 1..=usize::MAX,
        "show" | "import" => 1..=1,
        "diff" => 2..=2,
        _ => {
            let problem = format!(
                "there is no action `{action}`; expected list, search, show, diff, note, export or import"
            );
            return Err(clap::Error::raw(ErrorKind::InvalidValue, problem).into());
        }
    };
    if !wanted.contains(&what.len()) {
        let problem = match action {
            "search" => "words to search for are required: weft journal search WORDS".into(),
            "note" => "the words of the note are required: weft journal note WORDS".into(),
            "import" => "the path of one file is required: weft journal import FILE".into(),
            "show" => "the number of one run is required: weft journal show NUMBER".into(),
            "diff" => "the numbers of two runs are required: weft journal diff NUMBER NUMBER".into(),
            _ => format!("`{action}` takes no arguments; to find runs, use `search`"),
        };
        return Err(clap::Error::raw(ErrorKind::WrongNumberOfValues, problem).into());
    }
    let path = recording::path(args)?;
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
        "note" => {
            let text = what.join(" ");
            ensure!(!text.trim().is_empty(), "the note is empty");
            let run = Run {
                command: "note".into(),
                model: None,
                knobs: json!({}),
                results: json!({ "note": text }),
            };
            let id = Journal::create(&path)?.append(&run)?;
            note!("recorded as run {id} in {}", path.display());
        }
        "import" => import(&path, &what[0])?,
        _ => each(&path, action, &what, json, &mut out)?,
    }
    Ok(Outcome::Done)
}

/// Lists, searches or exports runs.
fn each(path: &Path, action: &str, words: &[String], json: bool, out: &mut Out) -> anyhow::Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let journal = Journal::open(path)?;
    if journal.is_none() {
        note!("no measurements yet: there is no journal at {}", path.display());
    }
    let own = journal.as_ref().map_or(Ok(Vec::new()), |journal| journal.find(&words))?;
    let searched = if action == "search" { shipped() } else { &[][..] };
    let others: Vec<&Record> = searched.iter().filter(|record| record.contains(&words)).collect();
    let mut listed = Vec::new();
    if action != "export" && !json && own.len() + others.len() > 0 {
        writeln!(out, "{:>5}  {:<20}  {:<10}  {:<24}  RESULT", "RUN", "TIME", "COMMAND", "MODEL")?;
    }
    let mut tell = |record: &Record, out: &mut Out| -> io::Result<()> {
        if action == "export" {
            return writeln!(out, "{}", record.json());
        }
        if !json {
            return out.foreign(&line(record));
        }
        let Record { id, time, command, .. } = record;
        let model = record.model_name();
        listed.push(json!({
            "id": id, "run": record.number(), "time": time, "command": command, "model": model,
            "summary": summary(record), "whole": record.interruption().is_none(),
        }));
        Ok(())
    };
    for (id, journal) in own.iter().zip(journal.iter().cycle()) {
        match journal.run(*id) {
            Ok(Some(record)) => tell(&record, out)?,
            // Weft removes no runs, but something else may have.
            Ok(None) => {}
            // One damaged run does not affect the others.
            Err(damaged @ JournalError::Damaged { .. }) => note!("{damaged}"),
            Err(error) => return Err(error.into()),
        }
    }
    others.iter().try_for_each(|record| tell(record, out))?;
    match (action, json) {
        ("export", _) => {}
        (_, true) => out.json(&Value::Array(listed))?,
        _ if journal.is_some() => note!("{} runs in {}", own.len(), path.display()),
        _ => {}
    }
    if !others.is_empty() && !json {
        note!("{} that came with the program: `weft journal show s1` shows one", others.len());
    }
    Ok(())
}

/// Adds the runs of a file, or of standard input.
fn import(path: &Path, file: &str) -> anyhow::Result<()> {
    let mut lines: Box<dyn BufRead> = if file == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(file).with_context(|| format!("cannot read {file}"))?))
    };
    let imported = Journal::create(path)?.import(&mut lines);
    let Imported { added, known } = imported.with_context(|| format!("cannot import {file}"))?;
    note!("{added} runs imported into {}, {known} known already", path.display());
    Ok(())
}

/// The line of a run in a list.
fn line(record: &Record) -> String {
    let Record { time, command, .. } = record;
    let id = record.number();
    let model = shortened(record.model_name().unwrap_or("–"), 24);
    // A note says nothing if it is cut.
    let most = if command == "note" { usize::MAX } else { SUMMARY };
    let result = shortened(&summary(record), most);
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
pub(in crate::commands) fn one(path: &Path, number: &str) -> anyhow::Result<Record> {
    if let Some(found) = shipped().iter().find(|record| record.number() == number) {
        return Ok(found.clone());
    }
    let id: i64 = number
        .parse()
        .map_err(|_| anyhow::anyhow!("`{number}` is not the number of a run; `weft journal` lists them"))?;
    let journal = Journal::open(path)?;
    let journal = journal.with_context(|| format!("there is no journal at {}", path.display()))?;
    let record = journal.run(id)?;
    record.with_context(|| format!("there is no run {id} in {}; `weft journal` lists them", path.display()))
}

fn show(record: &Record, out: &mut Out) -> io::Result<()> {
    let Record { time, command, weft, machine, model, knobs, results, .. } = record;
    let mut text = format!("run {}: {command}, {time}\n", record.number());
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
    text += &format!("\n{}", readable(results));
    out.foreign(&text)
}

fn difference(a: &Record, b: &Record, found: &Diff, out: &mut Out) -> io::Result<()> {
    let mut text = String::new();
    for (record, name) in [(a, "A"), (b, "B")] {
        let model = record.model_name().unwrap_or("–");
        text += &format!("{name}  run {}: {}, {}, {model}", record.number(), record.command, record.time);
        // A setting that one of them leaves out is no change.
        text += &record.interruption().map_or("\n".into(), |how| format!(", {how}\n"));
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
        "whole": { "a": a.interruption().is_none(), "b": b.interruption().is_none() },
        "settings": settings.collect::<Value>(),
        "figures": changes.collect::<Value>(),
        "only_in_a": gone, "only_in_b": new,
    })
}

/// Reads the runs with these numbers, for a report.
pub(in crate::commands) fn records(path: &Path, numbers: &[String]) -> anyhow::Result<Vec<Record>> {
    ensure!(!numbers.is_empty(), "the numbers of runs are required; `weft journal` lists them");
    numbers.iter().map(|number| one(path, number)).collect()
}

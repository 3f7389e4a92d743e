//! The results of earlier runs for a change, and where they were measured: figures of another machine or device are
//! not those of this one.

use serde_json::Value;

use super::record::Record;
use super::shipped::shipped;
use super::{Journal, JournalError};

/// Where a measurement is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Here {
    /// The name of the CPU.
    pub cpu: String,
    /// The name of the device.
    pub device: String,
}

/// A change as an earlier ablation found it.
#[derive(Clone, PartialEq, Debug)]
pub struct Tried {
    /// The change: `fuse.tail=off`.
    pub change: String,
    /// The run, as people write it: `12`, or `s3`.
    pub run: String,
    /// The day: `2026-11-20`.
    pub day: String,
    /// The device or, if that is not known, the machine.
    pub on: String,
    /// Where that is.
    pub place: Where,
    /// The gain in each phase, the verdict and its reason: `decode -5.8 %, prefill -0.2 %; drop: its logits differ`.
    pub found: String,
}

/// Where a change was tried, the nearest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Where {
    /// On this device of a machine with the same CPU.
    Here,
    /// On another device, or on a machine with another CPU.
    Elsewhere,
    /// On a machine of the developers, whose journal ships with Weft.
    Shipped,
}

impl Tried {
    /// In a sentence.
    pub fn words(&self) -> String {
        let Tried { change, run, day, on, place, found } = self;
        match place {
            Where::Here => format!("{change} was tried on {day} on this device: {found} (run {run})"),
            Where::Elsewhere => {
                format!("{change} was tried on {day}, not on this device but on {on}: {found} (run {run})")
            }
            Where::Shipped => format!(
                "{change} was tried on {day} by Weft's makers, on another machine ({on}): {found} (run {run}, which came with the program)"
            ),
        }
    }
}

/// Returns the last run of each change in the journal, if possible on the device `here`. Of changes not
/// in it, returns what came with the program, if it was measured on a device of the same kind.
///
/// # Errors
/// [`JournalError`].
pub fn tried(journal: Option<&Journal>, changes: &[String], here: &Here) -> Result<Vec<Tried>, JournalError> {
    let mut found = Vec::new();
    for change in changes {
        let mut last: Option<Tried> = None;
        if let Some(journal) = journal {
            for id in journal.find(&[change.as_str()])?.into_iter().rev() {
                // A damaged run does not hide others.
                let one = journal.run(id).ok().flatten().and_then(|record| of(&record, change, here));
                let is_better = |one: &Tried| last.as_ref().is_none_or(|last| one.place < last.place);
                last = one.filter(is_better).or(last);
                if last.as_ref().is_some_and(|last| last.place == Where::Here) {
                    break;
                }
            }
        }
        let same_kind =
            |record: &&Record| record.results["device"].as_str().map(kind) == Some(kind(&here.device));
        let shipped = || shipped().iter().rev().filter(same_kind).find_map(|record| of(record, change, here));
        found.extend(last.or_else(shipped));
    }
    Ok(found)
}

/// The kind of a device: `cpu` for `cpu (avx2), 2 threads`.
fn kind(device: &str) -> &str {
    device.split([' ', ',', '(']).next().unwrap_or_default()
}

/// The result of a run for a change, if it tried it.
fn of(record: &Record, change: &str, here: &Here) -> Option<Tried> {
    let rows = record.results["rows"].as_array()?;
    let row = rows.iter().find(|row| row["change"] == change)?;
    let gain = |phase: &&str| {
        let median = row[*phase]["gain"]["median"].as_f64()?;
        Some(format!("{phase} {:+.1} %", 100.0 * median))
    };
    let gains: Vec<String> = ["decode", "prefill"].iter().filter_map(gain).collect();
    let text = |value: &Value| value.as_str().unwrap_or("?").to_string();
    let verdict = format!("{}: {}", text(&row["verdict"]), text(&row["why"]));
    let found = if gains.is_empty() { verdict } else { format!("{}; {verdict}", gains.join(", ")) };
    let (device, cpu) = (record.results["device"].as_str(), record.machine["cpu"].as_str());
    let place = match record.id {
        ..0 => Where::Shipped,
        _ if device == Some(here.device.as_str()) && cpu == Some(here.cpu.as_str()) => Where::Here,
        _ => Where::Elsewhere,
    };
    // The same device on another machine, as of a journal that was imported.
    let on = match (device, cpu) {
        (Some(device), Some(cpu)) if cpu != here.cpu && place == Where::Elsewhere => {
            format!("{device}, {cpu}")
        }
        _ => device.or(cpu).unwrap_or("an unknown machine").to_string(),
    };
    Some(Tried {
        change: change.into(),
        run: record.number(),
        day: record.time.get(..10).unwrap_or_default().into(),
        on,
        place,
        found,
    })
}

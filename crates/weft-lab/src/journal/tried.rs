//! What earlier runs found about a change.

use serde_json::Value;

use super::record::Record;
use super::shipped::shipped;
use super::{Journal, JournalError};

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
    /// The gain in each phase, the verdict and its reason: `decode -5.8 %, prefill -0.2 %; drop: its logits differ`.
    pub found: String,
}

impl Tried {
    /// In a sentence.
    pub fn words(&self) -> String {
        let Tried { change, run, day, on, found } = self;
        format!("{change} was tried on {day} on {on}: {found} (run {run})")
    }
}

/// Returns the last run of each change in the journal, and of those not in it what came with the program.
///
/// # Errors
/// [`JournalError`].
pub fn tried(journal: Option<&Journal>, changes: &[String]) -> Result<Vec<Tried>, JournalError> {
    let mut found = Vec::new();
    for change in changes {
        let mut last = None;
        if let Some(journal) = journal {
            for id in journal.find(&[change.as_str()])?.into_iter().rev() {
                // A damaged run does not hide others.
                last = journal.run(id).ok().flatten().and_then(|record| of(&record, change));
                if last.is_some() {
                    break;
                }
            }
        }
        found.extend(last.or_else(|| shipped().iter().rev().find_map(|record| of(record, change))));
    }
    Ok(found)
}

/// What a run found about a change, if it tried it.
fn of(record: &Record, change: &str) -> Option<Tried> {
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
    let on =
        record.results["device"].as_str().or(record.machine["cpu"].as_str()).unwrap_or("an unknown machine");
    Some(Tried {
        change: change.into(),
        run: record.number(),
        day: record.time.get(..10).unwrap_or_default().into(),
        on: on.into(),
        found,
    })
}

//! Runs as lines of JSON: what `export` prints, and `import` reads again.

use std::io::BufRead;

use rusqlite::{OptionalExtension as _, TransactionBehavior, params};
use serde_json::{Map, Value};

use super::record::Record;
use super::{Journal, JournalError, failed};

/// The longest line that is read, in bytes.
const LINE: u64 = 256 << 20;

/// The longest name of a command.
const COMMAND: usize = 32;

/// The number of runs that were imported.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Imported {
    /// Runs that were added.
    pub added: u64,
    /// Runs that the journal had already.
    pub known: u64,
}

impl Record {
    /// Parses a run as `export` prints it. Its number is ignored: it gets a new one.
    ///
    /// # Errors
    /// Says what was expected and what was found.
    pub fn from_line(line: &str) -> Result<Record, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
        let Value::Object(mut run) = value else {
            return Err("expected an object, as `weft journal export` prints it".into());
        };
        let mut text = |name: &str, is_valid: fn(&str) -> bool, expected: &str| match run.remove(name) {
            Some(Value::String(text)) if is_valid(&text) => Ok(text),
            _ => Err(format!("{name}: expected {expected}")),
        };
        let time = text("time", is_time, "a time such as 2026-11-20T16:02:59Z")?;
        let command = text("command", is_command, "the name of a command")?;
        let [weft, machine, knobs, results] =
            ["weft", "machine", "knobs", "results"].map(|name| object(&mut run, name));
        let model = match run.remove("model") {
            None | Some(Value::Null) => Value::Null,
            Some(model @ Value::Object(_)) => model,
            Some(_) => return Err("model: expected an object or null".into()),
        };
        Ok(Record {
            id: 0,
            time,
            command,
            weft: weft?,
            machine: machine?,
            model,
            knobs: knobs?,
            results: results?,
        })
    }
}

fn object(run: &mut Map<String, Value>, name: &str) -> Result<Value, String> {
    run.remove(name).filter(Value::is_object).ok_or_else(|| format!("{name}: expected an object"))
}

fn is_time(text: &str) -> bool {
    let fits = |(at, c): (usize, u8)| match at {
        4 | 7 => c == b'-',
        10 => c == b'T',
        13 | 16 => c == b':',
        19 => c == b'Z',
        _ => c.is_ascii_digit(),
    };
    text.len() == 20 && text.bytes().enumerate().all(fits)
}

fn is_command(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=COMMAND).contains(&text.len()) && text.chars().all(fits)
}

impl Journal {
    /// Adds runs from lines of JSON, with their own times and machines. Runs that are in the journal already are left out. Either all
    /// lines are read, or nothing changes.
    ///
    /// # Errors
    /// [`JournalError::Line`] names the first line that is no run; [`JournalError`] otherwise.
    pub fn import(&mut self, mut lines: impl BufRead) -> Result<Imported, JournalError> {
        let Journal { path, connection } = self;
        let path = path.as_path();
        let write = |error| failed("write", path, error);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(write)?;
        let mut imported = Imported::default();
        for number in 1u64.. {
            let bad = |why: String| JournalError::Line { number, why };
            let mut line = String::new();
            let mut limited = std::io::Read::take(&mut lines, LINE);
            let read = limited.read_line(&mut line).map_err(|error| bad(error.to_string()))?;
            if read == 0 {
                break;
            }
            if read as u64 == LINE {
                return Err(bad(format!("longer than {LINE} bytes")));
            }
            // The mark that Windows programs write at the beginning of a text.
            let line = line.trim_start_matches('\u{FEFF}');
            if line.trim().is_empty() {
                continue;
            }
            let Record { time, command, weft, machine, model, knobs, results, .. } =
                Record::from_line(line).map_err(bad)?;
            let model = (!model.is_null()).then(|| model.to_string());
            let [weft, machine, knobs, results] =
                [weft, machine, knobs, results].map(|json| json.to_string());
            let row = params![time, command, weft, machine, model, knobs, results];
            let find = "SELECT 1 FROM runs WHERE time = ? AND command = ? AND weft = ? AND machine = ? AND model IS ? AND knobs = ? \
                        AND results = ?";
            let known = transaction.query_row(find, row, |_| Ok(())).optional().map_err(write)?;
            if known.is_some() {
                imported.known += 1;
                continue;
            }
            let insert = "INSERT INTO runs (time, command, weft, machine, model, knobs, results) VALUES (?, ?, ?, ?, ?, ?, ?)";
            transaction.execute(insert, row).map_err(write)?;
            imported.added += 1;
        }
        transaction.commit().map_err(write)?;
        Ok(imported)
    }
}

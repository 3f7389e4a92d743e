//! The journal: every measured run with its machine, model and options, so that nothing is tried twice and every figure has its context.
//!
//! It is one SQLite file with one table, a row per run. A row is written in one transaction with a rollback journal: that needs only
//! one file, works on network folders, and keeps the existing rows intact if the program is killed or the disk is full. Rows are never
//! changed.

mod diff;
mod exchange;
mod interrupted;
mod record;
mod shipped;
mod tried;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row, TransactionBehavior, params};
use serde_json::Value;

use crate::host::Host;

pub use diff::{Compared, Diff, diff};
pub use exchange::Imported;
pub use interrupted::interruption;
pub use record::{Model, Record, Run, summary};
pub use shipped::shipped;
pub use tried::{Here, Tried, Where, tried};

/// The application id in the header of the SQLite file: `weft` in ASCII.
const APPLICATION: i64 = 0x7765_6674;

/// The version of the table's layout.
const VERSION: i64 = 1;

/// The table. JSON is stored as text, so that any program can read it.
const SCHEMA: &str = "
CREATE TABLE runs (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  time    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  command TEXT NOT NULL,
  weft    TEXT NOT NULL,
  machine TEXT NOT NULL,
  model   TEXT,
  knobs   TEXT NOT NULL,
  results TEXT NOT NULL
) STRICT;
";

/// How long to wait for another program that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why the journal could not be read or written. Its existing rows are intact.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Its folder could not be created.
    #[error("cannot create the folder of the journal {}: {source}", path.display())]
    Folder {
        /// The journal.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The disk is full.
    #[error(
        "cannot add a run to the journal {}: the disk is full. The journal is intact: free some space, or use another one with --journal FILE",
        path.display()
    )]
    Full {
        /// The journal.
        path: PathBuf,
    },
    /// Another program's file.
    #[error("{} is not a journal of weft; give the path of a journal or of a new file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A later version's journal.
    #[error("the journal {} has version {found}, and this weft supports up to {VERSION}: use a newer weft", path.display())]
    Newer {
        /// The journal.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// A row that this program did not write.
    #[error("run {id} of the journal {} is damaged: its {column} is not JSON", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The row.
        id: i64,
        /// The column.
        column: &'static str,
    },
    /// A line that is no run.
    #[error("line {number}: {why}; nothing was imported")]
    Line {
        /// The line, from 1.
        number: u64,
        /// A sentence: what was expected.
        why: String,
    },
    /// Anything else: the file is damaged, or another program keeps it locked.
    #[error(
        "cannot {what} the journal {}: {cause}. If this persists, move the file away, and the next run creates a new one \
         (`sqlite3 FILE .recover` prints what is left of a damaged journal), or use another one with --journal FILE",
        path.display()
    )]
    Database {
        /// The attempted action: `open`, `read` or `write`.
        what: &'static str,
        /// The journal.
        path: PathBuf,
        /// The cause.
        cause: rusqlite::Error,
    },
}

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    connection: Connection,
}

impl Journal {
    /// Opens a journal to append to it, and creates it if there is none.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn create(path: &Path) -> Result<Journal, JournalError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .map_err(|source| JournalError::Folder { path: path.to_path_buf(), source })?;
        }
        Journal::with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens a journal; `None` if there is none.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(path: &Path) -> Result<Option<Journal>, JournalError> {
        if !path.exists() {
            return Ok(None);
        }
        // Writing may be needed to roll back what an interrupted program left.
        Journal::with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map(Some)
    }

    fn with_flags(path: &Path, flags: OpenFlags) -> Result<Journal, JournalError> {
        let path = path.to_path_buf();
        // Without `SQLITE_OPEN_URI`, a path is never read as a URI.
        let connection = Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX);
        let connection = connection.map_err(|error| failed("open", &path, error))?;
        let mut journal = Journal { path, connection };
        journal.check().map_err(|error| journal.found(error))?;
        let [application, version] =
            journal.header().map_err(|source| failed("read", &journal.path, source))?;
        match (application, version) {
            (APPLICATION, VERSION) => Ok(journal),
            (APPLICATION, found) => Err(JournalError::Newer { path: journal.path, found }),
            _ => Err(JournalError::Foreign { path: journal.path }),
        }
    }

    /// Sets the time to wait for others, and creates the table in an empty file.
    fn check(&mut self) -> rusqlite::Result<()> {
        self.connection.busy_timeout(PATIENCE)?;
        let empty = |connection: &Connection| -> rusqlite::Result<bool> {
            connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
        };
        if self.header()? != [0, 0] || !empty(&self.connection)? {
            return Ok(());
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another program may have been faster.
        if empty(&transaction)? {
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()
    }

    fn header(&self) -> rusqlite::Result<[i64; 2]> {
        let read = |name| self.connection.pragma_query_value(None, name, |row| row.get(0));
        Ok([read("application_id")?, read("user_version")?])
    }

    fn found(&self, error: rusqlite::Error) -> JournalError {
        failed("open", &self.path, error)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a run with this machine, version and time. Returns its number.
    ///
    /// # Errors
    /// [`JournalError`]; existing runs are intact.
    pub fn append(&mut self, run: &Run) -> Result<i64, JournalError> {
        let Run { command, model, knobs, results } = run;
        let model = model.as_ref().map(|model| model.json().to_string());
        let row = params![
            command,
            crate::json::this_weft().to_string(),
            Host::this().json().to_string(),
            model,
            knobs.to_string(),
            results.to_string()
        ];
        let insert =
            "INSERT INTO runs (command, weft, machine, model, knobs, results) VALUES (?, ?, ?, ?, ?, ?)";
        self.connection.execute(insert, row).map_err(|source| failed("write", &self.path, source))?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Returns the numbers of all runs that contain every one of these words (ignoring ASCII case), the oldest first.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn find(&self, words: &[&str]) -> Result<Vec<i64>, JournalError> {
        let mut query = String::from("SELECT id FROM runs WHERE 1");
        for _ in words {
            query.push_str(
                " AND instr(lower(concat_ws(' ', time, command, weft, machine, model, knobs, results)), ?)",
            );
        }
        query.push_str(" ORDER BY id");
        let words = words.iter().map(|word| word.to_ascii_lowercase());
        let ids = || -> rusqlite::Result<Vec<i64>> {
            let mut statement = self.connection.prepare(&query)?;
            statement.query_map(rusqlite::params_from_iter(words), |row| row.get(0))?.collect()
        };
        ids().map_err(|source| failed("read", &self.path, source))
    }

    /// Returns the run of this number; `None` if there is none.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn run(&self, id: i64) -> Result<Option<Record>, JournalError> {
        const COLUMNS: [&str; 7] = ["time", "command", "weft", "machine", "model", "knobs", "results"];
        let query = format!("SELECT {} FROM runs WHERE id = ?", COLUMNS.join(", "));
        let texts = |row: &Row<'_>| -> rusqlite::Result<[Option<String>; 7]> {
            let mut texts = [const { None }; 7];
            for (i, text) in texts.iter_mut().enumerate() {
                *text = row.get(i)?;
            }
            Ok(texts)
        };
        let found = self.connection.query_row(&query, [id], texts).optional();
        let Some(texts) = found.map_err(|source| failed("read", &self.path, source))? else {
            return Ok(None);
        };
        let parse = |i: usize| -> Result<Value, JournalError> {
            let text = texts[i].as_deref().unwrap_or("null");
            let damaged = |_| JournalError::Damaged { path: self.path.clone(), id, column: COLUMNS[i] };
            serde_json::from_str(text).map_err(damaged)
        };
        let [time, command] = [0, 1].map(|i| texts[i].clone().unwrap_or_default());
        let [weft, machine, model] = [parse(2)?, parse(3)?, parse(4)?];
        Ok(Some(Record { id, time, command, weft, machine, model, knobs: parse(5)?, results: parse(6)? }))
    }
}

/// The error for an error of SQLite.
fn failed(what: &'static str, path: &Path, source: rusqlite::Error) -> JournalError {
    let path = path.to_path_buf();
    match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => JournalError::Full { path },
        Some(ErrorCode::NotADatabase) => JournalError::Foreign { path },
        _ => JournalError::Database { what, path, cause: source },
    }
}

#[cfg(test)]
mod tests;

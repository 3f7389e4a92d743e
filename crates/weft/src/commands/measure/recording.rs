//! Records runs in the journal, after their results have been printed.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;
use weft_engine::inspect::Hardware;
use weft_gguf::Gguf;
use weft_lab::{Here, Journal, JournalError, Model, Record, RecordedProfile, Run, Tried, WantedProfile};

use crate::cli::args::Args;
use crate::terminal::streams::{self, note};

/// The journal's file.
///
/// # Errors
/// If --journal is absent and the user has no home folder.
pub(crate) fn path(args: Args<'_>) -> anyhow::Result<PathBuf> {
    let given = args.path("journal").map(Path::to_path_buf);
    let default = || weft_file::data_folder().map(|folder| folder.join("journal.db"));
    given
        .or_else(default)
        .context("there is no home folder for the journal; set its file with --journal FILE")
}

/// Records a run of `command`, and returns it as recorded. A failure is only reported: the results have been printed already.
pub(crate) fn append(args: Args<'_>, command: &str, model: Option<&Gguf>, results: Value) -> Option<Record> {
    if args.flag("no-journal") {
        return None;
    }
    let model = model.map(|model| Model {
        path: model.files().first().map_or(String::new(), |file| file.path.display().to_string()),
        bytes: model.files().iter().map(|file| file.size).sum(),
        fingerprint: weft_engine::inspect::fingerprint(model),
    });
    let run = Run { command: command.into(), model, knobs: args.knobs(command), results };
    let append = || -> anyhow::Result<Option<Record>> {
        let path = path(args)?;
        let mut journal = Journal::create(&path)?;
        let id = journal.append(&run)?;
        note!("recorded as run {id} in {}; `weft report {id}` makes a page of it", path.display());
        Ok(journal.run(id)?)
    };
    match append() {
        Ok(record) => record,
        Err(error) => {
            note!("this run is not recorded: {}", streams::in_one_line(&error));
            None
        }
    }
}

/// The results of earlier runs for changes; none if the journal cannot be read, which is only reported.
pub(crate) fn tried(args: Args<'_>, changes: &[String], here: &Here) -> Vec<Tried> {
    let find = || -> anyhow::Result<Vec<Tried>> {
        let journal = if args.flag("no-journal") { None } else { Journal::open(&path(args)?)? };
        Ok(weft_lab::tried(journal.as_ref(), changes, here)?)
    };
    find().unwrap_or_else(|error| {
        note!("cannot look up earlier runs: {}", streams::in_one_line(&error));
        Vec::new()
    })
}

/// Finds the newest profile of this model on this hardware, of a step of `tokens` tokens. Returns `None` if there is none or
/// the journal cannot be read.
pub(crate) fn profile(
    args: Args<'_>,
    model: &Gguf,
    hardware: &Hardware,
    tokens: usize,
) -> Option<RecordedProfile> {
    let path = path(args).ok()?;
    let find = || -> Result<Option<RecordedProfile>, JournalError> {
        let Some(journal) = Journal::open(&path)? else { return Ok(None) };
        let wanted = WantedProfile {
            fingerprint: weft_engine::inspect::fingerprint(model),
            hardware: &hardware.key,
            tokens,
            kv: args.kv().name(),
            set: &args.knobs("explain")["set"],
        };
        RecordedProfile::find(&journal, &wanted)
    };
    find().unwrap_or_else(|error| {
        note!("cannot show measured times: {error}");
        None
    })
}

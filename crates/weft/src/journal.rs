//! Where runs that measured something are written down, after their results have been shown.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;
use weft_gguf::Gguf;
use weft_lab::{Journal, Model, Run};

use crate::args::Args;
use crate::out::note;

/// The journal's file.
///
/// # Errors
/// If none is given and no home folder is known.
pub(crate) fn path(args: Args<'_>) -> anyhow::Result<PathBuf> {
    let given = args.path("journal").map(Path::to_path_buf);
    let usual = || weft_file::data_folder().map(|folder| folder.join("journal.db"));
    given.or_else(usual).context("no home folder is known; say where the journal is with --journal FILE")
}

/// Appends a run of `command`. That it could not be written is told and no more: the results have been shown.
pub(crate) fn append(args: Args<'_>, command: &str, model: Option<&Gguf>, results: Value) {
    if args.flag("no-journal") {
        return;
    }
    let model = model.map(|model| Model {
        path: model.files().first().map_or(String::new(), |file| file.path.display().to_string()),
        bytes: model.files().iter().map(|file| file.size).sum(),
        fingerprint: weft_engine::fingerprint(model),
    });
    let run = Run { command: command.into(), model, knobs: args.knobs(command), results };
    let append = || -> anyhow::Result<(i64, PathBuf)> {
        let path = path(args)?;
        Ok((Journal::create(&path)?.append(&run)?, path))
    };
    match append() {
        Ok((id, path)) => note!("run {id} of the journal in {}", path.display()),
        Err(error) => note!("this run is not in the journal: {error:#}"),
    }
}

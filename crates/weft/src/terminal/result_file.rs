//! Writes a command's result to standard output (`-`), or to a file that is replaced once the result is complete.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, ensure};
use weft_file::{AtomicFile, Target};
use weft_gguf::Gguf;

use crate::terminal::streams::Out;

/// A result being written. If it is dropped without [`commit`](Output::commit), no file is left behind.
pub(crate) struct Output {
    sink: Sink,
    /// Its name in errors.
    name: String,
}

enum Sink {
    StandardOutput(BufWriter<Out>),
    File(BufWriter<AtomicFile>),
}

impl Output {
    /// Starts writing to `path`; `-` is standard output.
    ///
    /// # Errors
    /// If the path is a folder or a broken link, or the file cannot be created.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Output> {
        if is_standard_output(path) {
            let sink = Sink::StandardOutput(BufWriter::new(Out::new()));
            return Ok(Output { sink, name: "standard output".into() });
        }
        let name = path.display().to_string();
        let file = AtomicFile::create(path).with_context(|| format!("cannot create {name}"))?;
        Ok(Output { sink: Sink::File(BufWriter::new(file)), name })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let written = match &mut self.sink {
            Sink::StandardOutput(out) => out.write_all(bytes),
            Sink::File(file) => file.write_all(bytes),
        };
        written.with_context(|| format!("cannot write {}", self.name))
    }

    /// Moves the file into place.
    ///
    /// # Errors
    /// If the remaining bytes cannot be written; an existing file then stays as it was.
    pub(crate) fn commit(self) -> anyhow::Result<()> {
        let committed = match self.sink {
            Sink::StandardOutput(mut out) => out.flush(),
            Sink::File(file) => {
                file.into_inner().map_err(|error| error.into_error()).and_then(AtomicFile::commit)
            }
        };
        committed.with_context(|| format!("cannot write {}", self.name))
    }
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Checks that `path` can be written, before any work is done.
///
/// # Errors
/// If it is a folder or a broken link, its folder does not exist, or it is a file of `model`.
pub(crate) fn check_output(path: &Path, model: &Gguf) -> anyhow::Result<()> {
    if is_standard_output(path) {
        return Ok(());
    }
    let check = || {
        if let Target::File(path) = Target::of(path)? {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            ensure!(
                folder.is_none_or(Path::is_dir),
                "there is no folder {}",
                folder.unwrap_or(&path).display()
            );
        }
        anyhow::Ok(())
    };
    check().with_context(|| format!("cannot create {}", path.display()))?;
    Ok(weft_make::refuse_own_file(model, path)?)
}

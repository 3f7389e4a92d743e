//! Refuses to write a result over the files that it is made from.

use std::fs;
use std::path::{Path, PathBuf};

use weft_gguf::Gguf;

use crate::error::{Error, Result};

/// Refuses to overwrite the input. It would be safe, since the input stays mapped, but it is surely a mistake.
///
/// # Errors
/// If `out` is one of the model's files.
pub fn refuse_own_file(model: &Gguf, out: &Path) -> Result<()> {
    let files = model.files().iter().map(|file| &*file.path);
    match canonical(out) {
        Some(target) if is_one_of(files, &target) => Err(own_file(out)),
        _ => Ok(()),
    }
}

/// The same for a model in a folder, whose files are all that are there but GGUF files, which may be results.
///
/// # Errors
/// If `out` is one of them, by another name or not.
pub(crate) fn refuse_files_in(folder: &Path, out: &Path) -> Result<()> {
    let Some(target) = canonical(out) else { return Ok(()) };
    let is_result = |path: &Path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf"));
    let is_within = canonical(folder).is_some_and(|folder| target.starts_with(folder)) && !is_result(&target);
    // Files may be links to others elsewhere, as in the cache of Hugging Face's programs.
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files: Vec<_> = files.filter(|path| !is_result(path)).collect();
    if is_within || is_one_of(files.iter().map(|path| &**path), &target) {
        return Err(own_file(out));
    }
    Ok(())
}

/// The path without links. A file that does not exist has none, and is not an input.
fn canonical(path: &Path) -> Option<PathBuf> {
    weft_file::canonical(path).ok()
}

fn is_one_of<'a>(mut files: impl Iterator<Item = &'a Path>, target: &Path) -> bool {
    files.any(|file| canonical(file).is_some_and(|path| path == target))
}

fn own_file(out: &Path) -> Error {
    Error::new(format!("{} is a file of the model itself; choose another output file", out.display()))
}

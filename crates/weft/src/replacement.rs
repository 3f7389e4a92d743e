//! A file that has its name only when it is whole: what had the name before stays until then.
//!
//! What is no file of its own, such as a pipe or a device, cannot be replaced and is written to as it stands.

use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use weft_gguf::Gguf;

use crate::out::Out;

/// A file in the making. Dropped without [`commit`](Replacement::commit), it leaves nothing behind.
pub(crate) struct Replacement {
    file: BufWriter<Box<dyn Write>>,
    /// Where it is until it gets its name; `None` for what is written to as it stands.
    temporary: Option<PathBuf>,
    path: PathBuf,
}

/// What an output path leads to.
enum Place {
    /// Standard output, which is called `-`.
    StandardOutput,
    /// A pipe or a device: there to be written to, not to be replaced.
    Stream,
    /// A file, or where one can be. Links to it are followed and stay.
    File(PathBuf),
}

impl Replacement {
    /// Begins the file that is to be at `path`, in the same folder, so that it can take the name at once; `-` is standard
    /// output.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Replacement> {
        let create = || {
            let (file, temporary, path): (Box<dyn Write>, _, _) = match place(path)? {
                Place::StandardOutput => (Box::new(Out::new()), None, "standard output".into()),
                Place::Stream => {
                    (Box::new(OpenOptions::new().write(true).open(path)?), None, path.to_path_buf())
                }
                Place::File(path) => {
                    let temporary = temporary(&path)?;
                    let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
                    (Box::new(file), Some(temporary), path)
                }
            };
            Ok(Replacement { file: BufWriter::new(file), temporary, path })
        };
        let created: anyhow::Result<Replacement> = create();
        created.with_context(|| format!("cannot create {}", path.display()))
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(bytes).with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Gives the file its name.
    pub(crate) fn commit(mut self) -> anyhow::Result<()> {
        let name = |temporary: &PathBuf| fs::rename(temporary, &self.path);
        let committed = self.file.flush().and_then(|()| self.temporary.as_ref().map_or(Ok(()), name));
        committed.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // After a commit there is none.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Refuses a path that could not be written in the end anyway, before any work is done.
///
/// # Errors
/// If it is a folder, leads nowhere, or is one of the files of `model`.
pub(crate) fn check_output(path: &Path, model: &Gguf) -> anyhow::Result<()> {
    let check = || match place(path)? {
        Place::StandardOutput | Place::Stream => Ok(()),
        Place::File(path) => {
            let folder = folder(&path);
            ensure!(folder.is_dir(), "there is no folder {}", folder.display());
            Ok(())
        }
    };
    check().with_context(|| format!("cannot create {}", path.display()))?;
    refuse_own_file(model, path)
}

/// Writing over the input would be safe for as long as it is mapped, but not be what anybody means.
///
/// # Errors
/// If `out` is one of the model's files.
pub(crate) fn refuse_own_file(model: &Gguf, out: &Path) -> anyhow::Result<()> {
    // What does not exist has no canonical path, and is not the input.
    let Ok(target) = fs::canonicalize(out) else { return Ok(()) };
    let own = model.files().iter().find(|file| fs::canonicalize(&file.path).is_ok_and(|path| path == target));
    match own {
        None => Ok(()),
        Some(_) => bail!("{} is a file of the model itself: give the result another name", out.display()),
    }
}

fn place(path: &Path) -> anyhow::Result<Place> {
    if path == Path::new("-") {
        return Ok(Place::StandardOutput);
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => bail!("it is a folder"),
        Ok(found) if found.is_file() => Ok(Place::File(fs::canonicalize(path)?)),
        Ok(_) => Ok(Place::Stream),
        Err(_) if path.is_symlink() => bail!("it is a link to what is not there"),
        Err(_) => Ok(Place::File(path.to_path_buf())),
    }
}

/// The folder a file is in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary(path: &Path) -> anyhow::Result<PathBuf> {
    let mut name = path.file_name().context("it is no path of a file")?.to_os_string();
    name.push(format!(".{}.partial", std::process::id()));
    Ok(path.with_file_name(name))
}

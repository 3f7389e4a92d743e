//! A file that has its name only when it is whole: what had the name before stays until then.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// A file in the making. Dropped without [`commit`](Replacement::commit), it leaves nothing behind.
pub(crate) struct Replacement {
    file: BufWriter<File>,
    temporary: PathBuf,
    path: PathBuf,
}

impl Replacement {
    /// Begins the file that is to be at `path`, in the same folder, so that it can take the name at once.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Replacement> {
        let create = || {
            let name = path.file_name().context("it is no path of a file")?;
            let mut temporary = name.to_os_string();
            temporary.push(format!(".{}.partial", std::process::id()));
            let temporary = path.with_file_name(temporary);
            let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
            Ok(Replacement { file: BufWriter::new(file), temporary, path: path.to_path_buf() })
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
        let committed = self.file.flush().and_then(|()| fs::rename(&self.temporary, &self.path));
        committed.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After a commit there is none.
        let _ = fs::remove_file(&self.temporary);
    }
}

//! A temporary folder for one test.

use std::path::{Path, PathBuf};
use std::{fs, ops};

/// A new empty folder in Cargo's folder for test files, removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates the folder of a test.
    pub(crate) fn new(test: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gguf-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the target folder is writable");
        Folder(path)
    }

    /// The names of the files in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the folder exists");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// Removes the path of the folder from `message`, so that it is the same on every machine.
    pub(crate) fn relative(&self, message: &str) -> String {
        message.replace(&format!("{}{}", self.0.display(), std::path::MAIN_SEPARATOR), "")
    }
}

impl ops::Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

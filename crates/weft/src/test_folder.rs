//! A folder for the files of one test.
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::{env, fs, ops, process};

/// A new empty folder among the system's temporary ones, removed when dropped.
pub(crate) struct TestFolder(PathBuf);

impl TestFolder {
    /// The folder for the test called `test`.
    pub(crate) fn new(test: &str) -> TestFolder {
        let path = env::temp_dir().join(format!("weft-{test}-{}", process::id()));
        fs::create_dir_all(&path).expect("temporary files can be written");
        TestFolder(path)
    }

    /// `message` with the path of the folder taken out, the same on every machine.
    pub(crate) fn relative(&self, message: &str) -> String {
        message.replace(&format!("{}{}", self.0.display(), std::path::MAIN_SEPARATOR), "")
    }
}

impl ops::Deref for TestFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

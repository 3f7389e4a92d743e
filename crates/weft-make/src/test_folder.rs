//! A temporary folder for tests.
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, ops, process};

/// A temporary folder, removed when dropped.
pub(crate) struct TestFolder(PathBuf);

impl TestFolder {
    /// Creates the folder of the test called `test`.
    pub(crate) fn new(test: &str) -> TestFolder {
        // Tests that run at once may have a helper that uses the same name.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("weft-{test}-{}-{number}", process::id()));
        // Of a process of the same number that was killed.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("temporary files can be written");
        TestFolder(path)
    }

    /// Removes the folder's path from a message, so that it is the same on every machine.
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

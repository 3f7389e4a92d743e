//! Runs the program, in temporary folders.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{MAIN_SEPARATOR, MAIN_SEPARATOR_STR, Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The fixtures that most tests use.
pub(crate) const FIXTURES: [&str; 4] = ["glm-tiny-q4_0", "glm-tiny-q4_k_m", "glm-tiny-q8_0", "ds2-tiny-q4_0"];

/// The path of a file in `fixtures`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// The path of a fixture's model.
pub(crate) fn model(name: &str) -> PathBuf {
    fixture(&format!("{name}.gguf"))
}

/// Whether there is a GPU to test on. If `WEFT_TEST_ADAPTER` is set, there must be one.
pub(crate) fn has_gpu() -> bool {
    let json = weft(["devices", "--json"]).run().json();
    let has = json["devices"].as_array().unwrap().iter().any(|device| device["backend"] == "gpu");
    assert!(has || std::env::var_os("WEFT_TEST_ADAPTER").is_none(), "there is no GPU");
    has
}

/// Whether there is a model in the program, which is a matter of features.
pub(crate) fn has_built_in() -> bool {
    weft(["--version"]).run().ok().contains("model: glm-small")
}

/// A temporary folder, removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        // With the drive on Windows, where a path without one is not absolute.
        let folder = std::path::absolute(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)).unwrap();
        // Of a process of the same number that was killed.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The path of a file in the folder, as the system writes it; `name` has `/` on every system.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name.replace('/', MAIN_SEPARATOR_STR))
    }

    /// The relative paths of all files below the folder, with `/` on every system.
    pub(crate) fn files(&self) -> Vec<String> {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { walk(&path, found) } else { found.push(path) }
            }
        }
        let mut found = Vec::new();
        walk(&self.0, &mut found);
        let name = |path: &PathBuf| path.strip_prefix(&self.0).unwrap().display().to_string();
        let mut names: Vec<String> =
            found.iter().map(name).map(|name| name.replace(MAIN_SEPARATOR, "/")).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A call of the program, to be run.
pub(crate) struct Weft {
    command: Command,
    input: Option<Vec<u8>>,
    _cache: Folder,
}

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code; `None` if a signal killed it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A call with these arguments. Its environment has only empty folders and an unreachable hub.
pub(crate) fn weft(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Weft {
    let cache = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    // Nothing listens on port 9 (discard), or at least nothing answers.
    command
        .args(args)
        .env_clear()
        .env("WEFT_CACHE", cache.path())
        .env("XDG_CONFIG_HOME", cache.join("config"))
        .env("XDG_DATA_HOME", cache.join("data"))
        .env("XDG_RUNTIME_DIR", cache.join("runtime"))
        .env("WEFT_JOURNAL", cache.join("journal.db"))
        .env("HF_ENDPOINT", "http://127.0.0.1:9");
    // Windows finds its own libraries by it.
    if let Some(root) = std::env::var_os("SystemRoot") {
        command.env("SystemRoot", root);
    }
    let folder = cache.path().to_path_buf();
    // For the lock that keeps measurements apart, which would make tests wait for each other.
    Weft { command, input: None, _cache: cache }.temporary(&folder)
}

impl Weft {
    /// Sets the folder of temporary files, which has another name on Windows.
    pub(crate) fn temporary(self, folder: &Path) -> Weft {
        self.env("TMPDIR", folder).env("TMP", folder)
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Weft {
        self.command.env(name, value);
        self
    }

    pub(crate) fn input(mut self, text: impl Into<Vec<u8>>) -> Weft {
        self.input = Some(text.into());
        self
    }

    pub(crate) fn run(mut self) -> Ran {
        self.command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if let Some(input) = self.input {
            // The program may close its input early.
            let _ = child.stdin.take().unwrap().write_all(&input);
        }
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
        Ran { code: status.code(), out: text(stdout), err: text(stderr) }
    }

    /// The command, for tests that start it themselves.
    pub(crate) fn command(&mut self) -> &mut Command {
        &mut self.command
    }
}

impl Ran {
    /// The standard output of a successful call.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// The standard output of a successful call, with `/` in paths on every system.
    #[track_caller]
    pub(crate) fn ok_with_slashes(self) -> String {
        self.ok().replace(MAIN_SEPARATOR, "/")
    }

    /// The standard output of a successful call, as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok()).expect("--json prints JSON")
    }

    /// The error of a call that failed with this exit code and printed nothing to standard output.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{self:?}");
        assert!(!self.err.contains("internal error"), "{}", self.err);
        self.err
    }
}

/// Whether child processes react to SIGHUP, SIGINT and SIGTERM. Under `nohup`, for example, they ignore one.
#[cfg(unix)]
pub(crate) fn signals_work() -> bool {
    // A hexadecimal mask, with bit 0 for signal 1. Where there is no such file, assume that none is ignored.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    [1, 2, 15].iter().all(|signal| ignored.unwrap_or(0) & (1 << (signal - 1)) == 0)
}

//! JSON files of a model, and typed access to their keys with errors that name file and key.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::{Error, Result, refuse};

/// The longest configuration or template, in bytes. Published ones have some kilobytes.
pub(crate) const MAX_SETTINGS: u64 = 4 << 20;

/// The longest file that lists all tokens or tensors, in bytes. The longest tokenizers have 35 MB.
pub(crate) const MAX_LIST: u64 = 64 << 20;

/// The beginning of the files that Git LFS has in place of others.
const POINTER: &[u8] = b"version https://git-lfs";

/// A JSON object from a file, or an object within one.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    path: PathBuf,
    /// The prefix of the keys in errors.
    prefix: String,
    keys: Map<String, Value>,
}

/// Checks that a file is not one that stands for another.
///
/// # Errors
///
/// If Git LFS has not fetched it.
pub(crate) fn refuse_pointer(path: &Path, bytes: &[u8]) -> Result<()> {
    if bytes.starts_with(POINTER) {
        let problem = "it is a pointer of Git LFS instead of the file: run `git lfs pull` in its folder, or download the file itself";
        return Err(refuse(path, problem));
    }
    Ok(())
}

/// A byte order mark, with which Windows programs begin a text.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads a file of at most `limit` bytes.
pub(crate) fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let failed = |source| Error::Io { action: "read", path: path.to_path_buf(), source };
    let about = fs::metadata(path).map_err(failed)?;
    if !about.is_file() {
        return Err(refuse(path, "it is not a file"));
    }
    if about.len() > limit {
        let problem =
            format!("it has {} bytes; expected at most {limit} in a file of this kind", about.len());
        return Err(refuse(path, problem));
    }
    let mut bytes = fs::read(path).map_err(failed)?;
    refuse_pointer(path, &bytes)?;
    // The byte order mark of a text; nothing else that is read here begins like this.
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    Ok(bytes)
}

/// Reads a text file of at most `limit` bytes.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String> {
    String::from_utf8(read_bytes(path, limit)?).map_err(|error| refuse(path, format!("not UTF-8: {error}")))
}

impl Config {
    /// Reads a file of at most `limit` bytes that is a JSON object.
    pub(crate) fn read(path: &Path, limit: u64) -> Result<Config> {
        let keys = serde_json::from_str(&read_text(path, limit)?)
            .map_err(|error| refuse(path, format!("not a JSON object: {error}")))?;
        Ok(Config { path: path.to_path_buf(), prefix: String::new(), keys })
    }

    /// Reads a file; without it, there are no keys.
    pub(crate) fn read_if_any(path: &Path, limit: u64) -> Result<Config> {
        if path.exists() {
            return Config::read(path, limit);
        }
        Ok(Config { path: path.to_path_buf(), prefix: String::new(), keys: Map::new() })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there are no keys.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The value of a key; `None` if it is missing or `null`.
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.keys.get(key).filter(|value| !value.is_null())
    }

    /// The object under a key, without keys if there is none.
    pub(crate) fn object(&self, key: &str) -> Result<Config> {
        let keys = match self.value(key) {
            None => Map::new(),
            Some(Value::Object(keys)) => keys.clone(),
            Some(found) => return Err(self.mismatch(key, "an object", found)),
        };
        Ok(Config { path: self.path.clone(), prefix: format!("{}{key}.", self.prefix), keys })
    }

    /// All keys and their values.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.keys.iter().map(|(key, value)| (&**key, value))
    }

    /// Sets keys that are missing to those of a JSON object. One that is `null` says that there is nothing.
    pub(crate) fn set_defaults(&mut self, defaults: &'static str) {
        let defaults: Map<String, Value> =
            serde_json::from_str(defaults).expect("a family's defaults are JSON");
        for (key, value) in defaults {
            self.keys.entry(key).or_insert(value);
        }
    }

    /// Replaces these keys by those of the object under a key, except ids of tokens. Embeddings are tied if either says so.
    pub(crate) fn flatten(&mut self, key: &str) {
        const TIED: &str = "tie_word_embeddings";
        let Some(Value::Object(inner)) = self.keys.get(key).cloned() else { return };
        let is_tied = self.keys.get(TIED).is_some_and(|tied| *tied == true);
        self.keys.extend(inner.into_iter().filter(|(key, _)| !key.ends_with("_token_id")));
        if is_tied {
            self.keys.insert(TIED.into(), true.into());
        }
    }

    /// Takes the value of a key.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.keys.remove(key)
    }

    fn read_as<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.value(key) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.mismatch(key, expected, value))
    }

    /// The integer of a key.
    pub(crate) fn u32(&self, key: &str) -> Result<Option<u32>> {
        // Programs that edit configurations may write an integer as `10000.0`.
        let read = |value: &Value| match value.as_u64() {
            Some(value) => u32::try_from(value).ok(),
            None => value.as_f64().filter(|f| f.fract() == 0.0 && (0.0..=4e9).contains(f)).map(|f| f as u32),
        };
        self.read_as(key, "an integer from 0 to 4294967295", read)
    }

    /// The number of a key.
    pub(crate) fn f64(&self, key: &str) -> Result<Option<f64>> {
        self.read_as(key, "a number", Value::as_f64)
    }

    /// The truth value of a key.
    pub(crate) fn bool(&self, key: &str) -> Result<Option<bool>> {
        self.read_as(key, "true or false", Value::as_bool)
    }

    /// The text of a key.
    pub(crate) fn str(&self, key: &str) -> Result<Option<&str>> {
        self.read_as(key, "a string", Value::as_str)
    }

    /// The list of a key.
    pub(crate) fn list(&self, key: &str) -> Result<Option<&[Value]>> {
        self.read_as(key, "a list", |value| value.as_array().map(Vec::as_slice))
    }

    /// The integer of a required key.
    pub(crate) fn require_u32(&self, key: &str) -> Result<u32> {
        self.u32(key)?.ok_or_else(|| self.missing(key))
    }

    /// The number of a required key.
    pub(crate) fn require_f64(&self, key: &str) -> Result<f64> {
        self.f64(key)?.ok_or_else(|| self.missing(key))
    }

    /// The error for a missing key.
    pub(crate) fn missing(&self, key: &str) -> Error {
        refuse(&self.path, format!("`{}{key}` is missing", self.prefix))
    }

    /// The error for a value of another kind, or out of bounds.
    pub(crate) fn mismatch(&self, key: &str, expected: &str, found: &Value) -> Error {
        let mut found = found.to_string();
        if let Some((end, _)) = found.char_indices().nth(60) {
            found.truncate(end);
            found.push('…');
        }
        refuse(&self.path, format!("`{}{key}` is {found}; expected {expected}", self.prefix))
    }
}

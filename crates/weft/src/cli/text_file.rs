//! Reads the text files that a user names: as UTF-8, without a byte order mark, and up to a size.

use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The maximum size in bytes. Scoring more would take weeks, and a file that large is unlikely to be text.
const LIMIT: u64 = 256 << 20;

/// The mark that Windows programs write at the beginning of a text.
const MARK: &str = "\u{FEFF}";

/// A text and the path of its file.
#[derive(Debug)]
pub(crate) struct TextFile {
    pub(crate) text: String,
    path: PathBuf,
}

impl TextFile {
    /// Identifies the text in JSON output.
    pub(crate) fn json(&self) -> Value {
        let mut sha256 = String::new();
        for byte in Sha256::digest(&self.text) {
            let _ = write!(sha256, "{byte:02x}");
        }
        json!({ "path": self.path.display().to_string(), "bytes": self.text.len(), "sha256": sha256 })
    }
}

/// Reads the text file that a model is scored on; `-` is standard input.
///
/// # Errors
/// Those of [`text`].
pub(crate) fn read(path: &Path) -> anyhow::Result<TextFile> {
    let text = text_or_input(path, "the text file")?;
    Ok(TextFile { text, path: path.to_path_buf() })
}

/// Reads a text file; `-` is standard input. `what` says what it is, such as `the prompt`.
///
/// # Errors
/// Those of [`text`].
pub(crate) fn text_or_input(path: &Path, what: &str) -> anyhow::Result<String> {
    if path == Path::new("-") { input() } else { text(path, what) }
}

/// Reads a text file. `what` says what it is, such as `the prompt`.
///
/// # Errors
/// If the file cannot be read, is larger than [`LIMIT`], or is not UTF-8.
pub(crate) fn text(path: &Path, what: &str) -> anyhow::Result<String> {
    let shown = format!("{what} {}", path.display());
    // Windows denies access to a folder here; other systems, as it is read.
    let opened =
        File::open(path).map_err(|e| if path.is_dir() { io::ErrorKind::IsADirectory.into() } else { e });
    let file = opened.map_err(|error| anyhow::anyhow!("cannot read {shown}: {}", words(&error)))?;
    read_from(file, &shown)
}

/// Reads all of standard input as text.
///
/// # Errors
/// Those of [`text`].
pub(crate) fn input() -> anyhow::Result<String> {
    read_from(io::stdin(), "standard input")
}

fn read_from(source: impl Read, shown: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    source
        .take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| anyhow::anyhow!("cannot read {shown}: {}", words(&error)))?;
    if bytes.len() as u64 > LIMIT {
        bail!("{shown} is larger than {} MiB; use a part of it", LIMIT >> 20);
    }
    text_of(bytes).with_context(|| format!("cannot read {shown}"))
}

/// The text that these bytes are, without a byte order mark.
///
/// # Errors
/// Says which byte is the first that is not UTF-8.
pub(crate) fn text_of(bytes: Vec<u8>) -> anyhow::Result<String> {
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with(MARK) {
                text.drain(..MARK.len());
            }
            Ok(text)
        }
        Err(error) => {
            let bytes = error.as_bytes();
            let is_utf_16 = bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF");
            let bad = NotUtf8 { at: error.utf8_error().valid_up_to() };
            bail!("it is {bad}; convert it, for example with {}", converter(is_utf_16))
        }
    }
}

/// A command that makes UTF-8 of a text.
fn converter(is_utf_16: bool) -> &'static str {
    if cfg!(windows) {
        // It reads UTF-16 by its mark, and other texts in the code page of the user.
        "`Get-Content FILE | Set-Content -Encoding utf8 NEW` in PowerShell"
    } else if is_utf_16 {
        "`iconv -f UTF-16 -t UTF-8`"
    } else {
        "`iconv -f LATIN1 -t UTF-8`"
    }
}

/// The first byte of a text that makes it no UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NotUtf8 {
    at: usize,
}

impl NotUtf8 {
    /// Looks for it; `None` if all is UTF-8.
    pub(crate) fn find(text: &OsStr) -> Option<NotUtf8> {
        let error = std::str::from_utf8(text.as_encoded_bytes()).err()?;
        Some(NotUtf8 { at: error.valid_up_to() })
    }
}

impl fmt::Display for NotUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not UTF-8 text: byte {} is invalid", self.at)
    }
}

/// The operating system's error in Weft's words: `no such file`.
pub(crate) fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_string(),
        io::ErrorKind::IsADirectory => "it is a folder".to_string(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn text_must_be_utf_8() {
        let folder = TestFolder::new("text-file");
        let path = folder.join("text");
        fs::write(&path, "Grüße\n").unwrap();
        let text = read(&path).unwrap();
        assert_eq!(text.text, "Grüße\n");
        assert_eq!((&text.json()["bytes"], &text.json()["path"]), (&8.into(), &path.to_str().into()));
        assert_eq!(text.json()["sha256"], "b1de61b8108f15d9913e0fa2e6371ed737fbe2be84e63a89ca8ae7a370322371");
        let wrong = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            folder.relative(&format!("{:#}", read(&path).unwrap_err()))
        };
        let advice = |otherwise| {
            let by = "`Get-Content FILE | Set-Content -Encoding utf8 NEW` in PowerShell";
            format!("convert it, for example with {}", if cfg!(windows) { by } else { otherwise })
        };
        assert_eq!(
            wrong(b"ab\xFFc"),
            "cannot read the text file text: it is not UTF-8 text: byte 2 is invalid; ".to_string()
                + &advice("`iconv -f LATIN1 -t UTF-8`")
        );
        let said = wrong(b"\xFF\xFEh\0i\0");
        assert!(
            said.ends_with(&format!("byte 0 is invalid; {}", advice("`iconv -f UTF-16 -t UTF-8`"))),
            "{said}"
        );
        let error = folder.relative(&format!("{:#}", read(&folder.join("none")).unwrap_err()));
        assert_eq!(error, "cannot read the text file none: no such file");
        let error = format!("{:#}", read(&folder.join(".")).unwrap_err());
        assert!(error.ends_with(": it is a folder"), "{error}");
    }

    #[test]
    fn a_byte_order_mark_is_no_text() {
        assert_eq!(text_of(b"\xEF\xBB\xBFhi".to_vec()).unwrap(), "hi");
        // Only the first one.
        assert_eq!(text_of("a\u{FEFF}\u{FEFF}".into()).unwrap(), "a\u{FEFF}\u{FEFF}");
        assert_eq!(text_of("\u{FEFF}\u{FEFF}a".into()).unwrap(), "\u{FEFF}a");
        assert_eq!(text_of(Vec::new()).unwrap(), "");
    }

    #[cfg(unix)]
    #[test]
    fn endless_files_are_refused() {
        let error = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(error, "the text file /dev/zero is larger than 256 MiB; use a part of it");
    }
}

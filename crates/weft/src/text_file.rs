//! A text to be scored, read from a file.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Texts beyond this are not read to their end: it is a month's work, or no file of text at all.
const LIMIT: u64 = 256 << 20;

/// A text, and where it is from.
#[derive(Debug)]
pub(crate) struct TextFile {
    pub(crate) text: String,
    path: PathBuf,
}

impl TextFile {
    /// What tells it from other texts, for programs: a figure says little without.
    pub(crate) fn json(&self) -> Value {
        let mut sha256 = String::new();
        for byte in Sha256::digest(&self.text) {
            let _ = write!(sha256, "{byte:02x}");
        }
        json!({ "path": self.path.display().to_string(), "bytes": self.text.len(), "sha256": sha256 })
    }
}

/// Reads a text.
///
/// # Errors
/// If the file cannot be read, is larger than [`LIMIT`], or is not UTF-8.
pub(crate) fn read(path: &Path) -> anyhow::Result<TextFile> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot open the text {shown}"))?;
    file.take(LIMIT + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read the text {shown}"))?;
    if bytes.len() as u64 > LIMIT {
        bail!("the text {shown} has more than {} MiB; give a part of it", LIMIT >> 20);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(TextFile { text, path: path.to_path_buf() }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            bail!("{shown} is no text: at byte {at} it is not UTF-8; convert it with `iconv -t UTF-8`, say")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn texts_are_utf_8() {
        let folder = TestFolder::new("text-file");
        let path = folder.join("text");
        fs::write(&path, "Grüße\n").unwrap();
        let text = read(&path).unwrap();
        assert_eq!(text.text, "Grüße\n");
        assert_eq!((&text.json()["bytes"], &text.json()["path"]), (&8.into(), &path.to_str().into()));
        assert_eq!(text.json()["sha256"], "b1de61b8108f15d9913e0fa2e6371ed737fbe2be84e63a89ca8ae7a370322371");
        fs::write(&path, b"ab\xFFc").unwrap();
        let error = folder.relative(&format!("{:#}", read(&path).unwrap_err()));
        assert!(error.starts_with("text is no text: at byte 2 it is not UTF-8"), "{error}");
        let error = folder.relative(&format!("{:#}", read(&folder.join("none")).unwrap_err()));
        assert!(error.starts_with("cannot open the text none: "), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn what_does_not_end_is_refused() {
        let error = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(error, "the text /dev/zero has more than 256 MiB; give a part of it");
    }
}

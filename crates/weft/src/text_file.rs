//! Reads the text file that a model is scored on.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The maximum size in bytes. Scoring more would take weeks, and a file that large is unlikely to be text.
const LIMIT: u64 = 256 << 20;

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

/// Reads a text file; `-` is standard input.
///
/// # Errors
/// If the file cannot be read, is larger than [`LIMIT`], or is not UTF-8.
pub(crate) fn read(path: &Path) -> anyhow::Result<TextFile> {
    let (shown, source): (String, Box<dyn Read>) = if path == Path::new("-") {
        ("standard input".into(), Box::new(std::io::stdin()))
    } else {
        let shown = format!("the text file {}", path.display());
        let file = File::open(path).with_context(|| format!("cannot open {shown}"))?;
        (shown, Box::new(file))
    };
    let mut bytes = Vec::new();
    source.take(LIMIT + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {shown}"))?;
    if bytes.len() as u64 > LIMIT {
        bail!("{shown} is larger than {} MiB; use a part of it", LIMIT >> 20);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(TextFile { text, path: path.to_path_buf() }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            bail!(
                "{shown} is not UTF-8 text: byte {at} is invalid; convert it, for example with `iconv -t UTF-8`"
            )
        }
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
        fs::write(&path, b"ab\xFFc").unwrap();
        let error = folder.relative(&format!("{:#}", read(&path).unwrap_err()));
        assert!(error.starts_with("the text file text is not UTF-8 text: byte 2 is invalid"), "{error}");
        let error = folder.relative(&format!("{:#}", read(&folder.join("none")).unwrap_err()));
        assert!(error.starts_with("cannot open the text file none: "), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn endless_files_are_refused() {
        let error = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(error, "the text file /dev/zero is larger than 256 MiB; use a part of it");
    }
}

//! LoRA adapters of a model.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use weft_gguf::Gguf;

use crate::error::Error;
use crate::model::files::open_file;

/// A LoRA adapter: a GGUF file with additions to some of a model's matrices.
///
/// ```
/// # use weft_runtime::AdapterFile;
/// let adapter: AdapterFile = "style.gguf:0.5".parse()?;
/// assert_eq!(adapter, AdapterFile { path: "style.gguf".into(), scale: 0.5 });
/// # Ok::<(), std::convert::Infallible>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct AdapterFile {
    /// Its path.
    pub path: PathBuf,
    /// The factor of its additions: 1 as it was trained, 0 for nothing.
    pub scale: f32,
}

impl FromStr for AdapterFile {
    type Err = std::convert::Infallible;

    /// Parses `FILE` or `FILE:SCALE`. What follows the last colon is part of the path if it is no number.
    fn from_str(text: &str) -> Result<AdapterFile, Self::Err> {
        let scaled = text.rsplit_once(':').and_then(|(path, scale)| Some((path, scale.parse().ok()?)));
        let (path, scale) = scaled.unwrap_or((text, 1.0));
        Ok(AdapterFile { path: path.into(), scale })
    }
}

impl fmt::Display for AdapterFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.scale)
    }
}

/// Opens a model's file, and adds adapters to it. Only headers are read.
///
/// # Errors
/// Those of [`open_file`], and if an adapter is not one for this model.
pub fn open_adapted(path: &Path, adapters: &[AdapterFile]) -> Result<Gguf, Error> {
    let mut model = open_file(path)?;
    for AdapterFile { path, scale } in adapters {
        model.adapt(Gguf::open(path)?, *scale)?;
    }
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_part_of_the_path() {
        let parsed = |text: &str| text.parse::<AdapterFile>().map(|one| (one.path, one.scale));
        for (text, path, scale) in [
            ("a.gguf", "a.gguf", 1.0),
            ("a.gguf:-0.5", "a.gguf", -0.5),
            ("a:2:3", "a:2", 3.0),
            (r"C:\a.gguf", r"C:\a.gguf", 1.0),
            ("a.gguf:", "a.gguf:", 1.0),
        ] {
            assert_eq!(parsed(text), Ok((PathBuf::from(path), scale)));
        }
    }
}

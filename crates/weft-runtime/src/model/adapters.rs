//! LoRA adapters of a model.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use weft_gguf::{Gguf, Selectable};
use weft_pack::{fingerprint, identity};

use crate::error::Error;
use crate::model::files::open_file;

/// A LoRA adapter: a GGUF file with additions to some of a model's matrices.
///
/// ```
/// # use weft_runtime::AdapterFile;
/// let adapter: AdapterFile = "style.gguf:0.5".parse()?;
/// assert_eq!(adapter, AdapterFile { name: None, path: "style.gguf".into(), scale: 0.5 });
/// let chosen: AdapterFile = "terms=terms.gguf".parse()?;
/// assert_eq!(chosen.name.as_deref(), Some("terms"));
/// # Ok::<(), std::convert::Infallible>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct AdapterFile {
    /// The name by which requests choose it. Without a name it always applies.
    pub name: Option<String>,
    /// Its path.
    pub path: PathBuf,
    /// The factor of its additions: 1 as it was trained, 0 for nothing. A request that chooses the adapter can give another one.
    pub scale: f32,
}

impl FromStr for AdapterFile {
    type Err = std::convert::Infallible;

    /// Parses `FILE`, `FILE:SCALE`, `NAME=FILE` or `NAME=FILE:SCALE`. What follows the last colon is part of the path if it is no
    /// number, and what precedes the first `=` is if it has a separator of folders.
    fn from_str(text: &str) -> Result<AdapterFile, Self::Err> {
        let scaled = text.rsplit_once(':').and_then(|(path, scale)| Some((path, scale.parse().ok()?)));
        let (path, scale) = scaled.unwrap_or((text, 1.0));
        let named = path.split_once('=').filter(|(name, _)| !name.contains(['/', '\\']));
        let (name, path) = named.map_or((None, path), |(name, path)| (Some(name.to_string()), path));
        Ok(AdapterFile { name, path: path.into(), scale })
    }
}

impl fmt::Display for AdapterFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.iter().try_for_each(|name| write!(f, "{name}="))?;
        write!(f, "{}:{}", self.path.display(), self.scale)
    }
}

/// Opens a model's file, and adds adapters to it. Of the model only headers are read; adapters that requests choose are read whole.
///
/// # Errors
/// Those of [`open_file`], and if an adapter is not one for this model.
pub fn open_adapted(path: &Path, adapters: &[AdapterFile]) -> Result<Gguf, Error> {
    let mut model = open_file(path)?;
    let mut selectable = Vec::new();
    for AdapterFile { name, path, scale } in adapters {
        let adapter = Gguf::open(path)?;
        match name {
            None => model.adapt(adapter, *scale)?,
            Some(name) => {
                let identity = identity(&adapter).unwrap_or_else(|| fingerprint(&adapter));
                let one = Selectable { name: name.clone(), path: path.clone(), scale: *scale, identity };
                selectable.push((one, adapter));
            }
        }
    }
    model.offer(selectable)?;
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_and_no_number_is_part_of_the_path() {
        for (text, name, path, scale) in [
            ("a.gguf", None, "a.gguf", 1.0),
            ("a.gguf:-0.5", None, "a.gguf", -0.5),
            ("a:2:3", None, "a:2", 3.0),
            (r"C:\a.gguf", None, r"C:\a.gguf", 1.0),
            ("a.gguf:", None, "a.gguf:", 1.0),
            ("x=a.gguf:0.5", Some("x"), "a.gguf", 0.5),
            ("x=/b=c/a.gguf", Some("x"), "/b=c/a.gguf", 1.0),
            ("./x=a.gguf", None, "./x=a.gguf", 1.0),
            ("=a.gguf", Some(""), "a.gguf", 1.0),
        ] {
            let expected = AdapterFile { name: name.map(str::to_string), path: path.into(), scale };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }
}

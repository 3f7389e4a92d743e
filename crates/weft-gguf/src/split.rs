//! Models in several files. llama.cpp's `gguf-split` names them `NAME-00001-of-00003.gguf` and so on, and
//! numbers each part in its metadata.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{Error, KeyError};
use crate::limits::MAX_FILES;
use crate::metadata::Metadata;

const NUMBER_KEY: &str = "split.no";
const COUNT_KEY: &str = "split.count";
const TENSORS_KEY: &str = "split.tensors.count";
/// The number of missing parts that an error names.
const NAMED: usize = 3;

/// A part's account of the whole model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split {
    /// The number of this part, from 0.
    pub(crate) number: u32,
    /// The number of parts, at least 2.
    pub(crate) count: u32,
    /// The number of tensors of all parts together.
    pub(crate) tensors: u32,
}

impl Split {
    /// Reads the metadata of a part; `None` for a model in one file.
    pub(crate) fn of(metadata: &Metadata) -> Result<Option<Split>, KeyError> {
        let count = metadata.u32(COUNT_KEY)?.unwrap_or(1);
        if count < 2 {
            return Ok(None);
        }
        let number = metadata.require_u32(NUMBER_KEY)?;
        let tensors = metadata.require_u32(TENSORS_KEY)?;
        Ok(Some(Split { number, count, tensors }))
    }

    /// The paths of all parts in order, given the path of this one.
    ///
    /// # Errors
    ///
    /// If there are too many parts, the file name contradicts the metadata, or a part does not exist.
    pub(crate) fn paths(&self, own: &Path) -> Result<Vec<PathBuf>, Error> {
        if self.count > MAX_FILES {
            return Err(error(own, format!("this is {self}; at most {MAX_FILES} files are allowed")));
        }
        let suffix = |number: u32| format!("-{:05}-of-{:05}.gguf", u64::from(number) + 1, self.count);
        let name = own.file_name().and_then(|name| name.to_str());
        let Some(prefix) = name.and_then(|name| name.strip_suffix(&suffix(self.number))) else {
            let wanted = suffix(self.number);
            return Err(error(own, format!("this is {self}, so its name must end in `{wanted}`; rename it")));
        };
        let path = |number| own.with_file_name(format!("{prefix}{}", suffix(number)));
        let paths: Vec<PathBuf> = (0..self.count).map(path).collect();
        let missing: Vec<String> =
            paths.iter().filter(|path| !path.exists()).map(|path| path.display().to_string()).collect();
        if missing.is_empty() {
            return Ok(paths);
        }
        let named = missing[..missing.len().min(NAMED)].join(", ");
        let more = if missing.len() > NAMED {
            format!(" and {} more", missing.len() - NAMED)
        } else {
            String::new()
        };
        Err(error(
            own,
            format!("this is {self}, but {named}{more} cannot be found; all parts must be in one folder"),
        ))
    }

    /// Checks that the part at `path`, which claims to be `found`, is the one described by `self`.
    pub(crate) fn check(&self, found: Option<Split>, path: &Path) -> Result<(), Error> {
        if found == Some(*self) {
            return Ok(());
        }
        let found = found.map_or("a model in one file".to_string(), |split| split.to_string());
        Err(error(path, format!("expected {self}, found {found}; the parts belong to different models")))
    }

    /// Checks that the parts, the first of them at `path`, have the declared number of tensors.
    pub(crate) fn check_tensors(&self, found: usize, path: &Path) -> Result<(), Error> {
        if found as u64 == u64::from(self.tensors) {
            return Ok(());
        }
        Err(error(path, format!("this is {self}, but the {} files have {found} tensors", self.count)))
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Split { number, count, tensors } = self;
        write!(f, "part {} of a model of {tensors} tensors in {count} files", u64::from(*number) + 1)
    }
}

/// The error for a part at `path` that does not fit the others.
pub(crate) fn error(path: &Path, problem: String) -> Error {
    Error::Split { file: path.display().to_string(), problem }
}

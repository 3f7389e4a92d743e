//! Models in several files: llama.cpp's `gguf-split` writes `NAME-00001-of-00003.gguf` and so on, and says in
//! each part's metadata which one it is.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{Error, KeyError};
use crate::limits::MAX_FILES;
use crate::metadata::Metadata;

const NUMBER_KEY: &str = "split.no";
const COUNT_KEY: &str = "split.count";
const TENSORS_KEY: &str = "split.tensors.count";
/// How many missing parts an error names.
const NAMED: usize = 3;

/// What a part says about the whole it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split {
    /// Which part this is, from 0.
    pub(crate) number: u32,
    /// How many parts there are: at least 2.
    pub(crate) count: u32,
    /// How many tensors all parts have together.
    pub(crate) tensors: u32,
}

impl Split {
    /// What the metadata of a part says, or `None` for a model in one file.
    pub(crate) fn of(metadata: &Metadata) -> Result<Option<Split>, KeyError> {
        let count = metadata.u32(COUNT_KEY)?.unwrap_or(1);
        if count < 2 {
            return Ok(None);
        }
        let number = metadata.require_u32(NUMBER_KEY)?;
        let tensors = metadata.require_u32(TENSORS_KEY)?;
        Ok(Some(Split { number, count, tensors }))
    }

    /// The paths of all parts in order, from the path of this one.
    ///
    /// # Errors
    ///
    /// When there are too many, this one's name does not say what its metadata says, or some part does not
    /// exist.
    pub(crate) fn paths(&self, own: &Path) -> Result<Vec<PathBuf>, Error> {
        if self.count > MAX_FILES {
            return Err(error(own, format!("this is {self}; at most {MAX_FILES} files are allowed")));
        }
        let suffix = |number: u32| format!("-{:05}-of-{:05}.gguf", u64::from(number) + 1, self.count);
        let name = own.file_name().and_then(|name| name.to_str());
        let Some(prefix) = name.and_then(|name| name.strip_suffix(&suffix(self.number))) else {
            let wanted = suffix(self.number);
            return Err(error(
                own,
                format!("this is {self}, so its name should end in `{wanted}`; rename it"),
            ));
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
            format!("this is {self}, but there is no {named}{more}; all parts must be in one folder"),
        ))
    }

    /// Checks that the part at `path`, which says `found`, is the part that this one describes.
    pub(crate) fn check(&self, found: Option<Split>, path: &Path) -> Result<(), Error> {
        if found == Some(*self) {
            return Ok(());
        }
        let found = found.map_or("a model in one file".to_string(), |split| split.to_string());
        Err(error(
            path,
            format!("this should be {self}, but says it is {found}; the parts are of different models"),
        ))
    }

    /// Checks that the parts, the first of them at `path`, have as many tensors as they say.
    pub(crate) fn check_tensors(&self, found: usize, path: &Path) -> Result<(), Error> {
        if found as u64 == u64::from(self.tensors) {
            return Ok(());
        }
        Err(error(path, format!("this is {self}, but the {} files have {found}", self.count)))
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Split { number, count, tensors } = self;
        write!(f, "part {} of a model of {tensors} tensors in {count} files", u64::from(*number) + 1)
    }
}

/// The error that the part at `path` does not fit with the others.
pub(crate) fn error(path: &Path, problem: String) -> Error {
    Error::Split { file: path.display().to_string(), problem }
}

//! What can go wrong with a file, said so that a person can act on it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a GGUF file was refused. The message names the file, where in it, and which rule is broken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: `open`, `map`.
        action: &'static str,
        /// The file it was tried on.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is something else, or a GGUF of a version or byte order this crate does not read.
    #[error("{file}: not a GGUF file this program can read: {found}")]
    NotGguf {
        /// The file's path.
        file: String,
        /// What it is instead, and what to do.
        found: String,
    },
    /// The file breaks a rule of the format, or one of this crate's [limits](crate::limits).
    #[error("{file}: at byte {offset}: {rule}")]
    Malformed {
        /// The file's path.
        file: String,
        /// Where the thing that breaks the rule begins, in bytes from the file's start.
        offset: u64,
        /// The rule, what was expected and what was found.
        rule: String,
    },
    /// The parts of a split model do not make a whole.
    #[error("{file}: {problem}")]
    Split {
        /// The part's path.
        file: String,
        /// What is missing or does not fit, and what to do.
        problem: String,
    },
    /// A key this crate itself reads (`split.*`) is missing or has the wrong type.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// A metadata key that is missing, or whose value is of another type than its reader needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A key that is required is not there.
    #[error("{file}: the metadata has no key {}, which should hold {expected}", Quoted(key))]
    Missing {
        /// The file's path.
        file: String,
        /// The key.
        key: String,
        /// The type it should have.
        expected: String,
    },
    /// A key holds another type, or a value the type cannot represent.
    #[error("{file}: key {} should hold {expected}, but holds {found}", Quoted(key))]
    Mismatch {
        /// The file's path.
        file: String,
        /// The key.
        key: String,
        /// The type it should have.
        expected: String,
        /// The type, and where it matters the value, that it has.
        found: String,
    },
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// What was asked for would not be a file this crate could read, or data came that was not declared.
    #[error("cannot write this GGUF file: {0}")]
    Refused(String),
    /// The operating system refused.
    #[error("cannot {action} {target}")]
    Io {
        /// What was tried: `create`, `write`.
        action: &'static str,
        /// The file, or `the GGUF output` when writing to a stream.
        target: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// A name out of a file, fit for an error message: in backticks, control characters escaped, cut when long.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 80;
        let mut chars = self.0.chars();
        f.write_str("`")?;
        for c in chars.by_ref().take(SHOWN) {
            match c {
                '"' | '\'' => write!(f, "{c}")?,
                _ => write!(f, "{}", c.escape_debug())?,
            }
        }
        f.write_str(if chars.next().is_some() { "…`" } else { "`" })
    }
}

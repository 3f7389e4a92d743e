//! Errors, worded so that a person can act on them.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a GGUF file was refused. The message names the file, the place in it, and the broken rule.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The attempted action: `open`, `map`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is something else, or a GGUF file of an unsupported version or byte order.
    #[error("{file}: not a supported GGUF file: {found}")]
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
        /// Where the offending item begins, in bytes from the file's start.
        offset: u64,
        /// The rule, and what was expected and found.
        rule: String,
    },
    /// The parts of a split model do not fit together.
    #[error("{file}: {problem}")]
    Split {
        /// The part's path.
        file: String,
        /// The missing part or the mismatch, and what to do.
        problem: String,
    },
    /// A LoRA adapter does not fit the model.
    #[error("{file}: {problem}")]
    Adapter {
        /// The adapter's path.
        file: String,
        /// The mismatch.
        problem: String,
    },
    /// A key that this crate itself reads (`split.*`) is missing or has the wrong type.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// A metadata key that is missing, or whose value has another type than its reader expects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A required key is missing.
    #[error("{file}: the metadata has no key {}, which should hold {expected}", Quoted(key))]
    Missing {
        /// The file's path.
        file: String,
        /// The key.
        key: String,
        /// The expected type.
        expected: String,
    },
    /// A key holds another type, or a value the type cannot represent.
    #[error("{file}: key {} should hold {expected}, but holds {found}", Quoted(key))]
    Mismatch {
        /// The file's path.
        file: String,
        /// The key.
        key: String,
        /// The expected type.
        expected: String,
        /// The type found, or the value where that matters.
        found: String,
    },
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The request would not produce a readable file, or data was not declared.
    #[error("cannot write this GGUF file: {0}")]
    Refused(String),
    /// A system call failed.
    #[error("cannot {action} {target}")]
    Io {
        /// The attempted action: `create`, `write`.
        action: &'static str,
        /// The file, or `the GGUF output` for a stream.
        target: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// A name from a file, made safe for an error message: in backticks, with control characters escaped, and
/// truncated if long.
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

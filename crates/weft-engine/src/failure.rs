//! Why a generation failed.

use std::fmt;

use weft_runtime::Error;

/// Why a generation failed. It displays as its message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The kind of failure, for programs.
    pub kind: FailureKind,
    /// A message for people.
    pub message: String,
}

/// The kind of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailureKind {
    /// A logit processor returned an error or panicked. Other generations continue.
    Processor,
    /// The request's constraints allow no token. Other generations continue.
    NothingAllowed,
    /// The model computed logits that are NaN: its file is damaged.
    NotNumbers,
    /// The KV cache has no page for it, because sequences that were begun by hand hold them.
    Pages,
    /// The device failed. The same request may succeed later.
    Device,
    /// The engine was dropped.
    Closed,
}

impl Failure {
    /// Creates a failure.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into() }
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Failure {
        let kind = match error {
            Error::NothingAllowed => FailureKind::NothingAllowed,
            Error::NotNumbers => FailureKind::NotNumbers,
            Error::Pages { .. } => FailureKind::Pages,
            _ => FailureKind::Device,
        };
        Failure::new(kind, error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

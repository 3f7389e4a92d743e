//! Why a model file cannot be made, and how the code says so.

use std::error::Error as StdError;
use std::{fmt, io};

use weft_gguf::{KeyError, WriteError};
use weft_quant::CodecError;

/// Why a model file, or an importance matrix, cannot be read or made.
#[derive(Debug)]
pub struct Error {
    /// Where it happened, from the outside inwards; each place ends with a colon and a space.
    places: String,
    cause: Box<Cause>,
}

/// The cause of an error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    /// In words: what was found, and what was expected.
    #[error("{0}")]
    Said(String),
    #[error(transparent)]
    Gguf(#[from] weft_gguf::Error),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Codec(#[from] CodecError),
    #[error(transparent)]
    Convert(#[from] weft_convert::Error),
    #[error(transparent)]
    Engine(#[from] weft_engine::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A result, or why there is none.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error that has no cause but what `words` say.
    pub(crate) fn new(words: impl Into<String>) -> Error {
        Error { places: String::new(), cause: Box::new(Cause::Said(words.into())) }
    }
}

impl<E: Into<Cause>> From<E> for Error {
    fn from(cause: E) -> Error {
        Error { places: String::new(), cause: Box::new(cause.into()) }
    }
}

/// With `{:#}`, what caused the cause follows.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.places, self.cause)?;
        let mut source = self.source().filter(|_| f.alternate());
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.source()
    }
}

/// Says where an error happened, or what is missing.
pub(crate) trait Context<T> {
    /// The value, or an error with these words.
    fn context(self, words: &str) -> Result<T>;

    /// The value, or an error with the words that `words` makes.
    fn with_context(self, words: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, words: &str) -> Result<T> {
        self.with_context(|| words.into())
    }

    fn with_context(self, words: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| {
            let Error { places, cause } = error.into();
            Error { places: format!("{}: {places}", words()), cause }
        })
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, words: &str) -> Result<T> {
        self.ok_or_else(|| Error::new(words))
    }

    fn with_context(self, words: impl FnOnce() -> String) -> Result<T> {
        self.ok_or_else(|| Error::new(words()))
    }
}

/// Returns an error with these words.
macro_rules! bail {
    ($($words:tt)*) => { return Err($crate::error::Error::new(format!($($words)*))) };
}

/// Returns an error with these words, unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($words:tt)*) => {
        if !$holds {
            $crate::error::bail!($($words)*);
        }
    };
}

pub(crate) use {bail, ensure};

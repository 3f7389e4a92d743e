//! The HTTP client of the Hugging Face hub: listing repositories and requesting files.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use ureq::config::RedirectAuthHeaders;
use ureq::http::{Response, Uri};
use ureq::{Agent, Body, http};

use crate::error::Error;
use crate::names::{FileName, is_plain};

/// The timeout for resolving the host and for connecting to it: short, since there may be another source.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout for the headers of a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout for each read.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest listing of a repository, in bytes.
const MAX_LISTING: u64 = 16 << 20;

/// The hub or a mirror.
#[derive(Debug)]
pub(crate) struct Remote {
    endpoint: String,
    token: Option<Token>,
    agent: Agent,
}

/// A secret, which must not be printed.
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// The models in a repository.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The commit that was listed.
    pub(crate) commit: String,
    /// Sorted by folder and name.
    pub(crate) models: Vec<RemoteModel>,
}

/// A model in a repository.
#[derive(Debug)]
pub(crate) struct RemoteModel {
    /// The name of its files, without the number of the part.
    pub(crate) stem: String,
    /// All its files, in order.
    pub(crate) files: Vec<RemoteFile>,
}

/// A file in a repository.
#[derive(Clone, Debug)]
pub(crate) struct RemoteFile {
    /// Its path in the repository: [plain](is_plain) names separated by slashes.
    pub(crate) path: String,
    /// The number of this part, from 1, and how many parts there are.
    part: (u32, u32),
    pub(crate) bytes: u64,
    /// In lower-case hexadecimal.
    pub(crate) sha256: String,
}

impl RemoteModel {
    /// The file name of the model, without the number of the part.
    pub(crate) fn file_name(&self) -> FileName<'_> {
        FileName { stem: &self.stem, part: (1, 1) }
    }
}

impl Remote {
    /// Creates a client for the hub at `endpoint`. The token is not sent to servers that it redirects to.
    ///
    /// # Errors
    /// [`Error::Endpoint`] if `endpoint` is not an HTTP address.
    pub(crate) fn new(endpoint: &str, token: Option<&str>) -> Result<Remote, Error> {
        let endpoint = endpoint.trim_end_matches('/');
        let scheme = ["https://", "http://"].into_iter().find(|scheme| endpoint.starts_with(scheme));
        let has_host =
            || endpoint.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty()));
        if scheme.is_none() || !has_host() {
            return Err(Error::Endpoint(endpoint.into()));
        }
        let config = Agent::config_builder()
            .user_agent(concat!("weft/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(CONNECT_TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(RESPONSE_TIMEOUT))
            .timeout_per_read(Some(READ_TIMEOUT))
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .http_status_as_error(false);
        // Elsewhere, the certificates in the program count.
        #[cfg(windows)]
        let config = {
            use ureq::tls::{RootCerts, TlsConfig};
            config.tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        };
        let config = config.build();
        let token = token.filter(|token| !token.is_empty()).map(|token| Token(token.into()));
        Ok(Remote { endpoint: endpoint.to_string(), token, agent: config.new_agent() })
    }

    /// The hub's host, for messages.
    pub(crate) fn host(&self) -> &str {
        self.endpoint.split_once("://").map_or(&self.endpoint, |(_, host)| host)
    }

    /// The address of a file.
    pub(crate) fn file(&self, repo: &str, revision: &str, path: &str) -> String {
        format!("{}/{repo}/resolve/{revision}/{path}", self.endpoint)
    }

    /// Requests the file at `address` from byte `from` on. The server may ignore the range and send the whole file.
    ///
    /// # Errors
    /// If the hub cannot be reached.
    pub(crate) fn get(&self, address: &str, from: u64) -> Result<Response<Body>, Error> {
        // The range and the checksum are those of the uncompressed file.
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
    /// If the hub cannot be reached, returns an error status, or its response is not valid.
    pub(crate) fn list(&self, repo: &str) -> Result<Listing, Error> {
        let mut response = self.get(&format!("{}/api/models/{repo}?blobs=true", self.endpoint), 0)?;
        check_status(response.status().as_u16())?;
        let text = response.body_mut().with_config().limit(MAX_LISTING).read_to_string();
        let text = text.map_err(|error| Error::Response(format!("it is incomplete: {error}")))?;
        listing(&text).map_err(Error::Response)
    }
}

/// Checks that a status is a success.
///
/// # Errors
/// [`Error::Status`] if it is not.
pub(crate) fn check_status(status: u16) -> Result<(), Error> {
    match status {
        200..=299 => Ok(()),
        _ => Err(Error::Status(status)),
    }
}

/// Parses the response of `/api/models/REPO?blobs=true`.
///
/// # Errors
/// A description of the problem.
fn listing(text: &str) -> Result<Listing, String> {
    let response: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let commit = response["sha"].as_str().filter(|commit| is_plain(commit)).ok_or("it has no commit")?;
    let files = response["siblings"].as_array().ok_or("it has no list of files")?;
    // By folder and stem.
    let mut models: BTreeMap<(&str, &str), Vec<RemoteFile>> = BTreeMap::new();
    for file in files {
        let path = file["rfilename"].as_str().unwrap_or_default();
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // Skip files that are not models, and paths that could lead out of the repository's folder.
        let Some(name) = FileName::parse(name).filter(|_| path.split('/').all(is_plain)) else { continue };
        let size = file["lfs"]["size"].as_u64().or(file["size"].as_u64());
        let sha256 = file["lfs"]["sha256"].as_str().filter(|digits| is_sha256(digits));
        let (Some(bytes), Some(sha256)) = (size, sha256) else {
            return Err(format!("it has no size or checksum for {path}"));
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
    fn models_are_assembled_from_their_parts() {
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
    fn incomplete_models_and_unsafe_paths_are_skipped() {
        for name in
            ["a-00001-of-00002.gguf", "../a.gguf", "x/../a.gguf", "/a.gguf", "a b.gguf", "C:\\\\a.gguf"]
        {
            assert_eq!(read(&[name]).unwrap(), [], "{name}");
        }
    }

    #[test]
    fn files_without_a_checksum_are_refused() {
        for response in [
            "",
            "[]",
            r#"{"sha":"abc"}"#,
            r#"{"sha":"../abc","siblings":[]}"#,
            r#"{"sha":"abc","siblings":[{"rfilename":"a.gguf","size":7}]}"#,
            r#"{"sha":"abc","siblings":[{"rfilename":"a.gguf","lfs":{"sha256":"00","size":7}}]}"#,
        ] {
            assert!(listing(response).is_err(), "{response}");
        }
    }
}

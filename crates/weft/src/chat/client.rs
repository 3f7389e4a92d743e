//! A client of servers that speak OpenAI's HTTP API: requests, streamed replies, and errors that say what to do.

mod error;
mod events;

use std::io::Read as _;
use std::time::Duration;

use serde_json::Value;
use ureq::http::{Response, header};
use ureq::{Agent, Body, BodyReader};

pub(crate) use error::ClientError;
use events::Events;

/// The timeout for resolving the host and for connecting to it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer that is not a stream, in bytes.
const MAX_ANSWER: u64 = 16 << 20;

/// A server, and the connections to it.
///
/// A clone shares the connections; [`hang_up`](Server::hang_up) closes them all.
#[derive(Clone)]
pub(crate) struct Server {
    /// The address without `/v1`, such as `http://127.0.0.1:8090`.
    url: String,
    key: Option<String>,
    agent: Agent,
}

impl Server {
    /// Creates a client of the server at `url`, with or without `http://` and `/v1`. `silence` is the longest time that it
    /// may say nothing.
    ///
    /// # Errors
    /// If `url` is no HTTP address.
    pub(crate) fn new(url: &str, key: Option<&str>, silence: Duration) -> anyhow::Result<Server> {
        let url = normalized(url).ok_or_else(|| {
            anyhow::anyhow!(
                "`{url}` is not the address of a server: expected one such as http://127.0.0.1:8090"
            )
        })?;
        let mut config = Agent::config_builder()
            .user_agent(concat!("weft/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(CONNECT_TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(silence))
            .timeout_per_read(Some(silence))
            .http_status_as_error(false);
        if is_this_machine(&url) {
            // A proxy has another idea of where that is.
            config = config.proxy(None);
        }
        let key = key.filter(|key| !key.is_empty()).map(str::to_string);
        Ok(Server { url, key, agent: config.build().new_agent() })
    }

    /// The same server with connections of its own.
    pub(crate) fn apart(&self) -> Server {
        Server { agent: self.agent.config().clone().new_agent(), ..self.clone() }
    }

    /// The address without `/v1`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Closes all connections, also while other threads wait for answers, which then fail. Later requests fail too.
    pub(crate) fn hang_up(self) {
        self.agent.shutdown();
    }

    /// The names of the models that the server offers; none if it does not list them.
    ///
    /// # Errors
    /// If the server cannot be reached or wants a key, or something else answers.
    pub(crate) fn models(&self) -> Result<Vec<String>, ClientError> {
        let answer = match self.get("/v1/models") {
            Err(ClientError::NotAServer { .. } | ClientError::Status { status: 404, .. }) => {
                return Ok(Vec::new());
            }
            answer => answer?,
        };
        let models: Value =
            serde_json::from_str(&answer).map_err(|_| ClientError::not_a_server(&self.url))?;
        let models = models["data"].as_array().ok_or_else(|| ClientError::not_a_server(&self.url))?;
        Ok(models.iter().filter_map(|model| model["id"].as_str().map(str::to_string)).collect())
    }

    /// Requests a text.
    ///
    /// # Errors
    /// If the server cannot be reached or returns an error.
    pub(crate) fn get(&self, path: &str) -> Result<String, ClientError> {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let mut response = self.checked(path, request.call())?;
        let answer = response.body_mut().with_config().limit(MAX_ANSWER).lossy_utf8(true).read_to_string();
        answer.map_err(|error| ClientError::unreachable(&self.url, error))
    }

    /// Posts a request whose answer is a stream of events.
    ///
    /// # Errors
    /// If the server cannot be reached, or returns an error instead.
    pub(crate) fn stream(&self, path: &str, body: &Value) -> Result<Stream, ClientError> {
        let mut request = self
            .agent
            .post(format!("{}{path}", self.url))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream");
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let response = self.checked(path, request.send(body.to_string()))?;
        let reader = response.into_body().into_with_config().limit(u64::MAX).reader();
        Ok(Stream { reader, events: Events::default(), waiting: Vec::new(), done: false })
    }

    /// Turns error statuses into errors.
    fn checked(
        &self,
        path: &str,
        response: Result<Response<Body>, ureq::Error>,
    ) -> Result<Response<Body>, ClientError> {
        let mut response = response.map_err(|error| ClientError::unreachable(&self.url, error))?;
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Ok(response);
        }
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let body = response.body_mut().with_config().limit(MAX_ANSWER).lossy_utf8(true).read_to_string();
        let address = format!("{}{path}", self.url);
        Err(ClientError::of_status(
            status,
            &address,
            self.key.is_some(),
            retry_after,
            &body.unwrap_or_default(),
        ))
    }
}

/// A streamed answer.
pub(crate) struct Stream {
    reader: BodyReader<'static>,
    events: Events,
    /// Events that have arrived, the next one last.
    waiting: Vec<String>,
    done: bool,
}

impl Stream {
    /// Waits for the next event; `None` after the last.
    ///
    /// # Errors
    /// If the connection breaks, the stream ends without `[DONE]`, or the server reports an error in it.
    pub(crate) fn next(&mut self) -> Result<Option<Value>, ClientError> {
        loop {
            if self.done {
                return Ok(None);
            }
            let Some(data) = self.waiting.pop() else {
                self.read()?;
                continue;
            };
            if data.trim() == "[DONE]" {
                self.done = true;
                return Ok(None);
            }
            let event: Value = serde_json::from_str(&data)
                .map_err(|_| ClientError::Broken(format!("an event is not JSON: {}", error::short(&data))))?;
            if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
                return Err(ClientError::Reported(error::message(error)));
            }
            return Ok(Some(event));
        }
    }

    fn read(&mut self) -> Result<(), ClientError> {
        let mut bytes = [0; 16 << 10];
        let count = self.reader.read(&mut bytes).map_err(|error| ClientError::Broken(error.to_string()))?;
        if count == 0 {
            return Err(ClientError::Broken("it ended early".to_string()));
        }
        let arrived = self.events.push(&bytes[..count]);
        self.waiting = arrived.map_err(|problem| ClientError::Broken(problem.to_string()))?;
        self.waiting.reverse();
        Ok(())
    }
}

/// An address without `/v1` and slashes at its end, and with a scheme.
fn normalized(url: &str) -> Option<String> {
    let url = url.trim();
    let url = if url.contains("://") { url.to_string() } else { format!("http://{url}") };
    let (scheme, rest) = url.split_once("://")?;
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        return None;
    }
    let rest = rest.trim_end_matches('/');
    let rest = rest.strip_suffix("/v1").unwrap_or(rest).trim_end_matches('/');
    let host = rest.split('/').next().unwrap_or_default();
    let is_good = !host.is_empty()
        && !rest.contains(|c: char| c.is_whitespace() || c.is_control() || "?#@".contains(c));
    is_good.then(|| format!("{}://{rest}", scheme.to_ascii_lowercase()))
}

/// Whether an address is that of the machine itself.
fn is_this_machine(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["127.", "localhost", "[::1]"].iter().any(|own| host.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (given, expected) in [
            ("http://127.0.0.1:8090", Some("http://127.0.0.1:8090")),
            ("localhost:8090/", Some("http://localhost:8090")),
            ("https://example.org/v1/", Some("https://example.org")),
            ("HTTP://example.org/llm/v1", Some("http://example.org/llm")),
            ("[::1]:80", Some("http://[::1]:80")),
            ("", None),
            ("ftp://example.org", None),
            ("http://", None),
            ("http:///v1", None),
            ("what is this", None),
            ("http://key@example.org", None),
        ] {
            assert_eq!(normalized(given).as_deref(), expected, "{given}");
        }
        assert!(is_this_machine("http://localhost:1") && is_this_machine("http://[::1]:1"));
        assert!(!is_this_machine("https://example.org"));
    }
}

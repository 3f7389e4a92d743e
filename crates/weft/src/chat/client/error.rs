//! The errors of a server, in sentences that say what to do.

use std::fmt;

use serde_json::Value;

/// The failure of a request.
#[derive(Debug)]
pub(crate) enum ClientError {
    /// Nothing answers at the address.
    Unreachable {
        /// The address.
        url: String,
        /// The cause.
        cause: String,
    },
    /// The program at the address is not a server of the API.
    NotAServer {
        /// The address.
        url: String,
    },
    /// The server wants a key, or another one.
    Key {
        /// Whether a key was sent.
        sent: bool,
    },
    /// The server is busy.
    Busy {
        /// The server's message.
        message: String,
        /// After how many seconds to try again.
        retry_after: Option<u64>,
    },
    /// The conversation is longer than the server's context.
    Context(String),
    /// The server refuses the request, or failed on it.
    Status {
        /// The status code.
        status: u16,
        /// The server's message.
        message: String,
    },
    /// The server reports an error within a stream.
    Reported(String),
    /// A stream broke off.
    Broken(String),
}

impl ClientError {
    /// The server cannot be reached.
    pub(super) fn unreachable(url: &str, error: ureq::Error) -> ClientError {
        ClientError::Unreachable { url: url.to_string(), cause: error.to_string() }
    }

    /// Another program answers at this address.
    pub(super) fn not_a_server(url: &str) -> ClientError {
        ClientError::NotAServer { url: url.to_string() }
    }

    /// The error for the status code and the body of an answer.
    pub(super) fn of_status(
        status: u16,
        address: &str,
        sent: bool,
        retry_after: Option<u64>,
        body: &str,
    ) -> ClientError {
        let json = serde_json::from_str::<Value>(body).unwrap_or_default();
        let error = &json["error"];
        let message = if error.is_null() { short(body) } else { message(error) };
        match status {
            401 => ClientError::Key { sent },
            429 | 503 => ClientError::Busy { message, retry_after },
            404 | 405 if error.is_null() => ClientError::not_a_server(address),
            400 if error["code"] == "context_length_exceeded" => ClientError::Context(message),
            _ => ClientError::Status { status, message },
        }
    }

    /// A word for statistics.
    pub(crate) fn kind(&self) -> String {
        match self {
            ClientError::Unreachable { .. } => "unreachable".to_string(),
            ClientError::NotAServer { .. } => "not found".to_string(),
            ClientError::Key { .. } => "key".to_string(),
            ClientError::Busy { .. } => "busy".to_string(),
            ClientError::Context(_) => "context".to_string(),
            ClientError::Status { status, .. } => format!("status {status}"),
            ClientError::Reported(_) => "error event".to_string(),
            ClientError::Broken(_) => "broken stream".to_string(),
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Unreachable { url, cause } => write!(
                f,
                "no server answers at {url} ({cause}): start one with `weft serve`, or check the address"
            ),
            ClientError::NotAServer { url } => write!(
                f,
                "{url} is not part of a server with OpenAI's API: expected an address such as http://127.0.0.1:8090"
            ),
            ClientError::Key { sent: false } => {
                f.write_str("the server wants a key: set the environment variable WEFT_API_KEY")
            }
            ClientError::Key { sent: true } => f.write_str(
                "the server does not accept this key: check the environment variable WEFT_API_KEY",
            ),
            ClientError::Busy { message, retry_after } => {
                f.write_str("the server is busy")?;
                if !message.is_empty() {
                    write!(f, " ({message})")?;
                }
                match retry_after {
                    Some(seconds) => write!(f, ": try again in {seconds} s"),
                    None => f.write_str(": try again later"),
                }
            }
            ClientError::Context(message) => f.write_str(message),
            ClientError::Status { status, message } => {
                write!(f, "the server returns status {status}: {message}")
            }
            ClientError::Reported(message) => write!(f, "the server stopped with an error: {message}"),
            ClientError::Broken(cause) => write!(f, "the server's reply broke off: {cause}"),
        }
    }
}

impl std::error::Error for ClientError {}

/// The message of an error object, which some servers replace by a string.
pub(super) fn message(error: &Value) -> String {
    let text = error["message"].as_str().or(error.as_str());
    text.map_or_else(|| short(&error.to_string()), short)
}

/// The beginning of a text, on one line.
pub(super) fn short(text: &str) -> String {
    const MAX: usize = 300;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences() {
        let of = |status, sent, retry_after, body: &str| {
            ClientError::of_status(status, "http://h/v1/x", sent, retry_after, body).to_string()
        };
        let body = |message: &str| format!("{{\"error\":{{\"message\":\"{message}\",\"code\":null}}}}");
        for (said, expected) in [
            (of(401, false, None, ""), "the server wants a key: set the environment variable WEFT_API_KEY"),
            (
                of(401, true, None, &body("no")),
                "the server does not accept this key: check the environment variable WEFT_API_KEY",
            ),
            (
                of(429, false, Some(7), &body("queue full")),
                "the server is busy (queue full): try again in 7 s",
            ),
            (of(503, false, None, ""), "the server is busy: try again later"),
            (of(400, false, None, &body("n: expected 1")), "the server returns status 400: n: expected 1"),
            (
                of(404, false, None, "<html>"),
                "http://h/v1/x is not part of a server with OpenAI's API: expected an address such as \
                 http://127.0.0.1:8090",
            ),
            (of(404, false, None, &body("no model m")), "the server returns status 404: no model m"),
            (of(500, false, None, "{\"error\":\"oops\"}"), "the server returns status 500: oops"),
            (of(502, false, None, "Bad\n gateway"), "the server returns status 502: Bad gateway"),
        ] {
            assert_eq!(said, expected);
        }
        let full = "{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}";
        assert!(matches!(ClientError::of_status(400, "", false, None, full), ClientError::Context(_)));
        assert_eq!(short(&"é".repeat(400)).chars().count(), 301);
    }
}

//! Errors as clients see them: a status, a sentence, and the field at fault.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// The kind of an error, which decides its status and its name in each API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The request cannot be right, whenever it is sent.
    Invalid,
    /// There is no key, or it is not valid.
    Authentication,
    /// The client may not do this: a foreign host or origin.
    Permission,
    /// There is no such route or model.
    NotFound,
    /// The route exists, but not with this method.
    Method,
    /// The body is too large.
    TooLarge,
    /// The body is not JSON.
    MediaType,
    /// The queue is full.
    Busy,
    /// The model is loading, or the server is shutting down.
    Unavailable,
    /// The request took longer than the server allows.
    Timeout,
    /// A bug, or the device failed.
    Internal,
}

/// An error that ends a request.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    /// Its kind.
    pub(crate) kind: Kind,
    /// A sentence for the user: what was expected, what was found, what to do.
    pub(crate) message: String,
    /// The path of the field at fault, as `messages[2].content`.
    pub(crate) param: Option<String>,
    /// A word for programs, as `context_length_exceeded`.
    pub(crate) code: Option<&'static str>,
    /// When the same request may succeed.
    pub(crate) retry_after: Option<Duration>,
    /// The tokens of a prompt that is too long, and of the context.
    pub(crate) too_long: Option<[usize; 2]>,
}

impl ApiError {
    /// Creates an error without a field.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> ApiError {
        ApiError { kind, message: message.into(), param: None, code: None, retry_after: None, too_long: None }
    }

    /// The error of a handler that panicked.
    pub(crate) fn bug() -> ApiError {
        ApiError::new(Kind::Internal, "the server has a bug; its log says more under this request's id")
    }

    /// Creates an error of a field of the request.
    pub(crate) fn invalid(param: impl Into<String>, message: impl Into<String>) -> ApiError {
        ApiError { param: Some(param.into()), ..ApiError::new(Kind::Invalid, message) }
    }

    /// Refuses a field that this server does not support.
    pub(crate) fn unsupported(param: impl Into<String>, message: impl Into<String>) -> ApiError {
        ApiError { code: Some("unsupported_parameter"), ..ApiError::invalid(param, message) }
    }

    /// Refuses a prompt of this many tokens, or of more, for a shorter context. Clients recognise the sentence.
    pub(crate) fn context(prompt: usize, context: usize) -> ApiError {
        let message = format!(
            "this model's maximum context length is {context} tokens, and the prompt has {prompt}; shorten it, or start the \
             server with a larger --context"
        );
        let too_long = Some([prompt, context]);
        ApiError { code: Some("context_length_exceeded"), too_long, ..ApiError::invalid("messages", message) }
    }

    /// Names the field at fault as another API does. Each place is the beginning of a path, and its replacement.
    pub(crate) fn moved(mut self, places: &[(&str, &str)]) -> ApiError {
        if let Some(param) = &mut self.param
            && let Some((_, there)) = places.iter().find(|(here, _)| param.starts_with(here))
        {
            *param = (*there).to_string();
        }
        self
    }

    /// Sets the [code](Self::code).
    pub(crate) fn code(self, code: &'static str) -> ApiError {
        ApiError { code: Some(code), ..self }
    }

    /// Sets [when to retry](Self::retry_after).
    pub(crate) fn retry_after(self, wait: Duration) -> ApiError {
        ApiError { retry_after: Some(wait), ..self }
    }

    /// The HTTP status, the same in each API.
    pub(crate) fn status(&self) -> StatusCode {
        match self.kind {
            Kind::Invalid => StatusCode::BAD_REQUEST,
            Kind::Authentication => StatusCode::UNAUTHORIZED,
            Kind::Permission => StatusCode::FORBIDDEN,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Method => StatusCode::METHOD_NOT_ALLOWED,
            Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Kind::Busy => StatusCode::TOO_MANY_REQUESTS,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Kind::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The body in OpenAI's form.
    pub(crate) fn openai(&self) -> Value {
        let kind = match self.kind {
            Kind::Authentication => "authentication_error",
            Kind::Permission => "permission_error",
            Kind::NotFound => "not_found_error",
            Kind::Busy => "rate_limit_error",
            Kind::Unavailable | Kind::Timeout | Kind::Internal => "server_error",
            Kind::Invalid | Kind::Method | Kind::TooLarge | Kind::MediaType => "invalid_request_error",
        };
        let ApiError { message, param, code, .. } = self;
        json!({ "error": { "message": message, "type": kind, "param": param, "code": code } })
    }

    /// The body in Anthropic's form.
    pub(crate) fn anthropic(&self, request_id: &str) -> Value {
        let kind = match self.kind {
            Kind::Authentication => "authentication_error",
            Kind::Permission => "permission_error",
            Kind::NotFound => "not_found_error",
            Kind::TooLarge => "request_too_large",
            Kind::Busy => "rate_limit_error",
            Kind::Unavailable => "overloaded_error",
            Kind::Timeout => "timeout_error",
            Kind::Internal => "api_error",
            Kind::Invalid | Kind::Method | Kind::MediaType => "invalid_request_error",
        };
        let message = match &self.param {
            // Claude Code shortens its conversation when it reads these words.
            _ if let Some([prompt, context]) = self.too_long => {
                format!("prompt is too long: {prompt} tokens > {context} maximum")
            }
            _ => self.located(),
        };
        json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": request_id })
    }

    /// The body in Ollama's form.
    pub(crate) fn ollama(&self) -> Value {
        json!({ "error": self.located() })
    }

    /// The sentence, with the field at fault.
    fn located(&self) -> String {
        match &self.param {
            Some(param) if !self.message.starts_with(param.as_str()) => format!("{param}: {}", self.message),
            _ => self.message.clone(),
        }
    }

    /// The response, with this body.
    pub(crate) fn respond(&self, body: &Value) -> Response {
        let mut response =
            (self.status(), [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response();
        let headers = response.headers_mut();
        if let Some(wait) = self.retry_after {
            let seconds = wait.as_secs().max(1);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.kind == Kind::Authentication {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // SDKs retry any 5xx twice; only a busy server answers differently the next time.
        let retry = matches!(self.kind, Kind::Busy | Kind::Unavailable);
        headers.insert("x-should-retry", HeaderValue::from_static(if retry { "true" } else { "false" }));
        response
    }
}

/// The beginning of a text that a client sent, for a message.
pub(crate) fn beginning(text: &str) -> String {
    text.chars().take(60).collect()
}

/// The API whose form an error takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    /// `{"error": {"message", "type", "param", "code"}}`.
    OpenAi,
    /// `{"type": "error", "error": {"type", "message"}}`.
    Anthropic,
    /// `{"error": "…"}`.
    Ollama,
}

impl Dialect {
    /// The dialect of a route.
    pub(crate) fn of(path: &str) -> Dialect {
        match path {
            _ if path.starts_with("/v1/messages") => Dialect::Anthropic,
            _ if path.starts_with("/api/") => Dialect::Ollama,
            _ => Dialect::OpenAi,
        }
    }

    /// Renders an error.
    pub(crate) fn respond(self, error: &ApiError, request_id: &str) -> Response {
        match self {
            Dialect::OpenAi => error.respond(&error.openai()),
            Dialect::Anthropic => error.respond(&error.anthropic(request_id)),
            Dialect::Ollama => error.respond(&error.ollama()),
        }
    }
}

impl IntoResponse for ApiError {
    /// In OpenAI's form. The router renders it again for routes of another dialect.
    fn into_response(self) -> Response {
        let mut response = self.respond(&self.openai());
        response.extensions_mut().insert(self);
        response
    }
}

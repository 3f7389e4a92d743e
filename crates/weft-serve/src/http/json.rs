//! JSON bodies, in and out.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio_stream::StreamExt as _;

use super::patience::{Form, streams};
use crate::app::App;
use crate::error::{ApiError, Kind, beginning};
use crate::json::{merged, parse};

/// How long a client may take to send a body.
const BODY_TIME: Duration = Duration::from_secs(60);

/// The JSON body of a request.
pub(crate) struct JsonBody(pub(crate) Value);

impl FromRequest<Arc<App>> for JsonBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<JsonBody, ApiError> {
        let media = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media =
            media.map(|media| media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        let accepted = match media.as_deref() {
            Some("application/json") => true,
            // The types of curl, and of programs that name none. Browsers also send these, to foreign sites and without asking first.
            None | Some("application/x-www-form-urlencoded" | "text/plain") => !of_browser(request.headers()),
            Some(_) => false,
        };
        if !accepted {
            let found = media.unwrap_or("none".into());
            let message = format!(
                "the header Content-Type is {:?}: expected application/json; with curl, add -H 'Content-Type: application/json'",
                beginning(&found)
            );
            return Err(ApiError::new(Kind::MediaType, message));
        }
        if let Some(coding) = request.headers().get(header::CONTENT_ENCODING) {
            let found = coding.to_str().unwrap_or("not text");
            let message = format!("the header Content-Encoding is {:?}: expected none", beginning(found));
            return Err(ApiError::new(Kind::MediaType, message));
        }
        let path = request.uri().path().to_string();
        let most = app.limits.body;
        let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        if length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > most as u64) {
            return Err(too_large(most));
        }
        let body = tokio::time::timeout(BODY_TIME, collect(request.into_body(), most)).await;
        let body =
            body.map_err(|_| ApiError::new(Kind::Timeout, "the body did not arrive within 60 s"))??;
        let body = parse(&body)?;
        let body = if app.strict { body } else { merged(body) };
        if let Some(form) = Form::of(&path, &body) {
            streams(form);
        }
        Ok(JsonBody(body))
    }
}

/// Whether a page may have made the request. Browsers say so in one of these headers at least; other programs that fetch as
/// browsers do send `sec-fetch-mode` without them.
fn of_browser(headers: &HeaderMap) -> bool {
    ["origin", "referer", "sec-fetch-site"].iter().any(|name| headers.contains_key(*name))
}

/// The bytes of a body of at most this many.
async fn collect(body: Body, most: usize) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::new();
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| {
            ApiError::new(Kind::Invalid, format!("the body did not arrive whole: {error}"))
        })?;
        if chunk.len() > most - bytes.len() {
            return Err(too_large(most));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn too_large(most: usize) -> ApiError {
    ApiError::new(Kind::TooLarge, format!("the body is larger than {most} bytes, the most this server takes"))
}

/// A JSON answer.
pub(crate) fn answer(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

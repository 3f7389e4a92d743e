//! JSON bodies, in and out.

use std::sync::Arc;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::json::parse;

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
        if media.as_deref() != Some("application/json") {
            // Browsers send other types to foreign sites without asking first.
            let found = media.unwrap_or("none".into());
            let message =
                format!("the header Content-Type is {:?}: expected application/json", short(&found));
            return Err(ApiError::new(Kind::MediaType, message));
        }
        let most = app.limits.body;
        let too_large = || {
            ApiError::new(
                Kind::TooLarge,
                format!("the body is larger than {most} bytes, the most this server takes"),
            )
        };
        let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        if length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > most as u64) {
            return Err(too_large());
        }
        let body = tokio::time::timeout(BODY_TIME, to_bytes(request.into_body(), most)).await;
        let body = body
            .map_err(|_| ApiError::new(Kind::Timeout, "the body did not arrive within 60 s"))?
            .map_err(|_| too_large())?;
        parse(&body).map(JsonBody)
    }
}

/// A JSON answer.
pub(crate) fn answer(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

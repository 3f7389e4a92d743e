//! `/v1/responses`: OpenAI's API for agents, without storage.

mod custom;
mod events;
mod input;
mod item;
mod request;
#[cfg(test)]
mod tests;
mod tools;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::submit::{Conversation, converse, writer};
use super::wire;
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::{JsonBody, answer, new_id, sse};
use crate::ignored::Ignored;
use crate::tenant::Tenant;
use events::{Outline, ResponseEvents};
pub(crate) use request::ResponseRequest;
#[cfg(test)]
pub(super) use tests::answered;

/// Where the fields of a chat completion are in this API.
const PLACES: &[(&str, &str)] =
    &[("messages", "input"), ("tools", "tools"), ("response_format", "text.format.schema")];

/// Answers a conversation.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let model = writer(&app, &body).await?;
    let ignored = Ignored::new(app.strict);
    let request = ResponseRequest::read(&body, &model.defaults, model.facts.vocab, &ignored)?;
    let ResponseRequest { dialogue, callables, parameters, reasoning, logprobs, stream, mut echo } = request;
    echo.insert("model".into(), model.name.as_str().into());
    let Conversation { replies, .. } = converse(&app, &tenant, &model, dialogue, parameters, 1)
        .await
        .map_err(|error| error.moved(PLACES))?;
    let mut events = ResponseEvents::new(Outline {
        id: new_id(""),
        created: wire::now(),
        fixed: echo,
        callables,
        reasoning,
        logprobs: logprobs.then(|| Arc::clone(&model.facts.tokenizer)),
        clock: wire::now,
    });
    if stream {
        return Ok(ignored.mark(sse::stream(replies, events)));
    }
    sse::fold(replies, &mut events).await?;
    Ok(ignored.mark(answer(&events.response())))
}

/// Responses cannot be fetched, deleted or cancelled later.
pub(crate) async fn stored() -> ApiError {
    ApiError::new(Kind::NotFound, "this server stores no responses; send the whole conversation in `input`")
}

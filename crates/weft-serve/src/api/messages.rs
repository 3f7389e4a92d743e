//! `/v1/messages` and `/v1/messages/count_tokens`: Anthropic's API.

mod content;
mod events;
mod request;
#[cfg(test)]
mod tests;
mod tools;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use super::submit::{Conversation, converse, writer};
use crate::app::App;
use crate::error::ApiError;
use crate::http::{JsonBody, RequestId, answer, new_id, sse};
use crate::ignored::Ignored;
use crate::tenant::Tenant;
use events::{MessageEvents, Outline};
pub(crate) use request::MessageRequest;
#[cfg(test)]
pub(super) use tests::answered;

/// Where the fields of a chat completion are in this API.
const PLACES: &[(&str, &str)] = &[("tools", "tools"), ("response_format", "output_config.format.schema")];

/// Answers a conversation.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    Extension(RequestId(request_id)): Extension<RequestId>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let model = writer(&app, &body).await?;
    let ignored = Ignored::new(app.strict);
    let request = MessageRequest::read(&body, &model.defaults, model.facts.vocab, false, &ignored)?;
    let MessageRequest { dialogue, parameters, thinking_shown, stream } = request;
    let Conversation { prompt_tokens, replies } = converse(&app, &tenant, &model, dialogue, parameters, 1)
        .await
        .map_err(|error| error.moved(PLACES))?;
    let mut events = MessageEvents::new(Outline {
        id: new_id(""),
        request_id,
        model: model.name.clone(),
        prompt_tokens,
        thinking_shown,
    });
    if stream {
        return Ok(ignored.mark(sse::stream(replies, events)));
    }
    sse::fold(replies, &mut events).await?;
    Ok(ignored.mark(answer(&events.message())))
}

/// Counts the tokens of a prompt.
pub(crate) async fn count_tokens(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let model = writer(&app, &body).await?;
    let ignored = Ignored::new(app.strict);
    let MessageRequest { dialogue, .. } =
        MessageRequest::read(&body, &model.defaults, model.facts.vocab, true, &ignored)?;
    let (_, prompt) = dialogue.prompt(&model, None).await?;
    Ok(ignored.mark(answer(&json!({ "input_tokens": prompt.tokens.len() }))))
}

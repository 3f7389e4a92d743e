//! Ollama's API: `/api/chat`, `/api/generate`, and what its clients ask about models. Replies come as lines of JSON.

mod embed;
mod events;
mod keep_alive;
mod message;
mod models;
mod names;
mod request;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::Response;
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use serde_json::Value;

use super::gap::Gap;
use super::plain::{Continuation, Plain, continued};
use super::submit::{Conversation, converse, model_named, writes};
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::{JsonBody, answer, sse};
use crate::ignored::Ignored;
use crate::tenant::Tenant;
pub(crate) use embed::EmbedRequest;
#[cfg(test)]
pub(crate) use events::answered;
use events::{Form, OllamaEvents, Outline};
pub use keep_alive::keep_alive;
#[cfg(test)]
pub(crate) use models::{read_pull, read_show};
use names::{called, name_of, slot_of};
use request::Asked;
pub(crate) use request::OllamaRequest;

/// Its routes.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/chat", post(chat))
        .route("/api/generate", post(generate))
        .route("/api/tags", get(models::tags))
        .route("/api/ps", get(models::ps))
        .route("/api/show", post(models::show))
        .route("/api/pull", post(models::pull))
        .route("/api/version", get(models::version))
        .route("/api/embed", post(embed::embed))
        .route("/api/embeddings", post(embed::embeddings))
        .route("/api/create", any(no_management))
        .route("/api/copy", any(no_management))
        .route("/api/delete", any(no_management))
        .route("/api/push", any(no_management))
        .route("/api/blobs/{*digest}", any(no_management))
}

async fn no_management() -> ApiError {
    let message = "this server neither makes nor removes models: use `weft convert`, `weft pull` and `weft rm`, and name the \
                   models with --model when it starts";
    ApiError::new(Kind::NotFound, message)
}

async fn chat(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    reply(&app, &tenant, &body, Form::Chat).await
}

async fn generate(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    reply(&app, &tenant, &body, Form::Generate).await
}

/// Answers a request of either route.
async fn reply(app: &App, tenant: &Tenant, body: &Value, form: Form) -> Result<Response, ApiError> {
    let since = Instant::now();
    let name = name_of(body);
    let slot = slot_of(app, name)?;
    let read = match form {
        Form::Chat => OllamaRequest::read_chat,
        Form::Generate => OllamaRequest::read_generate,
    };
    let mut outline = Outline {
        form,
        model: name.unwrap_or(&slot.source.name).to_string(),
        since,
        loading: Duration::ZERO,
        logprobs: None,
    };
    let ignored = Ignored::new(app.strict);
    // A request that unloads a model must not load it.
    let unloads = body.get("keep_alive").is_some() && slot.loaded().is_none();
    if unloads {
        let request = read(body, &slot.source.defaults, usize::MAX, &Ignored::new(app.strict))?;
        if matches!(request.asked, Asked::Nothing) && request.keep == Some(Some(Duration::ZERO)) {
            return Ok(ignored.mark(answer(&outline.without_reply("unload"))));
        }
    }
    let model = model_named(app, Some(called(slot, name))).await?;
    outline.loading = since.elapsed();
    let request = read(body, &model.defaults, model.facts.vocab, &ignored)?;
    let OllamaRequest { asked, parameters, keep, reasoning_shown, logprobs, stream } = request;
    if let Some(most) = keep {
        app.models.keep(slot, most);
    }
    if !matches!(asked, Asked::Nothing) {
        writes(&model)?;
    }
    outline.logprobs = logprobs.then(|| Arc::clone(&model.facts.tokenizer));
    let mut replies = match asked {
        Asked::Nothing => {
            drop(model);
            let mut reason = "load";
            if keep == Some(Some(Duration::ZERO)) {
                app.models.let_go(slot).await;
                reason = "unload";
            }
            return Ok(ignored.mark(answer(&outline.without_reply(reason))));
        }
        Asked::Dialogue(dialogue) => {
            let places = [("response_format", "format"), ("tools", "tools")];
            let conversation = converse(app, tenant, &model, dialogue, parameters, 1).await;
            let Conversation { replies, .. } = conversation.map_err(|error| match form {
                Form::Chat => error.moved(&places),
                Form::Generate => error.moved(&[places[0], ("messages", "prompt")]),
            })?;
            replies
        }
        Asked::Text(prompt, suffix, format) => {
            let text = match suffix {
                None => Plain::Text(prompt),
                Some(suffix) => Plain::Gap(Gap { prefix: prompt, suffix, ..Gap::default() }, "suffix"),
            };
            let what =
                Continuation { texts: vec![text], n: 1, format, parameters, fields: ["prompt", "format"] };
            continued(app, tenant, &model, what).await?
        }
    };
    if !reasoning_shown {
        replies.hide_reasoning();
    }
    if stream {
        return Ok(ignored.mark(sse::stream(replies, OllamaEvents::streamed(outline))));
    }
    let mut events = OllamaEvents::collected(outline);
    sse::fold(replies, &mut events).await?;
    Ok(ignored.mark(answer(&events.whole())))
}

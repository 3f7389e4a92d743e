//! `/v1/models`, in the forms of OpenAI and of Anthropic at once: their fields have different names. And the routes that load, unload and
//! pin models, which are llama-server's.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Value, json};
use weft_engine::GenerateOptions;

use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::{JsonBody, answer};
use crate::ignored::Ignored;
use crate::json::Fields;
use crate::models::Slot;
use crate::stage::Stage;
use crate::time::timestamp;

/// Lists the models.
pub(crate) async fn list(State(app): State<Arc<App>>) -> Response {
    let names = |slot: &Slot| std::iter::once(slot.source.name.clone()).chain(slot.adapters.clone());
    let all = app.models.all().iter().flat_map(|slot| names(slot).map(move |name| (slot, name)));
    let models: Vec<Value> = all.map(|(slot, name)| describe(slot, &name, &app)).collect();
    let id = |model: Option<&Value>| model.map(|model| model["id"].clone());
    answer(&json!({
        "object": "list",
        "first_id": id(models.first()),
        "last_id": id(models.last()),
        "has_more": false,
        "data": models,
    }))
}

/// Describes a model.
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    // A name that is not UTF-8 is no model's.
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let found = name.as_ref().ok().and_then(|Path(name)| Some((app.models.named(name)?, name)));
    let missing = || ApiError::new(Kind::NotFound, "there is no such model").code("model_not_found");
    found.map(|(slot, name)| answer(&describe(slot, name, &app))).ok_or_else(missing)
}

/// Describes a model, or one of its LoRA adapters if that has this name.
fn describe(slot: &Slot, name: &str, app: &App) -> Value {
    let loaded = slot.loaded();
    let facts = loaded.as_ref().map(|model| &model.facts);
    let adapter = slot.adapters.iter().find(|adapter| *adapter == name);
    let id = adapter.unwrap_or(&slot.source.name);
    json!({
        "id": id,
        "object": "model",
        "type": "model",
        "display_name": id,
        // vLLM's name for the model that an adapter adds to.
        "parent": adapter.map(|_| &slot.source.name),
        "created": slot.created,
        "created_at": timestamp(slot.created),
        "owned_by": "weft",
        "max_model_len": slot.context(),
        "aliases": if adapter.is_none() { slot.source.aliases.as_slice() } else { &[] },
        "loaded": loaded.is_some(),
        "status": status(slot),
        "pinned": slot.is_pinned(),
        "unloads_in_seconds": slot.time_left().filter(|_| loaded.is_some()).map(|left| left.as_secs()),
        "memory_bytes": slot.need(),
        "architecture": facts.map(|facts| &facts.architecture),
        "device": facts.map(|facts| &facts.device),
        "default_parameters": parameters(&slot.source.defaults, app.limits.max_tokens),
    })
}

/// The stage of a model, and the error if it could not be loaded last.
fn status(slot: &Slot) -> Value {
    let mut status = slot.stage().json();
    if let Some(why) = slot.failure().filter(|_| slot.stage() == Stage::Unloaded) {
        status["failed"] = true.into();
        status["message"] = why.into();
    }
    status
}

/// A request about a model.
#[derive(PartialEq, Debug)]
pub(crate) struct ModelRequest {
    name: String,
    /// Whether the answer comes when the model is loaded.
    wait: bool,
    /// Whether to pin the model.
    pinned: Option<bool>,
}

impl ModelRequest {
    /// Reads the body of a request of this kind.
    ///
    /// # Errors
    /// If it names no model, or a field is wrong.
    pub(crate) fn read(body: &Value, what: Asked, ignored: &Ignored) -> Result<ModelRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        let name = fields.text("model")?.filter(|name| !name.is_empty());
        let name =
            name.ok_or_else(|| ApiError::invalid("model", "model is missing: expected the name of a model"))?;
        let wait = if what == Asked::Load { fields.flag("wait")? } else { None };
        let pinned = if what == Asked::Unload { None } else { fields.flag("pinned")? };
        fields.end()?;
        Ok(ModelRequest { name: name.to_string(), wait: wait.unwrap_or(true), pinned })
    }
}

/// The kind of a request about a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// To be loaded.
    Load,
    /// To be unloaded.
    Unload,
    /// To be pinned.
    Pin,
}

/// Loads a model, and pins it if that is asked for too.
pub(crate) async fn load(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let (request, slot, ignored) = asked(&app, &body, Asked::Load)?;
    if let Some(pinned) = request.pinned {
        app.models.pin(slot, pinned);
    }
    if app.is_draining() {
        return Err(ApiError::new(Kind::Unavailable, "the server is shutting down"));
    }
    let (models, name) = (Arc::clone(&app.models), request.name);
    if request.wait {
        models.get(Some(&name)).await?;
    } else {
        tokio::spawn(async move { models.get(Some(&name)).await.map(drop) });
    }
    Ok(ignored.mark(done(slot)))
}

/// Unloads a model as soon as nobody uses it. The next request loads it again.
pub(crate) async fn unload(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let (_, slot, ignored) = asked(&app, &body, Asked::Unload)?;
    app.models.let_go(slot).await;
    Ok(ignored.mark(done(slot)))
}

/// Pins a model, or with `"pinned": false` no longer.
pub(crate) async fn pin(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Response, ApiError> {
    let (request, slot, ignored) = asked(&app, &body, Asked::Pin)?;
    app.models.pin(slot, request.pinned.unwrap_or(true));
    Ok(ignored.mark(done(slot)))
}

/// Reads a request about a model.
fn asked<'a>(app: &'a App, body: &Value, what: Asked) -> Result<(ModelRequest, &'a Slot, Ignored), ApiError> {
    let ignored = Ignored::new(app.strict);
    let request = ModelRequest::read(body, what, &ignored)?;
    let slot = app.models.named(&request.name).ok_or_else(|| app.models.no_such())?;
    Ok((request, slot, ignored))
}

/// The answer about a model.
fn done(slot: &Slot) -> Response {
    answer(
        &json!({ "success": true, "model": slot.source.name, "status": status(slot), "pinned": slot.is_pinned() }),
    )
}

/// The defaults of requests' parameters, by the names of requests. Without `max_tokens`, a reply ends with its turn or the context.
pub(super) fn parameters(defaults: &GenerateOptions, limit: Option<usize>) -> Value {
    let sampling = &defaults.sampling;
    // As it was written: 0.6, not the nearest `f32`.
    let number = |value: f32| value.to_string().parse::<f64>().unwrap_or(f64::from(value));
    json!({
        "temperature": number(sampling.temperature),
        "top_p": number(sampling.top_p),
        "top_k": sampling.top_k,
        "min_p": number(sampling.min_p),
        "repeat_penalty": number(sampling.repeat_penalty),
        "presence_penalty": number(sampling.presence_penalty),
        "frequency_penalty": number(sampling.frequency_penalty),
        "max_tokens": defaults.max_tokens.or(limit),
    })
}

//! `/v1/models`.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Value, json};
use weft_engine::GenerateOptions;

use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::answer;
use crate::models::Slot;

/// Lists the models.
pub(crate) async fn list(State(app): State<Arc<App>>) -> Response {
    let models: Vec<Value> = app.models.all().iter().map(|slot| describe(slot, &app)).collect();
    answer(&json!({ "object": "list", "data": models }))
}

/// Describes a model.
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    // A name that is not UTF-8 is no model's.
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let named = |slot: &&Slot| name.as_ref().is_ok_and(|Path(name)| slot.source.name == *name);
    let found = app.models.all().iter().find(named);
    let missing = || ApiError::new(Kind::NotFound, "there is no such model").code("model_not_found");
    found.map(|slot| answer(&describe(slot, &app))).ok_or_else(missing)
}

fn describe(slot: &Slot, app: &App) -> Value {
    let loaded = slot.loaded();
    let facts = loaded.as_ref().map(|model| &model.facts);
    json!({
        "id": slot.source.name,
        "object": "model",
        "created": slot.created,
        "owned_by": "weft",
        "max_model_len": slot.context(),
        "loaded": loaded.is_some(),
        "architecture": facts.map(|facts| &facts.architecture),
        "device": facts.map(|facts| &facts.device),
        "default_parameters": parameters(&slot.source.defaults, app.limits.max_tokens),
    })
}

/// What a request that leaves them out gets, by the names of requests. Without `max_tokens`, a reply ends with its turn or the context.
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

//! `/v1/models`.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::answer;
use crate::models::Slot;

/// Lists the models.
pub(crate) async fn list(State(app): State<Arc<App>>) -> Response {
    let models: Vec<Value> = app.models.all().iter().map(describe).collect();
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
    found.map(|slot| answer(&describe(slot))).ok_or_else(missing)
}

fn describe(slot: &Slot) -> Value {
    json!({
        "id": slot.source.name,
        "object": "model",
        "created": slot.created,
        "owned_by": "weft",
        "max_model_len": slot.context(),
        "loaded": slot.loaded().is_some(),
    })
}

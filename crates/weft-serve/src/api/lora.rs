//! LoRA adapters that requests choose: llama.cpp's field `lora`, and its list of adapters.
//!
//! A request can also name an adapter as its model, as in vLLM; see [`Loaded::adapted`].

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use weft_engine::{Adapted, AdapterId, GenerateOptions};

use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::answer;
use crate::json::{Fields, expected_at};
use crate::models::{Loaded, Slot};

/// The most adapters that the field `lora` names, of which one at most has a scale other than 0.
const MOST_NAMED: usize = 64;
/// The reason for which requests without a reply refuse the field.
pub(super) const BY_NAME: &str = "name the adapter as the `model`";
/// The largest factor of an adapter's additions.
const MOST_SCALE: f64 = 100.0;

/// Reads `lora`, an array of `{"id": 0, "scale": 0.5}`. It takes the place of an adapter that is named as the model.
///
/// # Errors
/// If it has another form, or asks for several adapters at once.
pub(super) fn read(fields: &mut Fields<'_>, options: &mut GenerateOptions) -> Result<(), ApiError> {
    let ignored = fields.ignored();
    let Some(list) = fields.array("lora", MOST_NAMED)? else { return Ok(()) };
    let path = fields.at("lora");
    let mut chosen: Option<Adapted> = None;
    for (i, item) in list.iter().enumerate() {
        let place = format!("{path}[{i}]");
        let mut one = Fields::of(item, &place, ignored)?;
        let Some(id) = one.count("id", 0..=usize::MAX)? else {
            return Err(expected_at(
                &format!("{place}.id"),
                "the number of an adapter in /lora-adapters",
                &Value::Null,
            ));
        };
        let scale = one.number("scale", -MOST_SCALE..=MOST_SCALE)?.map(|scale| scale as f32);
        one.end()?;
        if scale == Some(0.0) {
            continue;
        }
        if chosen.is_some() {
            let message = format!(
                "{path}: expected one adapter with a scale other than 0, found several; a request uses one at most"
            );
            return Err(ApiError::unsupported(path, message));
        }
        chosen = Some(Adapted { adapter: AdapterId::Index(id), scale });
    }
    options.adapter = chosen;
    Ok(())
}

/// Checks that a model has the adapter of a request.
///
/// # Errors
/// If it has not.
pub(super) fn check(model: &Loaded, options: &GenerateOptions) -> Result<(), ApiError> {
    let Some(adapter) = &options.adapter else { return Ok(()) };
    let found = adapter.find(&model.facts.adapters);
    found.map(drop).map_err(|error| {
        let message = format!(
            "{error}; GET /lora-adapters lists them, and the server is started with --lora NAME=FILE"
        );
        ApiError::invalid("lora", message)
    })
}

/// Lists the adapters of all models; each model numbers its own. Requests without `lora` use none, so their scale is 0.
pub(crate) async fn list(State(app): State<Arc<App>>) -> Response {
    let of_model = |slot: &Slot| -> Vec<Value> {
        let named = slot.adapters.iter().enumerate();
        let one = |(id, name): (usize, &String)| json!({ "id": id, "name": name, "path": name, "scale": 0.0, "model": slot.source.name });
        named.map(one).collect()
    };
    answer(&app.models.all().iter().flat_map(of_model).collect::<Value>())
}

/// Refuses to set scales for all requests.
pub(crate) async fn set() -> ApiError {
    let message = "adapters apply to the requests that choose them: send `lora` with the request, or name the adapter as its `model`";
    ApiError::new(Kind::Invalid, message)
}

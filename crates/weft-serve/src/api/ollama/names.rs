//! How Ollama's clients name models.

use serde_json::Value;

use crate::app::App;
use crate::error::ApiError;
use crate::models::Slot;

/// The tag that clients add to a name without one.
pub(super) const LATEST: &str = ":latest";

/// The name of a model in a body.
pub(super) fn name_of(body: &Value) -> Option<&str> {
    let name = body.get("model").or(body.get("name"));
    name.and_then(Value::as_str).filter(|name| !name.is_empty())
}

/// The model of this name, with or without `:latest`; the first without a name.
///
/// # Errors
/// If there is none.
pub(super) fn slot_of<'a>(app: &'a App, name: Option<&str>) -> Result<&'a Slot, ApiError> {
    let Some(name) = name else {
        return app.models.all().first().ok_or_else(|| app.models.no_such());
    };
    let short = || name.strip_suffix(LATEST).and_then(|short| app.models.named(short));
    app.models.named(name).or_else(short).ok_or_else(|| app.models.no_such())
}

/// The name by which a request finds its model, which may be that of a LoRA adapter: without `:latest`, if the model has no such name.
pub(super) fn called<'a>(slot: &'a Slot, name: Option<&'a str>) -> &'a str {
    let Some(name) = name else { return &slot.source.name };
    if slot.is_called(name) { name } else { name.strip_suffix(LATEST).unwrap_or(name) }
}

//! The models in Ollama's API: `/api/tags`, `/api/ps`, `/api/show`, `/api/pull`, `/api/version`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use weft_engine::Head;
use weft_text::reply::ReplyFormat;

use super::names::{LATEST, name_of, slot_of};
use crate::api::gap;
use crate::api::models::parameters;
use crate::api::wire;
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::{JsonBody, answer};
use crate::ignored::Ignored;
use crate::json::Fields;
use crate::models::{Header, Slot, keys};
use crate::time::timestamp;

/// The version of Ollama whose API this is. Clients look for features by it.
const VERSION: &str = "0.13.0";
/// The number of seconds that stands for no limit: some 292 years.
const FOR_EVER: u64 = 9_223_372_036;

/// Says the version.
pub(crate) async fn version() -> Response {
    answer(&json!({ "version": VERSION, "weft": wire::fingerprint() }))
}

/// Lists the models.
pub(crate) async fn tags(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    list(app, false).await
}

/// Lists the models that are loaded.
pub(crate) async fn ps(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    list(app, true).await
}

async fn list(app: Arc<App>, loaded: bool) -> Result<Response, ApiError> {
    let listed = tokio::task::spawn_blocking(move || {
        let slots = app.models.all().iter().filter(|slot| !loaded || slot.loaded().is_some());
        let describe = |slot: &Slot| -> Vec<Value> {
            if loaded { vec![running(slot)] } else { names(slot).map(|name| described(slot, name)).collect() }
        };
        json!({ "models": slots.flat_map(describe).collect::<Vec<Value>>() })
    });
    Ok(answer(&listed.await.map_err(|_| panicked())?))
}

fn panicked() -> ApiError {
    ApiError::new(Kind::Internal, "a header could not be read")
}

/// The name of a model, and those of its LoRA adapters.
fn names(slot: &Slot) -> impl Iterator<Item = &str> {
    std::iter::once(slot.source.name.as_str()).chain(slot.adapters.iter().map(String::as_str))
}

/// A model of the list, or one with the LoRA adapter of this name.
fn described(slot: &Slot, own: &str) -> Value {
    let name = listed_name(own);
    let mut details = details(slot.header());
    if own != slot.source.name {
        details["parent_model"] = slot.source.name.as_str().into();
    }
    json!({
        "name": name,
        "model": name,
        "modified_at": timestamp(slot.created),
        "size": slot.header().map_or(0, |header| header.bytes),
        "digest": digest(slot, own),
        "details": details,
    })
}

/// A model of the list of those that are loaded.
fn running(slot: &Slot) -> Value {
    let name = listed_name(&slot.source.name);
    let size = slot.header().map_or(0, |header| header.bytes);
    let loaded = slot.loaded();
    let facts = loaded.as_ref().map(|model| (model.facts.on_gpu, model.facts.divided));
    let [size, on_gpu] = sizes(size, facts.unwrap_or_default());
    let left = slot.time_left().map_or(FOR_EVER, |left: Duration| left.as_secs());
    json!({
        "name": name,
        "model": name,
        "size": size,
        "digest": digest(slot, &slot.source.name),
        "details": details(slot.header()),
        "expires_at": timestamp(wire::now() + left),
        "size_vram": on_gpu,
        "context_length": slot.context(),
    })
}

/// The size of a model, and the part of it on a GPU, by the size of its file. The parts of one that is divided have the sizes that were
/// planned: Ollama's client shows their ratio.
fn sizes(file: u64, (on_gpu, divided): (bool, Option<[u64; 2]>)) -> [u64; 2] {
    match divided {
        Some([first, second]) => [first.saturating_add(second), if on_gpu { first } else { 0 }],
        None => [file, if on_gpu { file } else { 0 }],
    }
}

/// The name under which clients find a model: they add `:latest` to names without a tag.
fn listed_name(name: &str) -> String {
    if name.contains(':') { name.to_string() } else { format!("{name}{LATEST}") }
}

/// The digest of a file: a hash of name, size and time. The content of a large file takes minutes to hash.
fn digest(slot: &Slot, name: &str) -> String {
    let size = slot.header().map_or(0, |header| header.bytes);
    let what = format!("{name} {size} {}", slot.created);
    Sha256::digest(what.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn details(header: Option<&Header>) -> Value {
    let family = header.map_or("", |header| header.architecture.as_str());
    json!({
        "parent_model": "",
        "format": "gguf",
        "family": family,
        "families": [family],
        "parameter_size": header.map_or(String::new(), |header| parameter_size(header.parameters)),
        "quantization_level": header.map_or("", |header| header.quantisation.as_str()),
    })
}

/// A number of parameters as Ollama writes it: `7.6B`, `134.52M`.
fn parameter_size(count: u64) -> String {
    let count = count as f64;
    match count {
        _ if count >= 1e9 => format!("{:.1}B", count / 1e9),
        _ if count >= 1e6 => format!("{:.2}M", count / 1e6),
        _ if count >= 1e3 => format!("{:.2}K", count / 1e3),
        _ => format!("{count}"),
    }
}

/// The request of `/api/show`.
pub(crate) fn read_show(body: &Value, ignored: &Ignored) -> Result<bool, ApiError> {
    let mut fields = Fields::of(body, "", ignored)?;
    named(&mut fields)?;
    let verbose = fields.flag("verbose")?.unwrap_or(false);
    fields.end()?;
    Ok(verbose)
}

/// Reads the name of a model, and that it had in an earlier version.
fn named(fields: &mut Fields<'_>) -> Result<(), ApiError> {
    fields.text("model")?;
    fields.text("name")?;
    Ok(())
}

/// Describes a model.
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let ignored = Ignored::new(app.strict);
    let verbose = read_show(&body, &ignored)?;
    let most = app.limits.max_tokens;
    slot_of(&app, name_of(&body))?;
    let shown = tokio::task::spawn_blocking(move || {
        let slot = slot_of(&app, name_of(&body))?;
        let failed = |error: weft_engine::Error| {
            ApiError::new(Kind::Internal, format!("cannot read `{}`: {error}", slot.source.name))
        };
        let keys = keys(&slot.source.path, verbose).map_err(failed)?;
        let text = |key: &str| keys.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
        let template = text("tokenizer.chat_template");
        let license = text("general.license");
        let architecture = text("general.architecture");
        let pooling = keys.get(&format!("{architecture}.pooling_type")).and_then(Value::as_u64).unwrap_or(0);
        let embeds = pooling > 0 || slot.loaded().is_some_and(|model| model.facts.head != Head::Logits);
        // Clients know no word for rerankers.
        let mut capabilities = vec![if embeds { "embedding" } else { "completion" }];
        if !embeds && !template.is_empty() {
            // A model whose template has no tools is told of them in the system message.
            capabilities.push("tools");
        }
        let format = ReplyFormat::of(&template);
        if !embeds && (format.reasoning.is_some() || format.harmony) {
            capabilities.push("thinking");
        }
        if !embeds && slot.loaded().is_some_and(|model| gap::fills(&model.facts.tokenizer)) {
            capabilities.push("insert");
        }
        Ok(json!({
            "license": license,
            "modelfile": format!("# A model of weft serve, which reads no such files.\nFROM {}\n", slot.source.name),
            "parameters": parameter_lines(&parameters(&slot.source.defaults, most)),
            "template": template,
            "details": details(slot.header()),
            "model_info": keys,
            "capabilities": capabilities,
            "modified_at": timestamp(slot.created),
        }))
    });
    let shown = shown.await.map_err(|_| panicked())??;
    Ok(ignored.mark(answer(&shown)))
}

/// The defaults of requests, a line each.
fn parameter_lines(parameters: &Value) -> String {
    let known = parameters.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let lines = known.map(|(name, value)| {
        let name = if name == "max_tokens" { "num_predict" } else { name };
        format!("{name:<30} {value}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The request of `/api/pull`.
pub(crate) fn read_pull(body: &Value, ignored: &Ignored) -> Result<bool, ApiError> {
    let mut fields = Fields::of(body, "", ignored)?;
    named(&mut fields)?;
    fields.ignore(&["insecure"]);
    let stream = fields.flag("stream")?.unwrap_or(true);
    fields.end()?;
    Ok(stream)
}

/// Answers that a model is there. Some clients ask for that before they use it.
///
/// # Errors
/// If it is not: the server downloads nothing.
pub(crate) async fn pull(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let ignored = Ignored::new(app.strict);
    let stream = read_pull(&body, &ignored)?;
    slot_of(&app, name_of(&body)).map_err(|error| {
        let message = format!("{}; it downloads none: use `weft pull`, and --model", error.message);
        ApiError { message, ..error }
    })?;
    let success = json!({ "status": "success" });
    if !stream {
        return Ok(ignored.mark(answer(&success)));
    }
    let mut response = Response::new(format!("{success}\n").into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    Ok(ignored.mark(response))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_ollama_does() {
        let sizes = [(7_615_616_512, "7.6B"), (134_515_008, "134.52M"), (1_500, "1.50K"), (12, "12")];
        for (count, expected) in sizes {
            assert_eq!(parameter_size(count), expected);
        }
    }

    #[test]
    fn a_model_on_two_devices_has_the_sizes_of_its_parts() {
        assert_eq!(sizes(100, (false, None)), [100, 0]);
        assert_eq!(sizes(100, (true, None)), [100, 100]);
        assert_eq!(sizes(100, (true, Some([40, 70]))), [110, 40]);
        // The first device may be one that shares the CPU's memory.
        assert_eq!(sizes(100, (false, Some([40, 70]))), [110, 0]);
    }

    #[test]
    fn parameters_are_lines() {
        let lines = parameter_lines(&json!({ "temperature": 0.6, "max_tokens": null, "top_k": 40 }));
        assert_eq!(lines, "temperature                    0.6\ntop_k                          40");
    }
}

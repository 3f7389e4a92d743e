//! How the server is: `/health`, `/ready`, `/metrics`, `/props`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::models::parameters;
use super::wire;
use crate::app::App;
use crate::http::answer;

/// Whether the engines make progress. A supervisor restarts a server that is not healthy.
pub(crate) async fn health(State(app): State<Arc<App>>) -> Response {
    let stuck = app.models.loaded().find(|model| !model.worker.is_healthy());
    match stuck {
        None => answer(&json!({ "status": "ok" })),
        Some(model) => {
            let why =
                format!("the model `{}` has made no step for {} s", model.name, app.limits.stall.as_secs());
            (StatusCode::SERVICE_UNAVAILABLE, answer(&json!({ "status": "stuck", "message": why })))
                .into_response()
        }
    }
}

/// Whether the server takes requests: the models that are to be loaded at the start have been, and the server is not shutting down.
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Response {
    let status = if app.is_draining() {
        "draining"
    } else if !app.has_started() {
        "loading"
    } else {
        return answer(&json!({ "status": "ready" }));
    };
    (StatusCode::SERVICE_UNAVAILABLE, answer(&json!({ "status": status }))).into_response()
}

/// The metrics, as Prometheus reads them.
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, media)], app.metrics.render()).into_response()
}

/// The server's properties, by llama.cpp's names where it has them.
pub(crate) async fn props(State(app): State<Arc<App>>) -> Response {
    let limits = &app.limits;
    let first = app.models.all().first();
    let loaded = first.and_then(|slot| slot.loaded());
    let model = loaded.as_ref().map(|model| {
        json!({
            "name": model.name,
            "architecture": model.facts.architecture,
            "device": model.facts.device,
            "context": model.facts.context,
            "trained_context": model.facts.trained,
            "vocabulary": model.facts.vocab,
        })
    });
    let requests: Vec<_> = app.models.loaded().flat_map(|model| model.worker.listed(&model.name)).collect();
    answer(&json!({
        "build_info": wire::fingerprint(),
        "total_slots": limits.parallel,
        "chat_template": loaded.as_ref().and_then(|model| model.facts.tokenizer.chat_template().map(str::to_string)),
        "chat_template_tool_use": loaded.as_ref().and_then(|model| model.facts.tokenizer.tool_template().map(str::to_string)),
        "default_generation_settings": {
            "n_ctx": loaded.as_ref().map(|model| model.facts.context),
            "params": first.map(|slot| parameters(&slot.source.defaults, limits.max_tokens)),
        },
        "model": model,
        "limits": {
            "queue_requests": limits.queue_requests,
            "queue_tokens": limits.queue_tokens,
            "per_key": limits.per_key,
            "max_tokens": limits.max_tokens,
            "request_seconds": limits.request_time.as_secs(),
            "body_bytes": limits.body,
            "memory_bytes": limits.memory,
        },
        "requests": requests,
        "threads": app.models.threads(),
        "memory_bytes": weft_host::resident_memory(std::process::id()),
        "uptime_seconds": app.metrics.uptime().as_secs(),
    }))
}

//! The table of routes: paths, and the functions that answer them.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get, post};

use super::{
    chat, completions, embeddings, fim, lora, messages, models, ollama, openapi, ops, rerank, responses,
    tokens,
};
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::guard;
use crate::page;

/// All routes of a server.
pub(crate) fn router(app: &Arc<App>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat::create))
        .route("/v1/completions", post(completions::create))
        .route("/v1/responses", post(responses::create))
        .route("/v1/responses/{*id}", any(responses::stored))
        .route("/v1/messages", post(messages::create))
        .route("/v1/messages/count_tokens", post(messages::count_tokens))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*name}", get(models::show))
        .route("/models", get(models::list))
        .route("/models/load", post(models::load))
        .route("/models/unload", post(models::unload))
        .route("/models/pin", post(models::pin))
        .route("/v1/embeddings", post(embeddings::create))
        .route("/v1/rerank", post(rerank::create))
        .route("/v2/rerank", post(rerank::create))
        .route("/rerank", post(rerank::create))
        .route("/infill", post(fim::create))
        .route("/lora-adapters", get(lora::list).post(lora::set))
        .route("/tokenize", post(tokens::tokenize))
        .route("/detokenize", post(tokens::detokenize))
        .route("/apply-template", post(tokens::apply_template))
        .route("/health", get(ops::health))
        .route("/ready", get(ops::ready))
        .route("/metrics", get(ops::metrics))
        .route("/props", get(ops::props))
        .route("/openapi.json", get(openapi::show))
        .merge(page::routes())
        .merge(if app.ollama { ollama::routes() } else { Router::new() })
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::clone(app), guard))
        .with_state(Arc::clone(app))
}

async fn not_found() -> ApiError {
    ApiError::new(Kind::NotFound, "there is nothing at this path; GET /openapi.json lists the routes")
}

async fn wrong_method() -> ApiError {
    ApiError::new(Kind::Method, "this path has another method: GET to read, POST to create")
}

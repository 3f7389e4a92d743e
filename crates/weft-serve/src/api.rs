//! The routes: JSON in, tokens to a model, JSON or events out.

mod chat;
mod completions;
mod constraints;
mod continued;
mod dialogue;
mod embeddings;
mod fallback;
#[cfg(test)]
mod fields;
mod fim;
mod foreign;
mod fuzz;
mod gap;
mod lora;
mod messages;
mod models;
mod ollama;
mod opaque;
mod openapi;
mod ops;
mod plain;
mod pooled;
mod rerank;
mod responses;
#[cfg(test)]
mod round_trip;
mod route;
mod samplers;
mod sampling;
#[cfg(test)]
mod scripted;
mod streaming;
mod submit;
mod texts;
mod thinking;
mod tokens;
mod tools;
mod unread;
mod wire;

pub use fuzz::request_body;
pub use ollama::keep_alive;
pub(crate) use route::router;

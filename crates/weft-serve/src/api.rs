//! The routes: JSON in, tokens to a model, JSON or events out.

mod chat;
mod completions;
mod dialogue;
mod fallback;
mod fuzz;
mod ignored;
mod messages;
mod models;
mod opaque;
mod openapi;
mod ops;
mod responses;
mod route;
mod sampling;
#[cfg(test)]
mod scripted;
mod streaming;
mod submit;
mod thinking;
mod tokens;
mod tools;
mod wire;

pub use fuzz::request_body;
pub(crate) use route::router;

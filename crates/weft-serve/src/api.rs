//! The routes: JSON in, tokens to a model, JSON or events out.

mod chat;
mod completions;
mod dialogue;
mod fallback;
mod models;
mod openapi;
mod ops;
mod route;
mod sampling;
mod submit;
mod tokens;
mod tools;
mod wire;

pub(crate) use route::router;

//! Serves language models over HTTP: the APIs of OpenAI, Anthropic and Ollama, tool calls, structured output, metrics, and
//! a page to chat.
//!
//! ```no_run
//! use weft_serve::{ModelSource, ServeOptions, Server};
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let options = ServeOptions::new([ModelSource::new("my-model", "model.gguf")]);
//! let server = Server::bind(options).await?;
//! println!("http://{}", server.address()?);
//! server.run(std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! HTTP runs on tokio; each model's engine runs on a thread of its own, with which it shares a queue. A request passes
//! `http` (limits, host, origin, key), then `api` (JSON into tokens and options), then the `worker` of its model; the
//! reply comes back as updates, which the API turns into its own events. `docs/serving.md` describes the routes.
#![forbid(unsafe_code)]

mod api;
mod app;
mod error;
mod http;
mod ignored;
mod json;
mod kv_events;
mod loading;
mod log;
mod metrics;
mod models;
mod options;
mod page;
mod reply;
mod server;
mod stage;
mod tenant;
mod time;
mod worker;

pub use api::keep_alive;
#[doc(hidden)]
pub use api::request_body as fuzz_request_body;
pub use log::{LogFormat, log_panic, log_to_stderr};
pub use options::{Limits, ModelSource, OLLAMA_PORT, ServeOptions};
pub use server::{ServeError, Server};

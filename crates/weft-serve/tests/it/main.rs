//! The server from outside: real sockets, small models.

mod adapter;
mod budgets;
mod chat;
mod clients;
mod control;
mod embeddings;
mod fuzz;
mod harmony;
mod liberal;
mod lifecycle;
mod lora;
mod many_models;
mod messages;
mod ollama;
mod preserved;
mod prompts;
mod refusals;
mod responses;
mod soak;
mod structured;
mod support;
mod tool_template;

//! The server from outside: real sockets, small models.

mod chat;
mod fuzz;
mod harmony;
mod lifecycle;
mod messages;
mod prompts;
mod refusals;
mod responses;
mod soak;
mod structured;
mod support;

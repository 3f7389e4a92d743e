//! HTTP beneath the APIs: connections and their limits, who may do what, bodies, events.

mod connection;
mod guard;
mod ids;
mod json;
mod patience;
mod unwind;

pub(crate) mod sse;

pub(crate) use connection::Connections;
pub(crate) use guard::guard;
pub(crate) use ids::{RequestId, new_id, new_seed, request_id};
pub(crate) use json::{JsonBody, answer};
pub(crate) use patience::waiting;

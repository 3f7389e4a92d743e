//! Serves models over HTTP.
#![forbid(unsafe_code)]

// The router takes them up.
#[allow(dead_code)]
mod page;

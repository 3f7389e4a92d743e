//! The library as a server would use it: events, cancelling, sharing a cache. The command's own tests (`weft/tests/it/pull.rs`)
//! try what a person sees.

mod fetch;
mod find;
// Shared with the command's tests, which use all of it.
#[allow(dead_code, reason = "the tests here misbehave in fewer ways")]
mod server;
mod support;

//! The library as a server would use it: events, cancelling, sharing a cache. The tests of the command
//! (`weft/tests/it/pull.rs`) cover what users see.

mod fetch;
mod find;
#[allow(dead_code, reason = "shared with the tests of the command, which use all of it")]
mod server;
mod support;

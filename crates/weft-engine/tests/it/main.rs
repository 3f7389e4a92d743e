//! The engine on the fixtures.

mod bits;
mod golden;
mod session;
mod support;

//! The engine on the fixtures.

mod bits;
mod golden;
mod packing;
mod session;
mod support;

//! The engine on the fixtures.

mod bits;
mod golden;
mod gpu;
mod launches;
mod packing;
mod session;
mod support;
mod variants;

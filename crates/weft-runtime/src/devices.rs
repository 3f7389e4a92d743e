//! Devices: which there are, how they are chosen, and what was measured of them.

pub(crate) mod backends;
pub(crate) mod choice;
pub(crate) mod machines;
mod preferred;
pub(crate) mod tuned;
pub(crate) mod uses;

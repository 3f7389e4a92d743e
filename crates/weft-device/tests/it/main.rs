//! Graphs through the oracle and through the whole path on the reference device.

mod plans;
mod random;
mod support;

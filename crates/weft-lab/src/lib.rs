//! The lab: what the machine can do, and how much of that a model gets.
//!
//! [`roofline`] measures the machine: reading memory, multiplying integers, multiplying floats. [`bench()`] measures a loaded model, prompts
//! and replies at several depths of context, beside what the same machine could do at most in the same minutes. A rate without its limit says
//! little, and a median without its samples cannot be checked: both are kept everywhere.
#![forbid(unsafe_code)]

mod bench;
mod error;
mod host;
mod need;
mod roofline;
mod samples;

pub use bench::{Bench, BenchOptions, Phase, Setting, bench};
pub use error::Error;
pub use host::Host;
pub use need::{Need, PerToken};
pub use roofline::{Roofline, Roofs, probe, roofline};
pub use samples::Samples;
pub use weft_cpu::{Probe, Roof};

/// What is told how much is done, and of how much.
pub type OnProgress<'a> = &'a mut dyn FnMut(u64, u64);

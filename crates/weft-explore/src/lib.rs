//! Whether the rewrite rules miss anything: an experiment with an e-graph.
//!
//! The rules of [`weft_ir::rules`] have a direction and take what they can. Here a graph is put into an e-graph, which keeps every form
//! that the same rules lead to in both directions, until nothing is left to add (`saturate.rs`, `laws.rs`); forms are chosen again, so
//! that what they compile to costs least (`forms.rs`, `greedy.rs`, `search.rs`), and that is compared with what the rules come to
//! ([`explore()`]). It is a command of its own and no part of the compiler; docs/egraph.md has the finding.
#![forbid(unsafe_code)]

mod check;
mod explore;
mod forms;
mod greedy;
mod laws;
mod machines;
mod presets;
mod report;
mod saturate;
mod search;
mod term;

pub use check::{Difference, difference};
pub use explore::{Comparison, ExploreError, Report, explore};
pub use machines::{MACHINES, Named};
pub use presets::{PRESETS, Preset};
pub use saturate::{Growth, Limits, Stopped};

#[cfg(test)]
mod tests;

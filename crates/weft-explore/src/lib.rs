//! An experiment: searches an e-graph for graphs that cost less than those the rewrite rules lead to.
//!
//! ```
//! use weft_explore::{Limits, MACHINES, explore};
//!
//! let graph = weft_ir::parse(
//!     "graph scaled {
//!     %0 = input x : f32[T, 64]
//!     %1 = const 2.0 : f32[]
//!     %2 = const 0.5 : f32[]
//!     %3 = mul %0 %1 : f32[T, 64]
//!     %4 = mul %3 %2 : f32[T, 64]
//!     output y = %4
//!     }",
//! )?;
//! let report = explore(&graph, &MACHINES[0].machine, &Limits::default())?;
//! for result in &report.results {
//!     // The e-graph holds what the rules lead to, so its best graph costs no more.
//!     assert!(result.holds_rules && result.best.ns <= result.rules.ns);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`explore()`] and its [`Report`]. The rules of [`weft_ir::rules`] have a direction and are applied
//! wherever they match. The e-graph holds every form that they lead to in both directions (`saturate.rs`, `laws.rs`);
//! the one that compiles to the lowest cost is chosen from those (`forms.rs`, `greedy.rs`, `search.rs`).
//!
//! This is a separate command and not part of the compiler; `docs/egraph.md` has the findings.
#![forbid(unsafe_code)]

mod check;
mod explore;
mod forms;
mod greedy;
mod law;
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

//! The tensor graph: what a part of a model computes, and nothing about how.
//!
//! A [`Graph`] knows no kernels, devices or files. A [`Builder`] makes one, it prints as text that [`parse`] reads
//! back, and [`eval`](eval()) defines what it computes, in slow and obvious `f32`:
//!
//! ```
//! use weft_ir::{Builder, Dim, Sizes, Tensor, Values, WeightRows, eval, parse};
//! use weft_quant::GgmlType::F32;
//!
//! let mut g = Builder::new("linear");
//! let x = g.input("x", F32, [Dim::T, 3.into()]); // 3 values for each of the step's T tokens
//! let w = g.weight("w", F32, [Dim::Const(2), Dim::Const(3)]);
//! let y = g.dot(x, w);
//! g.output("y", y);
//! let graph = g.finish()?;
//! assert_eq!(parse(&graph.to_string())?, graph);
//!
//! struct Weights;
//! impl WeightRows for Weights {
//!     fn read_row(&self, _: &str, row: usize, out: &mut [f32]) -> Result<(), String> {
//!         out.fill([1.0, 10.0][row]);
//!         Ok(())
//!     }
//! }
//! let mut values = Values::from([("x".into(), Tensor::f32([1, 3], vec![1.0, 2.0, 3.0]))]);
//! eval(&graph, &Sizes::of(1), &Weights, &mut values)?;
//! assert_eq!(values["y"].as_f32(), Some(&[6.0, 60.0][..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`Builder`] and [`Op`], the operations. [`verify`] checks a graph, and [`rewrite`](rewrite()) brings it
//! into the form that compiles best, by [`rules`] that prove by their premises that they may.
#![forbid(unsafe_code)]

mod build;
mod decision;
mod eval;
mod graph;
mod hoist;
mod infer;
mod offload;
mod op;
mod rewrite;
mod rule;
pub mod rules;
mod shape;
mod text;
mod verify;
mod weights;

pub use build::{AttendInputs, BuildError, Builder, SCAN_LISTS, ScanRows};
pub use decision::{Decision, Mode, Switches};
pub use eval::{EvalError, Tensor, Values, eval, highest, listed, with_tail};
pub use graph::{Graph, Node, NodeId, Type};
pub use hoist::{Hoisted, STEPS, hoist};
pub use offload::{CHOSEN, OFFLOADED, OFFLOADED_IDS, Offload, RESIDENT_IDS, Resident, offload};
pub use op::{
    Binary, F32, KEPT, Op, Recurrence, Reduce, RopeStyle, STATE_TYPES, ScanState, StateKind, Unary, hadamard,
};
pub use rewrite::{Fired, Missed, Rewritten, WhyNot, rewrite};
pub use rule::{Keeps, Rule};
pub use shape::{Dim, Shape, Sizes, Sym};
pub use text::{ParseError, parse};
pub use verify::{VerifyError, verify};
pub use weights::WeightRows;

//! The tensor graph: nodes, builder, text form, verifier, rewrite rules and the float oracle.
//!
//! A [`Graph`] says *what* a part of a model computes and nothing about how: no kernels, no devices, no files. It is built by
//! [`Builder`] or [`parse`]d from text, checked by [`verify`], and [`eval`](eval()) is its definition in slow and obvious `f32`.
//! [`rewrite`](rewrite()) brings it into the form that compiles best, by [`rules`] that are proven legal by their premises.
#![forbid(unsafe_code)]

mod build;
mod decision;
mod eval;
mod graph;
mod hoist;
mod infer;
mod op;
mod rewrite;
pub mod rules;
mod shape;
mod text;
mod verify;
mod weights;

pub use build::{AttendInputs, BuildError, Builder};
pub use decision::{Decision, Mode, Switches};
pub use eval::{EvalError, Product, Tensor, Values, WeightRows, eval};
pub use graph::{Graph, Node, NodeId, Type};
pub use hoist::{Hoisted, STEPS, hoist};
pub use op::{Binary, F32, Op, Reduce, RopeStyle, Unary};
pub use rewrite::{Fired, Keeps, Missed, Rewritten, Rule, WhyNot, rewrite};
pub use shape::{Dim, Shape, Sizes, Sym};
pub use text::{ParseError, parse};
pub use verify::{VerifyError, verify};

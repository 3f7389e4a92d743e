//! The tensor graph: nodes, builder, text form, verifier and the float oracle.
//!
//! A [`Graph`] says *what* a part of a model computes and nothing about how: no kernels, no devices, no files. It is built by
//! [`Builder`] or [`parse`]d from text, checked by [`verify`], and [`eval`] is its definition in slow and obvious `f32`.
#![forbid(unsafe_code)]

mod build;
mod eval;
mod graph;
mod infer;
mod op;
mod shape;
mod text;
mod verify;

pub use build::{AttendInputs, BuildError, Builder};
pub use eval::{EvalError, Tensor, Values, WeightRows, eval};
pub use graph::{Graph, Node, NodeId, Type};
pub use op::{Binary, F32, Op, Reduce, RopeStyle, Unary};
pub use shape::{Dim, Shape, Sizes, Sym};
pub use text::{ParseError, parse};
pub use verify::{VerifyError, verify};

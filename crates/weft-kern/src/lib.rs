//! The kernel: an anchor and the row program around it, its text form, verifier and interpreter.
//!
//! A [`Plan`] is what a graph became: a short list of calls to [`Kernel`]s and the buffers between them. Devices run plans; the
//! [`interp`]reter says what they mean.
#![forbid(unsafe_code)]

pub mod interp;
pub mod q8;

// Part of this crate's own interface: devices need no other acquaintance with graphs.
pub use weft_ir::{Binary, Dim, F32, Reduce, RopeStyle, Shape, Sizes, Sym, Unary};

mod amounts;
mod kernel;
mod machine;
mod plan;
mod text;
mod traffic;
mod verify;

pub use amounts::{Amounts, Counted};
pub use kernel::{
    Access, Anchor, Attend, Cached, Factor, Format, Indexed, Instr, Kernel, Matrices, Param, ParamId, Part,
    Pick, Product, Prologue, Sum, ValueId, View,
};
pub use machine::Machine;
pub use plan::{Buffer, BufferId, Call, Plan, Source};
pub use text::{ParseError, parse_plan};
pub use traffic::{Operation, Seen, Touch};
pub use verify::{VerifyError, verify, verify_call};

//! The kernel: what a device computes in one launch, as data, with a text form, a verifier, and an interpreter that
//! defines what it means.
//!
//! A [`Kernel`] has one or more parts. A part is an [`Anchor`] (products, attention, or elementwise work alone) and a
//! small program that is run on each row of its result. A [`Plan`] is what a graph is compiled to: a short list of
//! calls to kernels, and the buffers between them. Here is one as text, run by the interpreter:
//!
//! ```
//! use weft_kern::interp::{Buffer, run};
//! use weft_kern::{Format, Sizes, parse_plan};
//!
//! let plan = parse_plan(
//!     "plan double T=2 R=1 S=1 P=1 arena=0 {
//!     b0 = input x : f32[T, 3]
//!     b1 = output y : f32[T, 3]
//!     kernel double {
//!       p0 read f32
//!       p1 write f32
//!       rows [T] cols 3
//!       map
//!       v0 = load 3 p0[0; 3; 1]
//!       v1 = add v0 v0
//!       v2 = store v1 p1[0; 3; 1]
//!     }
//!     call double b0 b1
//!     }",
//! )?;
//! let x: Vec<u8> = [1.0f32, 2.0, 3.0].into_iter().flat_map(f32::to_le_bytes).collect();
//! let mut args = [Buffer::from_bytes(Format::F32, 3, &x)?, Buffer::from_bytes(Format::F32, 3, &[0; 12])?];
//! run(&plan.kernels[0], &mut args, &Sizes::of(1))?;
//! assert_eq!(args[1].row(0, 3), [2.0, 4.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`Plan`] and [`Kernel`]. [`verify`] checks a plan; [`interp`] is the oracle for every device.
#![forbid(unsafe_code)]

pub mod exact;
pub mod interp;
pub mod q8;

// Part of this crate's interface, so that devices need not know graphs.
pub use weft_ir::{
    Binary, Dim, F32, KEPT, Recurrence, Reduce, RopeStyle, STATE_TYPES, ScanState, Shape, Sizes, StateKind,
    Sym, Unary, listed,
};

mod amounts;
mod anchor;
mod bar;
mod given;
mod kernel;
mod machine;
mod plan;
mod program;
mod replacement;
#[cfg(test)]
mod test_plans;
mod text;
mod traffic;
mod verify;

pub use amounts::{Amounts, Counted};
pub use anchor::{
    Anchor, Attend, Cached, DeltaRule, Factor, Indexer, List, MOST_POSITIONS, Matrices, Pick, Product, Scan,
    ScanRule, Shares, Sum,
};
pub use bar::Bar;
pub use given::{GivenText, TextGroups, TextHead, TextLanguage, TextPlace};
pub use kernel::{Kernel, Part};
pub use machine::Machine;
pub use plan::{Buffer, BufferId, Call, Plan, Source};
pub use program::{Access, Format, Indexed, Instr, Param, ParamId, Prologue, ValueId, View};
pub use replacement::Replacement;
pub use text::{ParseError, parse_plan, parse_replacement};
pub use traffic::{Operation, Seen, Touch};
pub use verify::{MOST_VALUES, VerifyError, verify, verify_call};

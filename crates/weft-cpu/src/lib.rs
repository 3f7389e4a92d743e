//! The CPU device: SIMD leaves per instruction set and the thread team.
//!
//! A program is compiled into a flat list of launches (`compile`) that a team of spinning threads (`team`) walks
//! together, with a barrier after each: one parallel region a step. The parts of a kernel lie end to end, by what they
//! cost (`cost`), with no barrier between them; each thread does a stretch of that which is its own, and then takes more
//! of what is left (`share`). Of a part it computes what the anchor (`dot`, `attend`) is to multiply, if that is not in
//! memory (`prologue`), the anchor, and then the row program (`rowprog`) over what came out, while that is in the cache.
//!
//! # The law
//!
//! The bits of an output depend on the kernel and on what the output is computed from, and on nothing else: not on
//! the number of threads, on how work is cut, on the other rows of the step, on the other parts and products of the
//! kernel, on whether a prologue or another kernel made an operand, or on the instruction set. Therefore every sum has
//! one order, and the module that computes it says which:
//!
//! - products with quantised weights: `dot::packed`; with float weights: `dot::float`; transposed: `dot::transposed`;
//!   weighted sums of products: `dot::sum`;
//! - sums over a row: `math::sum`;
//! - attention: `attend`.
//!
//! Where a multiplication and an addition are one operation with one rounding, the module says so; the compiler never
//! makes one of two. Exponentials are computed by one polynomial, `math::exp`.
//!
//! # Where the unsafe code is
//!
//! - `isa`: calling code compiled for an instruction set, and vectors of lanes in intrinsics;
//! - `memory`: buffers, and the checked access of kernels to them;
//! - `compile`: one call, which declares arguments free of conflicts between threads, with the proof;
//! - `team`: running a borrowed job on other threads.
#![deny(unsafe_code)]

mod attend;
mod backend;
mod buffer;
#[allow(unsafe_code, reason = "says which accesses of threads do not conflict")]
mod compile;
mod convert;
mod cost;
mod device;
mod dot;
mod grow;
mod hardware;
#[allow(unsafe_code, reason = "calls code compiled for an instruction set once it is known to be there")]
mod isa;
mod made;
mod math;
#[allow(unsafe_code, reason = "memory that several threads work on")]
mod memory;
mod part;
mod probe;
mod prologue;
mod rowprog;
mod rows;
mod scratch;
mod share;
mod stores;
#[allow(unsafe_code, reason = "runs borrowed jobs on other threads")]
mod team;
mod thread;

pub use backend::CpuBackend;
pub use device::{CpuDevice, CpuOptions};
pub use hardware::processor_name;
pub use isa::Isa;
pub use probe::{Probe, Roof};

#[cfg(target_endian = "big")]
compile_error!("files and buffers are little-endian, and are read where they are");

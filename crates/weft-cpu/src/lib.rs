//! The CPU device: runs kernels with SIMD instructions on a thread pool.
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::Arc;
//!
//! use weft_cpu::{CpuDevice, CpuOptions};
//! use weft_device::{Device, Instance, Region, link};
//! use weft_ir::{Builder, Dim, Sizes};
//! use weft_quant::GgmlType::F32;
//!
//! let mut g = Builder::new("square");
//! let x = g.input("x", F32, [Dim::T, 2.into()]);
//! let y = g.mul(x, x);
//! g.output("y", y);
//! let sizes = Sizes::of(1).rows(1).slots(1).pages(1);
//! let plan = Arc::new(weft_fuse::fuse(&g.finish()?, &sizes)?);
//!
//! let mut device = CpuDevice::new(CpuOptions::default())?;
//! let x = Region { buffer: device.alloc(8)?, offset: 0, values: 2 };
//! let none = BTreeMap::new();
//! let (weights, states, columns, kept) = (none.clone(), none, BTreeMap::new(), BTreeMap::new());
//! let square = Instance { plan, weights, states, columns, kept, beside: false };
//! let linked = link(&mut device, &[square], &BTreeMap::from([("x".into(), x)]), &["y"])?;
//! let program = device.compile(&linked.program)?;
//!
//! device.write(x.buffer, 0, [3.0f32, -4.0].map(f32::to_le_bytes).as_flattened())?;
//! device.replay(program, &sizes)?;
//! let (y, mut bytes) = (linked.results["y"], [0; 8]);
//! device.read(y.buffer, y.offset, &mut bytes)?;
//! assert_eq!(bytes, *[9.0f32, 16.0].map(f32::to_le_bytes).as_flattened());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`CpuDevice`], whose methods are those of [`weft_device::Device`], and [`CpuOptions`].
//!
//! # How it works
//!
//! Compiling a program makes a flat list of launches (`compile`), which a pool of spinning threads (`team`) walks
//! together, with a barrier after each: one parallel region per step. The parts of a launch are laid end to end by
//! estimated cost (`cost`), with no barrier between them; each thread computes a stretch of its own first and then
//! takes more of what is left (`share`). A thread computes the anchor of a part (`dot`, `attend`), after the rows it
//! multiplies by if they are not in memory (`prologue`), and then the row program (`rowprog`) on the result while that
//! is in the cache.
//!
//! # What results depend on
//!
//! Results are batch-invariant and do not depend on threads, bit for bit: an output depends on its kernel and the
//! values it is computed from. It does not depend on the number of threads or the division of work, the other rows
//! of the step, the other parts and products of the kernel, the instruction set, or whether an operand comes from a
//! prologue or another kernel. So every sum has one order, defined by the module that computes it:
//!
//! - products with quantised weights: `dot::packed`, and `dot::tiled` in the same order; with float weights: `dot::float`;
//!   transposed: `dot::transposed`; weighted sums of products: `dot::sum`;
//! - sums over a row: `math::sum`;
//! - attention: `attend`.
//!
//! These modules also say where a multiplication and an addition are fused, with one rounding; the compiler never fuses
//! others. Exponentials are computed by one polynomial, `math::exp`.
//!
//! # Where the unsafe code is
//!
//! - `isa`: calls to code compiled for an instruction set, SIMD intrinsics, and a function of the C library that is replaced on Windows;
//! - `memory`: buffers, and the checked access of kernels to them;
//! - `compile`: one call, which declares arguments free of data races, with the proof;
//! - `team`: running a borrowed job on other threads.
#![deny(unsafe_code)]

mod attend;
mod backend;
mod buffer;
#[allow(unsafe_code, reason = "says which accesses of threads do not conflict")]
mod compile;
mod convert;
mod cost;
mod crowd;
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
mod scan;
mod scratch;
mod share;
mod stores;
#[allow(unsafe_code, reason = "runs borrowed jobs on other threads")]
mod team;
mod thread;

pub use backend::CpuBackend;
pub use device::{CpuDevice, CpuOptions};
pub use isa::Isa;
pub use probe::CpuProbe;

#[cfg(target_endian = "big")]
compile_error!("files and buffers are little-endian, and are read where they are");

//! Finds and calls NVRTC, NVIDIA's run-time compiler, which is loaded at run time and needs no card.
//!
//! ```no_run
//! let nvrtc = weft_nvrtc::find((13, 0))?;
//! let compiled = nvrtc.compile("__global__ void f() {}", &["--gpu-architecture=sm_90", weft_nvrtc::REPORT])?;
//! for kernel in weft_nvrtc::usage(&compiled.log) {
//!     println!("{} uses {} registers", kernel.name, kernel.registers);
//! }
//! # Ok::<(), String>(())
//! ```
//!
//! Start with [`find`], which searches the usual places, or [`Nvrtc::load`]. What a kernel uses is in the compiler's log
//! ([`usage`]); where a text is part of a file, [`with_lines`] names that file's lines in the log.
//!
//! The unsafe code is in `library`: calls of NVRTC, each in a safe function.
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "calls NVRTC")]
mod library;
mod lines;
mod places;
mod usage;

pub use library::{Compiled, Nvrtc};
pub use lines::with_lines;
pub use places::find;
pub use usage::{REPORT, Usage, usage};

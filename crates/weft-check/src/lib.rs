//! Tests that devices must pass, and the types of which other tests can be made.
//!
//! Only tests use this crate. [`device_tests!`] makes a test of every function in [`suite`], for a device that
//! renders kernels with [`weft_render`]:
//!
//! ```
//! // In a test, the best GPU; `None` skips the test.
//! fn device(test: &str) -> Option<weft_device::ReferenceDevice> {
//!     None
//! }
//!
//! weft_check::device_tests!(device);
//! ```
//!
//! A [`Case`](case::Case) is a kernel with its arguments, which knows what the interpreter computes.
//! The [`Emulator`] runs the CUDA texts of kernels without a GPU.
#![deny(unsafe_code)]

mod arg;
pub mod case;
pub mod data;
mod emulator;
mod halves;
mod macros;
pub mod suite;

pub use arg::{Arg, POISON};
pub use emulator::Emulator;

//! The CUDA device: runs kernels on NVIDIA GPUs.
//!
//! ```
//! use weft_cuda::CudaBackend;
//! use weft_device::Backend;
//!
//! // On a machine without an NVIDIA driver the list is empty.
//! for card in CudaBackend.probe() {
//!     println!("{}: {}", card.name, card.driver.unwrap_or_default());
//! }
//! ```
//!
//! Start with [`CudaBackend`]: it lists the cards of this machine and opens them. A [`CudaDevice`] holds buffers and
//! compiled programs, like any [`weft_device::Device`].
//!
//! Kernels are rendered by [`weft_render`] as CUDA C++, compiled by [`weft_nvrtc`] and kept on disk (`cubins`), so only a first
//! start needs NVRTC. A program is a CUDA graph of its launches, one after another. A step is one launch of that graph: only what
//! depends on the step's sizes is changed in between, and only if they changed.
//!
//! The driver and NVRTC are loaded at run time. This crate builds, and its program starts, on machines that have neither.
//!
//! The unsafe code is in `driver`: calls of the driver, each in a safe function that owns what it made.
#![deny(unsafe_code)]

mod backend;
mod buffers;
mod card;
mod clock;
mod compile;
mod crossing;
mod cubins;
mod device;
#[allow(unsafe_code, reason = "calls the CUDA driver")]
mod driver;
mod error;
mod hardware;
mod probe;
mod streaming;

pub use backend::CudaBackend;
pub use card::{Card, cards};
pub use device::CudaDevice;

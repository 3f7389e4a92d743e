//! The wgpu device: runs kernels on GPUs through Vulkan and Metal.
//!
//! [`GpuBackend`] finds the GPUs of this machine and opens them; a [`GpuDevice`] keeps buffers and compiled programs. Kernels are rendered by
//! [`weft_render`]; a step is one submission.
//!
//! # Where the unsafe code is
//!
//! - `pipelines`: shaders are compiled without the checks wgpu would add, since the renderer's own suffice;
//! - `pipeline_cache`: the driver is given its own compiled pipelines back;
//! - `memory`: Vulkan is asked for what wgpu does not report.
#![deny(unsafe_code)]

mod adapter;
mod backend;
mod buffers;
mod cache_folder;
mod clock;
mod compile;
mod context;
mod device;
mod error;
mod hardware;
#[allow(unsafe_code, reason = "asks Vulkan for what wgpu does not report")]
mod memory;
#[allow(unsafe_code, reason = "gives the driver its own compiled pipelines back")]
mod pipeline_cache;
#[allow(unsafe_code, reason = "compiles without the checks that the renderer makes itself")]
mod pipelines;
mod replay;
mod schedule_file;
mod scheduler;

pub use adapter::{Adapter, adapters};
pub use backend::GpuBackend;
pub use device::GpuDevice;

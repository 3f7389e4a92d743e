//! The wgpu device: runs kernels on GPUs through Vulkan and Metal.
//!
//! ```
//! use weft_device::Backend;
//! use weft_wgpu::GpuBackend;
//!
//! let gpus = GpuBackend.probe();
//! for gpu in &gpus {
//!     println!("{} ({})", gpu.name, gpu.kind.name());
//! }
//! assert!(gpus.is_sorted_by_key(|gpu| gpu.kind)); // discrete GPUs first, software last
//! ```
//!
//! Start with [`GpuBackend`]: it lists the GPUs of this machine and opens them. A [`GpuDevice`] holds buffers and
//! compiled programs, like any [`weft_device::Device`]. Kernels are rendered by [`weft_render`]; a step is one
//! submission.
//!
//! # Where the unsafe code is
//!
//! - `pipelines`: shaders are compiled without the checks that wgpu would add, since the renderer's own suffice, some of them from
//!   SPIR-V that naga alone does not write (`spirv`);
//! - `pipeline_cache`: hands the driver its own compiled pipelines back;
//! - `experimental`: tells wgpu that cooperative matrices are used on purpose;
//! - `memory`: asks Vulkan and Metal for what wgpu does not report.
#![deny(unsafe_code)]

mod adapter;
mod backend;
mod buffers;
mod canary;
mod census;
mod clock;
mod compile;
mod context;
mod device;
mod error;
#[allow(unsafe_code, reason = "uses a feature that wgpu calls experimental")]
mod experimental;
mod features;
mod given;
mod hardware;
mod limits;
mod macos;
#[allow(unsafe_code, reason = "asks Vulkan and Metal for what wgpu does not report")]
mod memory;
#[allow(unsafe_code, reason = "gives the driver its own compiled pipelines back")]
mod pipeline_cache;
#[allow(unsafe_code, reason = "compiles without the checks that the renderer makes itself")]
mod pipelines;
mod probe;
mod replay;
mod segments;
#[cfg(not(target_vendor = "apple"))]
mod spirv;
#[cfg(target_vendor = "apple")]
mod spirv {
    //! Metal takes no SPIR-V, and naga is built without it there.

    pub(crate) fn compile(_source: &str, _entry: &str) -> Result<Vec<u32>, String> {
        Err("Metal takes no SPIR-V".into())
    }
}

pub use adapter::{Adapter, adapters};
pub use backend::GpuBackend;
pub use device::GpuDevice;

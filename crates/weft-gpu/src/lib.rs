//! The graphics device: kernels rendered to text, and run through wgpu.
//!
//! Rendering is a function of the kernel and the adapter's limits ([`render`]); a [`Shader`] is what it hands to the runtime. That finds an
//! adapter ([`adapters`]), opens it ([`GpuDevice`]) and keeps its buffers and compiled programs. A step is one submission.
//!
//! # Where the unsafe code is
//!
//! - `pipelines`: texts are compiled without the checks wgpu would add, since the renderer's own suffice;
//! - `kept`: the driver is given back what it made of texts before;
//! - `memory`: Vulkan is asked what wgpu does not tell.
#![deny(unsafe_code)]

mod adapter;
mod buffers;
mod clock;
mod compile;
mod context;
mod device;
mod dialect;
mod error;
#[allow(unsafe_code, reason = "gives the driver its own data back")]
mod kept;
mod limits;
mod machine;
#[allow(unsafe_code, reason = "asks Vulkan what wgpu does not tell")]
mod memory;
#[allow(unsafe_code, reason = "compiles without the checks that the renderer makes itself")]
mod pipelines;
mod render;
mod replay;
mod schedule;
mod scheduler;
mod shader;

pub use adapter::{Adapter, AdapterKind, adapter, adapters};
pub use compile::slots;
pub use device::{GpuDevice, GpuOptions};
pub use error::OpenError;
pub use kept::forget;
pub use limits::Limits;
pub use machine::machine;
pub use render::{Refused, Why, render, render_with};
pub use schedule::{NoSchedule, Schedule, Split, departures};
pub use scheduler::Scheduler;
pub use shader::{Grid, Shader};

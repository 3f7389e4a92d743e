//! Kernels rendered to text for GPUs.
//!
//! A kernel and a [`Schedule`] (how its loops are laid over workgroups and lanes) become a small structured program, which a dialect spells. Rendering is a
//! function of the kernel, the largest step and the GPU's [`Limits`]: this crate does no IO and knows no driver. A [`Shader`] is what a runtime gets, and
//! says how it is launched; [`Scheduler`] chooses the schedules of a device's kernels.
#![forbid(unsafe_code)]

mod checksum;
mod code;
mod dialect;
mod grid;
mod limits;
mod lower;
mod refused;
mod render;
mod schedule;
mod scheduler;
mod search;
mod shader;

pub use checksum::checksum;
pub use dialect::cuda::CUDA_OPTIONS;
pub use grid::{Chunks, Grid, Groups};
pub use limits::{Language, Limits, Target};
pub use refused::{Refused, Why};
pub use render::{render, render_with};
pub use schedule::order::SumOrder;
pub use schedule::tuned::TunedSchedules;
pub use schedule::{NoSchedule, Schedule, Split};
pub use scheduler::Scheduler;
pub use search::departures::{Departure, departures};
pub use shader::{Shader, args_words, slots};

//! Kernels rendered to text for GPUs.
//!
//! A kernel and a [`Schedule`] (how its loops are laid over workgroups and lanes) become a small structured program, which a dialect spells. Rendering is a
//! function of the kernel, the largest step and the GPU's [`Limits`]: this crate does no IO and knows no driver. A [`Shader`] is what a runtime gets, and
//! says how it is launched; [`Scheduler`] chooses the schedules of a device's kernels.
#![forbid(unsafe_code)]

mod checksum;
mod dialect;
mod limits;
mod render;
mod schedule;
mod scheduler;
mod shader;

pub use checksum::checksum;
pub use limits::Limits;
pub use render::{Refused, Why, render, render_with};
pub use schedule::{Departure, NoSchedule, Schedule, Split, SumOrder, TunedSchedules, departures};
pub use scheduler::Scheduler;
pub use shader::{Chunks, Grid, Groups, Shader, args_words, slots};

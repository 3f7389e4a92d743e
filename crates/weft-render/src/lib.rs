//! Renders kernels as source code for GPUs: WGSL and CUDA C++.
//!
//! ```
//! use weft_ir::{Builder, Dim, Sizes};
//! use weft_quant::GgmlType::F32;
//! use weft_render::{Gpu, Language, Slots, Target, render};
//!
//! let mut g = Builder::new("square");
//! let x = g.input("x", F32, [Dim::T, 64.into()]);
//! let y = g.mul(x, x);
//! g.output("y", y);
//! let max = Sizes::of(8).rows(1).slots(1).pages(1);
//! let plan = weft_fuse::fuse(&g.finish()?, &max)?;
//!
//! // The kernel's two parameters are in separate buffers: slots 0 and 1.
//! let target = Target { language: Language::Cuda, gpu: Gpu::cuda() };
//! let shaders = render(&plan.kernels[0], &Slots::without_weights([0, 1]), &max, &target)?;
//! assert!(shaders[0].source.contains("__global__"));
//! assert_eq!(shaders[0].slots, [false, true]); // the second one is written
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`render`]. It returns a [`Shader`], which a runtime compiles and which describes its launch. [`Scheduler`] does the same for
//! a device whose schedules are tuned.
//!
//! A [`Schedule`] spreads a kernel's loops over workgroups and lanes. With it, the kernel becomes a small structured program
//! ([`weft_shader`]), which a dialect turns into text. The result depends only on the kernel, the largest step and the [`Gpu`]: this crate
//! does no IO and knows no driver.
#![forbid(unsafe_code)]

mod chain;
mod checksum;
mod early_release;
mod features;
mod forms;
mod given;
mod gpu;
mod lower;
mod refused;
mod render;
mod schedule;
mod scheduler;
mod search;
mod shader;
mod split;
mod stable;
mod switches;

pub use chain::{Chain, Chained, Joined};
pub use checksum::checksum;
pub use early_release::releases_early;
pub use features::Features;
pub use forms::attend::units::short_contexts;
pub use forms::*;
pub use given::{as_given, given_slots};
pub use gpu::{Gpu, Language, MOST_CHAINED, Target};
pub use refused::{Refused, Why};
pub use render::{render, render_with};
pub use schedule::heuristic::known::{LEAST_COLUMNS, STEPS_OF_WAVES, STEPS_WITH_CUDA};
pub use schedule::order::SumOrder;
pub use schedule::tuned::TunedSchedules;
pub use schedule::{NoSchedule, Schedule};
pub use scheduler::Scheduler;
pub use search::departures::departures;
pub use shader::{COUNTER_BYTES, Shader, Slots, args_words};
pub use stable::{Bound, stable};
pub use switches::Departure;
pub use weft_shader::chain::{CENSUS, CENSUS_GROUPS, CENSUS_RESULT, CHAIN_WORDS, MOST_STAGES, TIMED_OUT};
pub use weft_shader::dialect::{BLOCKS_POOL, CUDA_OPTIONS, DYNAMIC_POOL, STATIC_SHARED_BYTES};
pub use weft_shader::grid::{Chunks, Grid, Groups};
pub use weft_shader::module::{Content, Memory};

//! What all GPU devices share, whatever API they use.
//!
//! A GPU device renders the kernels of a program with [`render`], which also checks that every weight is laid out as
//! its kernels expect; streams a weight to the GPU in the layout that [`WeightLayout`] names with [`lay_out`]; and
//! keeps tuned schedules and compiled kernels in files of its cache folder ([`Scheduler`], [`put`]).
//!
//! ```
//! use weft_gpu::Scheduler;
//! use weft_render::{Language, Limits, Target};
//!
//! // Without a folder nothing is kept.
//! let target = Target { language: Language::Cuda, limits: Limits::cuda() };
//! let mut scheduler = Scheduler::open("NVIDIA H200, driver 580", target, None);
//! assert_eq!(weft_device::Tuning::save(&mut scheduler)?, None);
//! # Ok::<(), weft_device::DeviceError>(())
//! ```
#![forbid(unsafe_code)]

mod cache_folder;
mod launches;
mod schedule_file;
mod scheduler;
mod weights;

pub use cache_folder::{CUBINS, PIPELINES, clear, put};
pub use launches::{Render, Rendered, render, slots};
pub use scheduler::{Scheduler, departures};
pub use weights::{WeightLayout, lay_out};

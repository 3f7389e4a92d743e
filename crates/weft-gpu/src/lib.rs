//! The code that all GPU devices share, whatever API they use.
//!
//! A GPU device renders the kernels of a program with [`render`], which also checks that every weight is laid out as
//! its kernels expect, and compiles each text once ([`CompiledTexts`]); streams a weight to the GPU in the layout that
//! [`WeightLayout`] names with [`lay_out`], into one of its [`Buffers`]; and keeps tuned schedules and compiled kernels
//! in files of its cache folder ([`Scheduler`], [`SealedFile`]).
//!
//! ```
//! use weft_gpu::Scheduler;
//! use weft_render::{Gpu, Language, Target};
//!
//! // Without a folder nothing is kept.
//! let target = Target { language: Language::Cuda, gpu: Gpu::cuda() };
//! let mut scheduler = Scheduler::open("NVIDIA H200, driver 580", target, None);
//! assert_eq!(weft_device::Tuning::save(&mut scheduler)?, None);
//! # Ok::<(), weft_device::DeviceError>(())
//! ```
#![forbid(unsafe_code)]

mod buffers;
mod cache_folder;
mod chains;
mod cuda;
mod launches;
mod schedule_file;
mod scheduler;
mod scratch;
mod sealed_file;
mod texts;
mod weights;

pub use buffers::{Buffer, Buffers};
pub use cache_folder::{CUBINS, PIPELINES, clear};
pub use chains::{Unit, UnitText, apart, chains};
pub use cuda::cuda_hardware;
pub use launches::{Begins, Binds, Render, Rendered, render, slots};
pub use scheduler::{Scheduler, departures};
pub use scratch::ScratchBytes;
pub use sealed_file::SealedFile;
pub use texts::CompiledTexts;
pub use weights::{WeightLayout, lay_out};

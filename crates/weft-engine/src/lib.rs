//! Sessions, ragged batches, paged KV and sampling on top of replayed programs.
//!
//! [`Engine::load`] turns a file into a compiled program on a device; [`Engine::step`] runs one ragged [`Batch`] of tokens through it, of
//! any sequences in any mixture; a [`Session`] holds one conversation and generates text. [`oracle_logits`] computes the same logits
//! through the float oracle.
#![forbid(unsafe_code)]

mod batch;
mod choice;
mod compile;
mod engine;
mod error;
mod explain;
mod generate;
mod launches;
mod model;
mod oracle;
mod pages;
mod plans;
mod products;
mod sample;
mod session;
mod weights;

pub use batch::{Batch, SeqId};
pub use choice::{DeviceChoice, Target};
pub use engine::{Engine, EngineOptions, PartId, PlansId, ReplayTimings, StepShape, StepTimings};
pub use error::Error;
pub use explain::{ExplainOptions, Explained, KernelCall, KernelPart, RuleResult, explain, named};
pub use generate::{Event, Finish, GenerateOptions, Generated};
pub use launches::{Amounts, Launch, LaunchPiece, Role};
pub use model::{Model, tokenizer};
pub use oracle::oracle_logits;
pub use sample::{Sampler, Sampling};
pub use session::Session;
pub use weft_device::{Caps, Departure, Span, Timings};
pub use weft_fuse::{Choice, Cost, Decision, Mode, decision, decisions};
pub use weft_ir::Switches;
pub use weft_kern::Machine;
pub use weft_pack::{OnReport, PackCache, Packed, PackedOf, Report, fingerprint};
pub use weft_render::Limits;
pub use weft_wgpu::{Adapter, AdapterKind, OpenError, adapters, forget as forget_pipelines};

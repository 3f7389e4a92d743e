//! Sessions, ragged batches, paged KV and sampling on top of replayed programs.
//!
//! [`Engine::load`] turns a file into a compiled program on a device; [`Engine::step`] runs one ragged [`Batch`] of tokens through it, of
//! any sequences in any mixture; a [`Session`] holds one conversation and generates text. [`oracle_logits`] computes the same logits
//! through the float oracle.
#![forbid(unsafe_code)]

mod batch;
mod compile;
mod engine;
mod error;
mod explain;
mod generate;
mod model;
mod oracle;
mod pages;
mod sample;
mod session;

pub use batch::{Batch, SeqId};
pub use engine::{Engine, EngineOptions, Progress};
pub use error::Error;
pub use explain::{Explained, KernelCall, explain};
pub use generate::{Event, Finish, GenerateOptions, Generated};
pub use model::{Model, tokenizer};
pub use oracle::oracle_logits;
pub use sample::{Sampler, Sampling};
pub use session::Session;
pub use weft_device::Caps;
pub use weft_fuse::{DECISIONS, Decision, decision};

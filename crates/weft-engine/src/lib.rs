//! Runs language models: requests in, tokens and text out.
//!
//! [`Engine`] opens a GGUF file and compiles it for a device. Requests run together in one batch, share what they have in common, and each
//! gets the same reply, bit for bit, as if it were alone:
//!
//! ```no_run
//! use weft_engine::{Engine, Event, Message, Request};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut engine = Engine::open("model.gguf")?;
//! let prompt = engine.model().chat(&[Message::new("user", "What is the capital of France?")])?;
//! let mut reply = engine.push(Request::new(prompt))?;
//! while engine.step()? {
//!     while let Some(event) = reply.poll() {
//!         if let Event::Text(text) = event {
//!             print!("{text}");
//!         }
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Runner`], behind [`Engine::inspect`], computes batches by hand and shows what they are made of: the lab measures with it.
//! [`oracle_logits`] computes what is right, slowly.
#![forbid(unsafe_code)]

mod backends;
mod batch;
mod compile;
mod device_choice;
mod engine;
mod error;
mod explain;
mod generation;
mod launches;
mod logprobs;
mod machines;
mod model;
mod options;
mod oracle;
mod pages;
mod plans;
mod processor;
mod products;
mod request;
mod runner;
mod running;
mod sample;
mod schedule;
mod weights;

pub use backends::{BACKENDS, clear_device_files};
pub use batch::{Batch, SeqId};
pub use device_choice::DeviceChoice;
pub use engine::Engine;
pub use error::Error;
pub use explain::{ExplainOptions, Explained, KernelCall, KernelPart, RuleResult, explain, named};
pub use generation::{Event, Finish, Generation, Reply, Timings, Token, Usage};
pub use launches::{Launch, LaunchPiece, Role};
pub use machines::{cost_model, keep_machine};
pub use model::{Model, tokenizer};
pub use options::EngineOptions;
pub use oracle::oracle_logits;
pub use processor::LogitProcessor;
pub use request::{GenerateOptions, Request};
pub use runner::{PartId, PlansId, ReplayTimings, Runner, StepShape, StepTimings};
pub use sample::{Sampler, Sampling};
pub use schedule::Stats;
pub use weft_device::{
    Backend, Caps, Departure, DeviceInfo, DeviceKind, Fact, FactValue, Hardware, OpenError, Span, Target,
};
pub use weft_fuse::{Choice, Cost, CostModel, Decision, Mode, decision, decisions, estimate};
pub use weft_ir::Switches;
pub use weft_kern::{Amounts, Machine, Seen};
pub use weft_pack::{OnReport, PackCache, Packed, PackedOf, Report, fingerprint};
pub use weft_text::{ChatTemplate, EncodeOptions, Message, RenderOptions, TemplateError, Tokenizer};

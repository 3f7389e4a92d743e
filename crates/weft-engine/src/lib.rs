//! Runs language models: requests in, tokens and text out.
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
//! Requests run together in one batch and share what their prompts have in common. Results are batch-invariant: each
//! reply is the same, bit for bit, as it is alone.
//!
//! ```
//! use weft_engine::{Engine, Event, Request};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/llama-tiny-q6_k.gguf");
//! let mut engine = Engine::builder().context(64).sequences(2).cache(None).open(path)?;
//! let prompts = ["Once upon a time", "Once upon a midnight"].map(|text| engine.model().tokens(text));
//! let request = |i: usize| Request::new(prompts[i].as_slice()).max_tokens(5);
//! let alone = [engine.complete(request(0))?, engine.complete(request(1))?];
//!
//! let mut together = [engine.push(request(0))?, engine.push(request(1))?];
//! while engine.step()? {}
//! for (reply, alone) in together.iter_mut().zip(alone) {
//!     let events = std::iter::from_fn(|| reply.poll());
//!     let tokens = events.filter_map(|event| if let Event::Token(token) = event { Some(token) } else { None });
//!     assert!(tokens.eq(alone.tokens));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Start with [`Engine`], whose [`builder`](Engine::builder) chooses the device, the context and the number of
//! sequences; [`Request`], with its sampling and stop texts; and [`Generation`], which reports what happens to it. The
//! repository's `examples` folder has a chat and a batch of prompts. [`inspect`] has what the lab measures with.
//!
//! # Stability
//!
//! Before 1.0 any release may change this API, the command line and the files in caches; `CHANGELOG.md` says how. What
//! a released version computes for given weights and tokens on a given device changes only with a line there.
#![forbid(unsafe_code)]

mod adapters;
mod batch;
mod engine;
mod failure;
mod generation;
mod memory;
mod options;
mod pooled;
mod prompts;
mod request;
mod runner;
mod running;
mod sampling;
mod schedule;
mod speculate;

pub use engine::Engine;
pub use failure::{Failure, FailureKind};
pub use generation::{Event, Finish, Generation, Reply, Timings, Token, Usage};
pub use memory::CacheEvent;
pub use options::EngineOptions;
pub use pooled::normalised;
pub use prompts::counts::PromptCacheStats;
pub use prompts::folder::{PromptCache, PromptCacheUsage};
pub use request::{Adapted, AdapterId, GenerateOptions, LineLimits, Request};
pub use sampling::parameters::Sampling;
pub use sampling::processor::LogitProcessor;
pub use schedule::stats::Stats;
pub use speculate::drafter::{Ask, Drafter, MOST_GUESSES, MOST_PREDICTED, SOURCES};
pub use speculate::{Speculate, SpeculationStats};
pub use weft_device::{Backend, DeviceInfo, DeviceKind, Fact, FactValue, OpenError};
pub use weft_fuse::{Decision, Mode, decision, decisions};
pub use weft_ir::Switches;
pub use weft_kern::{ParseError, Replacement, parse_replacement};
pub use weft_pack::{ModelError, OnReport, PackCache, Report, is_packed_model, original_sums};
pub use weft_runtime::{
    AdapterFile, BACKENDS, Crossings, DeviceChoice, Error, Head, MemoryNeed, Model, MtpLayer, Pooling,
    RankedBy, Ranking, RuntimeOptions, Selectable, SlotUse, check_file, open_adapted, open_file, pack_model,
    tokenizer, tokenizer_json, unpack_model,
};
pub use weft_text::{
    ChatTemplate, EncodeOptions, Message, RenderOptions, RenderedPrompt, TemplateError, Tokenizer,
};

pub mod inspect {
    //! The engine's insides, for measurements and checks: a [`Runner`] that computes batches assembled by hand, plans and
    //! their launches, timings, costs, packed weights, the oracle. [`Engine::inspect`](crate::Engine::inspect) gives
    //! access to them. Programs that only want replies need none of it.

    pub use crate::batch::{Batch, SeqId};
    pub use crate::runner::{Pending, Runner};
    pub use crate::sampling::sample::Sampler;
    pub use weft_device::{Caps, Departure, Hardware, Span, Target};
    pub use weft_fuse::{Choice, Cost, CostModel, REPLACE, estimate};
    pub use weft_kern::{Amounts, Machine, Seen};
    pub use weft_pack::{Packed, PackedOf, fingerprint, verify_model};
    pub use weft_runtime::{
        Collector, ExplainOptions, Explained, InputSums, KernelCall, KernelPart, Launch, LaunchPiece, PartId,
        PlansId, Prediction, ReplayTimings, Role, RuleResult, Runtime, StepShape, StepTimings, TunedDecision,
        clear_device_files, cost_model, explain, keep_decisions, keep_machine, memory_need, named,
        oracle_logits, oracle_logits_with, switches_of, tuned_decisions,
    };
}

//! A model that computes steps: opened, planned, compiled for a device, and run.
//!
//! [`Runtime::load`] opens a model file and compiles it. A step computes some tokens, each at a position of some sequence.
//! [`StepInputs`] say which, and where the rows, pages and slots of their sequences are in the model's states. Who assigns those
//! knows what sequences are for: that is `weft-engine`.
#![forbid(unsafe_code)]

mod compile;
mod devices;
mod error;
mod fit;
mod inputs;
mod inspect;
mod layout;
mod model;
mod mtp;
mod options;
mod planned;
mod plans;
mod ranking;
mod replacements;
mod runtime;
mod sizes;
mod weights;

pub use compile::launches::{Launch, LaunchPiece, Role};
pub use devices::backends::{BACKENDS, clear_device_files};
pub use devices::choice::DeviceChoice;
pub use devices::machines::{cost_model, keep_machine};
pub use devices::tuned::{TunedDecision, keep_decisions, switches_of, tuned_decisions};
pub use error::Error;
pub use fit::before::memory_of;
pub use fit::memory_need;
pub use fit::need::MemoryNeed;
pub use inputs::{NO_ADAPTER, StepInputs};
pub use inspect::collect::{Collector, InputSums};
pub use inspect::explain::{ExplainOptions, Explained, KernelCall, KernelPart, RuleResult, explain, named};
pub use inspect::oracle::{oracle_logits, oracle_logits_with};
pub use layout::{HELD_SLOTS, PAGE, Window};
pub use model::adapters::{AdapterFile, open_adapted};
pub use model::files::{check_file, open_file};
pub use model::{Model, tokenizer, tokenizer_json};
pub use options::{MtpLayer, RuntimeOptions};
pub use plans::sequence_states::has_states;
pub use ranking::{RankedBy, Ranking};
pub use runtime::logits::{Candidates, Logit, Row};
pub use runtime::{
    PageCopy, PartId, Piece, PlansId, Prediction, ReplayTimings, Runtime, SlotUse, StepShape, StepTimings,
};
pub use sizes::Room;
pub use weft_device::Crossings;
pub use weft_gguf::Selectable;
pub use weft_ir::KEPT;
pub use weft_models::{Head, Pooling};
pub use weights::packed_models::{pack_model, unpack_model};

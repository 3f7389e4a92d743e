//! Builds the graphs of language models from GGUF files, with a family for each architecture.
//!
//! ```
//! use std::sync::Arc;
//!
//! use weft_models::{BuildOptions, build};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/glm-tiny-q4_0.gguf");
//! let gguf = weft_gguf::Gguf::open(path.as_ref())?;
//! let model = build(&gguf, &BuildOptions::default())?;
//! assert_eq!(model.config.architecture, "deepseek2");
//!
//! let names: Vec<&str> = model.segments.iter().map(|segment| segment.name.as_str()).collect();
//! assert_eq!(names, ["embed", "layer 0", "layer 1", "layer 2", "head"]);
//! // The last two layers differ only in their weights, and share a graph.
//! assert!(Arc::ptr_eq(&model.segments[2].graph, &model.segments[3].graph));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`build`] and the [`ModelGraph`] it returns: a [`Config`], and the [`Segment`]s of a step (the embedding,
//! every layer, the head). A graph holds no data and names no layer; a segment is one use of a graph, and names the
//! tensors and states that the graph's parameters refer to. Layers of one shape are therefore compiled once.
//!
//! # Adding a family
//!
//! A family is one file in `families/`, and a line in the table of `families.rs`: a function that reads its keys,
//! reports what is not supported, and builds the model out of blocks (`blocks/`: norms, rotary embeddings, attention,
//! gated networks, mixtures of experts). `families/qwen3.rs` is a short one to start from; CONTRIBUTING.md has the
//! steps.
//!
//! # Values that pass between segments
//!
//! The inputs of a segment are outputs of earlier segments, by name, or come from the caller, who provides:
//!
//! | name | type | meaning |
//! |---|---|---|
//! | `tokens` | `i32[T]` | token ids |
//! | `pos` | `i32[T]` | position of each token in its sequence |
//! | `slots` | `i32[T]` | row of the states that each token is stored in |
//! | `first`, `pages` | `i32[T]`, `i32[P]` | where each token's sequence is in the states, see [`weft_ir::Op::Attend`] |
//! | `adapters`, `adapter_scales` | `i32[T, 1]`, `f32[T, 1, 1]` | each token's LoRA adapter and factor, see [`ADAPTERS`] |
//! | `out_rows` | `i32[R]` | the tokens of the step whose logits, embeddings or scores are wanted |
//!
//! The embedding outputs `x` (`f32[T, hidden]`), every layer the next `x`, and the head `logits` (`f32[R, vocab]`). A
//! segment of [`candidates`], which is the same for all models, can follow. The [`Head`] of an embedding model outputs `embeddings`
//! (`f32[R, hidden]`) instead, and that of a reranker `scores` (`f32[R, labels]`).
//!
//! A model may have a layer that predicts one token more, [`Mtp`]. It is built on demand by [`mtp()`], and its steps are programs of
//! their own.
#![forbid(unsafe_code)]

mod blocks;
mod candidates;
mod common;
mod config;
mod cost;
mod error;
mod families;
mod file;
mod head;
mod keys;
mod model;
mod mtp;
mod options;
mod oracle;
mod pooling;
mod segment;

pub use candidates::candidates;
pub use config::{BlockInfo, Config, LayerInfo};
pub use cost::Cost;
pub use error::Error;
pub use families::{Reranker, architectures, build, mtp, reranker};
pub use head::Head;
pub use model::ModelGraph;
pub use mtp::Mtp;
pub use options::BuildOptions;
pub use pooling::Pooling;
pub use segment::{ADAPTER_SCALES, ADAPTERS, Segment};

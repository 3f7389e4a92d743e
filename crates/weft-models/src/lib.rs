//! Models as graphs: a family for each architecture of GGUF files.
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
//! // The last two layers differ in their weights alone, and share a graph.
//! assert!(Arc::ptr_eq(&model.segments[2].graph, &model.segments[3].graph));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`build`] and the [`ModelGraph`] it returns: a [`Config`], and the [`Segment`]s of a step (the embedding,
//! every layer, the head). A graph holds no data and names no layer; a segment is one use of a graph and says which
//! tensors and states its parameters are. So layers of one shape are compiled once.
//!
//! # Adding a family
//!
//! A family is one file in `families/`, and a line in the table of `families.rs`: a function that reads its keys,
//! refuses by name what it cannot do, and builds the model out of blocks (`blocks/`: norms, rotary embeddings,
//! attention, gated networks, mixtures of experts). `families/qwen3.rs` is a short one to start from; CONTRIBUTING.md
//! has the steps.
//!
//! # Values that pass between segments
//!
//! A segment's inputs are given by the caller or are outputs of an earlier segment, by name. The caller gives:
//!
//! | name | type | meaning |
//! |---|---|---|
//! | `tokens` | `i32[T]` | token ids |
//! | `pos` | `i32[T]` | position of each token in its sequence |
//! | `slots` | `i32[T]` | row of the states that each token is stored in |
//! | `first`, `pages` | `i32[T]`, `i32[P]` | where each token's sequence is in the states, see [`weft_ir::Op::Attend`] |
//! | `out_rows` | `i32[R]` | the tokens of the step whose logits are wanted |
//!
//! The embedding makes `x` (`f32[T, hidden]`), every layer replaces it, and the head makes `logits` (`f32[R, vocab]`).
#![forbid(unsafe_code)]

mod blocks;
mod config;
mod cost;
mod error;
mod families;
mod file;
mod keys;
mod model;
mod oracle;
mod segment;

use weft_gguf::Gguf;
use weft_quant::GgmlType;

pub use config::{BlockInfo, Config, LayerInfo};
pub use cost::Cost;
pub use error::Error;
pub use families::architectures;
pub use segment::Segment;

/// Choices the file leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuildOptions {
    /// How states store their values: F16, BF16, F32 or Q8_0.
    pub kv: GgmlType,
    /// Rows in a page of a state.
    pub page: usize,
}

impl Default for BuildOptions {
    fn default() -> BuildOptions {
        BuildOptions { kv: GgmlType::F16, page: BuildOptions::PAGE }
    }
}

impl BuildOptions {
    /// Rows in a page unless told otherwise: small enough that short sequences waste little, large enough that the page list of a
    /// long one stays short.
    pub const PAGE: usize = 32;

    fn check(&self) -> Result<(), Error> {
        let kv = matches!(self.kv, GgmlType::F16 | GgmlType::BF16 | GgmlType::F32 | GgmlType::Q8_0);
        if !kv || self.page == 0 {
            return Err(Error::Options(*self));
        }
        Ok(())
    }
}

/// A model as graphs.
#[derive(Clone, Debug)]
pub struct ModelGraph {
    /// The model's names and sizes.
    pub config: Config,
    /// What a step computes, in this order.
    pub segments: Vec<Segment>,
}

/// Builds the graphs of the model in a file.
///
/// Every tensor the graphs name is in the file, of the type and shape they declare, and every tensor of the file is
/// used: a model whose weights are not all understood would compute something else than it was trained to. Only the
/// blocks of a multi-token prediction head are passed over.
///
/// # Errors
///
/// [`Error`] names the architecture, the key or the tensor that is missing, contradictory or not supported.
pub fn build(gguf: &Gguf, options: &BuildOptions) -> Result<ModelGraph, Error> {
    options.check()?;
    families::build(gguf, options)
}

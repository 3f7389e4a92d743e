//! Models as graphs: a family for each architecture of GGUF files.
//!
//! [`build`] reads what a file says about its model and makes the graphs of one step: the embedding, every layer, the
//! head. A graph holds no data and names no layer; a [`Segment`] is one use of a graph and says which tensors and states
//! its parameters are. Layers that compute the same share one graph, so that it is compiled once.
//!
//! ```
//! use weft_gguf::Gguf;
//! use weft_models::{BuildOptions, build};
//!
//! # let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/qwen3-tiny-q4_0.gguf");
//! let gguf = Gguf::open(&path)?;
//! let model = build(&gguf, &BuildOptions::default())?;
//! assert_eq!((model.config.architecture, model.config.layers()), ("qwen3", 2));
//! for segment in &model.segments {
//!     println!("{}: {} nodes", segment.name, segment.graph.nodes().len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Adding a family
//!
//! A family is one file in `families/`: a function that reads its keys, refuses by name what it cannot do, and builds the
//! model out of blocks (`blocks/`: norms, rotary embeddings, attention, gated networks, mixtures of experts), and a line
//! in the table of `families.rs`. `families/qwen3.rs` is a short one to start from; CONTRIBUTING.md has the steps.
//!
//! # Values that flow between segments
//!
//! Inputs of a segment are matched by name, to outputs of earlier segments or to what the caller provides:
//!
//! | name | type | meaning |
//! |---|---|---|
//! | `tokens` | `i32[T]` | token ids |
//! | `pos` | `i32[T]` | position of each token in its sequence |
//! | `slots` | `i32[T]` | row of the states that each token is stored at |
//! | `first`, `pages` | `i32[T]`, `i32[P]` | where each token's sequence lies in the states, see [`weft_ir::Op::Attend`] |
//! | `out_rows` | `i32[R]` | the tokens of the step whose logits are wanted |
//!
//! The embedding outputs `x` (`f32[T, hidden]`), every layer the next `x`, and the head `logits` (`f32[R, vocab]`).
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

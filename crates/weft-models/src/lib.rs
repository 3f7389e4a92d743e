//! GGUF metadata to configuration to graphs, one file a family.
//!
//! [`build`] reads what a file says about its model into a [`Config`], and from that makes the graphs of one step:
//! the embedding, every layer, the head. A graph holds no data and names no layer; a [`Segment`] is one use of a
//! graph and says which tensors and states its parameters are. Layers that compute the same share one graph, so
//! that whatever compiles them does so once.
//!
//! # Adding a family
//!
//! A file of its own turns the family's keys into a [`Config`] and is listed in `config.rs`. As long as its layers
//! are made of the blocks that are here (`gqa.rs`, `mla.rs`, `dense.rs`, `moe.rs`), that is all there is to do.
//!
//! # Values that flow between segments
//!
//! A segment's inputs are the caller's or an earlier segment's outputs, by name. The caller gives:
//!
//! | name | type | meaning |
//! |---|---|---|
//! | `tokens` | `i32[T]` | token ids |
//! | `pos` | `i32[T]` | position of each token in its sequence |
//! | `slots` | `i32[T]` | row of the states that each token is stored at |
//! | `first`, `pages` | `i32[T]`, `i32[P]` | where each token's sequence lies in the states, see [`weft_ir::Op::Attend`] |
//! | `out_rows` | `i32[R]` | the tokens of the step whose logits are wanted |
//!
//! The embedding makes `x` (`f32[T, hidden]`); every layer replaces it; the
//! head gives `logits` (`f32[R, vocab]`).
#![forbid(unsafe_code)]

mod config;
mod cost;
mod deepseek2;
mod dense;
mod ends;
mod error;
mod gqa;
mod keys;
mod layer;
mod llama;
mod mla;
mod moe;
mod norm;
mod oracle;
mod rope;
mod segment;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use weft_gguf::Gguf;
use weft_ir::Graph;
use weft_quant::GgmlType;

pub use config::{Attention, Config, FeedForward, Gating, Grouped, Latent, Moe};
pub use cost::Cost;
pub use error::Error;
pub use rope::{Rope, RopeScaling};
pub use segment::Segment;

/// What the file leaves open.
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
    /// What the file says about the model.
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
    let config = Config::read(gguf)?;
    let mut segments = vec![ends::embed(gguf, &config)?];
    for index in 0..config.layers() {
        segments.push(layer::layer(gguf, &config, options, index)?);
    }
    segments.push(ends::head(gguf, &config)?);
    refuse_unknown_tensors(gguf, &config, &segments)?;

    let mut graphs: FxHashSet<Arc<Graph>> = FxHashSet::default();
    for segment in &mut segments {
        match graphs.get(&segment.graph) {
            Some(graph) => segment.graph = Arc::clone(graph),
            None => drop(graphs.insert(Arc::clone(&segment.graph))),
        }
    }
    Ok(ModelGraph { config, segments })
}

fn refuse_unknown_tensors(gguf: &Gguf, config: &Config, segments: &[Segment]) -> Result<(), Error> {
    let bound = segments.iter().flat_map(|s| &s.weights).map(|(_, tensor)| tensor.as_str());
    let mut known: BTreeSet<&str> = bound.collect();
    if config.rope.factors.is_some() {
        known.insert(rope::FACTORS);
    }
    let in_mtp_block = |name: &str| {
        let block = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
        let block = block.and_then(|(number, _)| number.parse().ok());
        block.is_some_and(|n: usize| n >= config.layers() && n - config.layers() < config.mtp_blocks)
    };
    match gguf.tensors().iter().find(|t| !known.contains(t.name.as_str()) && !in_mtp_block(&t.name)) {
        None => Ok(()),
        Some(tensor) => Err(Error::UnknownTensor {
            file: gguf.metadata().file().into(),
            tensor: tensor.name.clone(),
            architecture: config.architecture,
        }),
    }
}

//! A model's names and sizes, for callers and for display. Its graphs say what it computes.

use crate::head::Head;

/// A model's names and sizes.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Config {
    /// `general.architecture`.
    pub architecture: &'static str,
    /// `general.name`, if the file has one.
    pub name: Option<String>,
    /// The width of the hidden state.
    pub hidden: usize,
    /// The size of the vocabulary, in tokens.
    pub vocab: usize,
    /// The context length that the model was trained for, in tokens.
    pub context: usize,
    /// The number of query heads per layer.
    pub heads: usize,
    /// The blocks of each layer.
    pub blocks: Vec<LayerInfo>,
    /// The number of blocks of a multi-token prediction head, which follow the layers in the file and are not built.
    pub mtp_blocks: usize,
    /// What the model computes.
    pub head: Head,
}

impl Config {
    /// The number of layers, without the blocks of a multi-token prediction head.
    pub fn layers(&self) -> usize {
        self.blocks.len()
    }

    /// The number of values that the [head](Self::head) computes of a row.
    pub fn width(&self) -> usize {
        match self.head {
            Head::Logits => self.vocab,
            Head::Embedding(_) => self.hidden,
            Head::Scores { labels, .. } => labels,
        }
    }
}

/// The blocks of a layer.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LayerInfo {
    /// Its attention.
    pub attention: BlockInfo,
    /// Its feed-forward network.
    pub feed_forward: BlockInfo,
}

/// The description of a block, for display.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BlockInfo {
    /// `grouped` or `latent` attention, a recurrence such as `delta`, a `dense` network or `experts`; `none` if a layer lacks the block.
    pub kind: &'static str,
    /// Its sizes by name, such as `kv_heads` or `width`.
    pub sizes: Vec<(&'static str, usize)>,
    /// The same in words, to follow a number of layers: `with 2 of 8 experts of 512`.
    pub summary: String,
}

impl BlockInfo {
    /// The description of a block that a layer lacks.
    pub(crate) fn none(summary: &str) -> BlockInfo {
        BlockInfo { kind: "none", sizes: Vec::new(), summary: summary.into() }
    }
}

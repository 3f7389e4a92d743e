//! What a model is, for whoever uses or describes it: its names and sizes. What it computes is in its graphs.

/// A model's names and sizes.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Config {
    /// `general.architecture`.
    pub architecture: &'static str,
    /// `general.name`, if the file has one.
    pub name: Option<String>,
    /// Width of the state that flows through the layers.
    pub hidden: usize,
    /// Tokens in the vocabulary.
    pub vocab: usize,
    /// Tokens of context the model was made for.
    pub context: usize,
    /// Query heads of a layer.
    pub heads: usize,
    /// What each layer is made of.
    pub blocks: Vec<LayerInfo>,
    /// Blocks of a multi-token prediction head that the file counts after the layers; they are not built.
    pub mtp_blocks: usize,
}

impl Config {
    /// Number of layers, without the blocks of a prediction head.
    pub fn layers(&self) -> usize {
        self.blocks.len()
    }
}

/// What a layer is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LayerInfo {
    /// Its attention.
    pub attention: BlockInfo,
    /// Its feed-forward network.
    pub feed_forward: BlockInfo,
}

/// A description of a block, for people and programs that show it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BlockInfo {
    /// What it is: `grouped` or `latent` attention, a `dense` network or `experts`.
    pub kind: &'static str,
    /// Its sizes by name, such as `kv_heads` or `width`.
    pub sizes: Vec<(&'static str, usize)>,
    /// The same in a few words, to stand after a number of layers or after the kind: `with 2 of 8 experts of 512`.
    pub summary: String,
}

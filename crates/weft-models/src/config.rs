//! What a file says about its model, checked and in one form for all families.

use weft_gguf::Gguf;

use crate::error::Error;
use crate::keys::{Keys, MAX_CONTEXT, MAX_HEADS, MAX_LAYERS, MAX_WIDTH};
use crate::rope::Rope;
use crate::{deepseek2, llama};

/// What reads the keys of a family.
type ReadFamily = fn(&Gguf, &Keys<'_>) -> Result<Config, Error>;

/// Every architecture there is a reader for, by the name `general.architecture` has for it.
const FAMILIES: &[(&str, ReadFamily)] = &[("llama", llama::config), ("deepseek2", deepseek2::config)];

/// The shape of a model. All sizes are within the limits of this crate and fit each other.
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
    /// ε of every RMSNorm.
    pub rms_eps: f32,
    /// Query heads of a layer.
    pub heads: usize,
    /// Where keys and values come from.
    pub attention: Attention,
    /// What scores are multiplied with before the softmax.
    pub attention_scale: f32,
    /// The rotary embedding.
    pub rope: Rope,
    /// The feed-forward part of each layer.
    pub feed_forward: Vec<FeedForward>,
    /// Blocks of a multi-token prediction head that the file counts after the layers; they are not built.
    pub mtp_blocks: usize,
}

/// Where a layer's keys and values come from, and what of them is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attention {
    /// Heads of keys and values, each shared by several query heads.
    Grouped(Grouped),
    /// One latent vector a token, from which every head makes its keys and values.
    Latent(Latent),
}

/// Grouped-query attention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grouped {
    /// Key heads, a divisor of the query heads.
    pub kv_heads: usize,
    /// Width of a head of queries, keys or values.
    pub head_width: usize,
}

/// Multi-head latent attention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latent {
    /// Width of the compressed query; `None` where queries come straight from the hidden state.
    pub q_rank: Option<usize>,
    /// Width of the latent vector.
    pub kv_rank: usize,
    /// Width of the part of a head's query and key that has no position.
    pub nope: usize,
    /// Width of the rotated part, whose key all heads share.
    pub rope: usize,
    /// Width of a head's values.
    pub value: usize,
    /// Whether the file holds the matrices that make keys and values as one tensor, `attn_kv_b`, as files before
    /// 2025 do.
    pub joined: bool,
}

/// The feed-forward part of a layer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FeedForward {
    /// One gated network.
    Dense {
        /// Its intermediate width.
        width: usize,
    },
    /// Several gated networks, a few chosen for each token.
    Experts(Moe),
}

/// A mixture of experts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Moe {
    /// Experts to choose from.
    pub experts: usize,
    /// Experts chosen for a token.
    pub used: usize,
    /// Intermediate width of one expert.
    pub width: usize,
    /// Experts that every token takes, stored as one of this many times the width.
    pub shared: usize,
    /// How router logits become probabilities.
    pub gating: Gating,
    /// Whether the chosen probabilities are divided by their sum.
    pub normalise: bool,
    /// What the chosen probabilities are multiplied with at last.
    pub scale: f32,
}

/// How router logits become probabilities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gating {
    /// All experts against each other.
    Softmax,
    /// Each expert by itself.
    Sigmoid,
}

impl Config {
    /// Reads the metadata of a file, and from its tensors what the metadata leaves open.
    ///
    /// # Errors
    ///
    /// If the architecture is not supported, or a key is missing, senseless or asks for something that is not
    /// supported.
    pub fn read(gguf: &Gguf) -> Result<Config, Error> {
        let metadata = gguf.metadata();
        let found = metadata.require_str("general.architecture")?;
        match FAMILIES.iter().find(|(name, _)| *name == found) {
            Some((architecture, read)) => read(gguf, &Keys { metadata, architecture }),
            None => Err(Error::Architecture {
                file: metadata.file().into(),
                found: found.into(),
                supported: FAMILIES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// Number of layers, without the blocks of a prediction head.
    pub fn layers(&self) -> usize {
        self.feed_forward.len()
    }
}

/// What every family has under the same keys.
pub(crate) struct Common {
    pub(crate) name: Option<String>,
    /// All blocks the file counts, those of a prediction head among them.
    pub(crate) blocks: usize,
    pub(crate) hidden: usize,
    pub(crate) vocab: usize,
    pub(crate) context: usize,
    pub(crate) rms_eps: f32,
    pub(crate) heads: usize,
}

impl Common {
    pub(crate) fn read(keys: &Keys<'_>) -> Result<Common, Error> {
        Ok(Common {
            name: keys.metadata.str("general.name")?.map(str::to_string),
            blocks: keys.number("block_count", 1..=MAX_LAYERS)?,
            hidden: keys.number("embedding_length", 1..=MAX_WIDTH)?,
            vocab: vocab(keys)?,
            context: keys.number("context_length", 1..=MAX_CONTEXT)?,
            rms_eps: keys.positive("attention.layer_norm_rms_epsilon")?,
            heads: keys.number("attention.head_count", 1..=MAX_HEADS)?,
        })
    }
}

/// The tokens the file lists, or where it has no tokenizer, the number it gives. (Where both are there, the list is
/// what llama.cpp sizes the embedding by.)
fn vocab(keys: &Keys<'_>) -> Result<usize, Error> {
    const TOKENS: &str = "tokenizer.ggml.tokens";
    let Some(tokens) = keys.metadata.strings(TOKENS)? else {
        return keys.number("vocab_size", 1..=MAX_WIDTH);
    };
    if (1..=MAX_WIDTH).contains(&tokens.len()) {
        return Ok(tokens.len());
    }
    Err(Error::Value {
        file: keys.metadata.file().into(),
        key: TOKENS.into(),
        found: format!("a list of {}", tokens.len()),
        expected: format!("it must have from 1 to {MAX_WIDTH} tokens"),
    })
}

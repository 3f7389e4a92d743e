//! The keys that all families share.

use crate::blocks::{Norm, Streams};
use crate::error::Error;
use crate::keys::{Keys, MAX_CONTEXT, MAX_HEADS, MAX_LAYERS, MAX_WIDTH};

/// The tensor of the norm after the last layer, in most families.
pub(crate) const LAST_NORM: &str = "output_norm.weight";

/// The values of the keys that all families share.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Common {
    /// `general.name`, if the file has one.
    pub(crate) name: Option<String>,
    /// Blocks in the file, including those of a multi-token prediction head.
    pub(crate) blocks: usize,
    /// Width of the hidden state.
    pub(crate) hidden: usize,
    /// Size of the vocabulary, in tokens.
    pub(crate) vocab: usize,
    /// Context length that the model was trained for, in tokens.
    pub(crate) context: usize,
    /// The norm of the hidden state.
    pub(crate) norm: Norm,
    /// Query heads per layer.
    pub(crate) heads: usize,
    /// The tensor of the norm before attention, if there is one.
    pub(crate) attn_norm: Option<&'static str>,
    /// The tensor of the norm before each feed-forward network, if there is one.
    pub(crate) ffn_norm: Option<&'static str>,
    /// The tensors of the norms of the results of attention and of the feed-forward network, if a layer has them (Gemma).
    pub(crate) post_norms: Option<[&'static str; 2]>,
    /// These norms.
    pub(crate) post_norm: Norm,
    /// The tensor of the norm after the last layer.
    pub(crate) last_norm: &'static str,
    /// Whether the feed-forward network reads what attention reads, not what it returns.
    pub(crate) parallel: bool,
    /// The streams of the residual, if it has several.
    pub(crate) streams: Option<Streams>,
    /// Factor applied to embeddings.
    pub(crate) embedding_scale: f32,
    /// Factor applied to what attention and the feed-forward network add.
    pub(crate) residual_scale: f32,
    /// Factor applied to logits.
    pub(crate) logit_scale: f32,
    /// The bound of scaled logits, by a tanh, if they have one.
    pub(crate) logit_cap: Option<f32>,
}

impl Common {
    /// Reads the keys, and refuses a sliding window.
    pub(crate) fn read(keys: &Keys<'_>) -> Result<Common, Error> {
        let common = Common::read_windowed(keys)?;
        refuse_window(keys, common.context)?;
        Ok(common)
    }

    /// Reads the keys of a family whose layers may have a sliding window.
    pub(crate) fn read_windowed(keys: &Keys<'_>) -> Result<Common, Error> {
        refuse_factors(keys, &["logit_scale", "embedding_scale", "residual_scale"])?;
        Common::read_scaled(keys)
    }

    /// Reads the keys of a family whose logits are scaled, too.
    pub(crate) fn read_scaled(keys: &Keys<'_>) -> Result<Common, Error> {
        let eps = keys.positive("attention.layer_norm_rms_epsilon")?;
        Common::read_normed(keys, Norm::rms(eps))
    }

    /// The same with norms after attention and the feed-forward network, and none before them.
    pub(crate) fn with_norms_after(self) -> Common {
        let after = ["post_attention_norm.weight", "post_ffw_norm.weight"];
        Common { attn_norm: None, ffn_norm: None, post_norms: Some(after), ..self }
    }

    /// The width of the residual.
    pub(crate) fn width(&self) -> usize {
        Streams::width(self.streams, self.hidden)
    }

    /// Reads the keys of a family that reads those of its norm and its factors.
    pub(crate) fn read_normed(keys: &Keys<'_>, norm: Norm) -> Result<Common, Error> {
        refuse_two_way_attention(keys)?;
        let context = keys.number("context_length", 1..=MAX_CONTEXT)?;
        Ok(Common {
            name: keys.metadata.str("general.name")?.map(str::to_string),
            blocks: keys.number("block_count", 1..=MAX_LAYERS)?,
            hidden: keys.number("embedding_length", 1..=MAX_WIDTH)?,
            vocab: vocab(keys)?,
            context,
            norm,
            heads: keys.number("attention.head_count", 1..=MAX_HEADS)?,
            attn_norm: Some("attn_norm.weight"),
            ffn_norm: Some("ffn_norm.weight"),
            post_norms: None,
            post_norm: norm,
            last_norm: LAST_NORM,
            parallel: false,
            streams: None,
            embedding_scale: 1.0,
            residual_scale: 1.0,
            logit_scale: 1.0,
            logit_cap: None,
        })
    }
}

/// In embedding models such as gte-Qwen2, tokens also attend to later ones.
fn refuse_two_way_attention(keys: &Keys<'_>) -> Result<(), Error> {
    const CAUSAL: &str = "attention.causal";
    match keys.metadata.bool(&keys.name(CAUSAL))? {
        None | Some(true) => Ok(()),
        Some(false) => Err(keys.unsupported(CAUSAL, false, "it can only be true")),
    }
}

/// Returns an error if the file has a factor of these that is not built.
pub(crate) fn refuse_factors(keys: &Keys<'_>, factors: &[&str]) -> Result<(), Error> {
    factors.iter().try_for_each(|factor| keys.refuse_factor(factor))
}

/// Most families have no sliding window; one of the whole context changes nothing.
pub(crate) fn refuse_window(keys: &Keys<'_>, context: usize) -> Result<(), Error> {
    const WINDOW: &str = "attention.sliding_window";
    match keys.u32(WINDOW)? {
        Some(window) if window > 0 && (window as usize) < context => Err(keys.unsupported(
            WINDOW,
            window,
            format!("it can only be 0, or at least context_length, {context}"),
        )),
        _ => Ok(()),
    }
}

/// The size of the vocabulary: the length of the token list, or `vocab_size` in files without a tokenizer. (llama.cpp too
/// prefers the list if a file has both.)
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
        found: format!("a list of {} tokens", tokens.len()),
        expected: format!("it must have from 1 to {MAX_WIDTH} tokens"),
    })
}

//! What generation is asked for, reports and returns.

use crate::sample::Sampling;

/// What to generate.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GenerateOptions {
    /// Most tokens of the reply; `None` ends with the turn or the context.
    pub max_tokens: Option<usize>,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Texts that end the reply and are not part of it.
    pub stop: Vec<String>,
}

/// What happens while generating.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event<'a> {
    /// So many tokens of the prompt have been computed.
    Prompt {
        /// Tokens done, those of the cache included.
        done: usize,
        /// Tokens of the prompt.
        total: usize,
    },
    /// More text of the reply: whole characters, and no part of a stop text.
    Text(&'a str),
}

/// Why a reply ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finish {
    /// The model ended its turn.
    EndOfTurn,
    /// This stop text came.
    Stop(String),
    /// As many tokens as were asked for.
    Length,
    /// The context is full.
    Context,
    /// It was told to stop.
    Cancelled,
}

/// A reply, and what it took.
#[derive(Clone, PartialEq, Debug)]
pub struct Generated {
    /// The reply.
    pub text: String,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// How many of these were in the KV cache already.
    pub reused_tokens: usize,
    /// Tokens generated, the end of the turn included.
    pub tokens: usize,
    /// Why it ended.
    pub finish: Finish,
    /// Time for the prompt, up to its last logits.
    pub prompt_seconds: f64,
    /// Time for all tokens after the first.
    pub decode_seconds: f64,
}

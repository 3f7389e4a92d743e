//! How a generation chooses its next token from logits.

pub(crate) mod choose;
pub(crate) mod logprobs;
pub(crate) mod processor;
pub(crate) mod rank;
pub(crate) mod sample;

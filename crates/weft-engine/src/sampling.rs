//! How a generation chooses its next token from logits.

pub(crate) mod chain;
pub(crate) mod choose;
pub(crate) mod dry;
pub(crate) mod logprobs;
pub(crate) mod parameters;
pub(crate) mod processor;
pub(crate) mod rank;
pub(crate) mod sample;

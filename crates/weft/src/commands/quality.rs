//! Commands that measure how right a model is.

pub(super) mod kl;
pub(super) mod logits;
pub(super) mod perplexity;
pub(super) mod verify;

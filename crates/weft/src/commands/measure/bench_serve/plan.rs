//! The requests that `bench-serve` sends to a server.

use serde_json::{Value, json};

/// The settings of a measurement.
pub(super) struct Plan {
    /// The name of the model, for servers that have several.
    pub(super) model: Option<String>,
    /// The length of prompts in tokens.
    pub(super) prompt: usize,
    /// The length of the beginning that all prompts share.
    pub(super) shared: usize,
    /// The length of replies in tokens.
    pub(super) reply: usize,
}

impl Plan {
    /// The body of a request for a reply of `tokens` tokens.
    pub(super) fn body(&self, prompt: &str, tokens: usize) -> Value {
        let mut body = json!({
            "prompt": prompt,
            "max_tokens": tokens,
            "temperature": 0,
            "ignore_eos": true,
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        if let Some(model) = &self.model {
            body["model"] = model.as_str().into();
        }
        body
    }
}

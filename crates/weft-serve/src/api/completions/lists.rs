//! What a completion and its chunks write alike: usage, and log probabilities as lists.

use serde_json::{Value, json};
use weft_engine::{Token, Tokenizer};

use crate::api::wire;
use crate::reply::{Outcome, Total};

/// The usage of replies to several prompts.
#[derive(Default)]
pub(super) struct Usage(pub(super) Total);

impl Usage {
    /// Adds a reply; the first to each prompt brings the prompt's tokens.
    pub(super) fn add(&mut self, first: bool, outcome: &Outcome) {
        let mut one = Total::default();
        one.add(outcome);
        if first {
            self.0.prompt += one.prompt;
            self.0.cached += one.cached;
        }
        self.0.completion += one.completion;
    }
}

/// Log probabilities of tokens, as lists. `offset` counts the characters of the text so far.
pub(super) fn token_lists(tokenizer: &Tokenizer, tokens: &[Token], offset: &mut usize) -> Value {
    let text = |id: u32| String::from_utf8_lossy(tokenizer.token_bytes(id)).into_owned();
    let mut offsets = Vec::new();
    for token in tokens {
        offsets.push(*offset);
        *offset += text(token.id).chars().count();
    }
    let top = |token: &Token| -> Value {
        let entries =
            token.likeliest.iter().map(|(id, logprob)| (text(*id), wire::finite(Some(*logprob)).into()));
        Value::Object(entries.collect())
    };
    json!({
        "tokens": tokens.iter().map(|token| text(token.id)).collect::<Vec<_>>(),
        "token_logprobs": tokens.iter().map(|token| wire::finite(token.logprob)).collect::<Vec<_>>(),
        "top_logprobs": tokens.iter().map(top).collect::<Vec<_>>(),
        "text_offset": offsets,
    })
}

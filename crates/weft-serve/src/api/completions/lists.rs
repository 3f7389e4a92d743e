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

/// Log probabilities of tokens, as lists. `offset` counts the characters of the text so far; control tokens are no text.
pub(super) fn token_lists<'a>(
    tokenizer: &Tokenizer,
    tokens: impl IntoIterator<Item = &'a Token>,
    offset: &mut usize,
) -> Value {
    let text = |id: u32| String::from_utf8_lossy(tokenizer.token_bytes(id)).into_owned();
    let (mut texts, mut logprobs, mut tops, mut offsets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for token in tokens {
        let own = text(token.id);
        offsets.push(*offset);
        *offset += if tokenizer.is_control(token.id) { 0 } else { own.chars().count() };
        texts.push(own);
        // The first token of a prompt follows nothing, so it has no probability.
        logprobs.push(token.logprob.map(|logprob| wire::finite(Some(logprob))));
        let entries =
            token.likeliest.iter().map(|(id, logprob)| (text(*id), wire::finite(Some(*logprob)).into()));
        tops.push(if token.logprob.is_some() { Value::Object(entries.collect()) } else { Value::Null });
    }
    json!({ "tokens": texts, "token_logprobs": logprobs, "top_logprobs": tops, "text_offset": offsets })
}

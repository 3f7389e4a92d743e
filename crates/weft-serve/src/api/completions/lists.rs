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

/// Where in the text of a reply its next token begins, in characters. A token that begins within a character begins at
/// that character.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Offset {
    characters: usize,
    /// The bytes of a character that is not complete.
    partial: Vec<u8>,
}

impl Offset {
    /// After this many characters.
    pub(super) fn after(characters: usize) -> Offset {
        Offset { characters, partial: Vec::new() }
    }

    /// Goes on by the bytes of a token. Returns where it began.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let begin = self.characters;
        self.partial.extend_from_slice(bytes);
        // Invalid bytes become one replacement character, as when text is decoded.
        loop {
            let (valid, wrong) = match std::str::from_utf8(&self.partial) {
                Ok(text) => (text.len(), None),
                Err(error) => (error.valid_up_to(), error.error_len()),
            };
            self.characters += String::from_utf8_lossy(&self.partial[..valid]).chars().count();
            let Some(wrong) = wrong else {
                self.partial.drain(..valid);
                return begin;
            };
            self.characters += 1;
            self.partial.drain(..valid + wrong);
        }
    }
}

/// Log probabilities of tokens, as lists. `offset` is where the first begins; control tokens are no text.
pub(super) fn token_lists<'a>(
    tokenizer: &Tokenizer,
    tokens: impl IntoIterator<Item = &'a Token>,
    offset: &mut Offset,
) -> Value {
    let text = |id: u32| String::from_utf8_lossy(tokenizer.token_bytes(id)).into_owned();
    let (mut texts, mut logprobs, mut tops, mut offsets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for token in tokens {
        let shown = if tokenizer.is_control(token.id) { &[][..] } else { tokenizer.token_bytes(token.id) };
        offsets.push(offset.push(shown));
        texts.push(text(token.id));
        // The first token of a prompt follows nothing, so it has no probability.
        logprobs.push(token.logprob.map(|logprob| wire::finite(Some(logprob))));
        let entries =
            token.likeliest.iter().map(|(id, logprob)| (text(*id), wire::finite(Some(*logprob)).into()));
        tops.push(if token.logprob.is_some() { Value::Object(entries.collect()) } else { Value::Null });
    }
    json!({ "tokens": texts, "token_logprobs": logprobs, "top_logprobs": tops, "text_offset": offsets })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_places_in_the_text() {
        let bytes = "a€b𝄞".as_bytes();
        let wrong: &[&[u8]] = &[b"a", b"\xe2", b"b", b"\xff\xfe", b"c"];
        let whole: Vec<&[u8]> = bytes.chunks(1).collect();
        for (tokens, expected) in [
            (whole.as_slice(), vec![0, 1, 1, 1, 2, 3, 3, 3, 3]),
            (&[&bytes[..2], &bytes[2..3], &bytes[3..]], vec![0, 1, 1]),
            // A character that never became complete is one replacement character.
            (wrong, vec![0, 1, 1, 3, 5]),
            (&[b"", b"x", b""], vec![0, 0, 1]),
        ] {
            let mut offset = Offset::default();
            let offsets: Vec<usize> = tokens.iter().map(|token| offset.push(token)).collect();
            assert_eq!(offsets, expected);
            let text = String::from_utf8_lossy(&tokens.concat()).into_owned();
            assert_eq!(offset.characters, text.chars().count(), "{text}");
        }
    }
}

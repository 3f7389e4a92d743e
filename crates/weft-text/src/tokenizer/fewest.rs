//! The fewest tokens that a text can have, found without tokenising it.

use super::{Algorithm, Tokenizer};
use crate::piece_spelling::SPACE;

impl Tokenizer {
    /// A lower bound of the number of tokens of `text`, with any [`EncodeOptions`](super::EncodeOptions). It is much faster
    /// than tokenising, and zero if the vocabulary may drop characters of a text.
    ///
    /// Each byte of a text belongs to one token, unless the vocabulary has no token for it. So the bound is the number of bytes
    /// that have tokens, divided by the number of bytes of the longest token.
    pub fn fewest_tokens(&self, text: &str) -> usize {
        let spells_all = self.byte_tokens.iter().all(Option::is_some);
        let (bytes, shortest) = match &self.algorithm {
            // Spaces have one byte there, in place of three.
            Algorithm::Words { by_character: true, .. } => {
                if !spells_all {
                    return 0;
                }
                (text.chars().filter(|c| *c != SPACE).map(char::len_utf8).sum(), 1)
            }
            Algorithm::Words { .. } => {
                let known = self.byte_tokens.map(|token| token.is_some());
                (text.bytes().filter(|byte| known[usize::from(*byte)]).count(), 1)
            }
            // Spaces have one byte there, in place of three. Those after a control token may be dropped. A character without
            // tokens is one unknown token.
            Algorithm::Pieces { unk, .. } if spells_all || unk.is_some() => {
                let stays = |c: &char| *c != SPACE && !c.is_ascii_whitespace() && *c != '\u{B}';
                (text.chars().filter(stays).map(char::len_utf8).sum(), char::MAX.len_utf8())
            }
            _ => return 0,
        };
        let lengths = (0..self.vocab.len() as u32).map(|id| self.vocab.bytes(id).len());
        let longest = lengths.max().unwrap_or(0).max(shortest);
        bytes.div_ceil(longest)
    }
}

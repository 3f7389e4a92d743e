//! Finding special tokens in text.
//!
//! The search is leftmost-longest, as in HF `tokenizers`: `<|im_end|>` wins over `<|im`.

use crate::vocab::{TokenKind, Vocab};

/// The special tokens of a vocabulary.
pub(crate) struct SpecialTokens {
    /// Sorted by bytes, without duplicates.
    sorted: Vec<u32>,
    /// For each byte, whether a special token begins with it.
    first: [bool; 256],
}

/// Where control tokens are parsed. User-defined tokens are part of the text and are parsed everywhere.
#[derive(Clone, Copy)]
pub(crate) enum Controls<'a> {
    Nowhere,
    Everywhere,
    /// Not where they contain a character that ends at one of these offsets, which ascend.
    Outside(&'a [usize]),
}

impl Controls<'_> {
    /// The number of bytes from `at` on that a control token may have, given offsets before `at` that do not matter any
    /// more.
    fn room(&mut self, at: usize) -> usize {
        match self {
            Controls::Nowhere => 0,
            Controls::Everywhere => usize::MAX,
            Controls::Outside(ends) => {
                while let Some((end, rest)) = ends.split_first()
                    && *end <= at
                {
                    *ends = rest;
                }
                ends.first().map_or(usize::MAX, |end| end - at - 1)
            }
        }
    }
}

/// A special token, or the text before, between or after special tokens.
pub(crate) enum Segment<'t> {
    Text(&'t str),
    Token(u32),
}

impl SpecialTokens {
    pub(crate) fn new(vocab: &Vocab) -> SpecialTokens {
        let mut sorted: Vec<u32> = (0..vocab.len() as u32)
            .filter(|&id| {
                let kind = vocab.kind(id);
                matches!(kind, TokenKind::Unknown | TokenKind::Control | TokenKind::UserDefined)
                    && !vocab.bytes(id).is_empty()
            })
            .collect();
        // The sort is stable: of two tokens with the same bytes, the one with the lower id stays.
        sorted.sort_by_key(|&id| vocab.bytes(id));
        sorted.dedup_by_key(|id| vocab.bytes(*id));
        let mut first = [false; 256];
        for &id in &sorted {
            first[usize::from(vocab.bytes(id)[0])] = true;
        }
        SpecialTokens { sorted, first }
    }

    /// Returns the special token whose bytes are exactly `text`.
    pub(crate) fn find(&self, vocab: &Vocab, text: &[u8]) -> Option<u32> {
        let place = self.sorted.binary_search_by_key(&text, |&id| vocab.bytes(id)).ok()?;
        Some(self.sorted[place])
    }

    /// The special tokens that are markup and not text.
    pub(crate) fn controls(&self, vocab: &Vocab) -> impl Iterator<Item = u32> {
        self.sorted.iter().copied().filter(|&id| vocab.kind(id) != TokenKind::UserDefined)
    }

    /// Splits `text` at user-defined tokens and, where `controls` allows them, at control tokens.
    pub(crate) fn split<'t>(
        &self,
        vocab: &Vocab,
        text: &'t str,
        mut controls: Controls<'_>,
        mut emit: impl FnMut(Segment<'t>),
    ) {
        let bytes = text.as_bytes();
        let (mut start, mut at) = (0, 0);
        while at < bytes.len() {
            let found = match self.first[usize::from(bytes[at])] {
                true => self.longest_prefix(vocab, &bytes[at..], controls.room(at)),
                false => None,
            };
            let Some(id) = found else {
                at += 1;
                continue;
            };
            // Both are UTF-8, so a match begins and ends on a character boundary.
            if start < at {
                emit(Segment::Text(&text[start..at]));
            }
            emit(Segment::Token(id));
            at += vocab.bytes(id).len();
            start = at;
        }
        if start < bytes.len() {
            emit(Segment::Text(&text[start..]));
        }
    }

    /// The longest special token that `text` begins with. Control tokens have at most `room` bytes.
    fn longest_prefix(&self, vocab: &Vocab, text: &[u8], room: usize) -> Option<u32> {
        let mut longest = None;
        // The tokens that share the first `depth` bytes of the text, the shortest first.
        let mut candidates = &self.sorted[..];
        for depth in 0.. {
            if let Some((&id, rest)) = candidates.split_first()
                && vocab.bytes(id).len() == depth
            {
                if depth <= room || vocab.kind(id) == TokenKind::UserDefined {
                    longest = Some(id);
                }
                candidates = rest;
            }
            let (Some(&byte), false) = (text.get(depth), candidates.is_empty()) else { break };
            let low = candidates.partition_point(|&id| vocab.bytes(id)[depth] < byte);
            let high = candidates.partition_point(|&id| vocab.bytes(id)[depth] <= byte);
            candidates = &candidates[low..high];
        }
        longest
    }
}

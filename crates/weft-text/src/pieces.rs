//! SentencePiece's byte-pair encoding, as GGUF files store it (`tokenizer.ggml.model` is `llama`).
//!
//! A text starts as its characters, with spaces for SentencePiece's `▁`. The pair of neighbours that together are the token
//! with the highest score merges, the leftmost of equals first, until no pair is a token. Characters without a token become
//! byte tokens (`<0xAB>`). Nothing splits the text into words first: tokens of several words are rare, but exist.
//!
//! Where a text begins, and after each special token, a space is put before it, unless the file says otherwise: words have
//! the same tokens there as within a text.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::error::TokenizerError;
use crate::piece_spelling::SPACE;
use crate::vocab::{TokenizerSpec, Vocab};

/// The scores of tokens, and what is done with text before they merge.
pub(crate) struct Pieces {
    scores: Vec<f32>,
    /// Whether a space is put before text that begins or follows a special token.
    prefix: bool,
    /// Whether white space after most special tokens is dropped.
    strip: bool,
}

impl Pieces {
    pub(crate) fn new(spec: &TokenizerSpec<'_>) -> Result<Pieces, TokenizerError> {
        let scores = spec.scores.clone().ok_or(TokenizerError::NoScores)?;
        if scores.len() != spec.tokens.len() {
            return Err(TokenizerError::ScoreCount { expected: spec.tokens.len(), found: scores.len() });
        }
        Ok(Pieces { scores, prefix: spec.add_space_prefix.unwrap_or(true), strip: spec.strip_after_special })
    }

    /// Writes the text that merges instead of `text`, which begins or follows the special token `after`.
    pub(crate) fn prepare(&self, text: &str, after: Option<&[u8]>, prepared: &mut String) {
        // Those that end no turn.
        const KEEP: [&[u8]; 3] = [b"<unk>", b"<s>", b"<|endoftext|>"];
        let is_space = |c: char| c.is_ascii_whitespace() || c == '\u{B}';
        let strips = self.strip && after.is_some_and(|token| !KEEP.contains(&token));
        let text = if strips { text.trim_start_matches(is_space) } else { text };
        prepared.clear();
        if text.is_empty() {
            return;
        }
        if self.prefix {
            prepared.push(' ');
        }
        prepared.extend(text.chars().map(|c| if c == SPACE { ' ' } else { c }));
    }
}

impl Pieces {
    /// The text of `bytes`, which begin a text, without the space that was put before it.
    pub(crate) fn without_prefix<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        if self.prefix { bytes.strip_prefix(b" ").unwrap_or(bytes) } else { bytes }
    }
}

/// Encodes texts one by one, reusing its buffers.
pub(crate) struct PieceEncoder<'a> {
    vocab: &'a Vocab,
    pieces: &'a Pieces,
    /// The token of each byte of characters that have none.
    byte_tokens: &'a [Option<u32>; 256],
    unk: Option<u32>,
    symbols: Vec<Symbol>,
    queue: BinaryHeap<Candidate>,
}

/// A node of the linked list of symbols: a range of the text. One merged into its left neighbour stays in place, empty.
struct Symbol {
    start: usize,
    len: usize,
    previous: usize,
    next: usize,
}

const NO_SYMBOL: usize = usize::MAX;

/// A pair of neighbours that can merge. The greatest merges first.
struct Candidate {
    score: f32,
    /// The index of the left symbol.
    place: usize,
    /// The length of both together, by which candidates are recognised that are no longer neighbours.
    len: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        self.score.total_cmp(&other.score).then(other.place.cmp(&self.place)).then(other.len.cmp(&self.len))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Candidate) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

impl<'a> PieceEncoder<'a> {
    pub(crate) fn new(
        vocab: &'a Vocab,
        pieces: &'a Pieces,
        byte_tokens: &'a [Option<u32>; 256],
        unk: Option<u32>,
    ) -> PieceEncoder<'a> {
        PieceEncoder { vocab, pieces, byte_tokens, unk, symbols: Vec::new(), queue: BinaryHeap::new() }
    }

    /// Appends the tokens of `text`.
    pub(crate) fn encode(&mut self, text: &str, tokens: &mut Vec<u32>) {
        self.symbols.clear();
        self.symbols.extend(text.char_indices().enumerate().map(|(i, (start, char))| Symbol {
            start,
            len: char.len_utf8(),
            previous: i.wrapping_sub(1),
            next: i + 1,
        }));
        let Some(last) = self.symbols.last_mut() else { return };
        last.next = NO_SYMBOL;

        for place in 0..self.symbols.len() {
            self.enqueue(text, place);
        }
        while let Some(Candidate { place, len, .. }) = self.queue.pop() {
            // Either symbol may have merged with another since. Symbols only grow, so an equal length means the same pair.
            let own = &self.symbols[place];
            let next = self.symbols.get(own.next).map_or(0, |next| next.len);
            if own.len > 0 && next > 0 && own.len + next == len {
                self.merge(text, place);
            }
        }
        for symbol in self.symbols.iter().filter(|symbol| symbol.len > 0) {
            let bytes = &text.as_bytes()[symbol.start..symbol.start + symbol.len];
            match self.vocab.find_text(bytes) {
                Some(id) => tokens.push(id),
                None => self.push_bytes(bytes, tokens),
            }
        }
    }

    /// Appends the byte tokens of a character, or one unknown token if it has none.
    fn push_bytes(&self, bytes: &[u8], tokens: &mut Vec<u32>) {
        let of = |byte: &u8| self.byte_tokens[usize::from(*byte)];
        if bytes.iter().all(|byte| of(byte).is_some()) {
            tokens.extend(bytes.iter().filter_map(of));
        } else {
            tokens.extend(self.unk);
        }
    }

    /// Adds the symbol at `place` and the next one to the queue, if together they are a token.
    fn enqueue(&mut self, text: &str, place: usize) {
        let Some(left) = self.symbols.get(place) else { return };
        let Some(right) = self.symbols.get(left.next) else { return };
        let len = left.len + right.len;
        if let Some(id) = self.vocab.find_text(&text.as_bytes()[left.start..left.start + len]) {
            let score = self.pieces.scores[id as usize];
            self.queue.push(Candidate { score, place, len });
        }
    }

    /// Merges the next symbol into the one at `place`.
    fn merge(&mut self, text: &str, place: usize) {
        let right = self.symbols[place].next;
        let (len, next) = (self.symbols[right].len, self.symbols[right].next);
        self.symbols[right].len = 0;
        self.symbols[place].len += len;
        self.symbols[place].next = next;
        if let Some(next) = self.symbols.get_mut(next) {
            next.previous = place;
        }
        let previous = self.symbols[place].previous;
        self.enqueue(text, previous);
        self.enqueue(text, place);
    }
}

//! The input of a step: tokens of any number of sequences, in any order.

/// The id of a sequence, unique across engines. It is never used again for another sequence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SeqId {
    /// The number of the engine.
    pub(crate) engine: u64,
    /// The index in the engine's list, which is reused.
    pub(crate) place: usize,
    /// The number of sequences that the engine had begun before.
    pub(crate) generation: u64,
}

/// The tokens of a step. Each token is appended to its sequence, which determines its position.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Batch {
    entries: Vec<Entry>,
}

/// One token of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) seq: SeqId,
    pub(crate) token: u32,
    pub(crate) logits: bool,
    /// Whether it may be removed again.
    pub(crate) guess: bool,
}

impl Batch {
    /// Creates an empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Appends a token to a sequence. `logits` says whether to compute the token's logits.
    pub fn push(&mut self, seq: SeqId, token: u32, logits: bool) {
        self.entries.push(Entry { seq, token, logits, guess: false });
    }

    /// Appends a guess of the next token of a sequence, after all its other tokens, and computes its logits. A sequence can be cut back
    /// to any of its guesses, also in a model with states of whole sequences, if there are at most [`KEPT`](weft_runtime::KEPT).
    pub fn push_guess(&mut self, seq: SeqId, token: u32) {
        self.entries.push(Entry { seq, token, logits: true, guess: true });
    }

    /// Returns whether the logits of any token are wanted.
    pub(crate) fn wants_logits(&self) -> bool {
        self.entries.iter().any(|entry| entry.logits)
    }

    /// The number of tokens in the batch.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all tokens, keeping the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

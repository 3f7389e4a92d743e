//! What one step computes: tokens of any sequences, in any mixture.

/// A sequence of one engine. It names no other sequence: not of another engine, and not even after this one has ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SeqId {
    /// Which engine it is of.
    pub(crate) engine: u64,
    /// Its place in the engine's list, which is used again.
    pub(crate) place: usize,
    /// How many sequences had that place before.
    pub(crate) generation: u64,
}

/// Tokens for one step. Each goes to the end of its sequence; positions follow from that.
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
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Adds a token to the end of a sequence; `logits` says whether its logits are wanted.
    pub fn push(&mut self, seq: SeqId, token: u32, logits: bool) {
        self.entries.push(Entry { seq, token, logits });
    }

    /// Tokens in the batch.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes all tokens out, keeping the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

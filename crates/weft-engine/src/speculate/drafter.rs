//! Drafters, which guess the next tokens of replies.

/// The most tokens guessed at once for a reply.
pub const MOST_GUESSES: usize = 15;

/// The number of kinds of guesses whose acceptance is measured separately.
pub(crate) const KINDS: usize = 7;

/// Guesses the next tokens of replies.
///
/// A guess never changes a reply. The engine computes guessed tokens in the same step as the token before them, chooses every
/// token as it would without guesses, and keeps what was computed only as far as the guesses are the tokens chosen. So a
/// drafter may guess anything; good guesses save steps, and bad ones cost time.
pub trait Drafter: Send {
    /// Guesses for all replies of a step, by [`Ask::guess`]. It runs in the engine's thread, before every step.
    fn draft(&mut self, asks: &mut [Ask<'_>]);

    /// Drops what is kept for a generation that has ended. The default does nothing.
    fn ended(&mut self, generation: u64) {
        let _ = generation;
    }
}

/// A reply whose next tokens are to be guessed.
#[derive(Debug)]
pub struct Ask<'a> {
    generation: u64,
    tokens: &'a [u32],
    known: Vec<u32>,
    most: usize,
    guesses: Vec<u32>,
    kind: usize,
}

/// Guessed tokens.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Guess {
    pub(crate) tokens: Vec<u32>,
    /// The kind of guess, less than [`KINDS`].
    pub(crate) kind: usize,
    /// The number of tokens that were guessed. Perhaps not all of them are taken.
    pub(crate) offered: usize,
}

impl<'a> Ask<'a> {
    pub(crate) fn new(generation: u64, tokens: &'a [u32], known: Vec<u32>, most: usize) -> Ask<'a> {
        Ask { generation, tokens, known, most, guesses: Vec::new(), kind: 0 }
    }

    /// The number of the [generation](crate::Generation::id).
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The prompt and the reply so far.
    pub fn tokens(&self) -> &'a [u32] {
        self.tokens
    }

    /// What an earlier request that began with these tokens went on with, if the prefix cache still has it.
    pub fn known(&self) -> &[u32] {
        &self.known
    }

    /// The most tokens worth guessing, perhaps 0: a reply ends at its limit.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Guesses that the reply goes on with these tokens, in place of an earlier guess. Those beyond [`most`](Ask::most) are
    /// dropped.
    pub fn guess(&mut self, tokens: impl IntoIterator<Item = u32>) {
        self.guess_of_kind(tokens, 0);
    }

    /// Guesses, with the kind of guess, by which its acceptance is measured.
    pub(crate) fn guess_of_kind(&mut self, tokens: impl IntoIterator<Item = u32>, kind: usize) {
        self.guesses.clear();
        self.guesses.extend(tokens.into_iter().take(self.most));
        self.kind = kind.min(KINDS - 1);
    }

    /// The guess, up to the first token that is not in a vocabulary of this size.
    pub(crate) fn into_guess(self, vocab: usize) -> Guess {
        let Ask { guesses: mut tokens, kind, .. } = self;
        let valid = tokens.iter().take_while(|token| (**token as usize) < vocab).count();
        tokens.truncate(valid);
        Guess { offered: tokens.len(), tokens, kind }
    }
}

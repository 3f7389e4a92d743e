//! Drafters, which guess the next tokens of replies.

/// The most tokens guessed at once for a reply.
pub const MOST_GUESSES: usize = 15;

/// The number of kinds of guesses whose acceptance is measured separately.
pub(crate) const KINDS: usize = 15;

/// The kinds of the model's predictions: by the difference between the logits of its first and its second choice, and all of them.
pub(crate) const BY_MARGIN: [(f32, usize); 3] = [(1.0, 7), (3.0, 8), (f32::INFINITY, 9)];
pub(crate) const PREDICTED: usize = 10;

/// The kinds of the second, third and fourth token that the model predicts, if those before are right.
pub(crate) const DEEPER: [usize; 3] = [12, 13, 14];

/// The most tokens that the model predicts at once.
pub const MOST_PREDICTED: usize = 1 + DEEPER.len();

// A model with states of whole sequences computes none of them twice.
const _: () = assert!(MOST_PREDICTED <= weft_runtime::KEPT);

/// The kind of a draft model's guesses.
pub(crate) const BY_MODEL: usize = 11;

/// The sources of guesses, for statistics: the prefix cache or a program's own [`Drafter`], lookup in earlier text, the model's MTP
/// layer, and a draft model.
pub const SOURCES: [&str; 4] = ["prefix", "lookup", "mtp", "model"];

/// Whether guesses of this kind come from the model's MTP layer.
pub(crate) fn is_predicted(kind: usize) -> bool {
    (BY_MARGIN[0].1..=PREDICTED).contains(&kind) || DEEPER.contains(&kind)
}

/// The index in [`SOURCES`] of a kind of guess.
pub(crate) fn source(kind: usize) -> usize {
    match kind {
        0 => 0,
        1..7 => 1,
        BY_MODEL => 3,
        _ => 2,
    }
}

/// Who guesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The drafter.
    Drafter,
    /// The model, with its layer for one token more.
    Model,
}

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
    /// The first token that the drafter guessed, and its kind, whether it is computed or not.
    pub(crate) drafted: Option<(u32, usize)>,
    /// The tokens that the model predicted, whether they are computed or not, and the kind of the first.
    pub(crate) predicted: Option<(Vec<u32>, usize)>,
}

impl Guess {
    /// The number and the kind of the tokens that are offered if `first` goes first. `predicted` is the number of tokens that the model
    /// predicts, and the kind of the first.
    pub(crate) fn of(&self, first: Source, predicted: Option<(usize, usize)>) -> (usize, usize) {
        match predicted {
            Some(predicted) if first == Source::Model || self.tokens.is_empty() => predicted,
            _ => (self.tokens.len(), self.kind),
        }
    }

    /// The number of tokens that the model predicted, and the kind of the first.
    pub(crate) fn predictions(&self) -> Option<(usize, usize)> {
        self.predicted.as_ref().map(|(tokens, kind)| (tokens.len(), *kind))
    }

    /// The kind of the prediction at a place of this guess.
    pub(crate) fn kind_at(&self, place: usize) -> usize {
        place.checked_sub(1).and_then(|deeper| DEEPER.get(deeper)).copied().unwrap_or(self.kind)
    }

    /// Offers the tokens of `first`, or those of the other source if it has none.
    pub(crate) fn choose(&mut self, first: Source) {
        if let Some((tokens, kind)) = &self.predicted
            && (first == Source::Model || self.tokens.is_empty())
        {
            self.tokens.clone_from(tokens);
            self.kind = *kind;
        }
    }
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

    /// The tokens with which an earlier request that began alike continued, if the prefix cache still has it.
    pub fn known(&self) -> &[u32] {
        &self.known
    }

    /// The most tokens worth guessing, perhaps 0: a reply ends at its limit.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Guesses that the reply continues with these tokens, in place of an earlier guess. Those beyond [`most`](Ask::most) are
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
        Guess { drafted: tokens.first().map(|token| (*token, kind)), tokens, kind, predicted: None }
    }
}

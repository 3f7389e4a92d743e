//! Logits as a device computed them, and as floats.

/// A logit in memory.
pub trait Logit: Copy {
    /// Its value.
    fn value(self) -> f32;
}

impl Logit for f32 {
    fn value(self) -> f32 {
        self
    }
}

/// As devices compute them: little-endian.
impl Logit for [u8; 4] {
    fn value(self) -> f32 {
        f32::from_le_bytes(self)
    }
}

/// Logits as a device computed them: `[vocab]`, or several rows of them.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    computed: &'a [u8],
}

impl<'a> Row<'a> {
    /// Takes little-endian `f32`.
    pub fn new(computed: &'a [u8]) -> Row<'a> {
        Row { computed }
    }

    /// The logits in place.
    pub fn logits(self) -> &'a [[u8; 4]] {
        self.computed.as_chunks().0
    }

    /// The logit of a token, or NaN if there is no such token.
    pub fn logit(self, token: u32) -> f32 {
        self.logits().get(token as usize).map_or(f32::NAN, |logit| logit.value())
    }

    /// Appends a copy to `logits`.
    pub fn append_to(self, logits: &mut Vec<f32>) {
        logits.extend(self.logits().iter().map(|logit| logit.value()));
    }
}

/// The likeliest tokens of a row, as a device chose them.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// Little-endian `f32`: logits, the highest first and among equals that of the lowest token, with NaN before everything;
    /// then the tokens, as whole numbers.
    chosen: &'a [u8],
    /// Whether these are all tokens of the vocabulary.
    pub all: bool,
}

impl<'a> Candidates<'a> {
    /// Takes the logits and tokens of a row, from a vocabulary of `vocab` tokens.
    pub fn new(chosen: &'a [u8], vocab: usize) -> Candidates<'a> {
        Candidates { chosen, all: chosen.len() / 8 >= vocab }
    }

    /// Tokens with their logits, in order.
    pub fn tokens(self) -> impl Iterator<Item = (u32, f32)> {
        let chosen: &'a [[u8; 4]] = self.chosen.as_chunks().0;
        let (logits, ids) = chosen.split_at(chosen.len() / 2);
        ids.iter().zip(logits).map(|(id, logit)| (id.value() as u32, logit.value()))
    }
}

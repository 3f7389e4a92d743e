//! Speculation: guessed tokens are computed beside the last one of a reply, and kept as far as they are those chosen.
//!
//! `docs/speculation.md` says how it works and why it changes no reply.

mod acceptance;
pub(crate) mod drafter;
mod lookup;
mod times;
mod worth;

use std::time::Duration;

pub(crate) use acceptance::{Acceptance, Verdict};
use drafter::{Ask, Drafter, Guess, MOST_GUESSES};
use lookup::Lookup;
use times::Times;
use worth::{Offer, worth};

/// What guesses the next tokens of replies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Speculate {
    /// Nothing does.
    #[default]
    Off,
    /// The best that there is, as far as measured times and acceptance say that it pays.
    Auto,
    /// Looking up the last tokens in the prompt, in the reply and in the prefix cache.
    Lookup,
}

/// What speculation has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SpeculationStats {
    /// The number of guesses, each of one or more tokens.
    pub guesses: u64,
    /// The number of guessed tokens that were computed.
    pub guessed: u64,
    /// The number of them that were right and saved a step.
    pub accepted: u64,
    /// The accepted tokens by their places in a guess.
    pub accepted_at: [u64; MOST_GUESSES],
}

/// The speculation of an engine.
pub(crate) struct Speculation {
    drafter: Box<dyn Drafter>,
    /// Measured times, if they decide how much is guessed.
    times: Option<Times>,
    /// The acceptance of all generations' guesses.
    acceptance: Acceptance,
    stats: SpeculationStats,
}

impl Speculation {
    /// Guesses by looking up. With `estimates` of the times of steps of one row, two and so on, only as far as it pays.
    pub(crate) fn lookup(estimates: Option<Vec<f64>>) -> Speculation {
        // Where times and acceptance decide, long guesses are only offers.
        let lookup = Lookup::new(if estimates.is_some() { 4 } else { 1 });
        Speculation { times: estimates.map(Times::new), ..Speculation::new(Box::new(lookup)) }
    }

    /// Takes all guesses of a drafter.
    pub(crate) fn new(drafter: Box<dyn Drafter>) -> Speculation {
        let (acceptance, stats) = (Acceptance::default(), SpeculationStats::default());
        Speculation { drafter, times: None, acceptance, stats }
    }

    pub(crate) fn stats(&self) -> SpeculationStats {
        self.stats
    }

    /// Guesses for the replies of a step, at most `room` tokens from a vocabulary of `vocab`. `replies` are their asks, with
    /// the acceptance of each one's guesses.
    pub(crate) fn draft(
        &mut self,
        mut asks: Vec<Ask<'_>>,
        acceptance: &[&Acceptance],
        room: usize,
        vocab: usize,
    ) -> Vec<Guess> {
        self.drafter.draft(&mut asks);
        let mut guesses: Vec<Guess> = asks.into_iter().map(|ask| ask.into_guess(vocab)).collect();
        let taken = match &self.times {
            _ if guesses.iter().all(|guess| guess.tokens.is_empty()) => return guesses,
            Some(times) => {
                let offers: Vec<Offer> = guesses
                    .iter()
                    .zip(acceptance)
                    .map(|(guess, own)| Offer {
                        tokens: guess.tokens.len(),
                        acceptance: own.of(&self.acceptance, guess.kind),
                    })
                    .collect();
                worth(&offers, room, times)
            }
            None => shared(&guesses, room),
        };
        guesses.iter_mut().zip(taken).for_each(|(guess, taken)| guess.tokens.truncate(taken));
        guesses
    }

    /// Counts what became of a guess.
    pub(crate) fn judged(&mut self, own: &mut Acceptance, kind: usize, guessed: usize, verdict: Verdict) {
        own.add(&mut self.acceptance, kind, verdict);
        self.stats.guesses += 1;
        self.stats.guessed += guessed as u64;
        self.stats.accepted += verdict.accepted as u64;
        self.stats.accepted_at.iter_mut().take(verdict.accepted).for_each(|count| *count += 1);
    }

    /// Counts a guess that was not tried.
    pub(crate) fn unused(&mut self, own: &mut Acceptance, kind: usize) {
        own.unused(&mut self.acceptance, kind);
    }

    /// Records the time of a step that computed so many rows, all of replies.
    pub(crate) fn took(&mut self, rows: usize, time: Duration) {
        self.times.iter_mut().for_each(|times| times.took(rows, time.as_secs_f64()));
    }

    /// Drops what is kept for a generation that has ended.
    pub(crate) fn ended(&mut self, generation: u64) {
        self.drafter.ended(generation);
    }
}

/// The number of tokens of each guess, at most `room` in all: the first of each before the second of any.
fn shared(guesses: &[Guess], room: usize) -> Vec<usize> {
    let mut taken = vec![0; guesses.len()];
    let mut left = room;
    for place in 0..MOST_GUESSES {
        let longer = taken.iter_mut().zip(guesses).filter(|(_, guess)| guess.tokens.len() > place);
        for (taken, _) in longer.take(left) {
            *taken += 1;
            left -= 1;
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_shared() {
        let guess = |len| Guess { tokens: vec![0; len], ..Guess::default() };
        let guesses = [guess(3), guess(0), guess(1), guess(5)];
        assert_eq!(shared(&guesses, 100), [3, 0, 1, 5]);
        assert_eq!(shared(&guesses, 6), [3, 0, 1, 2]);
        assert_eq!(shared(&guesses, 2), [1, 0, 1, 0]);
        assert!(shared(&[], 2).is_empty());
    }
}

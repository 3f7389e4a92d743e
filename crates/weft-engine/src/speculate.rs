//! Speculation: guessed tokens are computed in the same step as the last token of a reply, and kept up to the first wrong guess.
//!
//! `docs/speculation.md` says how it works and why it changes no reply.

mod acceptance;
pub(crate) mod draft_model;
pub(crate) mod drafter;
mod lookup;
#[cfg(test)]
mod simulation;
mod times;
mod worth;

use std::path::PathBuf;
use std::time::Duration;

pub(crate) use acceptance::{Acceptance, Verdict};
use drafter::{
    Ask, DEEPER, Drafter, Guess, MOST_GUESSES, MOST_PREDICTED, PREDICTED, SOURCES, Source, is_predicted,
    source,
};
use lookup::Lookup;
use times::Times;
use worth::{Offer, Worth, worth};

/// For how many steps a generation is expected to use what it costs to catch up with its text.
const LASTS: f64 = 64.0;

/// The source of guesses of the next tokens of replies.
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
    /// The model's own MTP layer (multi-token prediction), which guesses this many tokens, each from the one before: 1 to
    /// [`MOST_PREDICTED`](crate::MOST_PREDICTED). Not all models have one.
    Mtp(usize),
    /// A smaller model of the same vocabulary, in this file.
    Model(PathBuf),
}

/// Statistics of speculation so far.
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
    /// The guessed and the accepted tokens by where they come from, in the order of [`SOURCES`].
    pub by_source: [[u64; 2]; SOURCES.len()],
}

/// The times and acceptance that [`Speculate::Auto`] has learnt for a model on a device.
#[derive(Clone, Debug)]
pub(crate) struct Learnt {
    /// Of steps, and of predictions.
    times: [Times; 2],
    acceptance: Acceptance,
}

impl Learnt {
    /// Nothing but estimated times of steps of one row, of two and so on, and of predictions, if the model makes any.
    pub(crate) fn new(steps: Vec<f64>, predictions: Vec<f64>) -> Learnt {
        Learnt { times: [Times::new(steps), Times::new(predictions)], acceptance: Acceptance::default() }
    }
}

/// The speculation of an engine.
pub(crate) struct Speculation {
    drafter: Option<Box<dyn Drafter>>,
    /// The most tokens that the model predicts.
    predicts: usize,
    /// Measured times, if they decide how much is guessed: of steps, and of predictions.
    times: Option<[Times; 2]>,
    /// The acceptance of all generations' guesses.
    acceptance: Acceptance,
    stats: SpeculationStats,
}

impl Speculation {
    fn new(drafter: Option<Box<dyn Drafter>>) -> Speculation {
        let (acceptance, stats) = (Acceptance::default(), SpeculationStats::default());
        Speculation { drafter, predicts: 0, times: None, acceptance, stats }
    }

    /// Guesses by looking up.
    pub(crate) fn lookup() -> Speculation {
        Speculation::new(Some(Box::new(Lookup::new(1))))
    }

    /// Takes all of the `tokens` tokens that the model predicts.
    pub(crate) fn mtp(tokens: usize) -> Speculation {
        Speculation { predicts: tokens.clamp(1, MOST_PREDICTED), ..Speculation::new(None) }
    }

    /// Takes all guesses of a drafter.
    pub(crate) fn by(drafter: Box<dyn Drafter>) -> Speculation {
        Speculation::new(Some(drafter))
    }

    /// Guesses as far as it pays.
    pub(crate) fn auto(learnt: Learnt) -> Speculation {
        // Where times and acceptance decide, long guesses are only offers.
        let drafter: Box<dyn Drafter> = Box::new(Lookup::new(4));
        let Learnt { times, acceptance } = learnt;
        let predicts = if times[1].rows() > 0 { MOST_PREDICTED } else { 0 };
        Speculation { predicts, times: Some(times), acceptance, ..Speculation::new(Some(drafter)) }
    }

    /// The times and acceptance learnt, if they decide how much is guessed.
    pub(crate) fn learnt(self) -> Option<Learnt> {
        let Speculation { times, acceptance, .. } = self;
        times.map(|times| Learnt { times, acceptance })
    }

    pub(crate) fn stats(&self) -> SpeculationStats {
        self.stats
    }

    /// Has the drafter guess for the replies of a step.
    pub(crate) fn draft(&mut self, mut asks: Vec<Ask<'_>>, vocab: usize) -> Vec<Guess> {
        self.drafter.iter_mut().for_each(|drafter| drafter.draft(&mut asks));
        asks.into_iter().map(|ask| ask.into_guess(vocab)).collect()
    }

    /// The number of tokens that the model predicts for each reply in addition to these guesses. The first tokens take `rows` rows in
    /// all; `acceptance` is that of each reply's guesses, and there is room for `room` guessed tokens.
    pub(crate) fn predictions_wanted(
        &mut self,
        guesses: &[Guess],
        acceptance: &[&Acceptance],
        room: usize,
        rows: usize,
    ) -> usize {
        // More than there is room for would be computed for nothing.
        let most = self.predicts.min(room.div_ceil(guesses.len().max(1)));
        if rows == 0 || most == 0 {
            return 0;
        }
        let Some([steps, predictions]) = &self.times else { return most };
        if !steps.knows_about(guesses.len()) {
            return 0;
        }
        // Until predictions are measured, they are expected to be as far off their estimate as steps.
        let scale = if predictions.is_measured() { 1.0 } else { steps.scale() };
        let offers = Offers { guesses, acceptance, all: &self.acceptance, room, steps };
        let mut best = (offers.best(|_| None, 0.0).1.rate, 0);
        for tokens in 1..=most {
            // Further rows catch up with tokens that were right before.
            let usual = rows.min((1 + tokens) * guesses.len());
            let catching_up = predictions.per_row() * (rows - usual) as f64 / LASTS;
            let further = predictions.of(guesses.len()) * (tokens - 1) as f64;
            let extra = scale * (predictions.of(usual) + catching_up + further);
            let Worth { rate, .. } = offers.best(|_| Some((tokens, PREDICTED)), extra).1;
            if rate > best.0 {
                best = (rate, tokens);
            }
        }
        best.1
    }

    /// Decides what is computed of the guesses, at most `room` tokens.
    pub(crate) fn decide(&self, guesses: &mut [Guess], acceptance: &[&Acceptance], room: usize) {
        let taken = match &self.times {
            // Without a measurement of steps without guesses, the gain of guesses would be unknown.
            Some([steps, _]) if !steps.knows_about(guesses.len()) => vec![0; guesses.len()],
            Some([steps, _]) => {
                let offers = Offers { guesses, acceptance, all: &self.acceptance, room, steps };
                let (first, Worth { taken, .. }) = offers.best(Guess::predictions, 0.0);
                guesses.iter_mut().for_each(|guess| guess.choose(first));
                taken
            }
            None => {
                guesses.iter_mut().for_each(|guess| guess.choose(Source::Drafter));
                shared(guesses, room)
            }
        };
        guesses.iter_mut().zip(taken).for_each(|(guess, taken)| guess.tokens.truncate(taken));
    }

    /// Records the verdict on a guess whose tokens were computed.
    pub(crate) fn judged(&mut self, own: &mut Acceptance, guess: &Guess, guessed: usize, verdict: Verdict) {
        if is_predicted(guess.kind) {
            for place in 0..verdict.accepted + usize::from(verdict.wrong) {
                let is_right = place < verdict.accepted;
                let verdict = Verdict { accepted: usize::from(is_right), wrong: !is_right };
                own.add(&mut self.acceptance, guess.kind_at(place), verdict);
            }
        } else {
            own.add(&mut self.acceptance, guess.kind, verdict);
        }
        self.stats.guesses += 1;
        self.stats.guessed += guessed as u64;
        self.stats.accepted += verdict.accepted as u64;
        let [computed, right] = &mut self.stats.by_source[source(guess.kind)];
        *computed += guessed as u64;
        *right += verdict.accepted as u64;
        self.stats.accepted_at.iter_mut().take(verdict.accepted).for_each(|count| *count += 1);
    }

    /// Compares first tokens that were guessed with the one that was chosen: also of guesses that were not computed.
    pub(crate) fn compare(&mut self, own: &mut Acceptance, guess: &Guess, computed: bool, chosen: u32) {
        let verdict = |token: u32| Verdict { accepted: usize::from(token == chosen), wrong: token != chosen };
        let known = guess.drafted.filter(|(_, kind)| !computed || *kind != guess.kind);
        let first = guess.predicted.as_ref().and_then(|(tokens, kind)| Some((*tokens.first()?, *kind)));
        let predicted = first.filter(|(_, kind)| !computed || *kind != guess.kind);
        for (token, kind) in known.into_iter().chain(predicted) {
            own.add(&mut self.acceptance, kind, verdict(token));
        }
        match first {
            Some((token, _)) => own.add(&mut self.acceptance, PREDICTED, verdict(token)),
            None if self.predicts > 0 => own.unused(&mut self.acceptance, PREDICTED),
            None => {}
        }
        let deepest = if computed && is_predicted(guess.kind) { guess.tokens.len() } else { 0 };
        let unused = DEEPER.into_iter().take(self.predicts.saturating_sub(1)).skip(deepest.saturating_sub(1));
        unused.for_each(|kind| own.unused(&mut self.acceptance, kind));
    }

    /// Records the time of a step that computed `rows` rows, all of replies.
    pub(crate) fn took(&mut self, rows: usize, time: Duration) {
        self.times.iter_mut().for_each(|[steps, _]| steps.took(rows, time.as_secs_f64()));
    }

    /// Records the time of predictions: of the first tokens, with `rows` rows, and of `further` tokens for each of `replies` replies.
    pub(crate) fn predicted(&mut self, rows: usize, (further, replies): (usize, usize), time: Duration) {
        let Some([_, predictions]) = &mut self.times else { return };
        // Only the whole is measured.
        let (first, rest) = (predictions.of(rows), predictions.of(replies) * further as f64);
        let share = if first + rest > 0.0 { first / (first + rest) } else { 1.0 };
        predictions.took(rows, share * time.as_secs_f64());
    }

    /// Drops what is kept for a generation that has ended.
    pub(crate) fn ended(&mut self, generation: u64) {
        self.drafter.iter_mut().for_each(|drafter| drafter.ended(generation));
    }
}

/// The guesses that may be computed in a step.
struct Offers<'a> {
    guesses: &'a [Guess],
    /// The acceptance of each reply's guesses, and of all.
    acceptance: &'a [&'a Acceptance],
    all: &'a Acceptance,
    /// The most tokens.
    room: usize,
    /// The times of steps.
    steps: &'a Times,
}

impl Offers<'_> {
    /// Chooses whose guesses go first and how many tokens of each are computed. `predicted` says how many tokens the model predicts and the
    /// kind of the first; predicting takes `extra` time.
    fn best(&self, predicted: impl Fn(&Guess) -> Option<(usize, usize)>, extra: f64) -> (Source, Worth) {
        let of = |first: Source| {
            let offer = |(guess, own): (&Guess, &&Acceptance)| {
                let (tokens, kind) = guess.of(first, predicted(guess));
                let mut acceptance = [own.of(self.all, kind); MOST_PREDICTED];
                if is_predicted(kind) {
                    acceptance[1..]
                        .iter_mut()
                        .zip(DEEPER)
                        .for_each(|(later, kind)| *later = own.of(self.all, kind));
                }
                Offer { tokens, acceptance }
            };
            let offers: Vec<Offer> = self.guesses.iter().zip(self.acceptance).map(offer).collect();
            (first, worth(&offers, self.room, self.steps, extra))
        };
        let drafted = of(Source::Drafter);
        if self.guesses.iter().all(|guess| predicted(guess).is_none()) {
            return drafted;
        }
        let model = of(Source::Model);
        if model.1.rate > drafted.1.rate { model } else { drafted }
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
    fn what_was_learnt_is_kept() {
        let guesses = || vec![Guess { tokens: vec![7], kind: 6, ..Guess::default() }];
        let taken = |speculation: &Speculation| {
            let mut guesses = guesses();
            speculation.decide(&mut guesses, &[&Acceptance::default()], 3);
            guesses[0].tokens.len()
        };
        let mut first = Speculation::auto(Learnt::new(vec![1.0, 1.01, 1.02, 1.03], Vec::new()));
        assert_eq!(taken(&first), 0);
        first.took(1, Duration::from_millis(5));
        assert_eq!(taken(&first), 1);
        assert_eq!(taken(&Speculation::auto(first.learnt().unwrap())), 1);
        assert!(Speculation::lookup().learnt().is_none());
    }

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

//! Guessed tokens, computed in addition to those of replies.

use std::time::{Duration, Instant};

use weft_runtime::{Error, Prediction};

use super::{Budget, Schedule, Work};
use crate::runner::{Pending, Runner};
use crate::speculate::Acceptance;
use crate::speculate::drafter::{Ask, BY_MARGIN, MOST_GUESSES, PREDICTED};

/// The most tokens of a reply that are computed again in a step with guesses.
const MOST_AGAIN: usize = 4;

impl Schedule {
    /// Guesses for the replies that are planned so far. Guessed tokens take what room is free and never another
    /// generation's pages, and want no more rows of logits than one replay of the head computes.
    ///
    /// # Errors
    /// If the device fails.
    pub(super) fn guess(&mut self, budget: &mut Budget, runner: &mut Runner) -> Result<(), Error> {
        self.predicting = Duration::ZERO;
        let Schedule { speculation, all, work, predicting, .. } = self;
        let Some(speculation) = speculation else { return Ok(()) };
        let room = runner.logit_rows().saturating_sub(work.len()).min(budget.tokens);
        if room == 0 || work.is_empty() {
            return Ok(());
        }
        let (vocab, context) = (runner.model().graph().config.vocab, runner.context());
        let memory = runner.memory();
        let most = |work: &Work| {
            let one = &all[work.at];
            // Guesses follow the last token. The number of right tokens that are computed again must not grow for ever if guesses are
            // always wrong.
            let computed = one.seq.map_or(0, |seq| memory.len(seq)) + work.tokens;
            if computed < one.tokens.len() || one.again > MOST_AGAIN {
                return 0;
            }
            one.foreseeable(context).min(room).min(MOST_GUESSES)
        };
        let asks = work.iter().map(|work| {
            let (one, most) = (&all[work.at], most(work));
            let known = one.seq.filter(|_| one.caches()).map(|seq| memory.continued(seq, &one.tokens, most));
            Ask::new(one.id, &one.tokens, known.unwrap_or_default(), most)
        });
        let mut guesses = speculation.draft(asks.collect(), vocab);
        let acceptance: Vec<&Acceptance> = work.iter().map(|work| &all[work.at].acceptance).collect();
        // The layer for predictions follows what is computed.
        let may = work.iter().enumerate().filter(|(_, work)| most(work) > 0);
        let (places, mut pending): (Vec<usize>, Vec<Pending<'_>>) = may
            .filter_map(|(i, work)| {
                let (one, most) = (&all[work.at], most(work));
                Some((i, Pending { seq: one.seq?, tokens: &one.tokens, again: work.again, most }))
            })
            .unzip();
        let rows = runner.rows_to_predict(&pending);
        let wanted = speculation.predictions_wanted(&guesses, &acceptance, room, rows);
        if wanted > 0 {
            pending.iter_mut().for_each(|one| one.most = one.most.min(wanted));
            let begun = Instant::now();
            let predictions = runner.predict(&pending)?;
            *predicting = begun.elapsed();
            let further = predictions.iter().map(|found| found.len().saturating_sub(1)).max().unwrap_or(0);
            speculation.predicted(rows, (further, pending.len()), *predicting);
            for (place, found) in places.into_iter().zip(predictions) {
                let kind = found.first().map(|first| kind(*first));
                guesses[place].predicted =
                    kind.map(|kind| (found.iter().map(|found| found.token).collect(), kind));
            }
        }
        speculation.decide(&mut guesses, &acceptance, room);
        let memory = runner.memory_mut();
        for (Work { at, tokens, guessed, .. }, guess) in work.iter_mut().zip(guesses) {
            let one = &mut all[*at];
            let Some(seq) = one.seq else { continue };
            // Predictions took pages for all that they might have been.
            memory.release_spare(seq, *tokens);
            let next = memory.len(seq) + *tokens;
            let more = |guessed: usize| memory.pages_of(next + guessed) - memory.pages_of(next);
            let fits = |guessed: &usize| more(*guessed) <= budget.pages.min(memory.available());
            *guessed = (0..=guess.tokens.len()).rev().find(fits).unwrap_or(0);
            budget.tokens -= *guessed;
            budget.pages -= more(*guessed);
            memory.grow(seq, *tokens + *guessed);
            one.guess = guess;
        }
        Ok(())
    }

    /// Records the time of the last step, if it computed replies only.
    pub(super) fn took(&mut self, time: Duration) {
        if self.work.iter().all(|work| work.tokens == 1 + work.again)
            && let Some(speculation) = &mut self.speculation
        {
            speculation.took(self.batch.len(), time.saturating_sub(self.predicting));
        }
    }
}

/// The kind of a prediction.
fn kind(prediction: Prediction) -> usize {
    let by_margin = BY_MARGIN.into_iter().find(|(below, _)| prediction.margin < *below);
    by_margin.map_or(PREDICTED, |(_, kind)| kind)
}

//! Guessed tokens beside those of replies.

use std::time::Duration;

use super::{Budget, Schedule, Work};
use crate::runner::Runner;
use crate::speculate::Acceptance;
use crate::speculate::drafter::{Ask, MOST_GUESSES};

impl Schedule {
    /// Guesses for the replies that are planned so far. Guessed tokens take what room is free and never another
    /// generation's pages, and want no more rows of logits than one replay of the head computes.
    pub(super) fn guess(&mut self, budget: &mut Budget, runner: &mut Runner) {
        let Schedule { speculation, all, work, .. } = self;
        let Some(speculation) = speculation else { return };
        let room = runner.logit_rows().saturating_sub(work.len()).min(budget.tokens);
        if room == 0 || work.is_empty() {
            return;
        }
        let (vocab, context) = (runner.model().graph().config.vocab, runner.context());
        let pages = runner.pages_mut();
        let asks = work.iter().map(|work| {
            let one = &all[work.at];
            let most = one.foreseeable(context).min(room).min(MOST_GUESSES);
            let known = one.seq.filter(|_| one.caches()).map(|seq| pages.continued(seq, &one.tokens, most));
            Ask::new(one.id, &one.tokens, known.unwrap_or_default(), most)
        });
        let asks: Vec<Ask<'_>> = asks.collect();
        let acceptance: Vec<&Acceptance> = work.iter().map(|work| &all[work.at].acceptance).collect();
        let guesses = speculation.draft(asks, &acceptance, room, vocab);
        for (Work { at, guessed, .. }, guess) in work.iter_mut().zip(guesses) {
            let one = &mut all[*at];
            let Some(seq) = one.seq else { continue };
            if guess.offered > 0 && guess.tokens.is_empty() {
                speculation.unused(&mut one.acceptance, guess.kind);
            }
            let next = pages.len(seq) + 1;
            let more = |tokens: usize| pages.pages_of(next + tokens) - pages.pages_of(next);
            let fits = |tokens: &usize| more(*tokens) <= budget.pages.min(pages.pool().available());
            *guessed = (0..=guess.tokens.len()).rev().find(fits).unwrap_or(0);
            budget.tokens -= *guessed;
            budget.pages -= more(*guessed);
            pages.grow(seq, 1 + *guessed);
            one.guess = guess;
        }
    }

    /// Records the time of the last step, if it computed replies only.
    pub(super) fn took(&mut self, time: Duration) {
        if self.work.iter().all(|work| work.tokens == 1)
            && let Some(speculation) = &mut self.speculation
        {
            speculation.took(self.batch.len(), time);
        }
    }
}

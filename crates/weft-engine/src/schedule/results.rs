//! The results of a step: tokens are chosen, guesses are checked, and pages go to the prefix cache.

use weft_runtime::{Error, PAGE};

use super::{Schedule, Work};
use crate::failure::{Failure, FailureKind};
use crate::generation::Finish;
use crate::runner::Runner;
use crate::running::Running;
use crate::speculate::Verdict;
use crate::speculate::drafter::Guess;

impl Schedule {
    /// Takes the logits, removes what was computed for wrong guesses, and adds full pages to the prefix cache.
    ///
    /// # Errors
    /// If the device fails. No generation has then ended.
    pub(super) fn take_results(&mut self, runner: &mut Runner) -> Result<(), Error> {
        self.counts.steps += 1;
        self.counts.computed += self.batch.len() as u64;
        let (mut row, mut ended) = (0, Vec::new());
        for &Work { at, tokens, again, guessed } in &self.work {
            let one = &mut self.all[at];
            let Some(seq) = one.seq else { continue };
            let before = one.tokens.len();
            let mut computed = runner.memory().len(seq) - guessed;
            one.prompt_done(computed);
            one.again -= again;
            let mut finish = None;
            for token in computed - tokens..computed {
                if !one.wants_logits(token) {
                    continue;
                }
                if finish.is_none() {
                    finish = results(one, token, row, runner)?;
                }
                row += 1;
            }
            let chosen = one.tokens.get(before).copied();
            if guessed > 0 {
                let verdict;
                (verdict, finish) = check(one, guessed, row, finish, runner)?;
                row += guessed;
                computed += verdict.accepted;
                let kept = runner.memory_mut().truncate(seq, computed);
                one.again = computed - kept;
                computed = kept;
                one.guessed(guessed, verdict.accepted);
                if let Some(speculation) = &mut self.speculation {
                    speculation.judged(&mut one.acceptance, &one.guess, guessed, verdict);
                }
            }
            if let (Some(speculation), Some(chosen)) = (&mut self.speculation, chosen) {
                speculation.compare(&mut one.acceptance, &one.guess, guessed > 0, chosen);
            }
            one.guess = Guess::default();
            if one.caches() {
                runner.memory_mut().record(seq, &one.tokens);
            }
            let chosen = one.tokens.len() - before;
            self.counts.generated += chosen as u64;
            if let Some(Finish::Failed(Failure { kind: FailureKind::NotNumbers, .. })) = finish {
                // Keys and values may be NaN as well, also those from disk.
                if let Some(prompts) = &mut self.prompts {
                    prompts.distrust(&one.keys);
                    prompts.drop_offers();
                }
                one.seq = None;
                runner.memory_mut().free(seq);
                runner.memory_mut().forget();
            }
            if let Some(prompts) = &mut self.prompts
                && one.caches()
                && chosen > 0
            {
                one.keys.extend(&one.tokens, PAGE);
                prompts.offer(seq, &one.keys, computed, finish.is_some(), runner.memory());
            }
            ended.extend(finish.map(|finish| (at, finish)));
        }
        self.end(ended, runner.memory_mut());
        Ok(())
    }
}

/// Checks the guessed tokens that were computed after all tokens of a generation, their logits from `row` on. As long as they
/// are the tokens chosen, it chooses further ones. Returns why the generation ends, if it does.
///
/// # Errors
/// If the device fails.
fn check(
    one: &mut Running,
    guessed: usize,
    row: usize,
    mut finish: Option<Finish>,
    runner: &mut Runner,
) -> Result<(Verdict, Option<Finish>), Error> {
    let mut verdict = Verdict::default();
    while finish.is_none() && verdict.accepted < guessed {
        let at = one.tokens.len() - 1;
        if one.guess.tokens.get(verdict.accepted) != one.tokens.last() {
            verdict.wrong = true;
            break;
        }
        finish = results(one, at, row + verdict.accepted, runner)?;
        verdict.accepted += 1;
    }
    Ok((verdict, finish))
}

/// Takes candidates for the next token if they decide it, and otherwise all logits of a token, in a row of the step. Returns
/// why the generation ends, if it does.
///
/// # Errors
/// If the device fails.
fn results(
    one: &mut Running,
    token: usize,
    row: usize,
    runner: &mut Runner,
) -> Result<Option<Finish>, Error> {
    if runner.chooses() && one.takes_candidates(token) {
        let taken = runner.with_candidates(row, |candidates, tokenizer, context| {
            one.take_candidates(candidates, tokenizer, context)
        })?;
        if let Some(finish) = taken {
            return Ok(finish);
        }
    }
    runner.with_logits(row, |row, logits, tokenizer, context| {
        one.take_logits(token, row, logits, tokenizer, context)
    })
}

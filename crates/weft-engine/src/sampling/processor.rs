//! Logit processors, which change the logits before the next token is sampled, and penalties.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::sampling::parameters::Sampling;

/// Changes the logits of the next token: penalties, biases, grammars.
///
/// A generation calls its processors in order, for every token that it samples. The same tokens must lead to the same
/// changes: a processor's state may depend only on the tokens.
pub trait LogitProcessor: Send {
    /// Changes the logits, one for each token of the vocabulary. `-∞` forbids a token.
    ///
    /// `tokens` is the prompt and the reply so far; the reply begins at index `reply`.
    ///
    /// # Errors
    /// A message for the user. It ends this generation as [`Finish::Failed`](crate::Finish::Failed), as does a panic;
    /// others continue.
    fn process(&mut self, tokens: &[u32], reply: usize, logits: &mut [f32]) -> Result<(), String>;

    /// Returns the only token that [`process`](LogitProcessor::process) would allow here, if there is a single one whatever the
    /// logits are.
    ///
    /// Logits that decide nothing need not be read from the device. Then only this is called, and not `process`. The default
    /// is `None`.
    fn only(&mut self, tokens: &[u32], reply: usize) -> Option<u32> {
        let _ = (tokens, reply);
        None
    }

    /// Returns whether [`process`](LogitProcessor::process) would change nothing here, whatever the logits are. It need not be
    /// called then, so that candidates may be all that is read from the device. The default is `false`.
    fn is_idle(&mut self, tokens: &[u32], reply: usize) -> bool {
        let _ = (tokens, reply);
        false
    }

    /// Tells the processor which token was chosen, immediately, unless the reply ends with it. The next call of
    /// [`process`](LogitProcessor::process) comes after the next step, or at once if the token was
    /// [guessed](crate::Drafter).
    ///
    /// It should return quickly, since the engine waits for it. A grammar can start to compute its next mask on another
    /// thread here, while the device computes the step. The default does nothing.
    fn chosen(&mut self, token: u32) {
        let _ = token;
    }
}

impl<P: LogitProcessor + ?Sized> LogitProcessor for Box<P> {
    fn process(&mut self, tokens: &[u32], reply: usize, logits: &mut [f32]) -> Result<(), String> {
        (**self).process(tokens, reply, logits)
    }

    fn only(&mut self, tokens: &[u32], reply: usize) -> Option<u32> {
        (**self).only(tokens, reply)
    }

    fn is_idle(&mut self, tokens: &[u32], reply: usize) -> bool {
        (**self).is_idle(tokens, reply)
    }

    fn chosen(&mut self, token: u32) {
        (**self).chosen(token);
    }
}

/// Lowers the logits of tokens that have occurred before.
#[derive(Clone, Debug)]
pub(crate) struct Penalties {
    repeat: f32,
    presence: f32,
    frequency: f32,
    last: usize,
    /// Whether tokens of the prompt count.
    prompt: bool,
    /// The range of tokens that are counted.
    window: Range<usize>,
    /// How often each token occurs there.
    counts: BTreeMap<u32, u32>,
}

impl Penalties {
    /// The penalties of these parameters, or `None` if they have no effect.
    pub(crate) fn of(sampling: &Sampling) -> Option<Penalties> {
        let Sampling {
            repeat_penalty,
            presence_penalty,
            frequency_penalty,
            repeat_last_n,
            penalize_prompt,
            ..
        } = *sampling;
        let nothing = repeat_penalty == 1.0 && presence_penalty == 0.0 && frequency_penalty == 0.0;
        (!nothing).then_some(Penalties {
            repeat: repeat_penalty,
            presence: presence_penalty,
            frequency: frequency_penalty,
            last: repeat_last_n,
            prompt: penalize_prompt,
            window: 0..0,
            counts: BTreeMap::new(),
        })
    }

    /// Changes the logits of the token after `tokens`, which begin with those of the call before. The reply begins at
    /// index `reply`.
    pub(crate) fn apply(&mut self, tokens: &[u32], reply: usize, logits: &mut [f32]) {
        self.slide(tokens, reply);
        for (token, count) in &self.counts {
            let Some(logit) = logits.get_mut(*token as usize) else { continue };
            *logit = self.penalised(*logit, *count);
        }
    }

    /// Returns whether no logit becomes higher.
    pub(crate) fn only_lower(&self) -> bool {
        // −0 − −0 is 0, which is higher than −0.
        let not_negative = |x: f32| x >= 0.0 && x.is_sign_positive();
        self.repeat >= 1.0 && not_negative(self.presence) && not_negative(self.frequency)
    }

    /// The logit of a token after the tokens that were last [counted](Penalties::slide).
    pub(crate) fn lowered(&self, token: u32, logit: f32) -> f32 {
        self.counts.get(&token).map_or(logit, |count| self.penalised(logit, *count))
    }

    /// The logit of a token that occurs so often.
    fn penalised(&self, logit: f32, count: u32) -> f32 {
        let logit = if logit > 0.0 { logit / self.repeat } else { logit * self.repeat };
        logit - (self.presence + self.frequency * count as f32)
    }

    /// Counts the last of `tokens`, which begin with those of the call before. Only what the window gains and loses is counted.
    pub(crate) fn slide(&mut self, tokens: &[u32], reply: usize) {
        let first = if self.prompt { 0 } else { reply };
        let window = tokens.len().saturating_sub(self.last).max(first)..tokens.len();
        for token in tokens.get(self.window.end.max(window.start)..).unwrap_or_default() {
            *self.counts.entry(*token).or_default() += 1;
        }
        for token in &tokens[self.window.start..self.window.end.min(window.start)] {
            if let Some(count) = self.counts.get_mut(token) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(token);
                }
            }
        }
        self.window = window;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn penalties_lower_recent_tokens() {
        let none = Sampling::greedy();
        assert!(Penalties::of(&none).is_none());
        let processed = |sampling: Sampling, tokens: &[u32], reply: usize| {
            let mut logits = [2.0, -1.0, 1.0];
            Penalties::of(&sampling).unwrap().apply(tokens, reply, &mut logits);
            logits
        };
        let repeat = Sampling { repeat_penalty: 2.0, repeat_last_n: 2, ..none };
        assert_eq!(processed(repeat, &[0, 1], 0), [1.0, -2.0, 1.0]);
        // Too long ago, or not in the vocabulary.
        assert_eq!(processed(repeat, &[0, 2, 9], 0), [2.0, -1.0, 0.5]);
        let counted = Sampling { frequency_penalty: 0.5, presence_penalty: 0.25, ..none };
        assert_eq!(processed(counted, &[0, 2, 0], 3), [0.75, -1.0, 0.25]);
        // Only the reply counts.
        let reply = Sampling { penalize_prompt: false, ..counted };
        assert_eq!(processed(reply, &[0, 2, 0], 2), [1.25, -1.0, 1.0]);
        assert_eq!(processed(reply, &[0, 2, 0], 3), [2.0, -1.0, 1.0]);
    }

    /// A long reply gives the same logits as one counted anew at every token.
    #[test]
    fn counts_follow_the_window() {
        let tokens: Vec<u32> = (0..200u32).map(|i| i * i % 17).collect();
        for (last, prompt) in
            [(0, true), (1, true), (7, true), (7, false), (usize::MAX, true), (usize::MAX, false)]
        {
            let mut sampling =
                Sampling { repeat_last_n: last, penalize_prompt: prompt, ..Sampling::greedy() };
            (sampling.repeat_penalty, sampling.frequency_penalty) = (1.5, 0.25);
            let mut running = Penalties::of(&sampling).unwrap();
            for len in 20..tokens.len() {
                let (mut found, mut expected) = ([1.0; 17], [1.0; 17]);
                running.apply(&tokens[..len], 20, &mut found);
                Penalties::of(&sampling).unwrap().apply(&tokens[..len], 20, &mut expected);
                assert_eq!(found, expected, "{last} {prompt} {len}");
                assert_eq!(found.iter().any(|logit| *logit != 1.0), last > 0 && (prompt || len > 20));
            }
        }
    }
}

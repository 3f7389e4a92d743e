//! Logit processors, which change the logits before the next token is sampled, and penalties.

use crate::sample::Sampling;

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
}

/// Lowers the logits of tokens that have occurred before.
#[derive(Clone, Debug)]
pub(crate) struct Penalties {
    repeat: f32,
    presence: f32,
    frequency: f32,
    last: usize,
    /// The last tokens, sorted.
    seen: Vec<u32>,
}

impl Penalties {
    /// The penalties of these parameters, or `None` if they have no effect.
    pub(crate) fn of(sampling: &Sampling) -> Option<Penalties> {
        let Sampling { repeat_penalty, presence_penalty, frequency_penalty, repeat_last_n, .. } = *sampling;
        let nothing = repeat_penalty == 1.0 && presence_penalty == 0.0 && frequency_penalty == 0.0;
        (!nothing).then_some(Penalties {
            repeat: repeat_penalty,
            presence: presence_penalty,
            frequency: frequency_penalty,
            last: repeat_last_n,
            seen: Vec::new(),
        })
    }
}

impl LogitProcessor for Penalties {
    fn process(&mut self, tokens: &[u32], _: usize, logits: &mut [f32]) -> Result<(), String> {
        self.seen.clear();
        let last = &tokens[tokens.len().saturating_sub(self.last)..];
        self.seen.extend(last.iter().filter(|token| (**token as usize) < logits.len()));
        self.seen.sort_unstable();
        for run in self.seen.chunk_by(|a, b| a == b) {
            let logit = &mut logits[run[0] as usize];
            *logit = if *logit > 0.0 { *logit / self.repeat } else { *logit * self.repeat };
            *logit -= self.presence + self.frequency * run.len() as f32;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn penalties_lower_recent_tokens() {
        let none = Sampling::greedy();
        assert!(Penalties::of(&none).is_none());
        let processed = |sampling: Sampling, tokens: &[u32]| {
            let mut logits = [2.0, -1.0, 1.0];
            Penalties::of(&sampling).unwrap().process(tokens, 0, &mut logits).unwrap();
            logits
        };
        let repeat = Sampling { repeat_penalty: 2.0, repeat_last_n: 2, ..none };
        assert_eq!(processed(repeat, &[0, 1]), [1.0, -2.0, 1.0]);
        // Too long ago, or not in the vocabulary.
        assert_eq!(processed(repeat, &[0, 2, 9]), [2.0, -1.0, 0.5]);
        let counted = Sampling { frequency_penalty: 0.5, presence_penalty: 0.25, ..none };
        assert_eq!(processed(counted, &[0, 2, 0]), [0.75, -1.0, 0.25]);
    }
}

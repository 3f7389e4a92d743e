//! Log probabilities of tokens.

use weft_runtime::Logit;

use crate::generation::Token;
use crate::sampling::rank::select;

/// The likeliest tokens of a distribution, and its log-sum-exp.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Likeliest {
    /// Tokens with their log probabilities, the likeliest first.
    pub(crate) tokens: Vec<(u32, f32)>,
    /// The logarithm of the sum of the exponentials of all logits.
    log_sum: f64,
}

impl Likeliest {
    /// Computes the `most` likeliest tokens. Among equals, the lowest token comes first.
    pub(crate) fn of<L: Logit>(logits: &[L], most: usize) -> Likeliest {
        let top = logits.iter().map(|logit| logit.value()).fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|logit| f64::from(logit.value() - top).exp()).sum();
        let mut distribution = Likeliest { tokens: Vec::new(), log_sum: f64::from(top) + sum.ln() };
        let mut likeliest = Vec::new();
        select(logits, most, &mut likeliest);
        let tokens = likeliest.iter().map(|one| (one.token(), distribution.of_logit(one.logit())));
        distribution.tokens = tokens.collect();
        distribution
    }

    /// A token with this logit, with log probabilities.
    pub(crate) fn token(self, id: u32, logit: f32) -> Token {
        Token { id, logprob: Some(self.of_logit(logit)), likeliest: self.tokens }
    }

    /// The log probability of a token with this logit.
    pub(crate) fn of_logit(&self, logit: f32) -> f32 {
        (f64::from(logit) - self.log_sum) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_add_up_to_one_and_the_likeliest_come_first() {
        let logits = [0.5f32, 0.125, 0.25, 0.125].map(|p| p.ln() + 7.0);
        let all = Likeliest::of(&logits, 9);
        let sum: f32 = all.tokens.iter().map(|(_, logprob)| logprob.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        let two = Likeliest::of(&logits, 3);
        let ids: Vec<u32> = two.tokens.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [0, 2, 1]);
        assert!((two.tokens[0].1 - 0.5f32.ln()).abs() < 1e-6);
        assert!((two.of_logit(logits[3]) - 0.125f32.ln()).abs() < 1e-6);
        assert_eq!(Likeliest::of(&logits, 0).tokens, []);
    }
}

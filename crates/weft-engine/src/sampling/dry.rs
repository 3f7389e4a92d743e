//! DRY: lowers the logits of tokens that would continue a repetition, the more the longer it is.
//!
//! The sampler is p-e-w's, with the parameters and results of llama.cpp's: of the last tokens, every place is found where the end of the
//! text has occurred before, and the token that followed there is lowered by `multiplier · base^(length − allowed)`. A repetition does
//! not reach beyond a sequence breaker. These are looked for in the text of the tokens, so it does not matter how they are tokenised.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_text::Tokenizer;

use crate::request::GenerateOptions;

/// The natural logarithm of the largest `f32`, roughly.
const LARGEST: f64 = 88.722_839;
/// The most that a logit is lowered: far more than logits differ, and still a number.
const MOST: f32 = 1e30;

/// Lowers the logits of tokens that would continue a repetition.
#[derive(Clone, Debug)]
pub(crate) struct Dry {
    multiplier: f32,
    base: f64,
    allowed: usize,
    last: usize,
    breakers: Vec<Vec<u8>>,
    tokenizer: Arc<Tokenizer>,
    /// The number of tokens in which breakers were looked for, and the last of them in whose text one ends.
    seen: usize,
    broken: Option<usize>,
    /// For each distance from the end, how many of the last tokens are the same there.
    same: Vec<usize>,
    /// The length of the longest repetition that each token would continue.
    repeats: BTreeMap<u32, usize>,
}

impl Dry {
    /// The sampler of these options, or `None` if it has no effect.
    pub(crate) fn of(options: &GenerateOptions, tokenizer: &Arc<Tokenizer>) -> Option<Dry> {
        let sampling = &options.sampling;
        let acts = sampling.dry_multiplier > 0.0 && sampling.dry_base >= 1.0 && sampling.dry_last_n > 0;
        let breakers = options.dry_breakers.iter().filter(|breaker| !breaker.is_empty());
        acts.then(|| Dry {
            multiplier: sampling.dry_multiplier,
            base: f64::from(sampling.dry_base),
            allowed: sampling.dry_allowed_length,
            last: sampling.dry_last_n,
            breakers: breakers.map(|breaker| breaker.clone().into_bytes()).collect(),
            tokenizer: Arc::clone(tokenizer),
            seen: 0,
            broken: None,
            same: Vec::new(),
            repeats: BTreeMap::new(),
        })
    }

    /// Changes the logits of the token after `tokens`.
    pub(crate) fn apply(&mut self, tokens: &[u32], logits: &mut [f32]) {
        self.look(tokens);
        for token in self.repeats.keys() {
            if let Some(logit) = logits.get_mut(*token as usize) {
                *logit = self.lowered(*token, *logit);
            }
        }
    }

    /// Finds what would continue a repetition after these tokens.
    pub(crate) fn look(&mut self, tokens: &[u32]) {
        self.repeats.clear();
        let last = &tokens[tokens.len().saturating_sub(self.last)..];
        if last.len() <= self.allowed {
            return;
        }
        let since = self.last_break(tokens).map_or(tokens.len(), |at| tokens.len() - 1 - at);
        let limit = since.min(last.len());
        if limit < self.allowed {
            return;
        }
        repetitions(last, &mut self.same);
        for (back, same) in self.same.iter().enumerate().skip(1) {
            let length = (*same).min(limit);
            if length >= self.allowed {
                let longest = self.repeats.entry(last[last.len() - back]).or_insert(length);
                *longest = length.max(*longest);
            }
        }
        let (breakers, tokenizer) = (&self.breakers, &self.tokenizer);
        let contains = |token: u32, breaker: &[u8]| contains(tokenizer.token_bytes(token), breaker);
        self.repeats.retain(|token, _| !breakers.iter().any(|breaker| contains(*token, breaker)));
    }

    /// The logit of a token after the tokens that were [looked at](Dry::look) last. It is no higher than before.
    pub(crate) fn lowered(&self, token: u32, logit: f32) -> f32 {
        let Some(length) = self.repeats.get(&token) else { return logit };
        let mut exponent = i32::try_from(length - self.allowed).unwrap_or(i32::MAX);
        if self.base > 1.000_001 {
            exponent = exponent.min((LARGEST / self.base.ln()) as i32);
        }
        logit - (self.multiplier * self.base.powi(exponent) as f32).min(MOST)
    }

    /// The last token of a reply in whose text a breaker ends. Of tokens that were seen before, none is looked at again.
    fn last_break(&mut self, tokens: &[u32]) -> Option<usize> {
        if tokens.len() < self.seen {
            (self.seen, self.broken) = (0, None);
        }
        let found = (self.seen..tokens.len()).rev().find(|at| self.breaks(tokens, *at));
        (self.seen, self.broken) = (tokens.len(), found.or(self.broken));
        self.broken
    }

    /// Whether a breaker ends within the text of token number `at`.
    fn breaks(&self, tokens: &[u32], at: usize) -> bool {
        let own = self.tokenizer.token_bytes(tokens[at]);
        self.breakers.iter().any(|breaker| {
            if contains(own, breaker) {
                return true;
            }
            // It may have begun in the tokens before.
            (1..breaker.len()).any(|begun| {
                own.starts_with(&breaker[begun..]) && self.ends_with(&tokens[..at], &breaker[..begun])
            })
        })
    }

    /// Whether the text of these tokens ends with this.
    fn ends_with(&self, tokens: &[u32], mut text: &[u8]) -> bool {
        for token in tokens.iter().rev() {
            let own = self.tokenizer.token_bytes(*token);
            if own.len() >= text.len() {
                return own.ends_with(text);
            }
            let Some(rest) = text.strip_suffix(own) else { return false };
            text = rest;
        }
        text.is_empty()
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// For each distance from the end, how many of the last tokens are the same as those so far before them: the Z algorithm, from the end.
/// It takes as many steps as there are tokens.
fn repetitions(tokens: &[u32], same: &mut Vec<usize>) {
    same.clear();
    same.resize(tokens.len(), 0);
    let at = |back: usize| tokens[tokens.len() - 1 - back];
    // Of the stretches known to be the same as the end, the one that reaches farthest back: its begin and its end.
    let (mut begin, mut end) = (0, 0);
    for back in 1..tokens.len() {
        let mut length = if back < end { same[back - begin].min(end - back) } else { 0 };
        while back + length < tokens.len() && at(length) == at(back + length) {
            length += 1;
        }
        same[back] = length;
        if back + length > end {
            (begin, end) = (back, back + length);
        }
    }
}

#[cfg(test)]
mod tests {
    use weft_random::Random;
    use weft_text::TokenizerSpec;

    use super::*;

    /// A tokenizer whose tokens are these texts.
    fn tokenizer(texts: &[&str]) -> Arc<Tokenizer> {
        let tokens: Vec<String> = texts.iter().map(|text| text.replace('\n', "Ċ")).collect();
        let spec = TokenizerSpec {
            model: "gpt2",
            pre: "gpt-2",
            tokens: tokens.iter().map(String::as_bytes).collect(),
            merges: Some(Vec::new()),
            ..TokenizerSpec::default()
        };
        Arc::new(Tokenizer::new(&spec).unwrap())
    }

    fn options(allowed: usize, last: usize, breakers: &[&str]) -> GenerateOptions {
        let mut options = GenerateOptions::default();
        let sampling = &mut options.sampling;
        (sampling.dry_multiplier, sampling.dry_base) = (0.5, 2.0);
        (sampling.dry_allowed_length, sampling.dry_last_n) = (allowed, last);
        options.dry_breakers = breakers.iter().map(|text| text.to_string()).collect();
        options
    }

    /// The numbers by which each of six logits is lowered.
    fn lowered(options: &GenerateOptions, texts: &[&str], tokens: &[u32]) -> [f32; 6] {
        let mut logits = [0.0; 6];
        Dry::of(options, &tokenizer(texts)).unwrap().apply(tokens, &mut logits);
        logits.map(|logit| -logit)
    }

    const TEXTS: [&str; 6] = ["a", "b", "c", "y", "\n", "x:"];

    #[test]
    fn tokens_that_go_on_with_a_repetition_are_lowered() {
        // The example of llama.cpp's comments: a b c c b c y a b c.
        let tokens = [0, 1, 2, 2, 1, 2, 3, 0, 1, 2];
        let all = options(1, usize::MAX, &[]);
        // c after `abc`, b after `c`, y after `bc`.
        assert_eq!(lowered(&all, &TEXTS, &tokens), [0.0, 0.5, 2.0, 1.0, 0.0, 0.0]);
        assert_eq!(lowered(&options(3, usize::MAX, &[]), &TEXTS, &tokens), [0.0, 0.0, 0.5, 0.0, 0.0, 0.0]);
        // Only the last seven: c b c y a b c.
        assert_eq!(lowered(&options(1, 7, &[]), &TEXTS, &tokens), [0.0, 0.5, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(lowered(&options(7, 7, &[]), &TEXTS, &tokens), [0.0; 6]);
        // `b` breaks: the repetition is `c` alone, and `b` itself is free.
        assert_eq!(lowered(&options(1, 99, &["b"]), &TEXTS, &tokens), [0.0, 0.0, 0.5, 0.5, 0.0, 0.0]);
        assert_eq!(lowered(&options(2, 99, &["b"]), &TEXTS, &tokens), [0.0; 6]);
    }

    #[test]
    fn breakers_are_found_in_the_text() {
        let tokens = [0, 1, 4, 0, 1, 4];
        assert_eq!(lowered(&options(1, 99, &[]), &TEXTS, &tokens)[0], 2.0);
        assert_eq!(lowered(&options(1, 99, &["\n"]), &TEXTS, &tokens), [0.0; 6]);
        // Two tokens spell it.
        assert_eq!(lowered(&options(1, 99, &["b\n"]), &TEXTS, &tokens), [0.0; 6]);
        assert_eq!(lowered(&options(1, 99, &["ab\n"]), &TEXTS, &tokens), [0.0; 6]);
        assert_eq!(lowered(&options(1, 99, &["bb\n"]), &TEXTS, &tokens)[0], 2.0);
        // Part of a token's text.
        assert_eq!(lowered(&options(1, 99, &[":"]), &TEXTS, &[5, 0, 5, 0]), [0.0; 6]);
        assert_eq!(lowered(&options(1, 99, &[]), &TEXTS, &[5, 0, 5, 0])[5], 1.0);
    }

    #[test]
    fn long_repetitions_stay_finite() {
        let tokens = [1; 500];
        let found = lowered(&options(1, usize::MAX, &[]), &TEXTS, &tokens)[1];
        assert!(found >= 1e29 && found.is_finite(), "{found}");
        let mut flat = options(1, usize::MAX, &[]);
        flat.sampling.dry_base = 1.0;
        assert_eq!(lowered(&flat, &TEXTS, &tokens)[1], 0.5);
        flat.sampling.dry_base = 0.5;
        assert!(Dry::of(&flat, &tokenizer(&TEXTS)).is_none());
    }

    /// Any tokens give what the definition gives: for each token, the longest end of the text after which it has come before.
    #[test]
    fn repetitions_are_those_of_the_definition() {
        let mut random = Random::new(3);
        for _ in 0..500 {
            let letters = 1 + random.below(4);
            let tokens: Vec<u32> = (0..random.below(40)).map(|_| random.below(letters) as u32).collect();
            let allowed = 1 + random.below(3);
            let mut expected = [0.0; 6];
            for (token, lowered) in (0u32..).zip(&mut expected) {
                let before = (1..tokens.len()).filter(|at| tokens[*at] == token);
                let same = before.map(|at| {
                    (0..at).take_while(|i| tokens[at - 1 - i] == tokens[tokens.len() - 1 - i]).count()
                });
                let longest = same.max().unwrap_or(0);
                if longest >= allowed && tokens.len() > allowed {
                    *lowered = 0.5 * 2f32.powi((longest - allowed) as i32);
                }
            }
            assert_eq!(lowered(&options(allowed, usize::MAX, &[]), &TEXTS, &tokens), expected, "{tokens:?}");
        }
    }
}

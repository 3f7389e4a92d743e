//! Sampling the next token.

use std::cmp::Ordering;

use weft_random::Random;

use crate::error::Error;

/// Sampling parameters. They are applied in the order of the fields.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Sampling {
    /// Divides positive logits, and multiplies negative ones, of tokens that occur among the last
    /// [`repeat_last_n`](Self::repeat_last_n). 1 disables it.
    pub repeat_penalty: f32,
    /// Subtracted from the logits of tokens that occur there.
    pub presence_penalty: f32,
    /// Subtracted from the logits of tokens that occur there, once for each occurrence.
    pub frequency_penalty: f32,
    /// The number of last tokens that penalties consider. [`usize::MAX`] means all.
    pub repeat_last_n: usize,
    /// Whether penalties consider the prompt too, and not only the reply.
    pub penalize_prompt: bool,
    /// Keeps this many of the likeliest tokens. 0 keeps all.
    pub top_k: usize,
    /// Keeps the likeliest tokens until their probabilities add up to this. 1 keeps all.
    pub top_p: f32,
    /// Keeps tokens whose probability is at least `min_p` times the likeliest token's. 0 keeps all.
    pub min_p: f32,
    /// Divides the logits. 0 chooses the likeliest token.
    pub temperature: f32,
    /// The seed of the random numbers. The same seed and logits give the same tokens.
    pub seed: u64,
}

impl Default for Sampling {
    /// A moderate temperature, without penalties.
    fn default() -> Sampling {
        Sampling {
            repeat_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            repeat_last_n: 64,
            penalize_prompt: true,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            temperature: 0.6,
            seed: 0,
        }
    }
}

impl Sampling {
    /// Always chooses the likeliest token, without penalties.
    pub fn greedy() -> Sampling {
        Sampling { temperature: 0.0, ..Sampling::default() }
    }

    /// The name and value of a parameter that is not finite.
    pub(crate) fn not_finite(&self) -> Option<(&'static str, f32)> {
        let parameters = [
            ("repeat_penalty", self.repeat_penalty),
            ("presence_penalty", self.presence_penalty),
            ("frequency_penalty", self.frequency_penalty),
            ("top_p", self.top_p),
            ("min_p", self.min_p),
            ("temperature", self.temperature),
        ];
        parameters.into_iter().find(|(_, value)| !value.is_finite())
    }

    /// Sets the [temperature](Self::temperature).
    pub fn temperature(self, temperature: f32) -> Sampling {
        Sampling { temperature, ..self }
    }

    /// Sets the [seed](Self::seed).
    pub fn seed(self, seed: u64) -> Sampling {
        Sampling { seed, ..self }
    }
}

/// Samples tokens, with its own random numbers.
#[derive(Clone, Debug)]
pub struct Sampler {
    sampling: Sampling,
    random: Random,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    token: u32,
    logit: f32,
    p: f32,
}

impl Sampler {
    /// Creates a sampler.
    pub fn new(sampling: Sampling) -> Sampler {
        Sampler { sampling, random: Random::new(sampling.seed), candidates: Vec::new() }
    }

    /// Samples a token from the logits of a vocabulary. Penalties are not applied.
    ///
    /// # Errors
    /// [`Error::NotNumbers`] if a logit is NaN, [`Error::NothingAllowed`] if all are `-∞` or there are none.
    pub fn sample(&mut self, logits: &[f32]) -> Result<u32, Error> {
        let Sampling { top_k, top_p, min_p, temperature, .. } = self.sampling;
        if has_nan(logits) {
            return Err(Error::NotNumbers);
        }
        let likeliest = likeliest(logits).ok_or(Error::NothingAllowed)?;
        // A NaN temperature counts as 0.
        let random = temperature > 0.0 && top_k != 1;
        if !random {
            return Ok(likeliest);
        }
        self.gather(logits, if top_k == 0 { usize::MAX } else { top_k });
        self.candidates.sort_unstable_by(order);
        let top = logits[likeliest as usize];
        self.weigh(top, 1.0);
        if top_p < 1.0 {
            let mut sum = 0.0;
            let total: f32 = self.candidates.iter().map(|c| c.p).sum();
            let enough = self.candidates.iter().position(|c| {
                sum += c.p;
                sum >= top_p * total
            });
            self.candidates.truncate(enough.map_or(usize::MAX, |i| i + 1));
        }
        if min_p > 0.0 {
            let keep = self.candidates.iter().take_while(|c| c.p >= min_p).count();
            self.candidates.truncate(keep.max(1));
        }
        self.weigh(top, temperature);
        let total: f32 = self.candidates.iter().map(|c| c.p).sum();
        let mut left = self.random.uniform() * total;
        for c in &self.candidates {
            left -= c.p;
            if left < 0.0 {
                return Ok(c.token);
            }
        }
        // The sum was rounded: take the least likely of those that are possible.
        Ok(self.candidates.iter().rev().find(|c| c.p > 0.0).map_or(likeliest, |c| c.token))
    }

    /// Collects the `most` likeliest tokens as candidates, in no particular order.
    fn gather(&mut self, logits: &[f32], most: usize) {
        self.candidates.clear();
        if most >= logits.len() {
            let all = (0u32..).zip(logits).map(|(token, logit)| Candidate { token, logit: *logit, p: 0.0 });
            self.candidates.extend(all);
            return;
        }
        // Nearly all tokens are less likely than the least likely candidate so far, so few are looked at twice. One
        // that is as likely comes after it, since it is a higher token.
        let mut least = i32::MIN;
        for (chunk, first) in logits.chunks(CHUNK).zip((0u32..).step_by(CHUNK)) {
            if largest(chunk) <= least {
                continue;
            }
            for (logit, token) in chunk.iter().zip(first..).filter(|(logit, _)| rank(**logit) > least) {
                self.candidates.push(Candidate { token, logit: *logit, p: 0.0 });
            }
            if self.candidates.len() >= 4 * most {
                self.candidates.select_nth_unstable_by(most - 1, order);
                self.candidates.truncate(most);
                least = self.candidates.last().map_or(least, |candidate| rank(candidate.logit));
            }
        }
        if self.candidates.len() > most {
            self.candidates.select_nth_unstable_by(most - 1, order);
            self.candidates.truncate(most);
        }
    }

    /// Sets `p` of each candidate, relative to the probability of a logit of `top`.
    fn weigh(&mut self, top: f32, temperature: f32) {
        for c in &mut self.candidates {
            // Equal infinities are equally likely.
            c.p = if c.logit == top { 1.0 } else { ((c.logit - top) / temperature).exp() };
        }
    }
}

/// The likeliest first. Among equals, the lowest token comes first, so that results do not depend on the sorting
/// algorithm.
fn order(a: &Candidate, b: &Candidate) -> Ordering {
    b.logit.total_cmp(&a.logit).then(a.token.cmp(&b.token))
}

/// The number of logits compared at once, enough for the compiler to use vector instructions.
const CHUNK: usize = 64;

/// Maps each `f32` to an integer, in the order of [`f32::total_cmp`]. Vector instructions compare integers.
fn rank(x: f32) -> i32 {
    let bits = x.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

/// The largest rank.
fn largest(logits: &[f32]) -> i32 {
    logits.iter().fold(i32::MIN, |most, logit| most.max(rank(*logit)))
}

/// Returns whether a logit is NaN. Negative NaNs rank below all other values, positive NaNs above.
fn has_nan(logits: &[f32]) -> bool {
    let bounds = logits
        .iter()
        .fold((i32::MAX, i32::MIN), |(least, most), logit| (least.min(rank(*logit)), most.max(rank(*logit))));
    !logits.is_empty() && (bounds.0 < rank(f32::NEG_INFINITY) || bounds.1 > rank(f32::INFINITY))
}

/// The token with the highest logit, the first among equals, or `None` if all are `-∞`. No logit is NaN.
fn likeliest(logits: &[f32]) -> Option<u32> {
    let most = largest(logits);
    let first = logits.iter().position(|logit| rank(*logit) == most)?;
    (logits[first] > f32::NEG_INFINITY).then_some(first as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Sampling {
        Sampling { top_k: 0, top_p: 1.0, min_p: 0.0, temperature: 1.0, ..Sampling::default() }
    }

    fn counts(sampling: Sampling, logits: &[f32]) -> Vec<usize> {
        let mut sampler = Sampler::new(sampling);
        let mut counts = vec![0; logits.len()];
        for _ in 0..20_000 {
            counts[sampler.sample(logits).unwrap() as usize] += 1;
        }
        counts
    }

    #[test]
    fn frequencies_follow_the_probabilities() {
        let p = [0.5f32, 0.3, 0.15, 0.05];
        let logits = p.map(f32::ln);
        for (count, p) in counts(plain(), &logits).iter().zip(p) {
            // Five standard deviations of a binomial of 20000.
            let deviation = (20_000.0 * p * (1.0 - p)).sqrt() * 5.0;
            assert!((*count as f32 - 20_000.0 * p).abs() < deviation, "{count} for {p}");
        }
        let hot = counts(Sampling { temperature: 0.5, ..plain() }, &logits);
        let expected = 0.25 / (0.25 + 0.09 + 0.0225 + 0.0025);
        assert!((hot[0] as f32 / 20_000.0 - expected).abs() < 0.02);
    }

    #[test]
    fn unlikely_tokens_are_cut() {
        let logits = [0.5f32, 0.3, 0.15, 0.05].map(f32::ln);
        let kept = |s: Sampling| counts(s, &logits).iter().map(|c| usize::from(*c > 0)).collect::<Vec<_>>();
        assert_eq!(kept(Sampling { top_k: 2, ..plain() }), [1, 1, 0, 0]);
        assert_eq!(kept(Sampling { top_p: 0.79, ..plain() }), [1, 1, 0, 0]);
        assert_eq!(kept(Sampling { top_p: 0.81, ..plain() }), [1, 1, 1, 0]);
        assert_eq!(kept(Sampling { min_p: 0.2, ..plain() }), [1, 1, 1, 0]);
        assert_eq!(kept(Sampling { temperature: 0.0, ..plain() }), [1, 0, 0, 0]);
    }

    #[test]
    fn equal_seeds_give_equal_tokens() {
        let logits = [0.0f32; 50];
        let choices = |seed| {
            let mut s = Sampler::new(Sampling { seed, ..plain() });
            (0..20).map(|_| s.sample(&logits).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(choices(7), choices(7));
        assert_ne!(choices(7), choices(8));
    }

    #[test]
    fn gathering_finds_what_sorting_would() {
        let mut random = Random::new(3);
        for (len, most) in [(1, 1), (50, 7), (1000, 40), (1000, 999), (7, 40)] {
            // Few distinct values, so that many are equal; and ascending values, the worst order.
            let few: Vec<f32> = (0..len).map(|_| random.below(9) as f32).collect();
            let worst: Vec<f32> = (0..len).map(|i| i as f32).collect();
            for logits in [few, worst] {
                let mut sampler = Sampler::new(plain());
                sampler.gather(&logits, most);
                let mut found: Vec<u32> = sampler.candidates.iter().map(|c| c.token).collect();
                let mut all: Vec<Candidate> = (0u32..)
                    .zip(&logits)
                    .map(|(token, logit)| Candidate { token, logit: *logit, p: 0.0 })
                    .collect();
                all.sort_by(order);
                let mut expected: Vec<u32> = all.iter().take(most).map(|c| c.token).collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{most} of {len}");
            }
        }
    }

    #[test]
    fn the_first_of_the_likeliest_is_chosen() {
        let choose = |logits: &[f32]| Sampler::new(Sampling::greedy()).sample(logits).unwrap();
        assert_eq!(choose(&[1.0, 3.0, -2.0, 3.0]), 1);
        assert_eq!(choose(&[-0.0, 0.0]), 1);
        assert_eq!(choose(&[f32::NEG_INFINITY, f32::MIN]), 1);
    }

    #[test]
    fn nan_logits_are_an_error() {
        let mut s = Sampler::new(plain());
        for nan in [f32::NAN, -f32::NAN] {
            assert!(matches!(s.sample(&[nan, 1.0]), Err(Error::NotNumbers)));
            let many = [[0.0; 99].as_slice(), &[nan]].concat();
            assert!(matches!(s.sample(&many), Err(Error::NotNumbers)));
        }
        assert_eq!(s.sample(&[0.0, f32::INFINITY, 1.0]).unwrap(), 1);
        let no_temperature = Sampling { temperature: f32::NAN, ..plain() };
        assert_eq!(Sampler::new(no_temperature).sample(&[0.0, 2.0, 1.0]).unwrap(), 1);
    }

    #[test]
    fn forbidden_tokens_are_never_sampled() {
        for sampling in [plain(), Sampling::greedy()] {
            let mut s = Sampler::new(sampling);
            assert!(matches!(s.sample(&[f32::NEG_INFINITY; 3]), Err(Error::NothingAllowed)));
            assert!(matches!(s.sample(&[]), Err(Error::NothingAllowed)));
        }
        // One token that is nearly certain, and many whose probabilities the sum loses by rounding: some random numbers
        // are then larger than what the loop subtracts, and fall through to its end.
        let mut logits = vec![0.0f32];
        logits.extend(std::iter::repeat_n((0.7 * 2f32.powi(-23)).ln(), 40_000));
        logits.push(f32::NEG_INFINITY);
        let mut s = Sampler::new(Sampling { seed: 1, ..plain() });
        assert!((0..20_000).all(|_| s.sample(&logits).unwrap() != 40_001));
    }
}

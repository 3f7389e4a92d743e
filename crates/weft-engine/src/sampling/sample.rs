//! Sampling the next token.

use weft_random::Random;

use weft_runtime::{Error, Logit};

use crate::sampling::chain::{Chain, Drawn};
use crate::sampling::parameters::Sampling;
use crate::sampling::rank::{Known, Ranking, Survey};

/// Samples tokens, with its own random numbers.
#[derive(Clone, Debug)]
pub struct Sampler {
    sampling: Sampling,
    random: Random,
    /// The random numbers of XTC, one for each token too.
    xtc: Random,
    /// Mirostat's bound of surprise, in bits.
    mu: f32,
    chain: Chain,
    ranking: Ranking,
    /// The probabilities of the first tokens of `ranking`, relative to that of the likeliest.
    weights: Vec<f32>,
}

impl Sampler {
    /// Creates a sampler.
    pub fn new(sampling: Sampling) -> Sampler {
        let (random, xtc) = (Random::new(sampling.seed), Random::named(sampling.seed, "xtc"));
        let mu = 2.0 * sampling.mirostat_tau;
        let (chain, ranking, weights) = (Chain::default(), Ranking::default(), Vec::new());
        Sampler { sampling, random, xtc, mu, chain, ranking, weights }
    }

    /// Creates a sampler of the token at this position of a sequence and of those after it. Random numbers belong to
    /// positions: a reply that is continued as part of a prompt, elsewhere or later, gets the same tokens. Mirostat begins anew there.
    pub fn at(sampling: Sampling, position: usize) -> Sampler {
        let sampler = Sampler::new(sampling);
        let skip = |random: Random| random.skip(position as u64);
        Sampler { random: skip(sampler.random), xtc: skip(sampler.xtc), ..sampler }
    }

    /// Samples a token from the logits of a vocabulary. Penalties are not applied.
    ///
    /// # Errors
    /// [`Error::NotNumbers`] if a logit is NaN, [`Error::NothingAllowed`] if all are `-∞` or there are none.
    pub fn sample(&mut self, logits: &[f32]) -> Result<u32, Error> {
        self.sample_from(logits)
    }

    /// Samples a token from logits in memory of any form.
    ///
    /// # Errors
    /// Those of [`sample`](Sampler::sample).
    pub(crate) fn sample_from<L: Logit>(&mut self, logits: &[L]) -> Result<u32, Error> {
        let Survey { has_nan, likeliest } = Survey::of(logits);
        if has_nan {
            return Err(Error::NotNumbers);
        }
        let likeliest = likeliest.ok_or(Error::NothingAllowed)?;
        if self.is_greedy() {
            return Ok(likeliest);
        }
        let top = logits[likeliest as usize].value();
        let sampling = self.sampling;
        if sampling.mirostat {
            let (mu, random) = (self.mu, self.random.uniform());
            let (token, surprise) = self.chain.draw_surprising(logits, top, sampling.temperature, mu, random);
            self.surprised(surprise);
            return Ok(token);
        }
        if Chain::is_needed(&sampling) {
            self.chain.begin(logits, &sampling);
            let drawn = self.drawn();
            return Ok(self.chain.draw(&sampling, drawn));
        }
        self.ranking.begin(logits, top, self.most());
        Ok(self.draw(logits, likeliest, top))
    }

    /// Samples a token from the likeliest ones, with the same result as from all logits. `None` if it depends on others; the
    /// random numbers are then as before. No logit is NaN.
    ///
    /// # Errors
    /// [`Error::NothingAllowed`] if all are `-∞`.
    pub(crate) fn sample_known(&mut self, known: &Known) -> Result<Option<u32>, Error> {
        let Some((likeliest, top)) = known.first() else { return Ok(None) };
        if top == f32::NEG_INFINITY {
            return Err(Error::NothingAllowed);
        }
        if self.is_greedy() {
            return Ok(Some(likeliest));
        }
        if Chain::is_needed(&self.sampling) {
            let sampling = self.sampling;
            if !Chain::takes_candidates(&sampling) || !self.chain.begin_with(known, &sampling) {
                return Ok(None);
            }
            let drawn = self.drawn();
            return Ok(Some(self.chain.draw(&sampling, drawn)));
        }
        let before = self.random;
        self.ranking.begin_with(known, self.most());
        let chosen = self.draw::<f32>(&[], likeliest, top);
        if self.ranking.missed() {
            self.random = before;
            return Ok(None);
        }
        Ok(Some(chosen))
    }

    /// Advances the random numbers as if the only token that is allowed had been sampled.
    pub(crate) fn decided(&mut self) {
        if !self.is_greedy() {
            self.drawn();
            // It was certain.
            self.surprised(0.0);
        }
    }

    /// Whether candidates may be enough.
    pub(crate) fn takes_candidates(&self) -> bool {
        self.is_greedy() || Chain::takes_candidates(&self.sampling)
    }

    /// The random numbers of the next token.
    fn drawn(&mut self) -> Drawn {
        Drawn { token: self.random.uniform(), xtc: self.xtc.uniform() }
    }

    /// Lets mirostat's bound follow the surprise of a token, in bits.
    fn surprised(&mut self, surprise: f32) {
        let Sampling { mirostat_tau, mirostat_eta, .. } = self.sampling;
        self.mu -= mirostat_eta * (surprise - mirostat_tau);
    }

    /// Whether the likeliest token is chosen. A NaN temperature counts as 0.
    fn is_greedy(&self) -> bool {
        let Sampling { top_k, temperature, mirostat, .. } = self.sampling;
        if mirostat {
            return temperature <= 0.0 || temperature.is_nan();
        }
        // Of the others, not all leave the likeliest.
        top_k == 1 || !(temperature > 0.0 || Chain::may_leave_the_likeliest_out(&self.sampling))
    }

    /// The most tokens that are kept.
    fn most(&self) -> usize {
        if self.sampling.top_k == 0 { usize::MAX } else { self.sampling.top_k }
    }

    /// Draws one of the ranked tokens, the first of which has the logit `top`.
    fn draw<L: Logit>(&mut self, logits: &[L], likeliest: u32, top: f32) -> u32 {
        let Sampling { top_p, min_p, temperature, .. } = self.sampling;
        let mut kept = usize::MAX;
        if top_p < 1.0 {
            let total = self.weigh(logits, Weight { top, temperature: 1.0 }, kept);
            let mut sum = 0.0;
            let enough = self.weights.iter().position(|weight| {
                sum += weight;
                sum >= top_p * total
            });
            kept = enough.map_or(kept, |last| last + 1);
        }
        if min_p > 0.0 {
            let weight = Weight { top, temperature: 1.0 };
            let likely = |place: &usize| {
                let one = self.ranking.get(logits, *place);
                one.is_some_and(|one| weight.of(one.logit()) >= min_p)
            };
            kept = (0..kept).take_while(likely).count().max(1);
        }
        let weight = Weight { top, temperature };
        let total = self.weigh(logits, weight, kept);
        let mut left = self.random.uniform() * total;
        let mut last = likeliest;
        for place in 0..kept {
            let Some(one) = self.ranking.get(logits, place) else { break };
            let p = self.weights.get(place).copied().unwrap_or_else(|| weight.of(one.logit()));
            if p == 0.0 {
                break;
            }
            left -= p;
            last = one.token();
            if left < 0.0 {
                break;
            }
        }
        // If the sum was rounded, the number drawn may be beyond all probabilities. Then the least likely possible token is chosen.
        last
    }

    /// Sums the weights of the `most` likeliest tokens, in order, and notes those that the sum depends on.
    fn weigh<L: Logit>(&mut self, logits: &[L], weight: Weight, most: usize) -> f32 {
        self.weights.clear();
        let mut total = 0.0;
        for place in 0..most {
            if let Some((sorted, bound)) = self.ranking.rest()
                && place >= sorted
                && place > 0
                && total + weight.of(bound) == total
            {
                break;
            }
            let Some(one) = self.ranking.get(logits, place) else { break };
            let p = weight.of(one.logit());
            // So small that rounding loses it. All that follow are no larger.
            if total + p == total {
                break;
            }
            total += p;
            self.weights.push(p);
        }
        total
    }
}

/// The probability of a logit, relative to that of the highest.
#[derive(Clone, Copy)]
struct Weight {
    top: f32,
    temperature: f32,
}

impl Weight {
    fn of(self, logit: f32) -> f32 {
        // Equal infinities are equally likely.
        if logit == self.top { 1.0 } else { ((logit - self.top) / self.temperature).exp() }
    }
}

#[cfg(test)]
mod tests;

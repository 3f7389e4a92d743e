//! Samplers that look at a whole distribution: top-n-sigma, typical, XTC, dynamic temperature and mirostat 2, with the others in
//! llama.cpp's order.
//!
//! They need the tokens that are left, and not only the likeliest of them, so every step makes a list. Requests without them are
//! sampled in [`sample`](super::sample), which sorts less, with the same result.

use std::cmp::Ordering;

use weft_runtime::Logit;

use crate::sampling::parameters::Sampling;
use crate::sampling::rank::{Known, Ranked, ranked, select};

/// The tokens that are left, and memory for their probabilities.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    /// The likeliest first.
    kept: Vec<Ranked>,
    /// The probability of each.
    p: Vec<f32>,
    /// The places of the tokens, in another order.
    places: Vec<usize>,
    spare: Vec<Ranked>,
}

/// The random numbers of a token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    /// Decides which token is chosen.
    pub(crate) token: f32,
    /// Decides whether XTC acts.
    pub(crate) xtc: f32,
}

impl Chain {
    /// Whether parameters need this chain.
    pub(crate) fn is_needed(s: &Sampling) -> bool {
        s.mirostat || s.top_n_sigma > 0.0 || s.typical_p < 1.0 || has_xtc(s) || s.dynatemp_range > 0.0
    }

    /// Whether parameters may choose another token than the likeliest at a temperature of 0.
    pub(crate) fn may_leave_the_likeliest_out(s: &Sampling) -> bool {
        s.mirostat || s.typical_p < 1.0 || has_xtc(s) || s.dynatemp_range > 0.0
    }

    /// Whether the likeliest tokens can be enough. Top-n-sigma and mirostat need all logits.
    pub(crate) fn takes_candidates(s: &Sampling) -> bool {
        !s.mirostat && s.top_n_sigma <= 0.0
    }

    /// Begins with the tokens that top-n-sigma and top-k leave. No logit is NaN.
    pub(crate) fn begin<L: Logit>(&mut self, logits: &[L], s: &Sampling) {
        let least = (s.top_n_sigma > 0.0).then(|| least(logits, s.top_n_sigma));
        let stays = |logit: f32| {
            logit > f32::NEG_INFINITY
                && least.is_none_or(|least| logit.partial_cmp(&least) != Some(Ordering::Less))
        };
        if (1..logits.len()).contains(&s.top_k) {
            select(logits, s.top_k, &mut self.kept);
            self.kept.retain(|one| stays(one.logit()));
        } else {
            ranked(logits, stays, &mut self.kept, &mut self.spare);
        }
    }

    /// Begins with the likeliest tokens. Returns whether they are all that top-k leaves.
    pub(crate) fn begin_with(&mut self, known: &Known, s: &Sampling) -> bool {
        let most = if s.top_k == 0 { usize::MAX } else { s.top_k };
        let Some(tokens) = known.first_of(most) else { return false };
        self.kept.clear();
        self.kept.extend(tokens.iter().filter(|one| one.logit() > f32::NEG_INFINITY));
        true
    }

    /// Draws a token. There is one at least.
    pub(crate) fn draw(&mut self, s: &Sampling, drawn: Drawn) -> u32 {
        if s.typical_p < 1.0 {
            self.keep_typical(s.typical_p);
        }
        if s.top_p < 1.0 {
            let total = self.weigh(1.0);
            let mut sum = 0.0;
            let enough = self.p.iter().position(|p| {
                sum += p;
                sum >= s.top_p * total
            });
            self.kept.truncate(enough.map_or(usize::MAX, |last| last + 1));
        }
        if s.min_p > 0.0 {
            self.weigh(1.0);
            let likely = self.p.iter().take_while(|p| **p >= s.min_p).count();
            self.kept.truncate(likely.max(1));
        }
        if has_xtc(s) && self.kept.len() > 1 && drawn.xtc < s.xtc_probability {
            self.exclude_top_choices(s.xtc_threshold);
        }
        let temperature = self.temperature(s);
        if temperature <= 0.0 || temperature.is_nan() {
            return self.kept[0].token();
        }
        let total = self.weigh(temperature);
        self.kept[self.place(total, drawn.token)].token()
    }

    /// Draws a token of those whose surprise is at most `mu` bits. Returns it, and its surprise among these.
    pub(crate) fn draw_surprising<L: Logit>(
        &mut self,
        logits: &[L],
        top: f32,
        temperature: f32,
        mu: f32,
        random: f32,
    ) -> (u32, f32) {
        let weight = |logit: f32| if logit == top { 1.0 } else { ((logit - top) / temperature).exp() };
        // In the order of the tokens: a sum that depends on nothing else.
        let total: f64 = logits.iter().map(|logit| f64::from(weight(logit.value()))).sum();
        let likely = |logit: f32| {
            let p = (f64::from(weight(logit)) / total) as f32;
            p > 0.0 && -p.log2() <= mu
        };
        ranked(logits, likely, &mut self.kept, &mut self.spare);
        if self.kept.is_empty() {
            // No token is below the bound: the likeliest is taken.
            select(logits, 1, &mut self.kept);
        }
        let total = self.weigh(temperature);
        let place = self.place(total, random);
        (self.kept[place].token(), -(self.p[place] / total).log2())
    }

    /// Keeps the tokens whose surprise is closest to the distribution's entropy, until their probabilities add up to more than this.
    fn keep_typical(&mut self, most: f32) {
        let total = self.weigh(1.0);
        self.p.iter_mut().for_each(|p| *p /= total);
        let entropy = entropy(&self.p);
        let p = &self.p;
        let distance = |place: usize| (-p[place].ln() - entropy).abs();
        self.places.clear();
        self.places.extend(0..p.len());
        // Of equals the likelier comes first.
        // Distances are not negative, so their bits are in the same order.
        self.places.sort_by_cached_key(|place| distance(*place).to_bits());
        let mut sum = 0.0;
        let enough = self.places.iter().position(|place| {
            sum += p[*place];
            sum > most
        });
        self.places.truncate(enough.map_or(usize::MAX, |last| last + 1));
        self.places.sort_unstable();
        let kept = self.places.iter().map(|place| self.kept[*place]);
        self.spare.clear();
        self.spare.extend(kept);
        std::mem::swap(&mut self.kept, &mut self.spare);
    }

    /// Removes all but the last of the tokens that are at least so likely.
    fn exclude_top_choices(&mut self, threshold: f32) {
        let total = self.weigh(1.0);
        let likely = self.p.iter().take_while(|p| **p / total >= threshold).count();
        self.kept.drain(..likely.saturating_sub(1));
    }

    /// The temperature: with a range, the higher the more evenly the probabilities of the tokens are spread.
    fn temperature(&mut self, s: &Sampling) -> f32 {
        if s.dynatemp_range <= 0.0 || self.kept.len() < 2 {
            return s.temperature;
        }
        let total = self.weigh(1.0);
        self.p.iter_mut().for_each(|p| *p /= total);
        let spread = entropy(&self.p) / (self.p.len() as f32).ln();
        let least = (s.temperature - s.dynatemp_range).max(0.0);
        let most = s.temperature + s.dynatemp_range;
        least + (most - least) * spread.powf(s.dynatemp_exponent)
    }

    /// Computes the probabilities of the tokens, relative to that of the likeliest. Returns their sum, in order.
    fn weigh(&mut self, temperature: f32) -> f32 {
        let top = self.kept[0].logit();
        let weight = |one: &Ranked| {
            // Equal infinities are equally likely.
            if one.logit() == top { 1.0 } else { ((one.logit() - top) / temperature).exp() }
        };
        self.p.clear();
        self.p.extend(self.kept.iter().map(weight));
        self.p.iter().sum()
    }

    /// The place of the token that a random number chooses.
    fn place(&self, total: f32, random: f32) -> usize {
        let mut left = random * total;
        let chosen = self.p.iter().position(|p| {
            left -= p;
            left < 0.0
        });
        // If the sum was rounded, the number drawn may be beyond all probabilities. Then the least likely possible token is chosen.
        chosen.unwrap_or_else(|| self.p.iter().rposition(|p| *p > 0.0).unwrap_or(0))
    }
}

fn has_xtc(s: &Sampling) -> bool {
    s.xtc_probability > 0.0 && s.xtc_threshold <= 0.5
}

/// The entropy of probabilities that add up to 1, in nats.
fn entropy(p: &[f32]) -> f32 {
    let one = |p: &f32| if *p > 0.0 { -f64::from(*p) * f64::from(p.ln()) } else { 0.0 };
    p.iter().map(one).sum::<f64>() as f32
}

/// The logit that is `n` standard deviations of all possible logits below the highest.
fn least<L: Logit>(logits: &[L], n: f32) -> f32 {
    let possible = || logits.iter().map(|logit| logit.value()).filter(|logit| *logit > f32::NEG_INFINITY);
    let (mut sum, mut count, mut highest) = (0.0, 0.0, f32::NEG_INFINITY);
    for logit in possible() {
        sum += f64::from(logit);
        count += 1.0;
        highest = highest.max(logit);
    }
    let mean = sum / count;
    let squares: f64 = possible().map(|logit| (f64::from(logit) - mean).powi(2)).sum();
    highest - n * (squares / count).sqrt() as f32
}

#[cfg(test)]
mod tests;

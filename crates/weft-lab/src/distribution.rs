//! Probabilities from logits, in `f64` and without overflow.

use serde_json::{Value, json};

use crate::error::Error;

/// Logits read as a distribution over the vocabulary: `ln p(i) = x(i) − ln Σ eˣ`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distribution<'a> {
    logits: &'a [f32],
    /// The largest logit. It is subtracted before the exponential, so that the largest term is 1.
    top: f64,
    /// `ln Σ e^(x − top)`.
    log_sum: f64,
}

impl<'a> Distribution<'a> {
    /// Reads a row of logits. A logit of −∞ is an impossible token.
    ///
    /// # Errors
    /// If one is NaN or +∞, or none is finite.
    pub(crate) fn new(logits: &'a [f32]) -> Result<Distribution<'a>, Error> {
        let top = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let log_sum = logits.iter().map(|x| (f64::from(*x) - top).exp()).sum::<f64>().ln();
        // A NaN among them makes the sum NaN; so does the difference of two infinities.
        if log_sum.is_finite() {
            Ok(Distribution { logits, top, log_sum })
        } else {
            Err(weft_engine::Error::NotNumbers.into())
        }
    }

    /// `ln p(token)`; −∞ for tokens outside the vocabulary.
    pub(crate) fn log(&self, token: u32) -> f64 {
        self.logits.get(token as usize).map_or(f64::NEG_INFINITY, |x| self.log_of(*x))
    }

    /// `ln p` of a token with this logit.
    fn log_of(&self, logit: f32) -> f64 {
        f64::from(logit) - self.top - self.log_sum
    }

    /// The likeliest token; the first one if several are equal.
    pub(crate) fn top(&self) -> usize {
        let better = |best: usize, i: usize| if self.logits[i] > self.logits[best] { i } else { best };
        (0..self.logits.len()).fold(0, better)
    }

    /// The Kullback–Leibler divergence `Σ p · (ln p − ln q)` of `q` from this one, in nats.
    pub(crate) fn divergence(&self, q: &Distribution<'_>) -> f64 {
        let terms = self.logits.iter().zip(q.logits).map(|(of_p, of_q)| {
            let log_p = self.log_of(*of_p);
            match log_p.exp() {
                // The limit, even if q is 0 as well.
                0.0 => 0.0,
                p => p * (log_p - q.log_of(*of_q)),
            }
        });
        // Never negative but for rounding.
        terms.sum::<f64>().max(0.0)
    }
}

/// A running mean and variance (Welford, 1962).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Mean {
    count: u64,
    mean: f64,
    /// `Σ (x − mean)²`.
    squares: f64,
}

impl Mean {
    /// Adds a number.
    pub fn push(&mut self, x: f64) {
        self.count += 1;
        let before = x - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (x - self.mean);
    }

    /// The count of numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean; NaN without numbers.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean }
    }

    /// The standard error of the mean, `√(s² / n)`, as if the numbers were independent. NaN for fewer than two.
    pub fn standard_error(&self) -> f64 {
        let n = self.count as f64;
        if self.count < 2 { f64::NAN } else { (self.squares / (n * (n - 1.0))).sqrt() }
    }

    /// Both as JSON; NaN is `null`.
    pub fn json(&self) -> Value {
        json!({ "mean": self.mean(), "standard_error": self.standard_error() })
    }
}

impl FromIterator<f64> for Mean {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Mean {
        let mut mean = Mean::default();
        numbers.into_iter().for_each(|x| mean.push(x));
        mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn equal_logits_are_equally_likely() {
        for x in [0.0, -3.0e38, 1.0e30, 88.0] {
            let logits = [x; 8];
            let d = Distribution::new(&logits).unwrap();
            close(d.log(5), -(8f64.ln()));
            close(d.divergence(&d), 0.0);
            assert_eq!(d.top(), 0);
        }
    }

    #[test]
    fn probabilities_follow_the_odds() {
        // Odds of 1 : 2 : 5, also where exponentials overflow f32.
        for shift in [0.0, 500.0, -500.0] {
            let logits = [1.0f64, 2.0, 5.0].map(|odds| (odds.ln() + shift) as f32);
            let d = Distribution::new(&logits).unwrap();
            for (token, p) in [(0, 0.125), (1, 0.25), (2, 0.625)] {
                assert!((d.log(token).exp() - p).abs() < 2e-5, "{shift}: {token}");
            }
            assert_eq!((d.top(), d.log(3)), (2, f64::NEG_INFINITY));
        }
    }

    #[test]
    fn divergences_have_their_closed_forms() {
        let logits = |p: f64| [p.ln() as f32, (1.0 - p).ln() as f32];
        let (p, q) = (logits(0.75), logits(0.5));
        let (p, q) = (Distribution::new(&p).unwrap(), Distribution::new(&q).unwrap());
        // For two coins, p ln p/q + (1−p) ln (1−p)/(1−q), which is not symmetric.
        assert!((p.divergence(&q) - (0.75 * 1.5f64.ln() + 0.25 * 0.5f64.ln())).abs() < 1e-7);
        assert!((q.divergence(&p) - (0.5 * (2.0f64 / 3.0).ln() + 0.5 * 2f64.ln())).abs() < 1e-7);
        // An impossible token adds nothing; a possible one that the other calls impossible adds infinity.
        let never = [0.0, 0.0, f32::NEG_INFINITY];
        let always = [0.0; 3];
        let (never, always) = (Distribution::new(&never).unwrap(), Distribution::new(&always).unwrap());
        close(never.divergence(&always), 1.5f64.ln());
        close(never.divergence(&never), 0.0);
        assert_eq!(always.divergence(&never), f64::INFINITY);
    }

    #[test]
    fn logits_that_are_not_numbers_are_refused() {
        for logits in [&[0.0, f32::NAN][..], &[f32::NAN], &[1.0, f32::INFINITY], &[f32::NEG_INFINITY; 2], &[]]
        {
            let error = Distribution::new(logits).map(|_| ()).unwrap_err();
            assert!(matches!(error, Error::Engine(weft_engine::Error::NotNumbers)), "{logits:?}: {error}");
        }
    }

    #[test]
    fn means_have_an_error() {
        let mean: Mean = [1.0, 2.0, 3.0, 4.0].into_iter().collect();
        close(mean.mean(), 2.5);
        // The variance is 5/3.
        close(mean.standard_error(), (5.0f64 / 12.0).sqrt());
        // Numbers whose squares agree in all digits but the last.
        let far: Mean = [1e9, 1e9 + 1.0, 1e9 + 2.0].into_iter().collect();
        close(far.standard_error(), (1.0f64 / 3.0).sqrt());
        let one: Mean = [7.0].into_iter().collect();
        assert!(one.mean() == 7.0 && one.standard_error().is_nan() && Mean::default().mean().is_nan());
    }
}

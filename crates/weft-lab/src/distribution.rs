//! What logits say: probabilities, in `f64` and with nothing that overflows.

use serde_json::{Value, json};

use crate::error::Error;

/// Logits read as a distribution over the vocabulary: `ln p(i) = x(i) − ln Σ eˣ`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distribution<'a> {
    logits: &'a [f32],
    /// The largest logit. It is taken off before the exponential, so that no term exceeds 1 and one of them is 1.
    top: f64,
    /// `ln Σ e^(x − top)`.
    log_sum: f64,
}

impl<'a> Distribution<'a> {
    /// Reads a row of logits. A logit of −∞ is a token that cannot come.
    ///
    /// # Errors
    /// If one is NaN or +∞, or none is a number.
    pub(crate) fn new(logits: &'a [f32]) -> Result<Distribution<'a>, Error> {
        let top = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let log_sum = logits.iter().map(|x| (f64::from(*x) - top).exp()).sum::<f64>().ln();
        // A NaN among them makes the sum one; so does the difference of two infinities.
        if log_sum.is_finite() {
            Ok(Distribution { logits, top, log_sum })
        } else {
            Err(weft_engine::Error::NotNumbers.into())
        }
    }

    /// `ln p(token)`; −∞ for what is not in the vocabulary.
    pub(crate) fn log(&self, token: u32) -> f64 {
        self.logits.get(token as usize).map_or(f64::NEG_INFINITY, |x| self.log_of(*x))
    }

    /// `ln p` of a token with this logit.
    fn log_of(&self, logit: f32) -> f64 {
        f64::from(logit) - self.top - self.log_sum
    }

    /// The likeliest token; the first of several.
    pub(crate) fn top(&self) -> usize {
        let better = |best: usize, i: usize| if self.logits[i] > self.logits[best] { i } else { best };
        (0..self.logits.len()).fold(0, better)
    }

    /// The Kullback–Leibler divergence `Σ p · (ln p − ln q)` of `q` from this one, in nats.
    pub(crate) fn divergence(&self, q: &Distribution<'_>) -> f64 {
        let terms = self.logits.iter().zip(q.logits).map(|(of_p, of_q)| {
            let log_p = self.log_of(*of_p);
            match log_p.exp() {
                // Its limit, also where q is 0 too.
                0.0 => 0.0,
                p => p * (log_p - q.log_of(*of_q)),
            }
        });
        // It is never negative; the sum's rounding may be.
        terms.sum::<f64>().max(0.0)
    }
}

/// Mean and spread of numbers that come one after another (Welford, 1962).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Mean {
    count: u64,
    mean: f64,
    /// `Σ (x − mean)²`.
    squares: f64,
}

impl Mean {
    /// Adds one.
    pub fn push(&mut self, x: f64) {
        self.count += 1;
        let before = x - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (x - self.mean);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean; NaN of none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean }
    }

    /// How far the mean may be off, as one standard error: `√(s² / n)`, as if the numbers did not depend on each other. NaN of less than two.
    pub fn standard_error(&self) -> f64 {
        let n = self.count as f64;
        if self.count < 2 { f64::NAN } else { (self.squares / (n * (n - 1.0))).sqrt() }
    }

    /// Both, for programs; what is NaN is `null`.
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
    fn probabilities_are_those_of_the_odds() {
        // Odds of 1 : 2 : 5, far from where exponentials of f32 are numbers.
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
        // Of two coins: p ln p/q + (1−p) ln (1−p)/(1−q), which is not symmetric.
        assert!((p.divergence(&q) - (0.75 * 1.5f64.ln() + 0.25 * 0.5f64.ln())).abs() < 1e-7);
        assert!((q.divergence(&p) - (0.5 * (2.0f64 / 3.0).ln() + 0.5 * 2f64.ln())).abs() < 1e-7);
        // What cannot come adds nothing; what comes and the other calls impossible is infinitely surprising.
        let never = [0.0, 0.0, f32::NEG_INFINITY];
        let always = [0.0; 3];
        let (never, always) = (Distribution::new(&never).unwrap(), Distribution::new(&always).unwrap());
        close(never.divergence(&always), 1.5f64.ln());
        close(never.divergence(&never), 0.0);
        assert_eq!(always.divergence(&never), f64::INFINITY);
    }

    #[test]
    fn what_is_no_number_is_refused() {
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
        // Numbers whose squares cancel all digits but the last.
        let far: Mean = [1e9, 1e9 + 1.0, 1e9 + 2.0].into_iter().collect();
        close(far.standard_error(), (1.0f64 / 3.0).sqrt());
        let one: Mean = [7.0].into_iter().collect();
        assert!(one.mean() == 7.0 && one.standard_error().is_nan() && Mean::default().mean().is_nan());
    }
}

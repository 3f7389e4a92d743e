//! Samples of one quantity, all of them kept.

use serde_json::{Value, json};

/// Samples of one quantity, in the order they were taken. Without samples, all statistics are NaN.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Creates an empty list.
    pub const fn new() -> Samples {
        Samples(Vec::new())
    }

    /// Adds a sample.
    pub fn push(&mut self, sample: f64) {
        self.0.push(sample);
    }

    /// All samples.
    pub fn all(&self) -> &[f64] {
        &self.0
    }

    /// The median: the middle sample, or the mean of the two in the middle.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let half = sorted.len() / 2;
        match sorted[..] {
            [] => f64::NAN,
            _ if sorted.len().is_multiple_of(2) => (sorted[half - 1] + sorted[half]) / 2.0,
            _ => sorted[half],
        }
    }

    /// The quantile `q` between 0 and 1: 0.25 is the first quartile, 0.5 the [`median`](Samples::median). Interpolates between samples.
    pub fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
        let at = q.clamp(0.0, 1.0) * last as f64;
        let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
        low + (high - low) * at.fract()
    }

    /// How much the samples scatter: their interquartile range as a fraction of the median.
    pub fn scatter(&self) -> f64 {
        (self.quantile(0.75) - self.quantile(0.25)) / self.median()
    }

    /// The smallest sample.
    pub fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::NAN, f64::min)
    }

    /// The largest sample.
    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(f64::NAN, f64::max)
    }

    /// The statistics and every sample as JSON; NaN is `null`.
    pub fn json(&self) -> Value {
        json!({ "median": self.median(), "min": self.min(), "max": self.max(), "samples": self.0 })
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(samples: I) -> Samples {
        Samples(samples.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_in_the_middle() {
        for (samples, median) in [
            (&[7.0][..], 7.0),
            (&[9.0, 1.0], 5.0),
            (&[9.0, 1.0, 2.0], 2.0),
            (&[4.0, -1.0, 8.0, 2.0], 3.0),
            (&[1.0, 1.0, 1.0, 100.0, 1.0], 1.0),
        ] {
            let samples: Samples = samples.iter().copied().collect();
            assert_eq!(samples.median(), median, "{samples:?}");
        }
    }

    #[test]
    fn quantiles_lie_between_samples() {
        let samples: Samples = [4.0, 0.0, 2.0, 1.0, 3.0].into_iter().collect();
        assert_eq!([0.0, 0.25, 0.5, 0.9, 1.0].map(|q| samples.quantile(q)), [0.0, 1.0, 2.0, 3.6, 4.0]);
        assert_eq!(samples.quantile(0.5), samples.median());
        assert!(Samples::new().quantile(0.5).is_nan());
        assert_eq!(samples.scatter(), 1.0);
        assert!(Samples::new().scatter().is_nan());
    }

    #[test]
    fn every_sample_is_kept_in_order() {
        let mut samples: Samples = [2.0, 0.5].into_iter().collect();
        samples.push(1.0);
        assert_eq!((samples.min(), samples.max()), (0.5, 2.0));
        let expected = json!({ "median": 1.0, "min": 0.5, "max": 2.0, "samples": [2.0, 0.5, 1.0] });
        assert_eq!(samples.json(), expected);
    }

    #[test]
    fn without_samples_there_are_no_statistics() {
        let none = Samples::default();
        assert!(none.median().is_nan() && none.min().is_nan() && none.max().is_nan());
        assert_eq!(none.json(), json!({ "median": null, "min": null, "max": null, "samples": [] }));
    }
}

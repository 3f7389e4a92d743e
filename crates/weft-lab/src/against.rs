//! Compares a benchmark with an earlier one by the rule of ablations.
//!
//! The samples of two runs are not pairs: whatever else the machine did differs between them. So a verdict says that the figures
//! differ, and not why.

use serde_json::{Value, json};

use crate::ablate::{Gain, Rule, Verdict};
use crate::samples::Samples;

/// A figure of two benchmarks.
#[derive(Clone, PartialEq, Debug)]
pub struct Against {
    /// The measured quantity: `decode of 32 at 0`.
    pub name: String,
    /// The medians in tokens per second: before, now.
    pub rates: [f64; 2],
    /// The number of samples of each that were compared.
    pub samples: usize,
    /// The gain, with its confidence interval.
    pub gain: Gain,
}

impl Against {
    /// The verdict in a word.
    pub fn verdict(&self) -> &'static str {
        match self.gain.verdict() {
            Verdict::Keep => "faster",
            Verdict::Drop => "slower",
            Verdict::Undecided if self.gain.low.is_nan() => "too few samples",
            Verdict::Undecided => "undecided",
        }
    }

    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let Against { name, rates: [before, now], samples, gain } = self;
        json!({
            "figure": name, "before": before, "now": now, "samples": samples, "gain": gain.json(), "verdict": self.verdict(),
        })
    }
}

/// Compares the results of a benchmark with those of an earlier one, where both have measured the same.
pub fn against(before: &Value, now: &Value) -> Vec<Against> {
    let settings = |results: &Value| results["settings"].as_array().cloned().unwrap_or_default();
    let (before, now) = (settings(before), settings(now));
    let rates = |setting: &Value| -> Vec<f64> {
        let samples = setting["tokens_per_second"]["samples"].as_array();
        samples.into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    let shared: Vec<(&Value, Vec<f64>, Vec<f64>)> = now
        .iter()
        .filter_map(|own| {
            let same = |other: &&Value| {
                ["phase", "depth", "tokens", "sequences", "wrong_guesses"]
                    .iter()
                    .all(|key| own[*key] == other[*key])
            };
            before.iter().find(same).map(|other| (own, rates(other), rates(own)))
        })
        .collect();
    let of = |(setting, before, now): &(&Value, Vec<f64>, Vec<f64>)| {
        let pairs: Vec<(f64, f64)> = before.iter().copied().zip(now.iter().copied()).collect();
        let text = |key: &str| setting[key].as_str().map_or_else(|| setting[key].to_string(), str::to_string);
        let replies = setting["sequences"].as_u64().map_or(String::new(), |n| format!(" × {n}"));
        let median = |rates: &[f64]| rates.iter().copied().collect::<Samples>().median();
        Against {
            name: format!("{}{replies} of {} at {}", text("phase"), text("tokens"), text("depth")),
            rates: [median(before), median(now)],
            samples: pairs.len(),
            gain: Rule::new(shared.len(), pairs.len()).gain(&pairs),
        }
    };
    shared.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(settings: &[(&str, usize, &[f64])]) -> Value {
        let setting = |(phase, depth, rates): &(&str, usize, &[f64])| json!({ "phase": phase, "depth": depth, "tokens": 8, "tokens_per_second": { "samples": rates } });
        json!({ "settings": settings.iter().map(setting).collect::<Value>() })
    }

    #[test]
    fn figures_of_the_same_setting_are_compared() {
        let (even, fast) = ([10.0, 10.01, 9.99, 10.0, 10.0, 10.0, 10.02, 10.0], [11.0; 8]);
        let before = results(&[
            ("prefill", 0, &even),
            ("decode", 0, &even),
            ("decode", 4096, &fast),
            ("decode", 9, &even),
        ]);
        let now = results(&[
            ("decode", 0, &fast),
            ("prefill", 0, &even),
            ("decode", 4096, &even),
            ("decode", 7, &even),
        ]);
        let found = against(&before, &now);
        let shown: Vec<String> = found.iter().map(|one| format!("{}: {}", one.name, one.verdict())).collect();
        assert_eq!(
            shown,
            ["decode of 8 at 0: faster", "prefill of 8 at 0: undecided", "decode of 8 at 4096: slower"]
        );
        assert_eq!((found[0].rates, found[0].samples), ([10.0, 11.0], 8));
        assert_eq!(found[0].json()["verdict"], "faster");
    }

    #[test]
    fn few_samples_give_no_verdict() {
        let found = against(&results(&[("decode", 0, &[1.0, 1.0])]), &results(&[("decode", 0, &[2.0; 9])]));
        assert_eq!((found[0].samples, found[0].verdict()), (2, "too few samples"));
        assert_eq!(against(&Value::Null, &results(&[])), []);
    }
}

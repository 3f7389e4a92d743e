//! The rule that turns pairs of samples into a verdict.
//!
//! A pair is the same tokens computed by the base and, back to back, by the change. The ratio of their rates is the effect of the
//! change, whatever else the machine was doing. The gain is the median of the logarithms of all ratios; its confidence interval is a
//! bootstrap (Efron, 1979): the median of as many pairs drawn with replacement, thousands of times, and the range that contains all
//! but a few of these medians. The draws are the same each time, so the same samples give the same verdict.
//!
//! A change is kept if the whole interval is above 2 %, and dropped if the whole interval is below −2 %; otherwise it is undecided.
//! So a change whose true gain or loss is below 2 % gets a verdict in at most 5 of 100 ablations, and one without effect hardly ever.
//!
//! Samples are looked at up to three times, after each third, so that clear cases end early. Each look at each phase could be the
//! one that errs, so they share the 5 in 100 (Bonferroni's correction, which holds however they depend on each other). Stopping
//! early because the whole interval is within ±2 % makes no verdict, and so costs no error.

use serde_json::{Value, json};
use weft_random::Random;

/// The smallest gain or loss that leads to a verdict, as a fraction of the rate.
pub const MARGIN: f64 = 0.02;

/// The largest rate of wrong verdicts for changes that do less than that: 5 in 100.
const ERROR: f64 = 0.05;

/// How often samples are examined, if there are enough.
const LOOKS: usize = 3;

/// Medians drawn: enough for ten beyond each end of the widest interval.
const DRAWS: usize = 4000;

/// The verdict on a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It gains more than 2 %.
    Keep,
    /// It loses more than 2 %, or computes something else.
    Drop,
    /// Neither is certain.
    Undecided,
}

impl Verdict {
    /// The verdict in a word.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Keep => "keep",
            Verdict::Drop => "drop",
            Verdict::Undecided => "undecided",
        }
    }
}

/// The gain of a change, as a fraction of the rate: 0.05 for 5 % more.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gain {
    /// The median of the pairs; NaN if there are none.
    pub median: f64,
    /// The lower end of the confidence interval; NaN if there are too few pairs.
    pub low: f64,
    /// The upper end of the confidence interval; NaN if there are too few pairs.
    pub high: f64,
}

impl Gain {
    /// Everything as JSON; NaN is `null`.
    pub fn json(&self) -> Value {
        json!({ "median": self.median, "low": self.low, "high": self.high })
    }

    /// The verdict on this gain.
    pub fn verdict(&self) -> Verdict {
        if self.low > MARGIN {
            Verdict::Keep
        } else if self.high < -MARGIN {
            Verdict::Drop
        } else {
            Verdict::Undecided
        }
    }

    /// Whether more pairs are not worth their time: there is a verdict, or hardly ever will be.
    pub(crate) fn is_settled(&self) -> bool {
        self.verdict() != Verdict::Undecided || (self.low > -MARGIN && self.high < MARGIN)
    }
}

/// The rule for some number of phases and pairs.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The numbers of pairs after which samples are examined.
    looks: Vec<usize>,
    /// The fraction of a phase's medians outside the interval.
    outside: f64,
}

impl Rule {
    /// Creates the rule for this many phases, each measured in at most `pairs` pairs.
    pub fn new(phases: usize, pairs: usize) -> Rule {
        let outside = |looks: usize| ERROR / (looks * phases.max(1)) as f64;
        // Looks at too few pairs for an interval are pointless.
        let looks = if pairs / LOOKS >= least(outside(LOOKS)) { LOOKS } else { 1 };
        let at = |look: usize| (pairs * look).div_ceil(looks);
        Rule { looks: (1..=looks).map(at).collect(), outside: outside(looks) }
    }

    /// The fewest pairs of samples of each of `phases` phases that can give a verdict, however large
    /// the gain is.
    pub fn fewest(phases: usize) -> usize {
        (1..).find(|&pairs| Rule::new(phases, pairs).can_decide()).unwrap_or(usize::MAX)
    }

    /// Whether there will be enough pairs for an interval, and so for a verdict.
    fn can_decide(&self) -> bool {
        self.looks.last().is_some_and(|&pairs| pairs >= least(self.outside))
    }

    /// The numbers of pairs after which samples are examined.
    pub fn looks(&self) -> &[usize] {
        &self.looks
    }

    /// The confidence level of each interval: 0.95 for 95 %.
    pub fn confidence(&self) -> f64 {
        1.0 - self.outside
    }

    /// Computes the gain from pairs of rates, the base's first.
    pub fn gain(&self, pairs: &[(f64, f64)]) -> Gain {
        let mut logs: Vec<f64> = pairs.iter().map(|(base, variant)| (variant / base).ln()).collect();
        let gain = |log: f64| log.exp_m1();
        if pairs.len() < least(self.outside) || logs.iter().any(|log| !log.is_finite()) {
            return Gain { median: gain(median(&mut logs)), low: f64::NAN, high: f64::NAN };
        }
        let mut random = Random::new(0);
        let mut drawn = vec![0.0; logs.len()];
        let mut draw = || {
            drawn.iter_mut().for_each(|log| *log = logs[random.below(logs.len())]);
            median(&mut drawn)
        };
        let mut medians: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
        medians.sort_unstable_by(f64::total_cmp);
        let cut = (self.outside / 2.0 * DRAWS as f64).floor() as usize;
        let [low, high] = [medians[cut], medians[DRAWS - 1 - cut]];
        Gain { median: gain(median(&mut logs)), low: gain(low), high: gain(high) }
    }
}

/// The fewest pairs for an interval. With fewer, the true median would be outside of them all too often. (Each pair is on either side
/// of it with a probability of one half.)
fn least(outside: f64) -> usize {
    (1..64).find(|&pairs| 0.5f64.powi(pairs - 1) <= outside).unwrap_or(64) as usize
}

/// The median: the middle value, or the mean of the two in the middle; NaN if there are none. Reorders the values.
fn median(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    if values.is_empty() {
        return f64::NAN;
    }
    let even = values.len().is_multiple_of(2);
    let (below, &mut middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if even { (below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + middle) / 2.0 } else { middle }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(ratios: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
        ratios.into_iter().map(|ratio| (50.0, 50.0 * ratio)).collect()
    }

    #[test]
    fn a_verdict_needs_the_whole_interval() {
        for (low, high, verdict, settled) in [
            (0.021, 0.05, Verdict::Keep, true),
            (0.019, 0.05, Verdict::Undecided, false),
            (-0.05, -0.021, Verdict::Drop, true),
            (-0.05, -0.019, Verdict::Undecided, false),
            (-0.019, 0.019, Verdict::Undecided, true),
            (-0.05, 0.05, Verdict::Undecided, false),
            (f64::NAN, f64::NAN, Verdict::Undecided, false),
        ] {
            let gain = Gain { median: 0.0, low, high };
            assert_eq!((gain.verdict(), gain.is_settled()), (verdict, settled), "{gain:?}");
        }
    }

    #[test]
    fn looks_share_the_error_rate() {
        let rule = Rule::new(2, 30);
        assert_eq!(rule.looks(), [10, 20, 30]);
        assert!((rule.confidence() - (1.0 - 0.05 / 6.0)).abs() < 1e-12);
        assert_eq!(Rule::new(1, 31).looks(), [11, 21, 31]);
        // Too few for three looks.
        let rule = Rule::new(1, 12);
        assert_eq!((rule.looks(), rule.confidence()), (&[12][..], 0.95));
        assert_eq!(Rule::new(0, 0).looks(), [0]);
    }

    #[test]
    fn a_gain_is_that_of_the_median_pair() {
        let rule = Rule::new(1, 9);
        let gain = rule.gain(&pairs([1.0, 1.1, 1.2, 1.1, 1.1, 9.0, 1.1, 1.0, 1.1]));
        assert!((gain.median - 0.1).abs() < 1e-12, "{gain:?}");
        assert!((gain.low..=gain.high).contains(&gain.median));
        assert_eq!(
            gain,
            rule.gain(&pairs([1.0, 1.1, 1.2, 1.1, 1.1, 9.0, 1.1, 1.0, 1.1])),
            "the same each time"
        );
        // The machine was half as fast for a while, in both samples of a pair.
        let slow: Vec<_> = (0..9).map(|i| if i % 2 == 0 { (50.0, 55.0) } else { (25.0, 27.5) }).collect();
        let gain = rule.gain(&slow);
        assert!((gain.low - 0.1).abs() < 1e-12 && (gain.high - 0.1).abs() < 1e-12, "{gain:?}");
    }

    #[test]
    fn few_pairs_give_no_verdict() {
        let rule = Rule::new(1, 5);
        for few in 0..6 {
            let gain = rule.gain(&pairs(vec![1.5; few]));
            assert!(gain.low.is_nan() && gain.verdict() == Verdict::Undecided, "{few}: {gain:?}");
        }
        assert_eq!(rule.gain(&pairs([1.5; 6])).verdict(), Verdict::Keep);
        let broken = rule.gain(&pairs([1.5, 1.5, 1.5, 0.0, 1.5, 1.5, 1.5]));
        assert_eq!(broken.verdict(), Verdict::Undecided, "a rate of zero is no measurement");
        assert_eq!(rule.gain(&[]).json(), json!({ "median": null, "low": null, "high": null }));
    }

    #[test]
    fn the_fewest_pairs_are_those_with_which_a_clear_gain_is_certain() {
        for phases in 1..=40 {
            let fewest = Rule::fewest(phases);
            let verdict = |pairs: usize| Rule::new(phases, pairs).gain(&pairs_of(1.5, pairs)).verdict();
            assert_eq!(verdict(fewest), Verdict::Keep, "{phases} phases, {fewest} pairs");
            assert_eq!(verdict(fewest - 1), Verdict::Undecided, "{phases} phases, {fewest} pairs");
        }
        assert_eq!([1, 2].map(Rule::fewest), [6, 7]);
    }

    fn pairs_of(ratio: f64, count: usize) -> Vec<(f64, f64)> {
        pairs(vec![ratio; count])
    }

    /// Realistic ratios: mostly near the truth, now and then far off on either side.
    fn noisy(random: &mut Random, truth: f64) -> (f64, f64) {
        let mut unit = || random.next_u64() as f64 / u64::MAX as f64 - 0.5;
        let mut noise = 0.03 * (unit() + unit() + unit());
        if unit() > 0.4 {
            noise += unit();
        }
        (1.0, truth * noise.exp())
    }

    /// How many of 400 ablations keep the change, and how many drop it.
    fn verdicts(truth: f64) -> (usize, usize) {
        let (rule, mut random) = (Rule::new(1, 30), Random::new(7));
        let mut count = (0, 0);
        for _ in 0..400 {
            let samples: Vec<_> = (0..30).map(|_| noisy(&mut random, truth)).collect();
            let looks = rule.looks().iter().map(|&look| rule.gain(&samples[..look]));
            match looks.map(|gain| gain.verdict()).find(|verdict| *verdict != Verdict::Undecided) {
                Some(Verdict::Keep) => count.0 += 1,
                Some(Verdict::Drop) => count.1 += 1,
                _ => {}
            }
        }
        count
    }

    #[test]
    fn several_looks_keep_the_error_rate() {
        assert_eq!(verdicts(1.0), (0, 0), "nothing is done");
        // Right on the margin it is hardest: 5 in 100 are 20 of these.
        let (kept, dropped) = verdicts(1.0 + MARGIN);
        assert!(kept <= 20 && dropped == 0, "{kept}, {dropped}");
        let (kept, dropped) = verdicts(1.0 - MARGIN);
        assert!(kept == 0 && dropped <= 20, "{kept}, {dropped}");
        // And it still finds real gains and losses.
        assert!(verdicts(1.08).0 > 380);
        assert!(verdicts(0.92).1 > 380);
    }
}

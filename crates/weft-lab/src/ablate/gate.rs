//! Checks whether a change still computes the same: its logits against the base's, and against golden ones if there are any.
//!
//! Steps of one token, of a few and of many run different plans, so tokens are computed in steps of each size: every plan that is
//! timed is also compared.

use std::iter::repeat_n;

use serde_json::{Value, json};
use weft_engine::inspect::{Batch, Runner};

use crate::distribution::{Distribution, Mean};
use crate::error::Error;

/// Tokens of a step between a prompt and a single token, as when several sequences are decoded together.
const FEW: usize = 8;

/// Tokens that are computed one by one, as replies are.
const ALONE: usize = 4;

/// Logits that are known to be right.
#[derive(Clone, PartialEq, Debug)]
pub struct Golden {
    /// The tokens.
    pub tokens: Vec<u32>,
    /// Their logits, `[tokens, vocab]`.
    pub logits: Vec<f32>,
    /// The mean divergence of another engine with 8-bit activations, if known: up to that, logits count as right.
    pub allowed: Option<f64>,
}

/// The distance of logits from others, over all tokens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Distance {
    /// The mean Kullback–Leibler divergence, in nats; NaN if a logit is NaN.
    pub mean_kl: f64,
    /// The largest divergence, in nats; NaN if a logit is NaN.
    pub max_kl: f64,
    /// The fraction of tokens after which both find the same next token the likeliest.
    pub greedy: f64,
}

/// The comparison of a change's logits with the base's and with golden ones.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gate {
    /// Whether they are the base's, bit for bit.
    pub same_bits: bool,
    /// Their distance from the base's.
    pub from_base: Distance,
    /// The distances of the base and of the change from golden logits, if there are any.
    pub from_golden: Option<[Distance; 2]>,
    /// Whether the change passes.
    pub passes: bool,
}

impl Distance {
    /// The distance of `found` from `expected`, both in rows of `vocab`.
    fn between(expected: &[f32], found: &[f32], vocab: usize) -> Distance {
        let (mut mean, mut most, mut same) = (Mean::default(), 0.0, 0);
        let rows = expected.chunks_exact(vocab.max(1)).zip(found.chunks_exact(vocab.max(1)));
        for (p, q) in rows {
            let (Ok(p), Ok(q)) = (Distribution::new(p), Distribution::new(q)) else {
                return Distance { mean_kl: f64::NAN, max_kl: f64::NAN, greedy: 0.0 };
            };
            let kl = p.divergence(&q);
            mean.push(kl);
            most = f64::max(most, kl);
            same += u64::from(p.top() == q.top());
        }
        Distance { mean_kl: mean.mean(), max_kl: most, greedy: same as f64 / mean.count() as f64 }
    }

    /// Everything as JSON; NaN is `null`.
    pub fn json(&self) -> Value {
        let Distance { mean_kl, max_kl, greedy } = self;
        json!({ "mean_kl": mean_kl, "max_kl": max_kl, "same_greedy": greedy })
    }
}

impl Gate {
    /// Compares logits of a change with the base's for the same tokens; their mean divergence may be up to `most`. If there are golden
    /// logits, these decide instead: a change may differ from a base that is further off than it.
    pub(crate) fn new(base: &[f32], found: &[f32], vocab: usize, golden: Option<&Golden>, most: f64) -> Gate {
        let same_bits = base.iter().map(|x| x.to_bits()).eq(found.iter().map(|x| x.to_bits()));
        let from_base = Distance::between(base, found, vocab);
        let from_golden =
            golden.map(|golden| [base, found].map(|logits| Distance::between(&golden.logits, logits, vocab)));
        let passes = match (&from_golden, golden) {
            (Some([base, found]), Some(golden)) => {
                found.mean_kl <= base.mean_kl.max(golden.allowed.unwrap_or(0.0))
            }
            _ => from_base.mean_kl <= most,
        };
        Gate { same_bits, from_base, from_golden, passes: passes || same_bits && !from_base.mean_kl.is_nan() }
    }

    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let Gate { same_bits, from_base, from_golden, passes } = self;
        let mut json = json!({ "passes": passes, "same_bits": same_bits, "from_base": from_base.json() });
        if let Some([base, found]) = from_golden {
            json["from_golden"] = json!({ "base": base.json(), "change": found.json() });
        }
        json
    }
}

/// Cuts tokens into steps: the last ones alone, some before them together, and all before those as a prompt, `at_once` in a step. No
/// step has more than `batch` tokens.
fn steps(tokens: usize, at_once: usize, batch: usize) -> impl Iterator<Item = usize> {
    let alone = tokens.div_ceil(2).min(ALONE);
    let few = (tokens - alone).div_ceil(2).min(FEW);
    let cut = move |tokens: usize, most: usize| {
        let most = most.clamp(1, batch.max(1));
        (0..tokens).step_by(most).map(move |from| most.min(tokens - from))
    };
    cut(tokens - alone - few, at_once).chain(cut(few, FEW)).chain(repeat_n(1, alone))
}

/// Computes the logits of the last `wanted` of these tokens as a new sequence, whose prompt is computed `at_once` tokens in a step.
pub(crate) fn logits(
    runner: &mut Runner,
    tokens: &[u32],
    wanted: usize,
    at_once: usize,
) -> Result<Vec<f32>, Error> {
    let (seq, mut batch, mut logits) = (runner.new_sequence(), Batch::new(), Vec::new());
    let mut left = tokens;
    let mut compute = || {
        for step in steps(tokens.len(), at_once, runner.batch()) {
            let (now, later) = left.split_at(step);
            batch.clear();
            for (i, &token) in now.iter().enumerate() {
                batch.push(seq, token, left.len() - i <= wanted);
            }
            logits.extend_from_slice(runner.step(&batch)?);
            left = later;
        }
        Ok(())
    };
    let computed: Result<(), Error> = compute();
    runner.free(seq);
    computed.map(|()| logits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(p: f64) -> [f32; 2] {
        [p.ln() as f32, (1.0 - p).ln() as f32]
    }

    fn gate(base: f64, found: f64, golden: Option<(f64, Option<f64>)>) -> Gate {
        let golden = golden.map(|(p, allowed)| Golden { tokens: vec![0], logits: row(p).to_vec(), allowed });
        Gate::new(&row(base), &row(found), 2, golden.as_ref(), 0.01)
    }

    #[test]
    fn tokens_are_computed_in_steps_of_every_size() {
        for (tokens, at_once, batch, expected) in [
            (32, 512, 512, &[20, 8, 1, 1, 1, 1][..]),
            (64, 64, 512, &[52, 8, 1, 1, 1, 1]),
            (64, 32, 512, &[32, 20, 8, 1, 1, 1, 1]),
            (17, 512, 3, &[3, 3, 3, 3, 1, 1, 1, 1, 1]),
            (5, 4, 4, &[1, 1, 1, 1, 1]),
            (3, 4, 4, &[1, 1, 1]),
            (1, 4, 4, &[1]),
            (0, 4, 4, &[]),
        ] {
            let found: Vec<usize> = steps(tokens, at_once, batch).collect();
            assert_eq!(found, expected, "{tokens} tokens, {at_once} of {batch} at once");
        }
    }

    #[test]
    fn the_base_decides_without_golden_logits() {
        let same = gate(0.75, 0.75, None);
        assert!(same.passes && same.same_bits && same.from_base.mean_kl == 0.0);
        let near = gate(0.75, 0.74, None);
        assert!(near.passes && !near.same_bits && near.from_base.greedy == 1.0, "{near:?}");
        let far = gate(0.75, 0.25, None);
        assert!(!far.passes && far.from_base.greedy == 0.0);
        // 0.75 ln 3 + 0.25 ln 1/3.
        assert!((far.from_base.max_kl - 0.5 * 3f64.ln()).abs() < 1e-6, "{far:?}");
    }

    #[test]
    fn golden_logits_decide() {
        assert!(gate(0.25, 0.75, Some((0.75, None))).passes, "nearer than the base");
        assert!(!gate(0.74, 0.73, Some((0.75, None))).passes, "further than the base");
        assert!(gate(0.74, 0.73, Some((0.75, Some(0.1)))).passes, "but no further than allowed");
        assert!(!gate(0.74, 0.25, Some((0.75, Some(0.1)))).passes);
    }

    #[test]
    fn nan_does_not_pass() {
        let nan = [f32::NAN, 0.0];
        for (base, found) in [(row(0.5), nan), (nan, nan)] {
            let gate = Gate::new(&base, &found, 2, None, 0.01);
            assert!(!gate.passes && gate.from_base.mean_kl.is_nan(), "{gate:?}");
            assert_eq!(gate.json()["from_base"]["mean_kl"], Value::Null);
        }
    }
}

//! Pairs of samples: the same tokens computed by the base and by the change, back to back.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use weft_engine::inspect::{Batch, PlansId, Runner, SeqId};
use weft_random::Random;

use super::rule::{Gain, Rule};
use crate::OnProgress;
use crate::bench::Phase;
use crate::clock::Now;
use crate::error::Error;

/// A way to compute: the base's or the change's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Way {
    pub(crate) plans: PlansId,
    /// Tokens of a prompt computed at once.
    pub(crate) at_once: usize,
}

/// One phase, computed by the base and by the change.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// The phase.
    pub phase: Phase,
    /// The tokens of a sample.
    pub tokens: usize,
    /// Kernel launches of a step: base, change.
    pub kernels: [usize; 2],
    /// Tokens per second in each pair: base, change.
    pub pairs: Vec<(f64, f64)>,
    /// The gain over all pairs.
    pub gain: Gain,
}

impl Measured {
    /// Everything as JSON; NaN is `null`.
    pub fn json(&self) -> Value {
        let Measured { phase: _, tokens, kernels: [base, change], pairs, gain } = self;
        let (of_base, of_change): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        json!({
            "tokens": tokens,
            "kernels": { "base": base, "change": change },
            "gain": gain.json(),
            "verdict": gain.verdict().name(),
            "tokens_per_second": { "base": of_base, "change": of_change },
        })
    }
}

/// A model that is measured in two ways, always after the same tokens.
pub(crate) struct Rig<'a> {
    pub(crate) runner: &'a mut Runner,
    seq: SeqId,
    depth: usize,
    batch: Batch,
    /// The way of the last attempt to compute.
    way: Option<Way>,
    now: Now<'a>,
    cancel: &'a AtomicBool,
    /// Samples taken, and their maximum.
    progress: (u64, u64),
    on: OnProgress<'a>,
}

impl<'a> Rig<'a> {
    /// Creates a rig that takes at most `samples` samples, and fills the cache up to `depth`.
    pub(crate) fn new(
        runner: &'a mut Runner,
        depth: usize,
        samples: u64,
        now: Now<'a>,
        cancel: &'a AtomicBool,
        on: OnProgress<'a>,
    ) -> Result<Rig<'a>, Error> {
        let seq = runner.new_sequence();
        let batch = Batch::new();
        let mut rig = Rig { runner, seq, depth, batch, way: None, now, cancel, progress: (0, samples), on };
        rig.skip(0);
        match rig.fill(depth) {
            Ok(()) => Ok(rig),
            Err(error) => {
                rig.end();
                Err(error)
            }
        }
    }

    /// Computes tokens up to the depth.
    fn fill(&mut self, tokens: usize) -> Result<(), Error> {
        let at_once = self.runner.batch();
        self.compute(Phase::Prefill, tokens, at_once, &mut Random::new(u64::MAX))?;
        // No sample has what is still running.
        Ok(self.runner.device_mut().wait()?)
    }

    /// Frees the sequence.
    pub(crate) fn end(self) {
        self.runner.free(self.seq);
    }

    /// Compares two ways, with as many pairs as the rule asks for. `phases` has each phase and its tokens.
    pub(crate) fn compare(
        &mut self,
        base: Way,
        change: Way,
        phases: &[(Phase, usize)],
        rule: &Rule,
    ) -> Result<Vec<Measured>, Error> {
        let mut all = Vec::with_capacity(phases.len());
        for &(phase, tokens) in phases {
            let kernels = |way: Way| {
                let at_once = if phase == Phase::Decode { 1 } else { way.at_once.min(tokens) };
                self.runner.kernels(way.plans, at_once)
            };
            let kernels = [kernels(base)?, kernels(change)?];
            all.push(Measured { phase, tokens, kernels, pairs: Vec::new(), gain: rule.gain(&[]) });
        }
        // A warm-up pair that does not count: it touches memory for the first time.
        for Measured { phase, tokens, .. } in &all {
            self.pair(base, change, *phase, *tokens, 0)?;
        }
        let begun = self.progress.0;
        let mut done = 0;
        for &look in rule.looks() {
            for pair in done..look {
                for one in all.iter_mut().filter(|one| !one.gain.is_settled()) {
                    one.pairs.push(self.pair(base, change, one.phase, one.tokens, pair)?);
                }
                self.skip(2 * all.len() as u64);
            }
            done = look;
            for one in all.iter_mut().filter(|one| !one.gain.is_settled()) {
                one.gain = rule.gain(&one.pairs);
            }
            if all.iter().all(|one| one.gain.is_settled()) {
                break;
            }
        }
        let most = rule.looks().last().copied().unwrap_or(0) * 2 * all.len();
        self.skip_to(begun + most as u64);
        Ok(all)
    }

    /// Measures tokens per second both ways. Every other pair begins with the change, so that a machine that slows down favours
    /// neither.
    pub(crate) fn pair(
        &mut self,
        base: Way,
        change: Way,
        phase: Phase,
        tokens: usize,
        number: usize,
    ) -> Result<(f64, f64), Error> {
        let mut sample = |way| self.sample(way, phase, tokens, number as u64);
        if number.is_multiple_of(2) {
            Ok((sample(base)?, sample(change)?))
        } else {
            let change = sample(change)?;
            Ok((sample(base)?, change))
        }
    }

    fn sample(&mut self, way: Way, phase: Phase, tokens: usize, seed: u64) -> Result<f64, Error> {
        self.turn_to(way)?;
        let at_once = if phase == Phase::Decode { 1 } else { way.at_once };
        let started = (self.now)();
        // The same tokens both ways, so that they select the same experts.
        let computed = self.compute(phase, tokens, at_once, &mut Random::new(seed));
        let seconds = ((self.now)() - started).as_secs_f64();
        let kept = self.runner.truncate(self.seq, self.depth);
        computed?;
        // Layers with a sliding window may not reach so far back.
        if kept < self.depth {
            self.fill(self.depth - kept)?;
        }
        Ok(tokens as f64 / seconds)
    }

    /// Computes steps this way from now on.
    pub(super) fn turn_to(&mut self, way: Way) -> Result<(), Error> {
        self.way = Some(way);
        Ok(self.runner.use_plans(way.plans)?)
    }

    /// Whether this is the way of the last attempt: after a failure, the way that failed.
    pub(super) fn is_at(&self, way: Way) -> bool {
        self.way == Some(way)
    }

    /// Computes tokens at the end of the sequence, as `bench` does.
    fn compute(
        &mut self,
        phase: Phase,
        tokens: usize,
        at_once: usize,
        random: &mut Random,
    ) -> Result<(), Error> {
        let vocab = self.runner.model().graph().config.vocab;
        let mut done = 0;
        while done < tokens {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            self.batch.clear();
            for _ in 0..at_once.min(tokens - done) {
                done += 1;
                let logits = phase == Phase::Decode || done == tokens;
                self.batch.push(self.seq, random.below(vocab) as u32, logits);
            }
            self.runner.advance(&self.batch)?;
        }
        Ok(())
    }

    /// Counts samples as taken.
    fn skip(&mut self, samples: u64) {
        self.progress.0 += samples;
        (self.on)(self.progress.0, self.progress.1);
    }

    /// The number of samples taken.
    pub(super) fn taken(&self) -> u64 {
        self.progress.0
    }

    /// Counts samples as taken, up to `taken` in total: those no longer needed because a verdict came early or nothing differs.
    pub(super) fn skip_to(&mut self, taken: u64) {
        self.skip(taken.saturating_sub(self.progress.0));
    }

    /// Adds to the number of samples expected.
    pub(super) fn expect(&mut self, more: u64) {
        self.progress.1 += more;
    }
}

//! Whole steps decide, on devices whose launches overlap or run as one.
//!
//! What the search found is tried in steps as they run, one kernel after another. A schedule that makes steps faster stays, and the next
//! one is compared with steps that have it. So no kernel gains at the cost of another.

use weft_device::Scheduled;
use weft_engine::inspect::{PlansId, StepShape};

use super::found::{Candidate, TuneOutcome};
use super::search::{Try, compiled, scheduled, unless_refused};
use super::site::Site;
use super::{REPLY, TuneProgress, Tuner};
use crate::OnProgress;
use crate::ablate::{Rig, Rule, Way};
use crate::bench::Phase;
use crate::error::Error;
use crate::samples::Samples;

/// The smallest gain of whole steps for which a schedule is kept, as a fraction of the rate. It is small, because one kernel is a
/// small part of a step.
const LEAST_GAIN: f64 = 0.002;

/// Pairs of samples of whole steps, which vary less than single launches.
const PAIRS: usize = 60;

/// Pairs after which a schedule that seems to gain nothing is abandoned.
const FIRST_LOOK: usize = 8;

impl Tuner<'_> {
    /// Tries the schedules that the search proposes in whole steps. Returns those that make steps certainly faster, together.
    pub(super) fn decide(
        &mut self,
        shape: StepShape,
        sites: &mut [&mut Site],
    ) -> Result<Vec<Scheduled>, Error> {
        let (base, on) = (self.base, &mut *self.on);
        let mut unseen = |_, _| ();
        let runner = self.verifier.runner_mut();
        let rig = Rig::new(runner, shape.depth, 0, self.now, self.cancel, &mut unseen)?;
        let mut steps = Steps { rig, tokens: shape.tokens, loaded: base, base, kept: Vec::new(), rounds: 0 };
        let decided = steps.decide(sites, &mut |done, of| on(TuneProgress::Measuring(done, of)));
        steps.rebase(base);
        steps.rig.end();
        self.rounds += steps.rounds;
        decided
    }
}

/// Steps of one size, with the schedules kept so far.
struct Steps<'a> {
    rig: Rig<'a>,
    tokens: usize,
    /// The plans without the schedules kept here, and those with them.
    loaded: PlansId,
    base: PlansId,
    kept: Vec<Try>,
    /// How often a step was compiled with a schedule to try.
    rounds: u64,
}

impl Steps<'_> {
    /// Tries all proposals. `tell` is called before each, with the number tried and the number of all.
    fn decide(&mut self, sites: &mut [&mut Site], tell: OnProgress<'_>) -> Result<Vec<Scheduled>, Error> {
        let proposed = |(i, site): (usize, &&mut Site)| -> Vec<Try> {
            site.candidates().map(|schedule| (i, schedule.to_string())).collect()
        };
        let tries: Vec<Try> = sites.iter().enumerate().flat_map(proposed).collect();
        let (rule, count) = (Rule::new(tries.len(), PAIRS), tries.len() as u64);
        for (done, tried) in (0..).zip(tries) {
            tell(done, count);
            if self.is_better(sites, tried, &rule)? {
                self.rebase(self.loaded);
                let kept = scheduled(sites, &self.kept);
                self.base = compiled(self.rig.runner, self.loaded, self.tokens, &kept)?;
            }
        }
        Ok(scheduled(sites, &self.kept))
    }

    /// Drops the plans and the schedules kept so far, if there are any.
    fn rebase(&mut self, loaded: PlansId) {
        if self.base != loaded {
            self.rig.runner.drop_plans();
            self.base = loaded;
        }
    }

    /// Whether steps are faster with one more schedule than with those kept so far, which it is then one of.
    fn is_better(&mut self, sites: &mut [&mut Site], tried: Try, rule: &Rule) -> Result<bool, Error> {
        // One schedule for a kernel: the one tried replaces the one kept.
        let mut with: Vec<Try> = self.kept.iter().filter(|(site, _)| *site != tried.0).cloned().collect();
        with.push(tried.clone());
        self.rounds += 1;
        let plans = compiled(self.rig.runner, self.base, self.tokens, &scheduled(sites, &with));
        let rates = unless_refused(plans.and_then(|plans| {
            let rates = self.rates(plans, rule);
            self.rig.runner.drop_plans();
            rates
        }))?;
        let Some(rates) = rates else { return Ok(false) };
        let gain = rule.gain(&rates);
        let site = &mut *sites[tried.0];
        let is_kept = gain.low > LEAST_GAIN;
        let known = site.best.as_ref().map_or(f64::NEG_INFINITY, |best| best.gain.median);
        if is_kept || (site.outcome == TuneOutcome::Best && gain.median > known) {
            let seconds = |rate: f64| self.tokens as f64 / rate;
            let pairs = rates.iter().map(|(base, with)| (seconds(*base), seconds(*with))).collect();
            site.best = Some(Candidate { schedule: tried.1, pairs, gain });
        }
        if is_kept {
            site.outcome = TuneOutcome::Faster;
            self.kept = with;
        }
        Ok(is_kept)
    }

    /// Tokens per second in each pair: with the base's plans, and with these. Ends early if the rule is sure already.
    fn rates(&mut self, plans: PlansId, rule: &Rule) -> Result<Vec<(f64, f64)>, Error> {
        let (phase, tokens) = match self.tokens {
            1 => (Phase::Decode, REPLY),
            many => (Phase::Prefill, many),
        };
        let [base, change] = [self.base, plans].map(|plans| Way { plans, at_once: self.tokens });
        // A warm-up that does not count.
        self.rig.pair(base, change, phase, tokens, 0)?;
        let mut rates: Vec<(f64, f64)> = Vec::with_capacity(PAIRS);
        for number in 0..PAIRS {
            if number == FIRST_LOOK {
                let ratios: Samples = rates.iter().map(|(base, with)| with / base).collect();
                if ratios.median() - 1.0 < LEAST_GAIN {
                    break;
                }
            }
            if rule.looks().contains(&number) {
                let gain = rule.gain(&rates);
                if gain.low > LEAST_GAIN || gain.high < LEAST_GAIN {
                    break;
                }
            }
            rates.push(self.rig.pair(base, change, phase, tokens, number)?);
        }
        Ok(rates)
    }
}

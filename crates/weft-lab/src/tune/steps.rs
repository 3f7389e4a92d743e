//! Whole steps decide, on devices whose launches overlap or run as one.
//!
//! What the search found is tried in steps as they run, one kernel after another. A schedule that makes steps faster stays, and the next
//! one is compared with steps that have it. So no kernel gains at the cost of another.

use weft_device::Scheduled;
use weft_engine::inspect::PlansId;

use super::found::{Candidate, TuneOutcome};
use super::search::{Search, Try, rates};
use super::site::Site;
use crate::OnProgress;
use crate::ablate::{Now, Rule};
use crate::error::Error;
use crate::samples::Samples;

/// The least gain of a whole step that keeps a schedule, as a fraction of the rate. One kernel is a small part of a step.
const LEAST_GAIN: f64 = 0.002;

/// Pairs of samples of whole steps, which differ by less than single launches do.
const PAIRS: usize = 60;

/// Pairs after which a schedule that seems to gain nothing is given up.
const FIRST_LOOK: usize = 8;

impl Search<'_, '_> {
    /// Tries the schedules that the search proposes in whole steps. Returns those that make steps certainly faster, together.
    /// `tell` is called before each with how many were tried, of how many.
    pub(super) fn decide(
        &mut self,
        sites: &mut [&mut Site],
        now: Now<'_>,
        tell: OnProgress<'_>,
    ) -> Result<Vec<Scheduled>, Error> {
        let proposed = |(i, site): (usize, &&mut Site)| -> Vec<Try> {
            site.candidates().map(|schedule| (i, schedule.to_string())).collect()
        };
        let tries: Vec<Try> = sites.iter().enumerate().flat_map(proposed).collect();
        let rule = Rule::new(tries.len(), PAIRS);
        let (loaded, mut kept) = (self.base, Vec::<Try>::new());
        let count = tries.len() as u64;
        let decided: Result<(), Error> = (0..).zip(tries).try_for_each(|(done, tried)| {
            tell(done, count);
            if self.is_better(sites, tried, &mut kept, &rule, now)? {
                self.rebase(sites, &kept, loaded)?;
            }
            Ok(())
        });
        if self.base != loaded {
            self.sampler.runner.drop_plans();
            self.base = loaded;
        }
        decided?;
        Ok(kept.iter().map(|(site, schedule)| sites[*site].with(schedule)).collect())
    }

    /// Whether steps are faster with one more schedule than with those kept so far, which it is then one of.
    fn is_better(
        &mut self,
        sites: &mut [&mut Site],
        tried: Try,
        kept: &mut Vec<Try>,
        rule: &Rule,
        now: Now<'_>,
    ) -> Result<bool, Error> {
        // One schedule for a kernel: the one tried replaces the one kept.
        let mut with: Vec<Try> = kept.iter().filter(|(site, _)| *site != tried.0).cloned().collect();
        with.push(tried.clone());
        self.rounds += 1;
        let pairs = self.beside(sites, &with, &mut |search, plans| search.steps(plans, rule, now))?;
        // The device refuses it.
        let Some(pairs) = pairs else { return Ok(false) };
        let gain = rule.gain(&rates(&pairs));
        let (site, schedule) = tried;
        let is_kept = gain.low > LEAST_GAIN;
        let known = sites[site].best.as_ref().map_or(f64::NEG_INFINITY, |best| best.gain.median);
        if is_kept {
            sites[site].outcome = TuneOutcome::Faster;
        }
        if is_kept || (sites[site].outcome == TuneOutcome::Best && gain.median > known) {
            sites[site].best = Some(Candidate { schedule, pairs, gain });
        }
        if is_kept {
            *kept = with;
        }
        Ok(is_kept)
    }

    /// Compares with steps that have these schedules from now on, instead of those of `loaded`.
    fn rebase(&mut self, sites: &[&mut Site], kept: &[Try], loaded: PlansId) -> Result<(), Error> {
        if self.base != loaded {
            self.sampler.runner.drop_plans();
            self.base = loaded;
        }
        self.base = self.compiled(sites, kept)?;
        Ok(())
    }

    /// The seconds of whole steps in each pair: with the base's plans, and with these. Ends early if the rule is sure already.
    fn steps(&mut self, plans: PlansId, rule: &Rule, now: Now<'_>) -> Result<Vec<(f64, f64)>, Error> {
        // A warm-up that does not count.
        self.sampler.whole([self.base, plans], 0, now)?;
        let mut pairs: Vec<(f64, f64)> = Vec::with_capacity(PAIRS);
        for number in 0..PAIRS {
            if number == FIRST_LOOK {
                let ratios: Samples = pairs.iter().map(|(base, tried)| base / tried).collect();
                if ratios.median() - 1.0 < LEAST_GAIN {
                    break;
                }
            }
            if rule.looks().contains(&number) {
                let gain = rule.gain(&rates(&pairs));
                if gain.low > LEAST_GAIN || gain.high < LEAST_GAIN {
                    break;
                }
            }
            pairs.push(self.sampler.whole([self.base, plans], number, now)?);
        }
        Ok(pairs)
    }
}

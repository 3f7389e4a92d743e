//! The search: a beam search for each kernel, all at once; then a confirmation of the apparent winners.

use std::time::Instant;

use weft_device::{DeviceError, Scheduled};
use weft_engine::inspect::{PlansId, Runner};

use super::found::{Candidate, TuneOutcome};
use super::measure::Sampler;
use super::site::Site;
use crate::ablate::{MARGIN, Rule, Verdict};
use crate::error::Error;
use crate::samples::Samples;
use crate::schedules::schedules_of;

/// The most pairs of samples that decide whether a schedule is kept.
pub(super) const PAIRS: usize = 30;

/// Pairs of samples of a schedule in the search. Apparent winners are sampled again.
const TRIES: usize = 5;

/// A kernel slower than before by more than this factor is sampled only once.
const PATIENCE: f64 = 3.0;

/// A search for the schedules of one size of step.
pub(super) struct Search<'a, 'e> {
    pub(super) sampler: &'a mut Sampler<'e>,
    /// The plans that everything is compared with.
    pub(super) base: PlansId,
    pub(super) beam: usize,
    pub(super) deadline: Instant,
    /// Rounds that are made even after the deadline.
    pub(super) least: u64,
    /// How often a step was compiled with schedules to try.
    pub(super) rounds: u64,
}

/// A kernel, as its index among the sites, and a schedule to try for it.
pub(super) type Try = (usize, String);

/// The result of trying schedules.
enum Taken {
    /// The seconds of a launch in each pair, for each schedule tried.
    Pairs(Vec<Vec<(f64, f64)>>),
    /// The kernels that were so slow that the round was given up.
    Slow(Vec<usize>),
}

impl Search<'_, '_> {
    /// Tries schedules until none is promising or time is up. `tell` is called between rounds.
    pub(super) fn run(&mut self, sites: &mut [&mut Site], tell: &mut dyn FnMut()) -> Result<(), Error> {
        // If even the base fails, as on a device without a clock, no schedule is at fault.
        self.sampler.step(self.base, 0)?;
        while self.rounds < self.least || Instant::now() < self.deadline {
            tell();
            let schedules = schedules_of(self.sampler.runner)?;
            let next = |(i, site): (usize, &mut &mut Site)| Some((i, site.next(schedules)?));
            let tries: Vec<Try> = sites.iter_mut().enumerate().filter_map(next).collect();
            if tries.is_empty() {
                break;
            }
            self.round(sites, tries)?;
        }
        Ok(())
    }

    /// Tries some schedules, at most one for each kernel.
    fn round(&mut self, sites: &mut [&mut Site], tries: Vec<Try>) -> Result<(), Error> {
        let mut left = vec![tries];
        while let Some(mut tries) = left.pop() {
            if tries.is_empty() {
                continue;
            }
            self.rounds += 1;
            let taken =
                self.beside(sites, &tries, &mut |search, plans| search.sample(sites, &tries, plans, TRIES))?;
            match taken {
                // It is unknown which schedule is at fault.
                None if tries.len() > 1 => {
                    let half = tries.split_off(tries.len() / 2);
                    left.extend([half, tries]);
                }
                None => {}
                Some(Taken::Slow(slow)) => {
                    tries.retain(|(site, _)| !slow.contains(site));
                    left.push(tries);
                }
                Some(Taken::Pairs(pairs)) => {
                    for ((site, schedule), pairs) in tries.into_iter().zip(pairs) {
                        let ratios: Samples = pairs.iter().map(|(base, tried)| base / tried).collect();
                        let gain = ratios.median() - 1.0;
                        if gain.is_finite() {
                            sites[site].score(schedule, gain, self.beam);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Compiles the step with these schedules, and calls `act` with the plans. Returns `None` if the device refuses them or fails; a
    /// lost device is an error.
    fn beside<T>(
        &mut self,
        sites: &[&mut Site],
        tries: &[Try],
        act: &mut dyn FnMut(&mut Self, PlansId) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let tokens = self.sampler.shape.tokens;
        let plans = compiled(self.sampler.runner, self.base, tokens, &scheduled(sites, tries));
        unless_refused(plans.and_then(|plans| {
            let done = act(self, plans);
            self.sampler.runner.drop_plans();
            done
        }))
    }

    /// Times the base and other plans in turns.
    fn sample(
        &mut self,
        sites: &[&mut Site],
        tries: &[Try],
        plans: PlansId,
        count: usize,
    ) -> Result<Taken, Error> {
        // A warm-up that does not count: memory is touched for the first time, and drivers may work lazily.
        self.sampler.step(plans, 0)?;
        let mut all = vec![Vec::with_capacity(count); tries.len()];
        for number in 0..count {
            self.add(sites, tries, plans, number, &mut all)?;
            let is_slow =
                |pairs: &Vec<(f64, f64)>| pairs.iter().any(|(base, tried)| *tried > PATIENCE * base);
            if number == 0 && all.iter().any(is_slow) {
                let slow = tries.iter().zip(&all).filter(|(_, pairs)| is_slow(pairs));
                return Ok(Taken::Slow(slow.map(|((site, _), _)| *site).collect()));
            }
        }
        Ok(Taken::Pairs(all))
    }

    /// Adds a pair of samples of each kernel.
    fn add(
        &mut self,
        sites: &[&mut Site],
        tries: &[Try],
        plans: PlansId,
        number: usize,
        all: &mut [Vec<(f64, f64)>],
    ) -> Result<(), Error> {
        let [base, tried] = self.sampler.pair([self.base, plans], number)?;
        for ((site, _), pairs) in tries.iter().zip(all) {
            let times = [&base, &tried].map(|seconds| sites[*site].time(seconds));
            if let [Some(base), Some(tried)] = times {
                pairs.push((base, tried));
            }
        }
        Ok(())
    }

    /// Times the apparent winners again, all together, and returns those that certainly win.
    pub(super) fn confirm(&mut self, sites: &mut [&mut Site]) -> Result<Vec<Scheduled>, Error> {
        let promising = sites.iter().enumerate().filter_map(|(i, site)| {
            let (schedule, gain) = site.promising()?;
            (gain > MARGIN).then(|| (i, schedule.to_string()))
        });
        let tries: Vec<Try> = promising.collect();
        if tries.is_empty() {
            return Ok(Vec::new());
        }
        let rule = Rule::new(tries.len(), PAIRS);
        let taken = self.beside(sites, &tries, &mut |search, plans| {
            search.sampler.step(plans, 0)?;
            let mut all = vec![Vec::with_capacity(PAIRS); tries.len()];
            let mut done = 0;
            for &look in rule.looks() {
                for number in done..look {
                    search.add(sites, &tries, plans, number, &mut all)?;
                }
                done = look;
                if all.iter().all(|pairs| rule.gain(&rates(pairs)).is_settled()) {
                    break;
                }
            }
            Ok(all)
        })?;
        let mut winners = Vec::new();
        for ((i, schedule), pairs) in tries.into_iter().zip(taken.unwrap_or_default()) {
            let (site, gain) = (&mut sites[i], rule.gain(&rates(&pairs)));
            if gain.verdict() == Verdict::Keep {
                site.outcome = TuneOutcome::Faster;
                winners.push(site.with(&schedule));
            }
            site.best = Some(Candidate { schedule, pairs, gain });
        }
        Ok(winners)
    }
}

/// The kernels with the schedules to try.
pub(super) fn scheduled(sites: &[&mut Site], tries: &[Try]) -> Vec<Scheduled> {
    tries.iter().map(|(site, schedule)| sites[*site].with(schedule)).collect()
}

/// Compiles steps of `tokens` tokens like those of `base`, but with the schedules `tried`.
pub(super) fn compiled(
    runner: &mut Runner,
    base: PlansId,
    tokens: usize,
    tried: &[Scheduled],
) -> Result<PlansId, Error> {
    schedules_of(runner)?.try_out(tried);
    let plans = runner.add_recompiled(base, Some(tokens));
    schedules_of(runner)?.try_out(&[]);
    Ok(plans?)
}

/// Returns `None` if the device refused schedules or failed with them; a lost device is an error.
pub(super) fn unless_refused<T>(done: Result<T, Error>) -> Result<Option<T>, Error> {
    match done {
        Err(Error::Engine(weft_engine::Error::Device(error)))
            if !matches!(
                error,
                DeviceError::Lost { .. } | DeviceError::Incomplete { .. } | DeviceError::InVain { .. }
            ) =>
        {
            Ok(None)
        }
        done => done.map(Some),
    }
}

/// Turns times into rates, which the rule takes.
fn rates(pairs: &[(f64, f64)]) -> Vec<(f64, f64)> {
    pairs.iter().map(|(base, tried)| (1.0 / base, 1.0 / tried)).collect()
}

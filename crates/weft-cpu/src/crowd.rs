//! How many threads compute while other programs want the cores.
//!
//! A step has hundreds of barriers, and if one thread of the team does not get a core, all wait for it. So with more threads
//! than free cores a step can take ten times as long as on one thread. No bit depends on the number of threads, so it may change
//! from step to step: once a good part of the threads' time is lost waiting, steps are tried on half of the threads, and on all
//! again, and whichever takes less time goes on. Trials take a few hundredths of the time at most, however long steps are.

use std::time::Duration;

/// The share of all threads' time that is lost before fewer are tried. Without other programs it is a few hundredths.
const LOST: f64 = 0.2;

/// How much a step counts for that share: other programs often want a core for a moment.
const WEIGHT: f64 = 0.2;

/// The steps that are measured on each number of threads.
const STEPS: u32 = 4;

/// A step that takes this many times as long as with the other number of threads ends a trial at once.
const HOPELESS: u32 = 3;

/// A trial is abandoned after this many steps of other kinds.
const OTHERS: u32 = 64;

/// How long a decision holds, at first and at most. It is doubled each time that it is confirmed.
const FIRST: Duration = Duration::from_millis(400);
const LONGEST: Duration = Duration::from_secs(5);

/// A decision holds for at least this many times as long as the trial of the other number of threads took.
const COST: u32 = 20;

/// Decides how many threads compute.
#[derive(Debug)]
pub(crate) struct Crowd {
    all: usize,
    /// How many compute, unless others are tried.
    chosen: usize,
    trial: Option<Trial>,
    /// How long the decision holds, and how much of that is left.
    hold: Duration,
    left: Duration,
    /// The share of the threads' time that was lost lately.
    lost: f64,
    /// The kind of the last step that was not part of a trial.
    last: Option<u64>,
    /// Whether the last trial was of fewer threads, and did not win.
    was_fewer: bool,
    /// Whether the number of threads is to change from step to step.
    varies: bool,
}

/// Steps of one kind, on the chosen number of threads and then on another.
#[derive(Debug)]
struct Trial {
    kind: u64,
    threads: usize,
    chosen: Times,
    tried: Times,
    /// Steps of other kinds.
    others: u32,
}

/// The times of a few steps.
#[derive(Debug, Default)]
struct Times {
    total: Duration,
    count: u32,
}

impl Times {
    fn push(&mut self, time: Duration) {
        self.total += time;
        self.count += 1;
    }

    fn is_full(&self) -> bool {
        self.count == STEPS
    }

    fn mean(&self) -> Duration {
        self.total / self.count.max(1)
    }
}

impl Crowd {
    /// Begins with all `all` threads computing.
    pub(crate) fn new(all: usize) -> Crowd {
        Crowd {
            all,
            chosen: all,
            trial: None,
            hold: FIRST,
            left: Duration::ZERO,
            lost: 0.0,
            last: None,
            was_fewer: false,
            varies: false,
        }
    }

    /// From now on chooses another number of threads for each step.
    pub(crate) fn vary(&mut self) {
        self.varies = true;
    }

    /// The number of threads that should compute a step of this kind.
    pub(crate) fn threads(&self, kind: u64) -> usize {
        match &self.trial {
            Some(trial) if trial.kind == kind && trial.chosen.is_full() => trial.threads,
            _ => self.chosen,
        }
    }

    /// Records that a step of this kind, which [`threads`](Crowd::threads) computed, took `time`, of which all threads together
    /// lost `lost`.
    pub(crate) fn took(&mut self, kind: u64, time: Duration, lost: Duration) {
        if self.varies {
            self.chosen = self.chosen % self.all + 1;
            return;
        }
        match &mut self.trial {
            Some(trial) if trial.kind == kind => {
                let is_tried = trial.chosen.is_full();
                let times = if is_tried { &mut trial.tried } else { &mut trial.chosen };
                times.push(time);
                if trial.tried.is_full() || is_tried && time / HOPELESS > trial.chosen.mean() {
                    self.decide();
                }
            }
            Some(trial) if trial.others < OTHERS => trial.others += 1,
            _ => self.watch(kind, time, lost),
        }
    }

    /// Begins a trial if it is time for one.
    fn watch(&mut self, kind: u64, time: Duration, lost: Duration) {
        self.trial = None;
        self.left = self.left.saturating_sub(time);
        let share = lost.as_secs_f64() / (self.chosen as f64 * time.as_secs_f64()).max(f64::MIN_POSITIVE);
        self.lost += WEIGHT * (share - self.lost);
        // A step of a kind that does not come again would leave the trial waiting.
        let is_repeated = self.last.replace(kind) == Some(kind);
        if self.all == 1 || !self.left.is_zero() || !is_repeated {
            return;
        }
        let some = 1 < self.chosen && self.chosen < self.all;
        let fewer = self.chosen > 1 && self.lost > LOST && !(some && self.was_fewer);
        if !fewer && self.chosen == self.all {
            return;
        }
        self.was_fewer = fewer;
        let threads = if fewer { self.chosen / 2 } else { self.all };
        let (chosen, tried) = (Times::default(), Times::default());
        self.trial = Some(Trial { kind, threads, chosen, tried, others: 0 });
    }

    fn decide(&mut self) {
        let Some(trial) = self.trial.take() else { return };
        if trial.tried.mean() < trial.chosen.mean() {
            (self.chosen, self.hold, self.lost) = (trial.threads, FIRST, 0.0);
            self.was_fewer = false;
        } else {
            self.hold = (2 * self.hold).min(LONGEST);
        }
        self.left = self.hold.max(COST * trial.tried.total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Runs steps that take what `time` says of a number of threads, of which a share is lost, for so long. Returns the share of
    /// the steps that ran on each number of threads.
    fn run(
        crowd: &mut Crowd,
        total: Duration,
        time: impl Fn(usize) -> Duration,
        lost: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        let (mut now, mut steps) = (Duration::ZERO, vec![0.0; crowd.all + 1]);
        while now < total {
            let threads = crowd.threads(7);
            let took = time(threads);
            crowd.took(7, took, took.mul_f64(lost(threads) * threads as f64));
            now += took;
            steps[threads] += 1.0;
        }
        let all: f64 = steps.iter().sum();
        steps.iter().map(|count| count / all).collect()
    }

    #[test]
    fn all_threads_compute_as_long_as_nothing_is_lost() {
        let mut crowd = Crowd::new(4);
        assert_eq!(run(&mut crowd, ms(10_000), |_| ms(5), |_| 0.1)[4], 1.0);
        let mut one = Crowd::new(1);
        assert_eq!(run(&mut one, ms(1000), |_| ms(5), |_| 0.9)[1], 1.0);
    }

    #[test]
    fn fewer_compute_while_others_want_the_cores() {
        let mut crowd = Crowd::new(2);
        let crowded = |threads| if threads == 2 { ms(60) } else { ms(9) };
        let lost = |threads| if threads == 2 { 0.45 } else { 0.0 };
        assert!(run(&mut crowd, ms(20_000), crowded, lost)[1] > 0.95);
        // They are gone: soon all compute again.
        let quiet = |threads| if threads == 2 { ms(5) } else { ms(9) };
        run(&mut crowd, LONGEST + ms(200), quiet, |_| 0.0);
        assert_eq!(run(&mut crowd, ms(5000), quiet, |_| 0.0)[2], 1.0);
    }

    #[test]
    fn threads_that_wait_for_other_reasons_go_on() {
        // As of a step that is too small to be shared well: fewer threads are no faster, and are seldom tried.
        let mut crowd = Crowd::new(8);
        let time = |threads| ms(if threads == 8 { 5 } else { 6 });
        assert!(run(&mut crowd, ms(60_000), time, |_| 0.4)[8] > 0.99);
    }

    #[test]
    fn all_threads_are_tried_again_from_any_number() {
        // A quarter is still lost on four, but eight would now be the fastest.
        let time = |threads| ms(40 / threads as u64);
        let mut crowd = Crowd { chosen: 4, ..Crowd::new(8) };
        assert!(run(&mut crowd, ms(20_000), time, |threads| if threads == 4 { 0.25 } else { 0.1 })[8] > 0.9);
        // Two are now.
        let time = |threads| ms(10 + 10 * (threads as u64).abs_diff(2));
        assert!(
            run(&mut Crowd::new(8), ms(20_000), time, |threads| if threads > 2 { 0.25 } else { 0.0 })[2]
                > 0.9
        );
    }

    #[test]
    fn trials_of_long_steps_take_a_small_part_of_the_time() {
        let mut crowd = Crowd::new(8);
        let time = |threads| ms(if threads == 8 { 1000 } else { 1500 });
        assert!(run(&mut crowd, ms(600_000), time, |_| 0.4)[8] > 0.95);
    }

    #[test]
    fn a_kind_that_does_not_come_again_is_not_tried() {
        let mut crowd = Crowd::new(2);
        (0..100).for_each(|kind| crowd.took(kind, ms(10), ms(9)));
        assert!(crowd.trial.is_none());
        crowd.took(99, ms(10), ms(9));
        assert!(crowd.trial.is_some());
    }

    #[test]
    fn steps_of_another_kind_are_not_compared() {
        let mut crowd = Crowd::new(2);
        let lost = ms(9);
        while crowd.trial.is_none() {
            crowd.took(1, ms(10), lost);
        }
        (0..STEPS).for_each(|_| crowd.took(1, ms(10), lost));
        assert_eq!((crowd.threads(1), crowd.threads(2)), (1, 2));
        // A step that is slow by its nature does not end the trial.
        crowd.took(2, ms(500), lost);
        assert_eq!(crowd.threads(1), 1);
        (0..=OTHERS).for_each(|_| crowd.took(2, ms(500), Duration::ZERO));
        assert_eq!(crowd.threads(1), 2);
    }
}

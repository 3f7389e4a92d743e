//! Records the timings of every step, and sums them up: medians launch by launch, and the timeline of one step.

use std::time::Duration;

use weft_engine::inspect::{ReplayTimings, StepTimings};

use super::clock::{Clock, StepRecord, Times, Worker};
use crate::samples::Samples;

/// The activity of each thread over time, in one step. Times are in seconds since the step began.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timeline {
    /// The duration of the step.
    pub wall: f64,
    /// The beginning and end of each replay.
    pub replays: Vec<(f64, f64)>,
    /// The work of each thread, launch by launch.
    pub slices: Vec<Slice>,
}

/// A thread's work on a launch, in seconds since the step began.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Slice {
    /// The index of the thread.
    pub worker: usize,
    /// The index of the launch.
    pub launch: usize,
    /// When it began.
    pub begin: f64,
    /// When it was done.
    pub done: f64,
}

/// Records the timings of steps.
#[derive(Debug)]
pub(super) struct Recorder {
    launches: usize,
    pub(super) steps: Vec<StepRecord>,
    /// The timeline of the fastest step so far.
    timeline: Timeline,
}

/// All steps, summed up.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) launches: Vec<Times>,
    pub(super) workers: Vec<Worker>,
    pub(super) clock: Clock,
    pub(super) timeline: Timeline,
}

impl Recorder {
    /// Creates a recorder for `steps` steps of `launches` launches.
    pub(super) fn new(launches: usize, steps: usize) -> Recorder {
        Recorder { launches, steps: Vec::with_capacity(steps), timeline: Timeline::default() }
    }

    /// Records a step.
    pub(super) fn step(&mut self, timings: &StepTimings) {
        let seconds = |time: Duration| time.as_secs_f64();
        let replayed: f64 = timings.replays().iter().map(|r| seconds(r.ended) - seconds(r.began)).sum();
        let wall = seconds(timings.wall());
        let mut record = StepRecord { wall, host: wall - replayed, ..StepRecord::default() };
        for ReplayTimings { launches, .. } in timings.replays() {
            let workers = launches.workers();
            record.workers.resize(workers.max(record.workers.len()), [0.0; 2]);
            for step in 0..launches.launches() {
                let mut times = Times::default();
                for worker in 0..workers {
                    let span = launches.span(worker, step);
                    let [busy, waiting] = [span.busy(), span.waiting()].map(|ns| ns as f64 / 1e9);
                    times.busy += busy / workers as f64;
                    times.waiting += waiting / workers as f64;
                    times.longest = times.longest.max(busy);
                    record.workers[worker][0] += busy;
                    record.workers[worker][1] += waiting;
                }
                record.launches.push(times);
            }
        }
        // The plan decides how many launches there are, whatever the device timed.
        record.launches.resize(self.launches, Times::default());
        if self.steps.iter().all(|step| record.wall < step.wall) {
            self.timeline = timeline(timings);
        }
        self.steps.push(record);
    }

    /// Medians over the steps.
    pub(super) fn summary(self) -> Summary {
        let Recorder { launches, steps, timeline } = self;
        let median = |of: &dyn Fn(&StepRecord) -> f64| steps.iter().map(of).collect::<Samples>().median();
        let launches: Vec<Times> = (0..launches)
            .map(|i| Times {
                busy: median(&|step| step.launches[i].busy),
                waiting: median(&|step| step.launches[i].waiting),
                longest: median(&|step| step.launches[i].longest),
            })
            .collect();
        let workers = steps.first().map_or(0, |step| step.workers.len());
        let workers = (0..workers).map(|i| Worker {
            busy: median(&|step| step.workers[i][0]),
            waiting: median(&|step| step.workers[i][1]),
        });
        let workers = workers.collect();
        Summary { workers, clock: Clock::new(&steps, &launches), launches, timeline }
    }
}

fn timeline(timings: &StepTimings) -> Timeline {
    let mut slices = Vec::new();
    let mut before = 0;
    for replay in timings.replays() {
        let at = |ns: u64| replay.origin.as_secs_f64() + ns as f64 / 1e9;
        for worker in 0..replay.launches.workers() {
            slices.extend((0..replay.launches.launches()).map(|step| {
                let span = replay.launches.span(worker, step);
                Slice { worker, launch: before + step, begin: at(span.begin), done: at(span.done) }
            }));
        }
        before += replay.launches.launches();
    }
    let replays = timings.replays().iter().map(|r| (r.began.as_secs_f64(), r.ended.as_secs_f64())).collect();
    Timeline { wall: timings.wall().as_secs_f64(), replays, slices }
}

//! When a device's workers worked and when they waited, launch by launch.
//!
//! A worker's time in a replay is one line without gaps: it works on a launch until it is done with its own part, waits until it is free for
//! the next, works on that. So three marks a launch say all, and what they leave open is only what lies before the first launch and after the
//! last. Marks are plain stores into memory that is there before the replay begins.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What a timed replay leaves behind: for each worker, when it was where. Kept and used again by whoever replays, so that only the first
/// replay allocates.
#[derive(Debug, Default)]
pub struct Timings {
    /// What marks count from; `None` before the first replay.
    origin: Option<Instant>,
    workers: usize,
    steps: usize,
    /// The marks of each step of each worker, one worker after another.
    marks: Vec<Marks>,
}

/// The three marks of a [`Span`].
type Marks = [AtomicU64; 3];

/// One worker's time on one launch, in nanoseconds since [`Timings::origin`]. All zero if the worker was not told to look at it: a launch of
/// no rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// It began.
    pub begin: u64,
    /// It was done with its own part.
    pub done: u64,
    /// It was free for the next launch: all workers were done, or the device began the next.
    pub free: u64,
}

impl Span {
    /// Nanoseconds of work.
    pub fn busy(&self) -> u64 {
        self.done.saturating_sub(self.begin)
    }

    /// Nanoseconds of waiting.
    pub fn waiting(&self) -> u64 {
        self.free.saturating_sub(self.done)
    }
}

impl Timings {
    /// Begins a replay of `steps` steps on `workers` workers, for the device that runs it: forgets all marks, and counts from now. Allocates
    /// only if it never had room for as many.
    pub fn begin(&mut self, workers: usize, steps: usize) {
        let needed = workers * steps;
        self.marks.truncate(needed);
        self.marks.iter_mut().flatten().for_each(|mark| *mark.get_mut() = 0);
        self.marks.resize_with(needed, Marks::default);
        (self.workers, self.steps) = (workers, steps);
        self.origin = Some(Instant::now());
    }

    /// Where a worker of the replay that has begun leaves its marks. Its first launch begins now.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn lane(&self, worker: usize) -> Lane<'_> {
        assert!(worker < self.workers, "worker {worker} of {}", self.workers);
        let marks = &self.marks[worker * self.steps..][..self.steps];
        let mut lane = Lane { origin: self.origin.unwrap_or_else(Instant::now), marks, begin: 0, done: 0 };
        lane.begin = lane.now();
        lane
    }

    /// What marks count from; `None` before the first replay.
    pub fn origin(&self) -> Option<Instant> {
        self.origin
    }

    /// Workers of the last replay: threads, or 1 for a device that knows only of all of them together.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Steps of the program that was replayed.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// A worker's time on a step.
    ///
    /// # Panics
    /// If there is no such worker or step.
    pub fn span(&self, worker: usize, step: usize) -> Span {
        assert!(worker < self.workers && step < self.steps, "worker {worker}, step {step} of {self:?}");
        let [begin, done, free] =
            self.marks[worker * self.steps + step].each_ref().map(|mark| mark.load(Ordering::Relaxed));
        Span { begin, done, free }
    }
}

/// One worker's marks in the making. A launch begins when the one before it lets the worker free.
#[derive(Debug)]
pub struct Lane<'a> {
    origin: Instant,
    marks: &'a [Marks],
    begin: u64,
    done: u64,
}

impl Lane<'_> {
    /// The worker is done with its part of a launch.
    pub fn done(&mut self) {
        self.done = self.now();
    }

    /// The worker is free for the next launch; this one was step `step` of the program.
    ///
    /// # Panics
    /// If there is no such step.
    pub fn free(&mut self, step: usize) {
        let free = self.now();
        self.set(step, Span { begin: self.begin, done: self.done, free });
        self.begin = free;
    }

    /// Marks a whole step at once, for a device that learns its times afterwards.
    ///
    /// # Panics
    /// If there is no such step.
    pub fn set(&self, step: usize, Span { begin, done, free }: Span) {
        // Read after the replay, whose end synchronises.
        self.marks[step]
            .iter()
            .zip([begin, done, free])
            .for_each(|(mark, at)| mark.store(at, Ordering::Relaxed));
    }

    fn now(&self) -> u64 {
        // Five centuries fit.
        self.origin.elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_gaps() {
        let mut timings = Timings::default();
        timings.begin(2, 3);
        let mut lane = timings.lane(1);
        // The second step has no rows and is not run.
        for step in [0, 2] {
            lane.done();
            lane.free(step);
        }
        let [first, none, last] = [0, 1, 2].map(|step| timings.span(1, step));
        assert!(first.begin <= first.done && first.done <= first.free);
        assert_eq!((none, last.begin), (Span::default(), first.free));
        assert_eq!(timings.span(0, 2), Span::default(), "another worker's");
    }

    #[test]
    fn what_was_marked_before_is_forgotten() {
        let mut timings = Timings::default();
        let marked = Span { begin: 1, done: 5, free: 7 };
        assert_eq!((marked.busy(), marked.waiting()), (4, 2));
        for (workers, steps) in [(1, 4), (2, 2), (1, 3)] {
            timings.begin(workers, steps);
            assert_eq!((timings.workers(), timings.steps()), (workers, steps));
            for worker in 0..workers {
                for step in 0..steps {
                    assert_eq!(timings.span(worker, step), Span::default());
                    timings.lane(worker).set(step, marked);
                    assert_eq!(timings.span(worker, step), marked);
                }
            }
        }
    }
}

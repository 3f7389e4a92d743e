//! When a device's workers were busy and when they waited, launch by launch.
//!
//! A worker's time in a replay has no gaps: it works on a launch until its own part is done, waits until it may continue, and
//! works on the next one. So three marks a launch describe a replay completely, except for the time before the first launch and
//! after the last. Recording a mark is a plain store into memory allocated before the replay begins.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The times of a replay: when each worker was at which launch. Reuse it, and only the first replay allocates.
#[derive(Debug, Default)]
pub struct Timings {
    /// The moment that times are relative to; `None` before the first replay.
    origin: Option<Instant>,
    workers: usize,
    launches: usize,
    /// The marks of each launch, one worker after another.
    marks: Vec<Marks>,
}

/// The three marks of a [`Span`].
type Marks = [AtomicU64; 3];

/// One worker's time on one launch, in nanoseconds since [`Timings::origin`]. All zero if the worker skipped it: a launch without rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// When it began.
    pub begin: u64,
    /// When its own part was done.
    pub done: u64,
    /// The time when it could continue with the next launch: all workers were done, or the device began the next launch.
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
    /// Begins a replay of `launches` launches on `workers` workers: clears all marks and restarts the clock. For the device that runs it.
    /// Allocates only if there was never room for as many.
    pub fn begin(&mut self, workers: usize, launches: usize) {
        let needed = workers * launches;
        self.marks.truncate(needed);
        self.marks.iter_mut().flatten().for_each(|mark| *mark.get_mut() = 0);
        self.marks.resize_with(needed, Marks::default);
        (self.workers, self.launches) = (workers, launches);
        self.origin = Some(Instant::now());
    }

    /// Where a worker records its marks. Its first launch begins now.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn lane(&self, worker: usize) -> Lane<'_> {
        assert!(worker < self.workers, "worker {worker} of {}", self.workers);
        let marks = &self.marks[worker * self.launches..][..self.launches];
        let mut lane = Lane { origin: self.origin.unwrap_or_else(Instant::now), marks, begin: 0, done: 0 };
        lane.begin = lane.now();
        lane
    }

    /// The moment that times are relative to; `None` before the first replay.
    pub fn origin(&self) -> Option<Instant> {
        self.origin
    }

    /// Workers of the last replay: threads, or 1 for a device that is timed as a whole.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Launches of the program that was replayed.
    pub fn launches(&self) -> usize {
        self.launches
    }

    /// A worker's time on a launch.
    ///
    /// # Panics
    /// If there is no such worker or launch.
    pub fn span(&self, worker: usize, launch: usize) -> Span {
        assert!(
            worker < self.workers && launch < self.launches,
            "worker {worker}, launch {launch} of {self:?}"
        );
        let [begin, done, free] =
            self.marks[worker * self.launches + launch].each_ref().map(|mark| mark.load(Ordering::Relaxed));
        Span { begin, done, free }
    }
}

/// Records the marks of one worker. A launch begins when the one before it is free.
#[derive(Debug)]
pub struct Lane<'a> {
    origin: Instant,
    marks: &'a [Marks],
    begin: u64,
    done: u64,
}

impl Lane<'_> {
    /// The worker has done its part of a launch.
    pub fn done(&mut self) {
        self.done = self.now();
    }

    /// The worker is free for the next launch; this one was launch `launch` of the program.
    ///
    /// # Panics
    /// If there is no such launch.
    pub fn free(&mut self, launch: usize) {
        let free = self.now();
        self.set(launch, Span { begin: self.begin, done: self.done, free });
        self.begin = free;
    }

    /// Records all of a launch at once, for a device that learns its times afterwards.
    ///
    /// # Panics
    /// If there is no such launch.
    pub fn set(&self, launch: usize, Span { begin, done, free }: Span) {
        // Read after the replay, whose end synchronises.
        self.marks[launch]
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
    fn a_lane_has_no_gaps() {
        let mut timings = Timings::default();
        timings.begin(2, 3);
        let mut lane = timings.lane(1);
        // The second launch has no rows and is skipped.
        for launch in [0, 2] {
            lane.done();
            lane.free(launch);
        }
        let [first, none, last] = [0, 1, 2].map(|launch| timings.span(1, launch));
        assert!(first.begin <= first.done && first.done <= first.free);
        assert_eq!((none, last.begin), (Span::default(), first.free));
        assert_eq!(timings.span(0, 2), Span::default(), "recorded for another worker");
    }

    #[test]
    fn a_new_replay_clears_earlier_marks() {
        let mut timings = Timings::default();
        let marked = Span { begin: 1, done: 5, free: 7 };
        assert_eq!((marked.busy(), marked.waiting()), (4, 2));
        for (workers, launches) in [(1, 4), (2, 2), (1, 3)] {
            timings.begin(workers, launches);
            assert_eq!((timings.workers(), timings.launches()), (workers, launches));
            for worker in 0..workers {
                for launch in 0..launches {
                    assert_eq!(timings.span(worker, launch), Span::default());
                    timings.lane(worker).set(launch, marked);
                    assert_eq!(timings.span(worker, launch), marked);
                }
            }
        }
    }
}

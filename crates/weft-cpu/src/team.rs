//! The thread pool: threads that spin while they wait for work, and a barrier that takes less time than a kernel.
//!
//! A step is a few hundred kernels of some microseconds each, so waking a sleeping thread or taking a lock between two
//! kernels would take as long as the work. The team therefore spins: each worker watches an epoch counter, runs the job
//! of a new epoch, and within a job waits for the others at a [`Member::wait`] barrier. Machines are shared, so a thread
//! that has spun for a while yields, and a worker that has been idle for some milliseconds sleeps until the next epoch.
//!
//! If other programs want the cores, a thread that the system has put aside holds up all others at the next barrier. Fewer
//! threads may then be faster, so a job may be run by some of them only ([`Team::run_on`]); [`crate::crowd`] decides.
//!
//! A panic in a job, on any thread, breaks the barrier: all threads leave the job, and [`Team::run`] resumes the panic
//! on the calling thread. The team stays usable.

use std::any::Any;
use std::cell::UnsafeCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Spins of some 40 ns each before a waiting thread yields its core: about the length of a kernel.
const SPINS: u32 = 1024;

/// How long an idle worker watches for work before it sleeps: longer than the time between two steps of one
/// sequence.
const IDLE: Duration = Duration::from_millis(2);

/// A fixed set of threads, the calling one included, that run a job together.
#[derive(Debug)]
pub(crate) struct Team {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

/// The shared state of the threads, each part on its own cache lines.
#[derive(Debug)]
struct Shared {
    /// Counts jobs, and says how many threads run the last ([`Epoch`]); a change tells the workers to start.
    epoch: Line<AtomicU64>,
    /// Workers that have not finished the job of this epoch.
    busy: Line<AtomicUsize>,
    barrier: Barrier,
    /// The nanoseconds that threads have waited for others, beyond the usual, in this job.
    lost: Line<AtomicU64>,
    /// The job of this epoch.
    job: UnsafeCell<Job>,
    /// Set before the last epoch.
    stop: AtomicBool,
    /// Whether each worker sleeps or is about to.
    asleep: Box<[AtomicBool]>,
    /// The payload of the first panic in this job.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `job` is the only part that is not `Sync`. The calling thread writes it while no worker is
// busy; workers read it between seeing a new epoch and counting themselves out of `busy`, both of which synchronise
// with the caller.
unsafe impl Sync for Shared {}
// SAFETY: the pointers of a `Job` are only followed in that same window, in which `Team::run` keeps what they point
// to alive.
unsafe impl Send for Shared {}

/// The value of the epoch counter.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Epoch(u64);

impl Epoch {
    /// The bits that say how many threads run the job.
    const THREADS: u32 = 16;

    /// The next epoch, whose job `threads` threads run.
    fn next(self, threads: usize) -> Epoch {
        Epoch((self.0 >> Epoch::THREADS).wrapping_add(1) << Epoch::THREADS | threads as u64)
    }

    /// Whether this thread has a part in the job.
    fn has(self, index: usize) -> bool {
        (index as u64) < self.0 & ((1 << Epoch::THREADS) - 1)
    }
}

/// A value on its own cache lines; two, because CPUs fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Line<T>(pub(crate) T);

/// A call to be made by every thread, with its types erased.
#[derive(Clone, Copy, Debug)]
struct Job {
    call: unsafe fn(*const (), usize),
    data: *const (),
}

/// A job as passed to [`Team::run`].
struct Work<'a, S, F> {
    states: *mut S,
    work: &'a F,
    threads: usize,
    shared: &'a Shared,
}

/// One thread of a team, as a job sees it.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    /// The index of this thread; the calling thread is 0.
    pub(crate) index: usize,
    /// The number of threads.
    pub(crate) threads: usize,
    shared: &'a Shared,
}

/// A member of the team has panicked: leave the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

impl Member<'_> {
    /// Waits until every thread has arrived. Everything written before is then visible to all.
    pub(crate) fn wait(&self) -> Result<(), Broken> {
        self.shared.barrier.wait(self.threads, &self.shared.lost.0)
    }
}

impl Team {
    /// Starts `threads - 1` workers.
    pub(crate) fn new(threads: usize) -> io::Result<Team> {
        let idle = Job { call: |_, _| {}, data: ptr::null() };
        let shared = Arc::new(Shared {
            epoch: Line::default(),
            busy: Line::default(),
            barrier: Barrier::default(),
            lost: Line::default(),
            job: UnsafeCell::new(idle),
            stop: AtomicBool::new(false),
            asleep: (1..threads).map(|_| AtomicBool::new(false)).collect(),
            panic: Mutex::new(None),
        });
        let mut team = Team { shared, workers: Vec::with_capacity(threads - 1) };
        for index in 1..threads {
            let shared = Arc::clone(&team.shared);
            let builder = thread::Builder::new().name(format!("weft-cpu-{index}"));
            // If this fails, dropping the team ends the workers already started.
            team.workers.push(builder.spawn(move || {
                weft_host::prefer_fast_cores();
                shared.serve(index);
            })?);
        }
        // A spawned thread may not run yet, and allocates as it starts: the first step should not wait for that.
        team.run(&mut vec![(); threads], &|_, ()| Ok(()));
        Ok(team)
    }

    /// The number of threads, including the calling one.
    pub(crate) fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `work` once on every thread, each with its own state, and returns when all are done.
    ///
    /// Every thread must wait at the barrier equally often, unless it returns the [`Broken`] that the barrier returned.
    ///
    /// # Panics
    /// If there is not one state for each thread, or if `work` panics.
    pub(crate) fn run<S, F>(&mut self, states: &mut [S], work: &F)
    where
        S: Send,
        F: Fn(&Member<'_>, &mut S) -> Result<(), Broken> + Sync,
    {
        assert_eq!(states.len(), self.threads(), "a state for each thread");
        self.run_on(states, work);
    }

    /// Like [`run`](Team::run), on as many threads as there are states. Returns how long threads have waited for others, beyond
    /// the usual, all together.
    ///
    /// # Panics
    /// If there is no state, or there are more than threads, or if `work` panics.
    pub(crate) fn run_on<S, F>(&mut self, states: &mut [S], work: &F) -> Duration
    where
        S: Send,
        F: Fn(&Member<'_>, &mut S) -> Result<(), Broken> + Sync,
    {
        let threads = states.len();
        assert!((1..=self.threads()).contains(&threads), "a state for each thread of the job");
        let shared = &*self.shared;
        let data = Work { states: states.as_mut_ptr(), work, threads, shared };
        let job = Job { call: call::<S, F>, data: ptr::from_ref(&data).cast() };
        shared.lost.0.store(0, Ordering::Relaxed);
        if threads > 1 {
            // SAFETY: no worker is busy, so none reads the job; `&mut self` keeps other callers out.
            unsafe { *shared.job.get() = job };
            shared.busy.0.store(threads - 1, Ordering::Relaxed);
            self.start(threads);
        }
        shared.run(job, 0);
        // `data` and `states` are in use until here.
        let mut wait = Wait::default();
        while shared.busy.0.load(Ordering::Acquire) > 0 {
            wait.pause();
        }
        wait.end(&shared.lost.0);
        if shared.barrier.is_broken() {
            shared.barrier.mend();
            let payload = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
            resume_unwind(payload.unwrap_or_else(|| Box::new("a job of the thread team panicked")));
        }
        Duration::from_nanos(shared.lost.0.load(Ordering::Relaxed))
    }

    /// Begins a new epoch for `threads` threads.
    fn start(&self, threads: usize) {
        // Only this thread changes it.
        let next = Epoch(self.shared.epoch.0.load(Ordering::Relaxed)).next(threads);
        // In the order of all `SeqCst` operations either a worker that is about to sleep sees the new epoch, or
        // this sees that it sleeps.
        self.shared.epoch.0.store(next.0, Ordering::SeqCst);
        for (asleep, worker) in self.shared.asleep.iter().zip(&self.workers).take(threads - 1) {
            if asleep.swap(false, Ordering::SeqCst) {
                worker.thread().unpark();
            }
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.start(self.threads());
        for worker in self.workers.drain(..) {
            // Workers catch panics of jobs, so there is nothing to report.
            let _ = worker.join();
        }
    }
}

impl Shared {
    /// The main loop of a worker.
    fn serve(&self, index: usize) {
        let mut seen = Epoch(0);
        loop {
            self.next_epoch(index, &mut seen);
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            // SAFETY: the job was written before the epoch changed, and is not written again while this worker is
            // busy.
            let job = unsafe { *self.job.get() };
            self.run(job, index);
            self.busy.0.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits for an epoch other than `seen` in which this thread has a part. Others go by without a look at their jobs, which
    /// may be gone.
    fn next_epoch(&self, index: usize, seen: &mut Epoch) {
        let mut begins = |order| {
            let epoch = Epoch(self.epoch.0.load(order));
            let is_new = epoch != *seen;
            *seen = epoch;
            is_new && epoch.has(index)
        };
        let mut spin = Spin::default();
        let mut idle_since = None;
        loop {
            if begins(Ordering::Acquire) {
                return;
            }
            if !spin.pause() {
                continue;
            }
            if idle_since.get_or_insert_with(Instant::now).elapsed() < IDLE {
                continue;
            }
            let asleep = &self.asleep[index - 1];
            asleep.store(true, Ordering::SeqCst);
            let mut begun = false;
            while !begun && asleep.load(Ordering::SeqCst) {
                begun = begins(Ordering::SeqCst);
                if !begun {
                    thread::park();
                }
            }
            asleep.store(false, Ordering::SeqCst);
            if begun {
                return;
            }
            idle_since = None;
        }
    }

    /// Makes the call, and breaks the barrier if it panics.
    fn run(&self, job: Job, index: usize) {
        // SAFETY: `Team::run` made the job from these very types, waits for `busy` to fall to zero before what it
        // points to goes away, and every thread calls it with its own index.
        let result = catch_unwind(AssertUnwindSafe(|| unsafe { (job.call)(job.data, index) }));
        if let Err(payload) = result {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
            self.barrier.break_up();
        }
    }
}

/// Calls a job on thread `index`.
///
/// # Safety
/// `data` points to a live `Work<S, F>` with a state for `index`, and no other call has this index.
unsafe fn call<S, F>(data: *const (), index: usize)
where
    S: Send,
    F: Fn(&Member<'_>, &mut S) -> Result<(), Broken> + Sync,
{
    // SAFETY: the caller's promise. `F: Sync` and `S: Send` allow the work and the state to be used on this thread.
    let (job, state) = unsafe {
        let job = &*data.cast::<Work<'_, S, F>>();
        (job, &mut *job.states.add(index))
    };
    // A broken barrier has been reported by the thread that broke it.
    let _ = (job.work)(&Member { index, threads: job.threads, shared: job.shared }, state);
}

/// A barrier that counts arrivals and advances a generation when all have arrived.
#[derive(Debug, Default)]
struct Barrier {
    arrived: Line<AtomicUsize>,
    generation: Line<AtomicUsize>,
    broken: Line<AtomicBool>,
}

impl Barrier {
    fn wait(&self, threads: usize, lost: &AtomicU64) -> Result<(), Broken> {
        let generation = self.generation.0.load(Ordering::Relaxed);
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == threads {
            self.arrived.0.store(0, Ordering::Relaxed);
            self.generation.0.store(generation.wrapping_add(1), Ordering::Release);
        } else {
            let mut wait = Wait::default();
            while self.generation.0.load(Ordering::Acquire) == generation {
                if self.is_broken() {
                    return Err(Broken);
                }
                wait.pause();
            }
            wait.end(lost);
        }
        if self.is_broken() { Err(Broken) } else { Ok(()) }
    }

    fn is_broken(&self) -> bool {
        self.broken.0.load(Ordering::Relaxed)
    }

    fn break_up(&self) {
        self.broken.0.store(true, Ordering::Relaxed);
    }

    /// Makes a broken barrier usable again, once no thread waits at it.
    fn mend(&self) {
        self.arrived.0.store(0, Ordering::Relaxed);
        self.broken.0.store(false, Ordering::Relaxed);
    }
}

/// Waiting without sleeping.
#[derive(Default)]
struct Spin(u32);

impl Spin {
    /// Whether the next pause yields.
    fn is_long(&self) -> bool {
        self.0 == SPINS
    }

    /// Spins or yields once. Returns whether it yielded.
    fn pause(&mut self) -> bool {
        if self.0 < SPINS {
            self.0 += 1;
            std::hint::spin_loop();
            return false;
        }
        thread::yield_now();
        true
    }
}

/// Waiting whose time is counted, if it is longer than usual.
#[derive(Default)]
struct Wait {
    spin: Spin,
    /// When it became longer.
    since: Option<Instant>,
}

impl Wait {
    fn pause(&mut self) {
        // Before the first yield: it may be the one that returns when another program has had its turn.
        if self.since.is_none() && self.spin.is_long() {
            self.since = Some(Instant::now());
        }
        self.spin.pause();
    }

    /// Adds the time to `lost`, in nanoseconds.
    fn end(self, lost: &AtomicU64) {
        if let Some(since) = self.since {
            lost.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs for any number of threads, one after another: the others take no part, and none is missing when it is wanted again.
    #[test]
    fn a_job_may_be_run_by_some_of_the_threads() {
        let mut team = Team::new(5).unwrap();
        let mut states = [0usize; 5];
        let mut expected = [0; 5];
        for i in 0..600usize {
            let threads = 1 + i * 7 % 5;
            if i % 100 == 99 {
                // Long enough for all to fall asleep.
                thread::sleep(3 * IDLE);
            }
            let arrived = AtomicUsize::new(0);
            team.run_on(&mut states[..threads], &|member, state| {
                assert_eq!(member.threads, threads);
                arrived.fetch_add(1, Ordering::Relaxed);
                member.wait()?;
                assert_eq!(arrived.load(Ordering::Relaxed), threads);
                *state += 1;
                member.wait()
            });
            expected[..threads].iter_mut().for_each(|count| *count += 1);
            assert_eq!(states, expected);
        }
    }

    #[test]
    fn waiting_for_others_is_counted() {
        let mut team = Team::new(3).unwrap();
        let lost = team.run_on(&mut [(); 3], &|member, ()| {
            if member.index == 1 {
                thread::sleep(Duration::from_millis(20));
            }
            member.wait()
        });
        // Two have waited, all but the first microseconds.
        assert!(lost >= Duration::from_millis(30), "{lost:?}");
    }

    /// Every thread adds to its own slot, then checks after a barrier that it sees what all the others wrote.
    #[test]
    fn what_is_written_before_a_barrier_is_seen_after_it() {
        for threads in 1..=8 {
            let mut team = Team::new(threads).unwrap();
            let slots: Vec<AtomicUsize> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
            let mut states = vec![0usize; threads];
            for epoch in 0..300 {
                team.run(&mut states, &|member, state| {
                    for round in 0..4 {
                        slots[member.index].store(epoch * 4 + round, Ordering::Relaxed);
                        member.wait()?;
                        let all = slots.iter().all(|s| s.load(Ordering::Relaxed) == epoch * 4 + round);
                        *state += usize::from(all);
                        member.wait()?;
                    }
                    Ok(())
                });
            }
            assert_eq!(states, vec![1200; threads], "{threads} threads");
        }
    }

    #[test]
    fn sleeping_workers_wake_up() {
        let mut team = Team::new(3).unwrap();
        let calls = AtomicUsize::new(0);
        for _ in 0..5 {
            while !team.shared.asleep.iter().all(|a| a.load(Ordering::SeqCst)) {
                thread::sleep(Duration::from_millis(1));
            }
            team.run(&mut [(); 3], &|member, ()| {
                calls.fetch_add(1, Ordering::Relaxed);
                member.wait()
            });
        }
        assert_eq!(calls.load(Ordering::Relaxed), 15);
    }

    /// Jobs that end just when workers fall asleep: no wake-up may be lost.
    #[test]
    fn work_that_comes_as_workers_fall_asleep_is_done() {
        let mut team = Team::new(4).unwrap();
        let calls = AtomicUsize::new(0);
        for i in 0..200u32 {
            thread::sleep(Duration::from_micros(u64::from(1800 + i * 4)));
            team.run(&mut [(); 4], &|_, ()| {
                calls.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
        }
        assert_eq!(calls.load(Ordering::Relaxed), 800);
    }

    #[test]
    fn a_panic_on_any_thread_reaches_the_caller_and_leaves_the_team_usable() {
        let mut team = Team::new(4).unwrap();
        for bad in 0..4 {
            let result = catch_unwind(AssertUnwindSafe(|| {
                team.run(&mut [(); 4], &|member, ()| {
                    member.wait()?;
                    assert_ne!(member.index, bad, "on purpose");
                    member.wait()?;
                    member.wait()
                });
            }));
            let payload = result.unwrap_err();
            assert!(payload.downcast_ref::<String>().unwrap().contains("on purpose"));

            let mut states = [0; 4];
            team.run(&mut states, &|member, state| {
                member.wait()?;
                *state = member.index + 1;
                member.wait()
            });
            assert_eq!(states, [1, 2, 3, 4]);
        }
    }

    #[test]
    fn teams_end_when_dropped() {
        for threads in 1..=4 {
            let mut team = Team::new(threads).unwrap();
            let shared = Arc::downgrade(&team.shared);
            team.run(&mut vec![(); threads], &|member, ()| member.wait());
            drop(team);
            assert!(shared.upgrade().is_none(), "every worker has let go");
        }
    }
}

//! What the thread of a model shares with those who send it jobs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::job::{Job, Signal};
use super::listed::Listed;
use super::queue::Queue;
use crate::error::{ApiError, Kind};
use crate::options::Limits;
use crate::tenant::Tenant;

/// How long an engine that has no work waits at most for further requests. Several clients often ask at the same moment, and prompts that
/// begin together are computed together; one that came a step too late would be computed together with the replies to the others, which
/// takes longer for all of them.
const GATHER: Duration = Duration::from_millis(20);

/// How long it waits after a request has come, if no other is expected.
const QUIET: Duration = Duration::from_millis(2);

/// The queue and the state of a model's thread.
pub(crate) struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    /// The limits of the server.
    pub(super) limits: Limits,
}

/// The state behind the lock.
pub(super) struct State {
    /// Jobs that wait.
    pub(super) queue: Queue,
    /// When the requests came that are being read and will soon be jobs. Those that are refused stay until [`GATHER`] is over.
    coming: VecDeque<Instant>,
    /// When the last request came, or became a job.
    last_came: Instant,
    /// The number of jobs that ended lately, less those that came since: clients often ask again at once.
    ended_lately: usize,
    last_ended: Instant,
    /// The number of jobs in work.
    pub(super) active: usize,
    /// All jobs, and some that have ended.
    listed: Vec<Weak<Listed>>,
    /// The number of jobs of each tenant, waiting or in work.
    tenants: BTreeMap<Tenant, usize>,
    /// Whether the thread ends once it has nothing to do.
    pub(super) stopping: bool,
    /// Ends all jobs.
    pub(super) abort: Option<ApiError>,
    /// Whether the thread has ended.
    closed: bool,
    /// When the engine began its current step. `None` if it has nothing to do.
    working_since: Option<Instant>,
    /// The time between the ends of two jobs while there was work, averaged.
    per_job: Option<Duration>,
    last_end: Option<Instant>,
}

/// The event that an engine waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    /// For nothing: it is computing.
    No,
    /// If there is a job, for those that come at the same moment.
    Together,
    /// For a job, and those that come at the same moment: it has nothing else to do.
    Idle,
}

impl Shared {
    pub(super) fn new(limits: Limits) -> Shared {
        let state = State {
            queue: Queue::default(),
            coming: VecDeque::new(),
            last_came: Instant::now(),
            ended_lately: 0,
            last_ended: Instant::now(),
            active: 0,
            listed: Vec::new(),
            tenants: BTreeMap::new(),
            stopping: false,
            abort: None,
            closed: false,
            working_since: None,
            per_job: None,
            last_end: None,
        };
        Shared { state: Mutex::new(state), wake: Condvar::new(), limits }
    }

    /// Locks the state.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the state is locked, and no state is invalid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a request has come, which will be a job once it has been read.
    pub(super) fn announce(&self) {
        let mut state = self.state();
        state.are_coming();
        let now = Instant::now();
        state.last_came = now;
        state.coming.push_back(now);
    }

    pub(super) fn submit(&self, job: Job) -> Result<(), ApiError> {
        let Limits { queue_requests, queue_tokens, per_key, .. } = self.limits;
        let mut state = self.state();
        state.coming.pop_front();
        state.last_came = Instant::now();
        state.ended_lately = state.ended_lately.saturating_sub(1);
        if state.closed {
            return Err(ApiError::new(Kind::Unavailable, "the model has stopped; try again in a moment")
                .retry_after(Duration::from_secs(1)));
        }
        if let Some(error) = &state.abort {
            return Err(error.clone());
        }
        let busy = |why: String, wait: Option<Duration>| {
            let wait = wait.unwrap_or(Duration::from_secs(1));
            let message =
                format!("the server is busy: {why}; try again in about {} s", wait.as_secs().max(1));
            ApiError::new(Kind::Busy, message).code("server_busy").retry_after(wait)
        };
        let waiting = state.queue.len();
        if waiting >= queue_requests {
            return Err(busy(format!("{waiting} requests wait, the most it takes"), state.wait()));
        }
        let tokens = state.queue.tokens();
        if waiting > 0 && tokens + job.prompt_tokens > queue_tokens {
            let why =
                format!("the prompts that wait have {tokens} tokens, and it takes at most {queue_tokens}");
            return Err(busy(why, state.wait()));
        }
        let own = state.tenants.get(&job.tenant).copied().unwrap_or(0);
        if let Some(most) = per_key.filter(|most| own >= *most) {
            return Err(busy(format!("this key has {own} requests, and may have {most}"), state.wait()));
        }
        *state.tenants.entry(job.tenant.clone()).or_default() += 1;
        state.listed.retain(|one| one.strong_count() > 0);
        state.listed.push(Arc::downgrade(&job.listed));
        state.queue.push(job);
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    /// Waits for work. Returns `None` once there is none and never will be.
    pub(super) fn wait_for_work(&self, wait: Wait) -> Option<MutexGuard<'_, State>> {
        let mut state = self.state();
        while wait == Wait::Idle && state.queue.len() == 0 {
            state.working_since = None;
            state.last_end = None;
            if state.stopping {
                state.closed = true;
                return None;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let begun = Instant::now();
        while wait != Wait::No && state.queue.len() > 0 && !state.stopping && state.abort.is_none() {
            let expected =
                state.are_coming() || state.ended_lately > 0 && state.last_ended.elapsed() < GATHER;
            let left = patience(expected, begun.elapsed(), state.last_came.elapsed());
            if left.is_zero() {
                break;
            }
            (state, _) = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
        state.working_since = Some(Instant::now());
        Some(state)
    }

    /// Records that the engine has made a step.
    pub(super) fn beat(&self) {
        self.state().working_since = Some(Instant::now());
    }

    pub(super) fn is_healthy(&self) -> bool {
        let state = self.state();
        let stuck = state.working_since.is_some_and(|since| since.elapsed() > self.limits.stall);
        !stuck && !state.closed
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    pub(super) fn jobs(&self) -> usize {
        let state = self.state();
        state.active + state.queue.len()
    }

    /// The jobs that wait or are in work, the oldest first.
    pub(super) fn listed(&self) -> Vec<Arc<Listed>> {
        self.state().listed.iter().filter_map(Weak::upgrade).collect()
    }

    pub(super) fn abort(&self, error: ApiError) {
        self.state().abort = Some(error);
        self.wake.notify_one();
    }

    pub(super) fn stop(&self) {
        self.state().stopping = true;
        self.wake.notify_one();
    }

    /// Ends the queue, and all that wait in it with this error.
    pub(super) fn close(&self, error: Option<ApiError>) {
        let mut state = self.state();
        state.closed = true;
        let jobs = state.queue.remove(|_| true);
        drop(state);
        let error = error.unwrap_or_else(|| ApiError::new(Kind::Internal, "the model could not be loaded"));
        jobs.into_iter().for_each(|job| {
            let _ = job.signals.send(Signal::Refused(error.clone()));
        });
    }
}

impl State {
    /// Returns whether requests are being read.
    fn are_coming(&mut self) -> bool {
        while self.coming.front().is_some_and(|since| since.elapsed() > GATHER) {
            self.coming.pop_front();
        }
        !self.coming.is_empty()
    }

    /// Records that a job has ended.
    pub(super) fn ended(&mut self, tenant: &Tenant) {
        if let Some(count) = self.tenants.get_mut(tenant) {
            *count -= 1;
            if *count == 0 {
                self.tenants.remove(tenant);
            }
        }
        let now = Instant::now();
        if now - self.last_ended >= GATHER {
            self.ended_lately = 0;
        }
        self.ended_lately += 1;
        self.last_ended = now;
        if let Some(last) = self.last_end {
            let took = now - last;
            // An old time has half of its weight left after some five jobs.
            self.per_job = Some(self.per_job.map_or(took, |known| (known * 7 + took) / 8));
        }
        self.last_end = Some(now);
    }

    /// How long a new request would wait.
    fn wait(&self) -> Option<Duration> {
        let ahead = u32::try_from(self.queue.len() + 1).unwrap_or(u32::MAX);
        self.per_job.map(|one| one.saturating_mul(ahead))
    }
}

/// How much longer an engine waits for further requests, after it has waited for `waited` and the last one came `quiet` ago.
fn patience(expected: bool, waited: Duration, quiet: Duration) -> Duration {
    let most = if expected { GATHER } else { QUIET };
    most.saturating_sub(quiet).min(GATHER.saturating_sub(waited))
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::tenant::Keys;

    #[test]
    fn an_engine_waits_for_what_comes_at_the_same_moment_and_no_longer() {
        let wait = |expected, waited, quiet| {
            patience(expected, Duration::from_millis(waited), Duration::from_millis(quiet)).as_millis()
        };
        assert_eq!(
            [wait(false, 0, 0), wait(false, 1, 1), wait(false, 2, 2), wait(false, 5, 5)],
            [2, 1, 0, 0]
        );
        // More come, one after another.
        assert_eq!(
            [wait(false, 17, 0), wait(false, 19, 0), wait(false, 20, 0), wait(false, 30, 0)],
            [2, 1, 0, 0]
        );
        assert_eq!(
            [wait(true, 0, 0), wait(true, 14, 3), wait(true, 3, 19), wait(true, 21, 0)],
            [20, 6, 1, 0]
        );
    }

    #[test]
    fn a_request_comes_until_it_is_a_job() {
        let shared = Shared::new(Limits::default());
        shared.announce();
        assert!(shared.state().are_coming());
        let job = Job {
            tenant: Keys::new(&["a".into()]).tenant("a").unwrap(),
            requests: Vec::new(),
            prompt_tokens: 1,
            reply_tokens: 1,
            paid: 0,
            since: Instant::now(),
            deadline: Instant::now(),
            listed: Arc::new(Listed::new("req_1".into(), Instant::now(), 1)),
            signals: mpsc::unbounded_channel().0,
        };
        shared.state().ended(&job.tenant);
        shared.state().ended(&job.tenant);
        shared.submit(job).unwrap();
        assert!(!shared.state().are_coming());
        assert_eq!(shared.state().ended_lately, 1);
        assert_eq!(shared.listed().len(), 1);
        drop(shared.state().queue.pop());
        assert!(shared.listed().is_empty(), "it has ended");
        // One that was refused is forgotten.
        shared.announce();
        std::thread::sleep(GATHER + Duration::from_millis(1));
        assert!(!shared.state().are_coming());
    }
}

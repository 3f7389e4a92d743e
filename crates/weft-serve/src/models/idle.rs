//! Models that clients want to be unloaded after a time without requests, as Ollama's `keep_alive` says.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often idle models are looked at at most, and at least, while one of them is to be unloaded.
const TICKS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// How long a model stays loaded after its last request. Without a limit, it stays until another needs the memory.
#[derive(Debug, Default)]
pub(super) struct Keep(Mutex<Kept>);

#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    most: Option<Duration>,
    /// The time of the first check that found it unused.
    idle: Option<Instant>,
    /// Whether it was unloaded because its time was over.
    asleep: bool,
}

impl Keep {
    fn with<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the limit; `None` is without end.
    pub(super) fn limit(&self, most: Option<Duration>) {
        self.with(|kept| (kept.most, kept.idle) = (most, None));
    }

    /// Records that the model was loaded, with the limit that it has unless a client sets another.
    pub(super) fn loaded(&self, most: Option<Duration>) {
        self.with(|kept| *kept = Kept { most, ..Kept::default() });
    }

    /// Records that it was unloaded, because its time was over or because a client wanted it.
    pub(super) fn sleep(&self, idle: bool) {
        self.with(|kept| *kept = Kept { asleep: idle, ..Kept::default() });
    }

    /// How long to wait until it is looked at again, if it has a limit.
    pub(super) fn tick(&self) -> Option<Duration> {
        self.with(|kept| kept.most.map(|most| (most / 20).clamp(TICKS[0], TICKS[1])))
    }

    /// Whether it was unloaded because its time was over: the next request loads it.
    pub(super) fn is_asleep(&self) -> bool {
        self.with(|kept| kept.asleep)
    }

    /// The time that is left to it, if it has a limit.
    pub(super) fn left(&self) -> Option<Duration> {
        self.with(|kept| {
            let most = kept.most?;
            Some(most.saturating_sub(kept.idle.map_or(Duration::ZERO, |since| since.elapsed())))
        })
    }

    /// Looks at a model that has a limit. Returns whether its time is over.
    pub(super) fn is_over(&self, used: bool) -> bool {
        self.with(|kept| {
            let Some(most) = kept.most else { return false };
            if used {
                kept.idle = None;
                return false;
            }
            kept.idle.get_or_insert_with(Instant::now).elapsed() >= most
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_requests_counts() {
        let keep = Keep::default();
        assert!(!keep.is_over(false) && keep.left().is_none(), "no limit");
        keep.limit(Some(Duration::from_millis(20)));
        assert!(!keep.is_over(false));
        std::thread::sleep(Duration::from_millis(25));
        assert!(!keep.is_over(true), "it is used, so its time begins anew");
        assert!(!keep.is_over(false) && keep.left() > Some(Duration::ZERO));
        std::thread::sleep(Duration::from_millis(25));
        assert!(keep.is_over(false) && keep.left() == Some(Duration::ZERO));
        keep.sleep(true);
        assert!(keep.is_asleep() && keep.left().is_none());
        keep.loaded(Some(Duration::from_secs(60)));
        assert!(!keep.is_over(false) && !keep.is_asleep());
        assert_eq!(keep.tick(), Some(TICKS[1]));
    }
}

//! Statistics of the prompt cache, counted by all its threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// Statistics of the prompt cache on disk, in pages of the KV cache. A snapshot of states of whole sequences counts as a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PromptCacheStats {
    /// The number of pages read from disk instead of computed.
    pub restored: u64,
    /// The number of pages written.
    pub written: u64,
    /// The number of damaged files found.
    pub damaged: u64,
    /// The number of pages that could not be written, because the disk is full or the folder is not accessible.
    pub failed: u64,
    /// The number of pages removed to make room for others.
    pub evicted: u64,
}

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) restored: Counter,
    pub(crate) written: Counter,
    pub(crate) damaged: Counter,
    pub(crate) failed: Counter,
    pub(crate) evicted: Counter,
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

impl Counts {
    pub(crate) fn stats(&self) -> PromptCacheStats {
        let Counts { restored, written, damaged, failed, evicted } = self;
        let [restored, written, damaged, failed, evicted] =
            [restored, written, damaged, failed, evicted].map(|counter| counter.0.load(Ordering::Relaxed));
        PromptCacheStats { restored, written, damaged, failed, evicted }
    }
}

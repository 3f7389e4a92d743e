//! A record of what changes in the prefix cache.

use std::collections::BTreeSet;

use super::key::Key;

/// A change of the prefix cache in memory, for a router that sends a request to the engine that has its beginning.
///
/// Pages are identified by a hash of all tokens up to their end. Only full pages of requests without a
/// [salt](crate::GenerateOptions::salt) are reported.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CacheEvent {
    /// A page was added.
    Stored {
        /// The page.
        page: u64,
        /// The page before it, which was reported earlier; `None` if a prompt begins with this page.
        before: Option<u64>,
        /// The tokens of the page, [as many](crate::Engine::page) as of each.
        tokens: Box<[u32]>,
    },
    /// A page was evicted. Pages after it may still be there, but are not found without it.
    Removed {
        /// The page.
        page: u64,
    },
    /// All pages were removed.
    Cleared,
}

/// Records changes of the chains that begin with one key.
#[derive(Debug)]
pub(crate) struct Watch {
    root: Key,
    /// The number of tokens of a full page.
    page: usize,
    /// The pages that were reported and are there.
    known: BTreeSet<Key>,
    events: Vec<CacheEvent>,
}

impl Watch {
    pub(crate) fn new(root: Key, page: usize) -> Watch {
        Watch { root, page, known: BTreeSet::new(), events: Vec::new() }
    }

    /// A page was added. It is not reported if it is not full, or the page before it was not reported or is gone.
    pub(crate) fn stored(&mut self, key: Key, before: &Key, tokens: &[u32]) {
        let first = *before == self.root;
        if tokens.len() < self.page || !(first || self.known.contains(before)) {
            return;
        }
        self.known.insert(key);
        let before = (!first).then(|| before.short());
        self.events.push(CacheEvent::Stored { page: key.short(), before, tokens: tokens.into() });
    }

    /// A page was removed.
    pub(crate) fn removed(&mut self, key: &Key) {
        if self.known.remove(key) {
            self.events.push(CacheEvent::Removed { page: key.short() });
        }
    }

    /// All pages were removed.
    pub(crate) fn cleared(&mut self) {
        if !self.known.is_empty() {
            self.known.clear();
            self.events.push(CacheEvent::Cleared);
        }
    }

    /// Takes the events so far.
    pub(crate) fn take(&mut self) -> Vec<CacheEvent> {
        std::mem::take(&mut self.events)
    }
}

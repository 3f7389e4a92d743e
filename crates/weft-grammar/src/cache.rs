//! The grammars compiled last.

use std::collections::VecDeque;

use llguidance::Matcher;
use sha2::{Digest as _, Sha256};

use crate::limits;

/// Compiled grammars by their text, the most recently used first.
#[derive(Default)]
pub(super) struct Cache {
    entries: VecDeque<(Key, Matcher)>,
}

/// The hash of a grammar's text.
pub(super) type Key = [u8; 32];

pub(super) fn key(grammar: &str) -> Key {
    Sha256::digest(grammar.as_bytes()).into()
}

impl Cache {
    /// A matcher of its own for a reply, if the grammar is known.
    pub(super) fn get(&mut self, key: &Key) -> Option<Matcher> {
        let place = self.entries.iter().position(|(known, _)| known == key)?;
        let entry = self.entries.remove(place)?;
        let matcher = entry.1.deep_clone();
        self.entries.push_front(entry);
        Some(matcher)
    }

    /// Keeps a matcher that has consumed nothing.
    pub(super) fn put(&mut self, key: Key, matcher: Matcher) {
        self.entries.retain(|(known, _)| *known != key);
        self.entries.truncate(limits::CACHED - 1);
        self.entries.push_front((key, matcher));
    }
}

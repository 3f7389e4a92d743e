//! How much memory generations need, and whether there is room for them.

use std::ops::{Add, AddAssign};

use super::Memory;
use super::kind::{Cached, Kind as _};
use crate::batch::SeqId;

/// The pages of a prefix that the prefix cache has, with which a sequence can begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Found {
    /// The full pages.
    pub(crate) rows: Cached,
    /// Those pages of layers with a sliding window that a token after them sees.
    pub(crate) windowed: Cached,
}

/// Numbers of pages: of layers that keep all positions, and of layers with a sliding window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Need {
    pub(crate) pages: usize,
    pub(crate) windowed: usize,
}

impl Add for Need {
    type Output = Need;

    fn add(self, other: Need) -> Need {
        Need { pages: self.pages + other.pages, windowed: self.windowed + other.windowed }
    }
}

impl AddAssign for Need {
    fn add_assign(&mut self, other: Need) {
        *self = *self + other;
    }
}

impl Memory {
    /// Returns whether there is room for `tokens` tokens, up to the whole context, of a sequence whose prefix was `found` in the prefix
    /// cache, in addition to `reserved` pages.
    pub(crate) fn fits(&self, found: Found, tokens: usize, reserved: Need) -> bool {
        let Found { rows, windowed } = found;
        let need = self.need(tokens);
        let others = (self.rows.available() - rows.idle).saturating_sub(reserved.pages);
        self.has_slots()
            && rows.pages + others >= need.pages
            && self.windows.as_ref().is_none_or(|windows| {
                let reserved = reserved.windowed + windows.window.margin;
                let others = (windows.available() - windowed.idle).saturating_sub(reserved);
                windowed.pages + others >= need.windowed
            })
    }

    /// The pages of a sequence of `tokens` tokens, up to the whole context, while it waits for a step.
    pub(crate) fn need(&self, tokens: usize) -> Need {
        let pages = self.pages_of(tokens.min(self.context));
        Need { pages, windowed: self.windows.as_ref().map_or(0, |windows| windows.most(pages)) }
    }

    /// The pages that a sequence lacks for `tokens` tokens, up to the whole context.
    pub(crate) fn missing(&self, seq: SeqId, tokens: usize) -> Need {
        let Need { pages, windowed } = self.need(tokens);
        let [rows, windows] = match self.sequence(seq) {
            Some(_) => [
                self.rows.of(seq.place).len(),
                self.windows.as_ref().map_or(0, |windows| windows.count(seq.place)),
            ],
            None => [0, 0],
        };
        Need { pages: pages.saturating_sub(rows), windowed: windowed.saturating_sub(windows) }
    }

    /// Returns whether fewer pages are available than these.
    pub(crate) fn lacks(&self, need: Need) -> bool {
        need.pages > self.rows.available()
            || self.windows.as_ref().is_some_and(|windows| need.windowed > windows.available())
    }
}

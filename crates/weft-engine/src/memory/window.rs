//! The pages of layers with a sliding window: their pool, and those that a sequence holds.

use std::collections::VecDeque;
use std::ops::{Add, AddAssign};

use weft_runtime::Window;

use super::key::Key;
use super::pool::Pool;

/// The pages of layers with a sliding window.
#[derive(Debug)]
pub(super) struct Windows {
    pub(super) window: Window,
    pub(super) pool: Pool,
}

/// The pages that a sequence holds in layers with a sliding window.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The number of pages before them, which were released.
    before: usize,
    pages: VecDeque<u32>,
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

impl Windows {
    pub(super) fn new(window: Window) -> Windows {
        Windows { window, pool: Pool::new(window.pages) }
    }

    /// No pages, with room for as many as a sequence usually holds.
    pub(super) fn none_held(&self, page: usize) -> Held {
        Held { before: 0, pages: VecDeque::with_capacity(self.window.of_one(page) + self.window.margin) }
    }

    /// The first page that a token after `len` others sees.
    pub(super) fn first_seen(&self, len: usize, page: usize) -> usize {
        (len + 1).saturating_sub(self.window.positions) / page
    }

    /// Takes a page to copy the page with this key to. Returns both, or `None` if it is gone or no page is available.
    pub(super) fn copy_of(&mut self, key: &Key) -> Option<(u32, u32)> {
        let from = self.pool.kept().page(key)?;
        self.pool.hold(from);
        let to = self.pool.take();
        self.pool.release(from);
        Some((from, to?))
    }

    /// Releases the pages that a token after `len` others does not see.
    pub(super) fn slide(&mut self, held: &mut Held, len: usize, page: usize) {
        let first = self.first_seen(len, page);
        while held.before < first
            && let Some(page) = held.pages.pop_front()
        {
            self.pool.leave_behind(page);
            held.before += 1;
        }
    }
}

impl Held {
    /// Sets the pages of a sequence that has none yet, after `before` others.
    pub(super) fn begin(&mut self, before: usize, pages: Vec<u32>) {
        self.before = before;
        self.pages.extend(pages);
    }

    /// Adds pages at the end.
    pub(super) fn extend(&mut self, pages: impl IntoIterator<Item = u32>) {
        self.pages.extend(pages);
    }

    /// The number of pages.
    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    /// The page in the place of a page of the sequence, if it has not been released.
    pub(super) fn get(&self, place: usize) -> Option<u32> {
        self.pages.get(place.checked_sub(self.before)?).copied()
    }

    /// A page in each place. The first that is left stands for those before it.
    pub(super) fn listed(&self) -> impl Iterator<Item = u32> {
        let first = self.pages.front().copied().unwrap_or(0);
        std::iter::repeat_n(first, self.before).chain(self.pages.iter().copied())
    }

    /// Returns whether no page from this place on has been released.
    pub(super) fn reaches(&self, place: usize) -> bool {
        self.before <= place
    }

    /// Releases all pages from this place on, the last first.
    pub(super) fn truncate(&mut self, place: usize, pool: &mut Pool) {
        while self.before + self.pages.len() > place
            && let Some(page) = self.pages.pop_back()
        {
            pool.release(page);
        }
        self.before = self.before.min(place);
    }
}

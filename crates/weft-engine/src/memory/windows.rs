//! The pages of layers with a sliding window, of which a sequence keeps those that its next token sees.
//!
//! These layers have a pool of pages of their own. A sequence lists one of them for each of its other pages, so kernels find a
//! position the same way in all layers. Those before the window are released, and the first one that is left stands for them
//! in the list: no kernel reads a row before the first position that a token of the step sees.
//!
//! In the prefix cache, a page has the same key in both pools. It is evicted from each as that needs room. The longest cached part of a
//! prompt that ends with a whole window is used.
//!
//! The scheduler releases pages before each step, when guesses of the step before have been judged. Sequences that are driven by
//! hand keep theirs as long as there is room, so that they can be truncated; a caller is told if that was not far enough.

use std::collections::VecDeque;

use weft_runtime::{StepInputs, Window};

use super::key::Key;
use super::kind::{Cached, Kind, Prefix};
use super::pool::Pool;

/// The pages of layers with a sliding window.
#[derive(Debug)]
pub(super) struct Windows {
    pub(super) window: Window,
    pub(super) pool: Pool,
    /// The number of rows in a page.
    page: usize,
    /// Those that the sequence in each place holds.
    held: Vec<Held>,
}

/// The pages that a sequence holds in layers with a sliding window.
#[derive(Debug)]
struct Held {
    /// The number of pages before them, which were released.
    before: usize,
    pages: VecDeque<u32>,
}

impl Windows {
    /// Creates the pages of a window, with `page` rows each.
    pub(super) fn new(window: Window, page: usize) -> Windows {
        Windows { window, pool: Pool::new(window.pages), page, held: Vec::new() }
    }

    /// The first page that a token after `len` others sees.
    fn first_seen(&self, len: usize) -> usize {
        (len + 1).saturating_sub(self.window.positions) / self.page
    }

    /// The pages that a token after `pages` pages of a prefix sees, as far as the prefix cache has them.
    fn seen(&self, prefix: Prefix<'_>, pages: usize) -> impl Iterator<Item = u32> {
        (self.first_seen(pages * self.page)..pages).filter_map(move |page| prefix.kept(&self.pool, page))
    }

    /// The number of pages that a sequence holds.
    pub(super) fn count(&self, place: usize) -> usize {
        self.held.get(place).map_or(0, |held| held.pages.len())
    }

    /// The most pages that a sequence of `pages` pages holds between two steps.
    pub(super) fn most(&self, pages: usize) -> usize {
        pages.min(self.window.of_one(self.page))
    }

    /// Takes a page to copy the page with this key to. Returns both, or `None` if it is gone or no page is available.
    pub(super) fn copy_of(&mut self, key: &Key) -> Option<(u32, u32)> {
        let from = self.pool.kept().page(key)?;
        self.pool.hold(from);
        let to = self.pool.take();
        self.pool.release(from);
        Some((from, to?))
    }

    /// Adds such a page to a sequence.
    pub(super) fn push(&mut self, place: usize, page: u32) {
        self.held[place].pages.push_back(page);
    }
}

impl Kind for Windows {
    fn open(&mut self, place: usize) {
        if place == self.held.len() {
            let usual = self.window.of_one(self.page) + self.window.margin;
            self.held.push(Held { before: 0, pages: VecDeque::with_capacity(usual) });
        }
    }

    fn longest(&self, prefix: Prefix<'_>, most: usize) -> usize {
        let (mut longest, mut page) = (most, most);
        while page > self.first_seen(longest * self.page) {
            page -= 1;
            if prefix.kept(&self.pool, page).is_none() {
                // All that are longer see it.
                longest = page;
            }
        }
        longest
    }

    fn found(&self, prefix: Prefix<'_>, pages: usize) -> Cached {
        Cached::of(&self.pool, self.seen(prefix, pages))
    }

    fn begin(&mut self, place: usize, prefix: Prefix<'_>, pages: usize) {
        let seen: Vec<u32> = self.seen(prefix, pages).collect();
        seen.iter().for_each(|page| self.pool.hold(*page));
        let before = self.first_seen(pages * self.page);
        let held = &mut self.held[place];
        held.before = before;
        held.pages.extend(seen);
    }

    fn keep(&mut self, place: usize, page: usize, parent: &Key, tokens: &[u32]) {
        if let Some(page) = self.held[place].get(page) {
            self.pool.keep(page, parent, tokens);
        }
    }

    fn available(&self) -> usize {
        self.pool.available()
    }

    fn grow(&mut self, place: usize, pages: usize) {
        let Windows { pool, held, .. } = self;
        held[place].pages.extend((0..pages).map_while(|_| pool.take()));
    }

    fn slide(&mut self, place: usize, len: usize) {
        let first = self.first_seen(len);
        let held = &mut self.held[place];
        while held.before < first
            && let Some(page) = held.pages.pop_front()
        {
            self.pool.leave_behind(page);
            held.before += 1;
        }
    }

    fn place_token(&mut self, place: usize, pos: usize, out: &mut StepInputs) {
        let Windows { pool, page, held, .. } = self;
        let held = &mut held[place];
        if pos / *page == held.before + held.pages.len() {
            held.pages.extend(pool.take());
        }
        let own = held.get(pos / *page);
        debug_assert!(own.is_none_or(|own| pool.is_own(own)), "others read this page");
        out.window_slots.extend(own.map(|own| (own as usize * *page + pos % *page) as i32));
    }

    fn list(&self, place: usize, out: &mut StepInputs) {
        let Held { before, pages } = &self.held[place];
        // The first that is left stands for those before it.
        let first = pages.front().copied().unwrap_or(0);
        let all = std::iter::repeat_n(first, *before).chain(pages.iter().copied());
        out.window_pages.extend(all.map(|page| page as i32));
    }

    fn reach(&self, place: usize, len: usize) -> usize {
        if self.held[place].before <= self.first_seen(len) { len } else { 0 }
    }

    fn truncate(&mut self, place: usize, len: usize) {
        let keep = len.div_ceil(self.page);
        let held = &mut self.held[place];
        while held.before + held.pages.len() > keep
            && let Some(page) = held.pages.pop_back()
        {
            // The last first, as in the other pool.
            self.pool.release(page);
        }
        held.before = held.before.min(keep);
    }

    fn forget(&mut self) {
        self.pool.forget();
    }
}

impl Held {
    /// The page with this index in the sequence, if it has not been released.
    fn get(&self, page: usize) -> Option<u32> {
        self.pages.get(page.checked_sub(self.before)?).copied()
    }
}

#[cfg(test)]
mod tests;

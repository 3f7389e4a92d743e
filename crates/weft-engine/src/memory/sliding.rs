//! The pages of layers with a sliding window, of which a sequence keeps those that its next token sees.
//!
//! These layers have a pool of pages of their own. A sequence lists one of them for each of its other pages, so kernels find a
//! position the same way in all layers. Those before the window are released, and the first one that is left stands for them
//! in the list: no kernel reads a row before the first position that a token of the step sees.
//!
//! In the prefix cache, a page has the same key in both pools. It is evicted from each as that needs room. Of what the cache has of
//! a prompt, as much is used as ends with a whole window.
//!
//! The scheduler releases pages before each step, when guesses of the step before have been judged. Sequences that are driven by
//! hand keep theirs as long as there is room, so that they can be truncated; a caller is told if that was not far enough.

use super::key::Keys;
use super::window::{Need, Windows};
use super::{Found, Pages, Sequence};
use crate::batch::SeqId;

impl Pages {
    /// The number of pages by which all sequences can grow together.
    pub(crate) fn available(&self) -> usize {
        let windowed = self.windows.as_ref().map_or(usize::MAX, |windows| windows.pool.available());
        self.pool.available().min(windowed)
    }

    /// Releases pages that no next token of any sequence sees. What their last tokens were must have been decided.
    pub(crate) fn slide(&mut self) {
        let Pages { page, windows: Some(windows), sequences, .. } = self else { return };
        for Sequence { len, window, .. } in sequences.iter_mut().flatten() {
            windows.slide(window, *len, *page);
        }
    }

    /// Releases such pages if fewer than `needed` are available.
    pub(super) fn make_room(&mut self, needed: usize) {
        if self.windows.as_ref().is_some_and(|windows| needed > windows.pool.available()) {
            self.slide();
        }
    }

    /// How many of the full pages that the prefix cache has of these tokens a sequence can begin with: as many as end with a
    /// whole window and with a snapshot of states of whole sequences, if the model has such layers.
    pub(super) fn usable(&self, keys: &Keys, tokens: &[u32]) -> usize {
        let cached = self.cached(keys, tokens);
        if self.windows.is_none() && self.states.is_none() {
            return cached.count();
        }
        let (mut usable, mut complete) = (0, 0);
        for (place, _) in cached.enumerate() {
            let pages = place + 1;
            let has_window = self.windows.as_ref().is_none_or(|windows| {
                if self.cached_window(windows, keys, tokens, place).is_none() {
                    complete = pages;
                }
                complete <= windows.first_seen(pages * self.page, self.page)
            });
            if has_window && (self.states.is_none() || self.snapshot(keys, tokens, pages).is_some()) {
                usable = pages;
            }
        }
        usable
    }

    /// The page of layers with a sliding window that the prefix cache has in this place of these tokens.
    fn cached_window(&self, windows: &Windows, keys: &Keys, tokens: &[u32], place: usize) -> Option<u32> {
        let tokens = tokens.get(place * self.page..(place + 1) * self.page)?;
        windows.pool.kept().find(keys.get(place)?, keys.before(place), tokens)
    }

    /// The pages of layers with a sliding window that a token after so many [usable](Pages::usable) pages sees.
    pub(super) fn cached_windows<'a>(
        &'a self,
        windows: &'a Windows,
        keys: &'a Keys,
        tokens: &'a [u32],
        full: usize,
    ) -> impl Iterator<Item = u32> + 'a {
        let places = windows.first_seen(full * self.page, self.page)..full;
        places.filter_map(move |place| self.cached_window(windows, keys, tokens, place))
    }

    /// Holds those pages.
    pub(super) fn hold_windows(&mut self, keys: &Keys, tokens: &[u32], full: usize) -> Vec<u32> {
        let windows = self.windows.as_ref();
        let pages: Vec<u32> = windows
            .into_iter()
            .flat_map(|windows| self.cached_windows(windows, keys, tokens, full))
            .collect();
        if let Some(windows) = &mut self.windows {
            pages.iter().for_each(|page| windows.pool.hold(*page));
        }
        pages
    }

    /// Returns whether there is room for `tokens` tokens, up to the whole context, of a sequence of which these pages are
    /// in the prefix cache, beside `reserved` pages.
    pub(crate) fn fits(&self, found: Found, tokens: usize, reserved: Need) -> bool {
        if !self.has_slots() {
            return false;
        }
        let need = self.need(tokens);
        let available = found.pages + (self.pool.available() - found.idle).saturating_sub(reserved.pages);
        available >= need.pages
            && self.windows.as_ref().is_none_or(|Windows { window, pool }| {
                let reserved = reserved.windowed + window.margin;
                let others = (pool.available() - found.windowed_idle).saturating_sub(reserved);
                found.windowed + others >= need.windowed
            })
    }

    /// The pages of a sequence of `tokens` tokens, up to the whole context, while it waits for a step.
    pub(crate) fn need(&self, tokens: usize) -> Need {
        let pages = self.pages_of(tokens.min(self.context));
        let most = self.windows.as_ref().map_or(0, |windows| windows.window.of_one(self.page));
        Need { pages, windowed: pages.min(most) }
    }

    /// The pages that a sequence lacks for `tokens` tokens, up to the whole context.
    pub(crate) fn missing(&self, seq: SeqId, tokens: usize) -> Need {
        let Need { pages, windowed } = self.need(tokens);
        let sequence = self.sequence(seq);
        let held = sequence.map_or((0, 0), |sequence| (sequence.pages.len(), sequence.window.len()));
        Need { pages: pages.saturating_sub(held.0), windowed: windowed.saturating_sub(held.1) }
    }

    /// Returns whether fewer pages are available than these.
    pub(crate) fn lacks(&self, need: Need) -> bool {
        let lacks_windowed = |windows: &Windows| need.windowed > windows.pool.available();
        need.pages > self.pool.available() || self.windows.as_ref().is_some_and(lacks_windowed)
    }
}

#[cfg(test)]
mod tests;

//! The pages of the KV cache: free, held by sequences, or idle in the prefix cache.

use std::collections::BTreeSet;

use super::key::Key;
use super::prefix::Prefixes;
use super::watch::CacheEvent;

/// The pages. A page is *held* by the sequences that read it. A page that no sequence holds is *idle* if it is in the
/// prefix cache, otherwise *free*. When no page is free, the least recently used idle page is evicted, first of those that
/// sequences left behind and that were never shared.
#[derive(Debug)]
pub(crate) struct Pool {
    free: Vec<u32>,
    /// The number of sequences that hold each page.
    holders: Vec<u32>,
    /// Idle pages, in the order in which they are evicted.
    idle: BTreeSet<(u64, u32)>,
    /// When each page became idle, with [`USED`] unless it was left behind.
    idle_since: Vec<u64>,
    /// Whether a sequence has found each page in the prefix cache.
    shared: Vec<bool>,
    /// The number of first rows of each page that the layer for one token more has computed.
    predicted: Vec<u8>,
    clock: u64,
    kept: Prefixes,
}

/// Added to the time of pages that are evicted after those that were left behind.
const USED: u64 = 1 << 63;

impl Pool {
    /// Creates `count` free pages.
    pub(crate) fn new(count: usize) -> Pool {
        Pool {
            // Taken from the end: the first sequence gets the first pages.
            free: (0..count as u32).rev().collect(),
            holders: vec![0; count],
            idle: BTreeSet::new(),
            idle_since: vec![0; count],
            shared: vec![false; count],
            predicted: vec![0; count],
            clock: 0,
            kept: Prefixes::new(count),
        }
    }

    /// The number of pages that can be taken: free and idle.
    pub(crate) fn available(&self) -> usize {
        self.free.len() + self.idle.len()
    }

    /// The number of idle pages.
    pub(crate) fn idle(&self) -> usize {
        self.idle.len()
    }

    /// The number of all pages.
    pub(crate) fn count(&self) -> usize {
        self.holders.len()
    }

    /// The index of the prefix cache.
    pub(crate) fn kept(&self) -> &Prefixes {
        &self.kept
    }

    /// Returns whether a page is idle.
    pub(crate) fn is_idle(&self, page: u32) -> bool {
        self.holders[page as usize] == 0 && self.kept.has(page)
    }

    /// Takes a page for one sequence to write to, evicting one if necessary. Allocates no memory.
    pub(crate) fn take(&mut self) -> Option<u32> {
        let page = match self.free.pop() {
            Some(page) => page,
            None => {
                let (_, page) = self.idle.pop_first()?;
                self.kept.remove(page);
                page
            }
        };
        self.holders[page as usize] = 1;
        self.predicted[page as usize] = 0;
        self.shared[page as usize] = false;
        Some(page)
    }

    /// The number of first rows of a page that the layer for one token more has computed.
    pub(crate) fn predicted(&self, page: u32) -> usize {
        usize::from(self.predicted[page as usize])
    }

    /// Records that the layer for one token more has computed the first rows of a page.
    pub(crate) fn predict(&mut self, page: u32, rows: usize) {
        let known = &mut self.predicted[page as usize];
        *known = (*known).max(rows.min(usize::from(u8::MAX)) as u8);
    }

    /// Adds a holder to a page in the prefix cache.
    pub(crate) fn hold(&mut self, page: u32) {
        if self.holders[page as usize] == 0 {
            self.idle.remove(&(self.idle_since[page as usize], page));
        }
        self.holders[page as usize] += 1;
        self.shared[page as usize] = true;
    }

    /// Removes a holder from a page.
    pub(crate) fn release(&mut self, page: u32) {
        self.let_go(page, USED);
    }

    /// Removes a holder that continues without a page. A long sequence leaves many behind, which must not take the place of pages that
    /// others ended with; one that was found in the prefix cache before may be found again.
    pub(crate) fn leave_behind(&mut self, page: u32) {
        let rank = if self.shared[page as usize] { USED } else { 0 };
        self.let_go(page, rank);
    }

    /// Has a page evicted after those that were left behind, as if it had been shared.
    pub(crate) fn prefer(&mut self, page: u32) {
        self.shared[page as usize] = true;
    }

    /// Returns whether a page was shared, or is to be evicted as if it had been.
    pub(crate) fn is_preferred(&self, page: u32) -> bool {
        self.shared[page as usize]
    }

    /// Has an idle page evicted with those that were left behind, unless it was shared.
    pub(crate) fn demote(&mut self, page: u32) {
        let since = self.idle_since[page as usize];
        if !self.shared[page as usize] && self.idle.remove(&(since, page)) {
            self.idle_since[page as usize] = since & !USED;
            self.idle.insert((since & !USED, page));
        }
    }

    fn let_go(&mut self, page: u32, rank: u64) {
        let holders = &mut self.holders[page as usize];
        *holders = holders.saturating_sub(1);
        if *holders > 0 {
            return;
        }
        if self.kept.has(page) {
            self.clock += 1;
            let since = rank | self.clock;
            self.idle_since[page as usize] = since;
            self.idle.insert((since, page));
        } else {
            self.free.push(page);
        }
    }

    /// Adds a page that a sequence holds to the prefix cache, with the keys and values of these tokens after `parent`.
    pub(crate) fn keep(&mut self, page: u32, parent: &Key, tokens: &[u32]) {
        self.kept.insert(page, parent, tokens);
    }

    /// Empties the prefix cache. Pages that are held stay with their holders.
    pub(crate) fn forget(&mut self) {
        self.kept.clear();
        let idle = std::mem::take(&mut self.idle);
        self.free.extend(idle.into_iter().map(|(_, page)| page));
    }

    /// Begins to record changes of the prefix cache after `root`, whose full pages have `page` tokens.
    pub(crate) fn watch(&mut self, root: Key, page: usize) {
        self.kept.watch(root, page);
    }

    /// Takes the changes so far.
    pub(crate) fn cache_events(&mut self) -> Vec<CacheEvent> {
        self.kept.events()
    }

    /// Returns whether the sequence that holds a page may write to it: no other sequence holds it, or can.
    pub(crate) fn is_own(&self, page: u32) -> bool {
        self.holders[page as usize] == 1 && !self.kept.has(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_idle_page_is_evicted_first() {
        let mut pool = Pool::new(3);
        let root = Key::root([]);
        let pages: Vec<u32> = (0..3).map(|_| pool.take().unwrap()).collect();
        assert_eq!((pages.as_slice(), pool.take()), (&[0, 1, 2][..], None));
        pages.iter().for_each(|page| pool.keep(*page, &root, &[*page]));
        [1, 0, 2].into_iter().for_each(|page| pool.release(page));
        assert_eq!((pool.available(), pool.idle()), (3, 3));
        assert!(pages.iter().all(|page| pool.is_idle(*page)));
        // Page 1 is used again, so it is the most recent.
        pool.hold(1);
        assert!(pool.idle() == 2 && !pool.is_idle(1));
        pool.hold(1);
        pool.release(1);
        assert_eq!(pool.idle(), 2, "another sequence holds it");
        pool.release(1);
        assert_eq!([pool.take(), pool.take()], [Some(0), Some(2)]);
        assert!(!pool.kept().has(0) && pool.kept().has(1));
        pool.release(0);
        assert_eq!((pool.available(), pool.idle(), pool.count()), (2, 1, 3));
        assert!(!pool.is_own(1) && pool.is_own(2));
    }

    #[test]
    fn pages_that_were_left_behind_are_evicted_before_others() {
        let mut pool = Pool::new(4);
        let root = Key::root([]);
        let pages: Vec<u32> = (0..4).map(|_| pool.take().unwrap()).collect();
        pages.iter().for_each(|page| pool.keep(*page, &root, &[*page]));
        pool.release(0);
        pool.leave_behind(1);
        pool.leave_behind(2);
        // Another sequence found page 3.
        pool.hold(3);
        pool.leave_behind(3);
        pool.leave_behind(3);
        assert_eq!([pool.take(), pool.take(), pool.take(), pool.take()], [1, 2, 0, 3].map(Some));
        assert_eq!(pool.take(), None);
    }
}

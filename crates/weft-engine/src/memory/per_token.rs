//! States with a row for every token: their pages, and those that each sequence holds.
//!
//! Any length can be gone back to, and any number of full pages can be shared.

use weft_runtime::StepInputs;

use super::key::Key;
use super::kind::{Cached, Kind, Prefix};
use super::pool::Pool;

/// The pages.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) pool: Pool,
    /// The number of rows in a page.
    page: usize,
    /// The most pages of a sequence.
    most: usize,
    /// Those that the sequence in each place holds.
    held: Vec<Vec<u32>>,
}

impl Rows {
    /// Creates `count` pages of `page` rows, of which a sequence holds at most `most`.
    pub(super) fn new(page: usize, count: usize, most: usize) -> Rows {
        Rows { pool: Pool::new(count), page, most, held: Vec::new() }
    }

    /// The pages of a sequence, in order.
    pub(super) fn of(&self, place: usize) -> &[u32] {
        self.held.get(place).map_or(&[], Vec::as_slice)
    }

    /// Adds a page to a sequence, to which rows of another one are copied.
    pub(super) fn push(&mut self, place: usize, page: u32) {
        self.held[place].push(page);
    }
}

impl Kind for Rows {
    fn open(&mut self, place: usize) {
        if place == self.held.len() {
            self.held.push(Vec::with_capacity(self.most));
        }
    }

    fn longest(&self, prefix: Prefix<'_>, most: usize) -> usize {
        (0..most).take_while(|page| prefix.kept(&self.pool, *page).is_some()).count()
    }

    fn found(&self, prefix: Prefix<'_>, pages: usize) -> Cached {
        Cached::of(&self.pool, (0..pages).filter_map(|page| prefix.kept(&self.pool, page)))
    }

    fn begin(&mut self, place: usize, prefix: Prefix<'_>, pages: usize) {
        let Rows { pool, held, .. } = self;
        held[place].extend((0..pages).filter_map(|page| prefix.kept(pool, page)));
        held[place].iter().for_each(|page| pool.hold(*page));
    }

    fn keep(&mut self, place: usize, page: usize, parent: &Key, tokens: &[u32]) {
        if let Some(page) = self.held[place].get(page) {
            self.pool.keep(*page, parent, tokens);
        }
    }

    fn available(&self) -> usize {
        self.pool.available()
    }

    fn grow(&mut self, place: usize, pages: usize) {
        let Rows { pool, held, .. } = self;
        held[place].extend((0..pages).map_while(|_| pool.take()));
    }

    fn place_token(&mut self, place: usize, pos: usize, out: &mut StepInputs) {
        let Rows { pool, page, held, .. } = self;
        let held = &mut held[place];
        if pos / *page == held.len() {
            held.extend(pool.take());
        }
        let own = held[pos / *page];
        debug_assert!(pool.is_own(own), "others read this page");
        out.slots.push((own as usize * *page + pos % *page) as i32);
    }

    fn list(&self, place: usize, out: &mut StepInputs) {
        out.pages.extend(self.held[place].iter().map(|page| *page as i32));
    }

    fn reach(&self, _place: usize, len: usize) -> usize {
        len
    }

    fn truncate(&mut self, place: usize, len: usize) {
        let Rows { pool, page, held, .. } = self;
        let (keep, held) = (len.div_ceil(*page), &mut held[place]);
        // The last first: the end of an idle chain is evicted before its beginning, without which it is useless.
        held.drain(keep.min(held.len())..).rev().for_each(|page| pool.release(page));
    }

    fn forget(&mut self) {
        self.pool.forget();
    }
}

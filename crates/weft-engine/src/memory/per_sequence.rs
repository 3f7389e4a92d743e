//! States of whole sequences: their slots, and those that each sequence holds.
//!
//! A slot is a row in every such state of the model. A step reads the slot of a sequence and writes another one, so the state before
//! the step stays where it was: a sequence can go back to it, and it can be kept as a snapshot without a copy.
//!
//! Guesses at the end of a step may be wrong. So the step writes the state before them, and keeps the operands of the first [`KEPT`]
//! guesses as rows in the same slot. The next step first applies the rows of the guesses that were right. A step with more guesses writes
//! the state after all of them; if one is wrong, the sequence goes back to the slot before.
//!
//! A snapshot is the state of a slot, without kept rows, that the prefix cache has under the key of a full page, because a step ended with
//! that page. The longest cached part of a prompt that ends with a snapshot is used.

use weft_runtime::{HELD_SLOTS, KEPT, StepInputs};

use super::key::Key;
use super::kind::{Kind, Prefix};
use super::pool::Pool;

/// The number of lengths at which the steps of a sequence end.
pub(super) const CUTS: usize = 3;

/// The slots.
#[derive(Debug)]
pub(super) struct States {
    pub(super) pool: Pool,
    /// The number of tokens of a page.
    page: usize,
    /// The control tokens of the vocabulary, in ascending order.
    controls: Vec<u32>,
    /// The slots that the sequence in each place holds.
    held: Vec<Held>,
}

/// The slots that a sequence holds.
#[derive(Debug, Default)]
struct Held {
    /// Its state; none while it is empty.
    current: Option<Slot>,
    /// Its state before the last step.
    before: Option<Slot>,
    /// Lengths at which a step has to end: where another sequence differs, before the last message, and after the last full page of the
    /// prompt.
    cuts: [usize; CUTS],
    /// The key of the last snapshot that it left.
    last: Option<Key>,
}

/// A state of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
    slot: u32,
    /// The number of tokens that the state stands for.
    len: usize,
    /// The number of tokens after them that the sequence has as kept rows.
    kept: usize,
}

impl Slot {
    /// The greatest length of at most `len` tokens that it stands for with some of its kept rows.
    fn reach(&self, len: usize) -> Option<usize> {
        (self.len <= len).then(|| len.min(self.len + self.kept))
    }
}

impl States {
    pub(super) fn new(slots: usize, page: usize, controls: Vec<u32>) -> States {
        States { pool: Pool::new(slots), page, controls, held: Vec::new() }
    }

    /// Returns whether a token is a control token.
    pub(super) fn is_control(&self, token: u32) -> bool {
        self.controls.binary_search(&token).is_ok()
    }

    /// The most sequences that can have a state.
    pub(super) fn most(&self) -> usize {
        self.pool.count() / HELD_SLOTS
    }

    /// The number of sequences that have a state.
    pub(super) fn count(&self) -> usize {
        self.held.iter().filter(|held| held.current.is_some()).count()
    }

    /// Returns whether a sequence has a state.
    pub(super) fn has(&self, place: usize) -> bool {
        self.held[place].current.is_some()
    }

    /// The lengths at which steps of a sequence end.
    pub(super) fn cuts(&self, place: usize) -> [usize; CUTS] {
        self.held[place].cuts
    }

    /// The lengths at which steps of a sequence end, to change them.
    pub(super) fn cuts_mut(&mut self, place: usize) -> &mut [usize; CUTS] {
        &mut self.held[place].cuts
    }

    /// Takes a slot for a sequence's state after a step: that of `len` tokens, with so many kept rows. Returns the slot before with its
    /// number of kept rows, negative if there is none, and that after.
    pub(super) fn next(&mut self, place: usize, len: usize, kept: usize) -> Option<[i32; 3]> {
        let States { pool, held, .. } = self;
        let held = &mut held[place];
        let_go(pool, held.before.take(), held.last);
        let slot = pool.take()?;
        held.before = held.current.replace(Slot { slot, len, kept });
        let [from, taken] = held.before.map_or([-1, 0], |before| [before.slot as i32, before.kept as i32]);
        Some([from, taken, slot as i32])
    }

    /// Adds the state of a sequence after this page, which was read from disk, to the prefix cache.
    pub(super) fn restore(&mut self, place: usize, page: usize, parent: &Key, tokens: &[u32]) {
        self.keep(place, page, parent, tokens);
        let len = (page + 1) * self.page;
        if let Some(Slot { slot, .. }) = self.held[place].current.filter(|current| current.len == len) {
            self.pool.prefer(slot);
        }
    }
}

impl Kind for States {
    fn open(&mut self, place: usize) {
        if place == self.held.len() {
            self.held.push(Held::default());
        }
        self.held[place] = Held::default();
    }

    fn longest(&self, prefix: Prefix<'_>, most: usize) -> usize {
        let has_snapshot = |pages: &usize| prefix.kept(&self.pool, pages - 1).is_some();
        (1..=most).rev().find(has_snapshot).unwrap_or(0)
    }

    fn begin(&mut self, place: usize, prefix: Prefix<'_>, pages: usize) {
        let slot = pages.checked_sub(1).and_then(|last| prefix.kept(&self.pool, last));
        slot.into_iter().for_each(|slot| self.pool.hold(slot));
        let current = slot.map(|slot| Slot { slot, len: pages * self.page, kept: 0 });
        self.held[place].current = current;
    }

    fn keep(&mut self, place: usize, page: usize, parent: &Key, tokens: &[u32]) {
        let States { pool, page: rows, held, .. } = self;
        let (held, len) = (&mut held[place], (page + 1) * *rows);
        let Some(Slot { slot, .. }) = held.current.filter(|current| current.len == len) else { return };
        if tokens.len() < *rows || pool.kept().has(slot) {
            return;
        }
        pool.keep(slot, parent, tokens);
        // Another sequence may have left the same.
        let Some(key) = pool.kept().key(slot).copied() else { return };
        if held.cuts.contains(&len) {
            pool.prefer(slot);
        }
        if let Some(earlier) = held.last.replace(key).and_then(|last| pool.kept().page(&last)) {
            pool.demote(earlier);
        }
    }

    fn advance(&mut self, place: usize, [tokens, guesses]: [usize; 2], len: usize, out: &mut StepInputs) {
        let end = out.ends.last().copied().unwrap_or(0) + (tokens + guesses) as i32;
        let (certain, kept) =
            if tokens > 0 && guesses <= KEPT { (tokens, guesses) } else { (tokens + guesses, 0) };
        // There is a slot: it was checked before.
        let Some([from, taken, to]) = self.next(place, len - kept, kept) else { return };
        out.ends.push(end);
        out.from.push(from);
        out.to.push(to);
        out.certain.push(certain as i32);
        out.kept.push(taken);
    }

    fn reach(&self, place: usize, len: usize) -> usize {
        let Held { current, before, .. } = self.held[place];
        [current, before].into_iter().flatten().find_map(|slot| slot.reach(len)).unwrap_or(0)
    }

    fn truncate(&mut self, place: usize, len: usize) {
        let States { pool, held, .. } = self;
        let held = &mut held[place];
        while let Some(Slot { len: found, .. }) = held.current
            && found > len
        {
            let current = std::mem::replace(&mut held.current, held.before.take());
            let_go(pool, current, held.last);
        }
        if let Some(Slot { len: found, kept, .. }) = &mut held.current {
            *kept = (*kept).min(len - *found);
        }
        if len == 0 || held.current.is_none() {
            for slot in [held.before.take(), held.current.take()] {
                let_go(pool, slot, held.last);
            }
        }
    }

    fn forget(&mut self) {
        self.pool.forget();
    }
}

/// Releases a slot of a sequence whose last snapshot has this key.
fn let_go(pool: &mut Pool, slot: Option<Slot>, last: Option<Key>) {
    let Some(Slot { slot, .. }) = slot else { return };
    if last.is_some() && pool.kept().key(slot) == last.as_ref() {
        pool.release(slot);
    } else {
        pool.leave_behind(slot);
    }
}

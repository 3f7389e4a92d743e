//! The slots of states of whole sequences: their pool, and those that a sequence holds.

use weft_runtime::HELD_SLOTS;

use super::key::Key;
use super::pool::Pool;

/// Lengths at which the steps of a sequence end.
pub(super) const CUTS: usize = 3;

/// The slots.
#[derive(Debug)]
pub(super) struct States {
    pub(super) pool: Pool,
    /// The control tokens of the vocabulary, in ascending order.
    controls: Vec<u32>,
}

/// What a sequence holds of them.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Its state; none while it is empty.
    current: Option<Slot>,
    /// Its state before the last step.
    before: Option<Slot>,
    /// Lengths at which a step has to end: where another sequence goes on differently, before the last message, and after the last
    /// full page of the prompt.
    pub(super) cuts: [usize; CUTS],
    /// The key of the last snapshot that it left.
    last: Option<Key>,
}

/// A state of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
    slot: u32,
    /// The number of tokens that it stands for.
    len: usize,
}

impl States {
    pub(super) fn new(slots: usize, controls: Vec<u32>) -> States {
        States { pool: Pool::new(slots), controls }
    }

    /// Returns whether a token is a control token.
    pub(super) fn is_control(&self, token: u32) -> bool {
        self.controls.binary_search(&token).is_ok()
    }

    /// The most sequences that can have a state.
    pub(super) fn most(&self) -> usize {
        self.pool.count() / HELD_SLOTS
    }

    /// Takes a slot for a sequence's state after a step, with which it has `len` tokens. Returns the slots before, negative if there
    /// is none, and after.
    pub(super) fn advance(&mut self, held: &mut Held, len: usize) -> Option<[i32; 2]> {
        self.let_go(held.before.take(), held.last);
        let slot = self.pool.take()?;
        held.before = held.current.replace(Slot { slot, len });
        Some([held.before.map_or(-1, |before| before.slot as i32), slot as i32])
    }

    /// Goes back to a state of a sequence with at most `len` tokens. Returns how many it has.
    pub(super) fn go_back(&mut self, held: &mut Held, len: usize) -> usize {
        while let Some(Slot { len: found, .. }) = held.current
            && found > len
        {
            let current = std::mem::replace(&mut held.current, held.before.take());
            self.let_go(current, held.last);
        }
        if len == 0 || held.current.is_none() {
            for slot in [held.before.take(), held.current.take()] {
                self.let_go(slot, held.last);
            }
        }
        held.current.map_or(0, |current| current.len)
    }

    /// Adds the state of a sequence of `len` tokens, which ends with a page of these tokens after `parent`, to the prefix cache.
    pub(super) fn record(&mut self, held: &mut Held, len: usize, parent: &Key, tokens: &[u32]) {
        let Some(Slot { slot, .. }) = held.current.filter(|current| current.len == len) else { return };
        if self.pool.kept().has(slot) {
            return;
        }
        self.pool.keep(slot, parent, tokens);
        // Another sequence may have left the same.
        let Some(key) = self.pool.kept().key(slot).copied() else { return };
        if held.cuts.contains(&len) {
            self.pool.prefer(slot);
        }
        if let Some(earlier) = held.last.replace(key).and_then(|last| self.pool.kept().page(&last)) {
            self.pool.demote(earlier);
        }
    }

    /// Adds the state of a sequence of `len` tokens, which was read from disk, to the prefix cache.
    pub(super) fn restore(&mut self, held: &mut Held, len: usize, parent: &Key, tokens: &[u32]) {
        self.record(held, len, parent, tokens);
        if let Some(Slot { slot, .. }) = held.current.filter(|current| current.len == len) {
            self.pool.prefer(slot);
        }
    }

    /// Releases a slot of a sequence whose last snapshot has this key.
    fn let_go(&mut self, slot: Option<Slot>, last: Option<Key>) {
        let Some(Slot { slot, .. }) = slot else { return };
        if last.is_some() && self.pool.kept().key(slot) == last.as_ref() {
            self.pool.release(slot);
        } else {
            self.pool.leave_behind(slot);
        }
    }
}

impl Held {
    /// Begins with a snapshot of `len` tokens.
    pub(super) fn begin(&mut self, slot: Option<u32>, len: usize, cuts: [usize; CUTS]) {
        self.current = slot.map(|slot| Slot { slot, len });
        self.cuts = cuts;
    }

    /// Returns whether it has a state.
    pub(super) fn is_some(&self) -> bool {
        self.current.is_some()
    }
}

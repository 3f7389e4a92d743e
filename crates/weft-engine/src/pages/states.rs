//! The states of whole sequences: their slots, and the snapshots of the prefix cache.
//!
//! A slot is a row in every such state of the model. A step reads the slot of a sequence and writes another one, so the state before
//! the step stays where it was: a sequence can go back to it, and it can be kept as a snapshot without a copy.
//!
//! A snapshot is a slot that the prefix cache has under the key of a full page, because a step ended with that page. Of what the
//! cache has of a prompt, as much is used as ends with a snapshot. So prompts are cut where a snapshot will be of use: after their last
//! full page, and where another prompt goes on differently. Of the other pages that a sequence passes, only the last one's snapshot
//! is kept as long as there is room.

use super::Pages;
use super::key::{Key, Keys};
use super::pool::Pool;
use crate::batch::{Entry, SeqId};
use crate::error::Error;
use crate::sequence_states::HELD;

/// The slots.
#[derive(Debug)]
pub(super) struct States {
    pub(super) pool: Pool,
}

/// What a sequence holds of them.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Its state; none while it is empty.
    current: Option<Slot>,
    /// Its state before the last step.
    before: Option<Slot>,
    /// Lengths at which a step has to end: where another sequence goes on differently, and after the last full page of the prompt.
    cuts: [usize; 2],
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
    pub(super) fn new(slots: usize) -> States {
        States { pool: Pool::new(slots) }
    }

    /// The most sequences that can have a state.
    pub(super) fn most(&self) -> usize {
        self.pool.count() / HELD
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
    pub(super) fn begin(&mut self, slot: Option<u32>, len: usize, cuts: [usize; 2]) {
        self.current = slot.map(|slot| Slot { slot, len });
        self.cuts = cuts;
    }

    /// Returns whether it has a state.
    pub(super) fn is_some(&self) -> bool {
        self.current.is_some()
    }
}

impl Pages {
    /// Gives the model's states of whole sequences so many slots, before any sequence has begun.
    pub(crate) fn with_states(self, slots: Option<usize>) -> Pages {
        Pages { states: slots.map(States::new), ..self }
    }

    /// Returns whether the model has states of whole sequences.
    pub(crate) fn has_states(&self) -> bool {
        self.states.is_some()
    }

    /// Returns whether one sequence more can have a state.
    pub(super) fn has_slots(&self) -> bool {
        self.states.as_ref().is_none_or(|states| self.sequences.iter().flatten().count() < states.most())
    }

    /// The slot that the prefix cache has after so many full pages of these tokens.
    pub(super) fn snapshot(&self, keys: &Keys, tokens: &[u32], pages: usize) -> Option<u32> {
        let last = pages.checked_sub(1)?;
        let tokens = tokens.get(last * self.page..pages * self.page)?;
        self.states.as_ref()?.pool.kept().find(keys.get(last)?, keys.before(last), tokens)
    }

    /// Holds that slot.
    pub(super) fn hold_snapshot(&mut self, keys: &Keys, tokens: &[u32], pages: usize) -> Option<u32> {
        let slot = self.snapshot(keys, tokens, pages)?;
        self.states.as_mut()?.pool.hold(slot);
        Some(slot)
    }

    /// Where a sequence of these tokens is to leave snapshots: where those before it went on differently, and after the last full page
    /// before the last token.
    pub(super) fn cuts(&self, keys: &Keys, tokens: &[u32]) -> [usize; 2] {
        if self.states.is_none() {
            return [0; 2];
        }
        let pages = tokens.len().saturating_sub(1) / self.page;
        [self.cached(keys, tokens).count(), pages].map(|pages| pages * self.page)
    }

    /// The number of tokens after which the next step of a sequence has to end at the latest.
    pub(crate) fn until_cut(&self, seq: SeqId) -> usize {
        let cuts = self.sequence(seq).map_or(&[][..], |sequence| &sequence.state.cuts);
        let len = self.len(seq);
        cuts.iter()
            .filter_map(|cut| cut.checked_sub(len))
            .filter(|more| *more > 0)
            .min()
            .unwrap_or(usize::MAX)
    }

    /// Has a sequence leave a snapshot for another one, which has all its tokens up to `most` and can begin after `least` now.
    /// Returns whether it will leave one that the other can begin with.
    pub(crate) fn cut_for_another(&mut self, seq: SeqId, least: usize, most: usize) -> bool {
        let Some(Some(sequence)) = self.sequences.get_mut(seq.place) else { return false };
        if sequence.id != seq || sequence.len >= most || least >= most {
            return false;
        }
        let useful = sequence.len.max(least) + 1..=most;
        if !sequence.state.cuts.iter().any(|cut| useful.contains(cut)) {
            sequence.state.cuts[0] = most;
        }
        true
    }

    /// Checks that a step of these tokens has a slot for every sequence, and that the tokens of each are next to each other.
    pub(super) fn check_states(&self, entries: &[Entry]) -> Result<(), Error> {
        let Some(states) = &self.states else { return Ok(()) };
        let mut more = 0;
        let mut before = 0;
        for run in entries.chunk_by(|a, b| a.seq == b.seq) {
            let seq = run[0].seq;
            if entries[..before].iter().any(|entry| entry.seq == seq) {
                let why = format!(
                    "tokens of {seq:?} are apart in the batch: expected them next to each other, because the model has a state \
                     for each sequence"
                );
                return Err(Error::Batch(why));
            }
            before += run.len();
            more += usize::from(self.sequence(seq).is_some_and(|sequence| !sequence.state.is_some()));
        }
        let held = self.sequences.iter().flatten().filter(|sequence| sequence.state.is_some()).count();
        if held + more > states.most() {
            let (all, most) = (held + more, states.most());
            return Err(Error::Batch(format!(
                "{all} sequences have a state: expected at most {most}; free one, or open the model for more sequences"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! The states of whole sequences: their slots, and the snapshots of the prefix cache.
//!
//! A slot is a row in every such state of the model. A step reads the slot of a sequence and writes another one, so the state before
//! the step stays where it was: a sequence can go back to it, and it can be kept as a snapshot without a copy.
//!
//! A snapshot is a slot that the prefix cache has under the key of a full page, because a step ended with that page. Of what the
//! cache has of a prompt, as much is used as ends with a snapshot. So prompts are cut where a snapshot will be of use: after their last
//! full page, before the last message of a chat, which people edit and clients with the same instructions replace, and where another
//! prompt goes on differently. Of the other pages that a sequence passes, only the last one's snapshot
//! is kept as long as there is room.

use weft_runtime::Error;

use super::Pages;
use super::key::{Key, Keys};
use super::messages::last_message;
use super::slots::{CUTS, States};
use crate::batch::{Entry, SeqId};

impl Pages {
    /// Gives the model's states of whole sequences so many slots, before any sequence has begun. `controls` are the control tokens of
    /// the vocabulary, in ascending order.
    pub(crate) fn with_states(self, slots: Option<usize>, controls: Vec<u32>) -> Pages {
        Pages { states: slots.map(|slots| States::new(slots, controls)), ..self }
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

    /// The slot that the prefix cache has after the page with this key, and whether it is one that sequences were made to leave.
    pub(crate) fn snapshot_after(&self, key: &Key) -> Option<(u32, bool)> {
        let pool = &self.states.as_ref()?.pool;
        let slot = pool.kept().page(key)?;
        Some((slot, pool.is_preferred(slot)))
    }

    /// Takes a slot for the state of a sequence after its first `pages` pages, which were read from disk. `None` if there is none.
    pub(crate) fn next_state(&mut self, seq: SeqId, pages: usize) -> Option<u32> {
        let Pages { page, states: Some(states), sequences, .. } = self else { return None };
        let sequence = sequences.get_mut(seq.place)?.as_mut().filter(|sequence| sequence.id == seq)?;
        let [_, slot] = states.advance(&mut sequence.state, pages * *page)?;
        u32::try_from(slot).ok()
    }

    /// Records that the [next state](Pages::next_state) of a sequence, which holds these tokens, has been written: the one after its
    /// first `pages` pages.
    pub(crate) fn fill_state(&mut self, seq: SeqId, keys: &Keys, tokens: &[u32], pages: usize) {
        let Some(last) = pages.checked_sub(1) else { return };
        let Pages { page, states: Some(states), sequences, .. } = self else { return };
        let Some(Some(sequence)) = sequences.get_mut(seq.place).filter(|_| pages * *page <= tokens.len())
        else {
            return;
        };
        let len = pages * *page;
        if sequence.id == seq && sequence.len >= len {
            states.restore(&mut sequence.state, len, keys.before(last), &tokens[last * *page..len]);
        }
    }

    /// Cuts a sequence whose pages were read from disk back to its state. Does nothing if the model has none.
    pub(crate) fn back_to_state(&mut self, seq: SeqId, keys: &Keys) {
        if !self.has_states() {
            return;
        }
        let pages = self.truncate(seq, usize::MAX) / self.page;
        if let Some(Some(sequence)) = self.sequences.get_mut(seq.place)
            && sequence.id == seq
        {
            // Those after it are computed again, and may leave snapshots.
            sequence.chain = Some((*keys.before(pages), pages));
        }
    }

    /// Where a sequence of these tokens is to leave snapshots: where those before it went on differently, before its last message, and
    /// after the last full page before the last token.
    pub(super) fn cuts(&self, keys: &Keys, tokens: &[u32]) -> [usize; CUTS] {
        let Some(states) = &self.states else { return [0; CUTS] };
        let pages = tokens.len().saturating_sub(1) / self.page;
        let message = last_message(tokens, |token| states.is_control(token)).unwrap_or(0) / self.page;
        [self.cached(keys, tokens).count(), message, pages].map(|pages| pages * self.page)
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

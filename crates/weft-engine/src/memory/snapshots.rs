//! Snapshots of states of whole sequences: where sequences leave them for others, and where they come from disk.
//!
//! Prompts are cut where a snapshot will be of use: after their last full page, before the last message of a chat, which people edit
//! and clients with the same instructions replace, and where another prompt goes on differently. Of the other pages that a sequence
//! passes, only the last one's snapshot is kept as long as there is room.

use weft_runtime::Error;

use super::Memory;
use super::key::{Key, Keys};
use super::kind::{Kind as _, Prefix};
use super::messages::last_message;
use super::per_sequence::{CUTS, States};
use crate::batch::{Entry, SeqId};

impl Memory {
    /// Gives the model's states of whole sequences `slots` slots, before any sequence has begun. `controls` are the control tokens of the
    /// vocabulary, in ascending order.
    pub(crate) fn with_states(self, slots: Option<usize>, controls: Vec<u32>) -> Memory {
        Memory { states: slots.map(|slots| States::new(slots, self.page, controls)), ..self }
    }

    /// Returns whether the model has states of whole sequences.
    pub(crate) fn has_states(&self) -> bool {
        self.states.is_some()
    }

    /// Returns whether one sequence more can have a state.
    pub(super) fn has_slots(&self) -> bool {
        self.states.as_ref().is_none_or(|states| self.sequences.iter().flatten().count() < states.most())
    }

    /// The slot that the prefix cache has after the page with this key, and whether it is one that sequences were made to leave.
    pub(crate) fn snapshot_after(&self, key: &Key) -> Option<(u32, bool)> {
        let pool = &self.states.as_ref()?.pool;
        let slot = pool.kept().page(key)?;
        Some((slot, pool.is_preferred(slot)))
    }

    /// Takes a slot for the state of a sequence after its first `pages` pages, which were read from disk. `None` if there is none.
    pub(crate) fn next_state(&mut self, seq: SeqId, pages: usize) -> Option<u32> {
        self.sequence(seq)?;
        let [.., slot] = self.states.as_mut()?.next(seq.place, pages * self.page, 0)?;
        u32::try_from(slot).ok()
    }

    /// Records that the [next state](Memory::next_state) of a sequence, which holds these tokens, has been written: the one after its
    /// first `pages` pages.
    pub(crate) fn fill_state(&mut self, seq: SeqId, keys: &Keys, tokens: &[u32], pages: usize) {
        let (len, enough) = (pages * self.page, self.len(seq) >= pages * self.page);
        let Memory { page, states: Some(states), .. } = self else { return };
        let Some((last, tokens)) = pages.checked_sub(1).filter(|_| enough).zip(tokens.get(..len)) else {
            return;
        };
        states.restore(seq.place, last, keys.before(last), &tokens[last * *page..]);
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
            // Pages after it are computed again, and may leave snapshots.
            sequence.chain = Some((*keys.before(pages), pages));
        }
    }

    /// Chooses where a new sequence of these tokens leaves snapshots: where those before it went on differently, before its last
    /// message, and after the last full page before the last token.
    pub(super) fn choose_cuts(&mut self, place: usize, prefix: Prefix<'_>) {
        let Some(states) = &mut self.states else { return };
        let cached = self.rows.longest(prefix, prefix.most());
        let message = last_message(prefix.tokens, |token| states.is_control(token)).unwrap_or(0) / self.page;
        *states.cuts_mut(place) = [cached, message, prefix.most()].map(|pages| pages * self.page);
    }

    /// The number of tokens after which the next step of a sequence has to end at the latest.
    pub(crate) fn until_cut(&self, seq: SeqId) -> usize {
        let states = self.states.as_ref().filter(|_| self.has(seq));
        let cuts = states.map_or([0; CUTS], |states| states.cuts(seq.place));
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
        let len = self.len(seq);
        let Some(states) = self.states.as_mut().filter(|_| len < most && least < most) else { return false };
        if self.sequences[seq.place].as_ref().is_none_or(|sequence| sequence.id != seq) {
            return false;
        }
        let useful = len.max(least) + 1..=most;
        let cuts = states.cuts_mut(seq.place);
        if !cuts.iter().any(|cut| useful.contains(cut)) {
            cuts[0] = most;
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
            more += usize::from(!states.has(seq.place));
        }
        let held = states.count();
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

//! Predicting more tokens than the model has computed.
//!
//! The layer for it (MTP) is a program of its own. It reads hidden states that the body has stored and writes rows of its own
//! KV cache, so it can run at any time, for any rows whose next tokens are known. It catches up when a prediction is wanted.
//!
//! For a second token it takes its own hidden state in the place of the model's and the first prediction in the place of the next
//! token, and so on. These rows are where those of the step to come will be, which overwrites them.

use std::collections::BTreeSet;

use weft_runtime::{Error, Prediction, StepInputs};

use super::Runner;
use crate::batch::SeqId;
use crate::memory::Memory;

/// A sequence and the tokens it will have: all that are computed, and the one after them.
#[derive(Clone, Copy, Debug)]
pub struct Pending<'a> {
    /// The sequence.
    pub seq: SeqId,
    /// Its tokens, and the next one.
    pub tokens: &'a [u32],
    /// The number of tokens after those of the sequence that a step has computed before they were removed.
    pub again: usize,
    /// The number of tokens to predict.
    pub most: usize,
}

/// A row to compute.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The index of the sequence in the list.
    at: usize,
    /// The position of the token whose hidden state the layer reads, and its place.
    pos: usize,
    slot: usize,
    /// The token after it.
    token: u32,
    /// Where the layer's own hidden state goes.
    next: usize,
    /// Whether a prediction is wanted.
    is_last: bool,
}

impl<'a> Pending<'a> {
    /// One prediction for a sequence with these tokens, the last of which it does not have yet.
    pub fn new(seq: SeqId, tokens: &'a [u32]) -> Pending<'a> {
        Pending { seq, tokens, again: 0, most: 1 }
    }

    /// The number of tokens whose hidden states are known, and whose next tokens are.
    fn known(&self, memory: &Memory) -> usize {
        (memory.len(self.seq) + self.again).min(self.tokens.len().saturating_sub(1))
    }

    /// The rows that are missing. The last, whose logits are wanted, is always among them.
    fn missing(&self, memory: &Memory) -> std::ops::Range<usize> {
        let known = self.known(memory);
        memory.unpredicted(self.seq).min(known.saturating_sub(1))..known
    }
}

impl Runner {
    /// The number of rows that [`predict`](Runner::predict) computes for the first tokens.
    pub(crate) fn rows_to_predict(&self, all: &[Pending<'_>]) -> usize {
        all.iter().map(|one| one.missing(&self.memory).len()).sum()
    }

    /// Predicts the tokens after those of each sequence. There are none if the model [cannot](weft_runtime::Runtime::predicts), for an
    /// empty sequence, where another one computes the same row of a shared page, or if there is no page for the next token; and fewer
    /// than wanted at the end of the context.
    ///
    /// # Errors
    /// If the device fails.
    pub fn predict(&mut self, all: &[Pending<'_>]) -> Result<Vec<Vec<Prediction>>, Error> {
        let mut predictions = vec![Vec::new(); all.len()];
        let mut slots = BTreeSet::new();
        let mut places = Vec::new();
        for (at, one) in all.iter().enumerate() {
            let known = one.known(&self.memory);
            let more =
                (known + one.most).min(self.runtime.context()).saturating_sub(self.memory.len(one.seq));
            self.memory.grow(one.seq, more);
            let Some(next) = self.memory.slot(one.seq, known).filter(|_| one.most > 0) else { continue };
            for pos in one.missing(&self.memory) {
                let slot = self.memory.slot(one.seq, pos).filter(|slot| slots.insert(*slot));
                let (token, is_last) = (one.tokens[pos + 1], pos + 2 == one.tokens.len());
                places.extend(slot.map(|slot| Place { at, pos, slot, token, next, is_last }));
            }
        }
        self.predict_all(all, &places, &mut predictions)?;
        for Place { at, pos, .. } in places {
            if pos < self.memory.len(all[at].seq) {
                self.memory.predicted(all[at].seq, pos);
            }
        }
        for depth in 1..all.iter().map(|one| one.most).max().unwrap_or(0) {
            let place = |(at, one): (usize, &Pending<'_>)| {
                let found = predictions
                    .get(at)
                    .filter(|found: &&Vec<Prediction>| found.len() == depth && one.most > depth)?;
                let pos = one.known(&self.memory) + depth - 1;
                let [slot, next] = [pos, pos + 1].map(|pos| self.memory.slot(one.seq, pos));
                let token = found.last()?.token;
                Some(Place { at, pos, slot: slot?, token, next: next?, is_last: true })
            };
            let places: Vec<Place> = all.iter().enumerate().filter_map(place).collect();
            self.predict_all(all, &places, &mut predictions)?;
        }
        Ok(predictions)
    }

    /// Computes these rows, in as many steps as they need.
    fn predict_all(
        &mut self,
        all: &[Pending<'_>],
        places: &[Place],
        predictions: &mut [Vec<Prediction>],
    ) -> Result<(), Error> {
        let mut indices = std::mem::take(&mut self.following);
        let mut rest = places;
        let mut done = Ok(());
        while let (Ok(()), false) = (&done, rest.is_empty()) {
            let (some, more) = rest.split_at(self.fill(all, rest, &mut indices));
            done = self.predict_some(some, &mut indices, predictions);
            rest = more;
        }
        self.following = indices;
        done
    }

    /// Fills the inputs of a step with as many rows as there is room for. Returns their number.
    fn fill(&self, all: &[Pending<'_>], places: &[Place], out: &mut StepInputs) -> usize {
        let max = self.runtime.room().max;
        out.clear();
        let mut last = None;
        let (mut begun, mut sequences) = (0, 0);
        for (count, place) in places.iter().take(max.tokens).enumerate() {
            if last != Some(place.at) {
                let list = self.memory.list(all[place.at].seq);
                // One sequence alone always fits.
                if count > 0 && (out.pages.len() + list.len() > max.pages || sequences == max.rows) {
                    return count;
                }
                last = Some(place.at);
                sequences += 1;
                begun = out.pages.len();
                out.pages.extend(list.iter().map(|page| *page as i32));
            }
            out.tokens.push(place.token as i32);
            out.pos.push(place.pos as i32);
            out.slots.push(place.slot as i32);
            out.first.push(begun as i32);
        }
        places.len().min(max.tokens)
    }

    fn predict_some(
        &mut self,
        places: &[Place],
        indices: &mut StepInputs,
        predictions: &mut [Vec<Prediction>],
    ) -> Result<(), Error> {
        let mut rows: Vec<(usize, Place)> =
            places.iter().copied().enumerate().filter(|(_, place)| place.is_last).collect();
        // A program computes at least one row of logits. This one is not read.
        if rows.is_empty() {
            rows.extend(places.first().map(|place| (0, *place)));
        }
        indices.next_slots.extend(rows.iter().map(|(_, place)| place.next as i32));
        indices.wanted.extend(rows.iter().map(|(row, _)| *row as i32));
        let found = self.runtime.predict_rows(indices)?;
        for ((_, place), found) in rows.into_iter().zip(found) {
            predictions[place.at].extend(found.filter(|_| place.is_last));
        }
        Ok(())
    }
}

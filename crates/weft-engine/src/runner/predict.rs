//! Predicting one token more than the model has computed.
//!
//! The layer for it (MTP) is a program of its own. It reads hidden states that the body has stored and writes rows of its own
//! KV cache, so it can run at any time, for any rows whose next tokens are known. It catches up when a prediction is wanted.

use std::collections::BTreeSet;

use weft_ir::Sizes;

use super::{Runner, class, write};
use crate::batch::SeqId;
use crate::error::Error;
use crate::logits::{Candidates, Logit as _, Row};
use crate::pages::{Indices, Pages};
use crate::plans::PREDICTED;

/// A sequence and the tokens it will have: all that are computed, and the one after them.
#[derive(Clone, Copy, Debug)]
pub struct Pending<'a> {
    /// The sequence.
    pub seq: SeqId,
    /// Its tokens, and the next one.
    pub tokens: &'a [u32],
}

/// The likeliest token after those of a [`Pending`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    /// The token.
    pub token: u32,
    /// By how much its logit exceeds that of the next best.
    pub margin: f32,
}

/// A row to compute.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The index of the sequence in the list.
    at: usize,
    /// The token's position.
    pos: usize,
    slot: usize,
}

/// The rows that are missing of a sequence. The last, whose logits are wanted, is always among them.
fn missing(pages: &Pages, one: &Pending<'_>) -> std::ops::Range<usize> {
    let len = pages.len(one.seq).min(one.tokens.len().saturating_sub(1));
    pages.unpredicted(one.seq).min(len.saturating_sub(1))..len
}

impl Runner {
    /// Returns whether the model has a layer that predicts one token more, and the options of speculation asked for it.
    pub fn predicts(&self) -> bool {
        self.variants.used().classes.iter().any(|class| class.predictor.is_some())
    }

    /// The number of rows that [`predict`](Runner::predict) computes.
    pub(crate) fn rows_to_predict(&self, all: &[Pending<'_>]) -> usize {
        all.iter().map(|one| missing(&self.pages, one).len()).sum()
    }

    /// Predicts the token after those of each sequence. There is no prediction if the model [cannot](Runner::predicts), for an
    /// empty sequence, or where another one computes the same row of a shared page.
    ///
    /// # Errors
    /// If the device fails.
    pub fn predict(&mut self, all: &[Pending<'_>]) -> Result<Vec<Option<Prediction>>, Error> {
        let mut places = Vec::new();
        let mut slots = BTreeSet::new();
        for (at, one) in all.iter().enumerate() {
            for pos in missing(&self.pages, one) {
                let slot = self.pages.slot(one.seq, pos).filter(|slot| slots.insert(*slot));
                places.extend(slot.map(|slot| Place { at, pos, slot }));
            }
        }
        let mut predictions = vec![None; all.len()];
        let mut indices = std::mem::take(&mut self.following);
        let mut rest = &places[..];
        let mut done = Ok(());
        while let (Ok(()), false) = (&done, rest.is_empty()) {
            let (some, more) = rest.split_at(self.fill(all, rest, &mut indices));
            done = self.predict_some(all, some, &indices, &mut predictions);
            rest = more;
        }
        self.following = indices;
        done.map(|()| predictions)
    }

    /// Fills the inputs of a step with as many rows as there is room for. Returns their number.
    fn fill(&self, all: &[Pending<'_>], places: &[Place], out: &mut Indices) -> usize {
        for list in [&mut out.tokens, &mut out.pos, &mut out.slots, &mut out.first, &mut out.pages] {
            list.clear();
        }
        let mut last = None;
        let (mut begun, mut sequences) = (0, 0);
        for (count, place) in places.iter().take(self.room.max.tokens).enumerate() {
            let one = &all[place.at];
            if last != Some(place.at) {
                let list = self.pages.list(one.seq);
                // One sequence alone always fits.
                if count > 0
                    && (out.pages.len() + list.len() > self.room.max.pages || sequences == self.room.max.rows)
                {
                    return count;
                }
                last = Some(place.at);
                sequences += 1;
                begun = out.pages.len();
                out.pages.extend(list.iter().map(|page| *page as i32));
            }
            out.tokens.push(one.tokens[place.pos + 1] as i32);
            out.pos.push(place.pos as i32);
            out.slots.push(place.slot as i32);
            out.first.push(begun as i32);
        }
        places.len().min(self.room.max.tokens)
    }

    fn predict_some(
        &mut self,
        all: &[Pending<'_>],
        places: &[Place],
        indices: &Indices,
        predictions: &mut [Option<Prediction>],
    ) -> Result<(), Error> {
        let is_last = |place: &Place| place.pos + 2 == all[place.at].tokens.len();
        let wanted = || places.iter().enumerate().filter(|(_, place)| is_last(place));
        let mut rows: Vec<i32> = wanted().map(|(row, _)| row as i32).collect();
        // A program computes at least one row of logits.
        if rows.is_empty() {
            rows.push(0);
        }
        let sizes =
            Sizes::of(places.len()).rows(rows.len()).slots(self.room.max.slots).pages(indices.pages.len());
        let inputs = indices.inputs(&rows);
        let vocab = self.model.graph().config.vocab;
        let Runner { device, shared, variants, bytes, predicted, pages, .. } = self;
        write(&mut **device, shared, &inputs, bytes)?;
        let Some(predictor) = &class(variants, &sizes)?.predictor else { return Ok(()) };
        device.replay(predictor.id, &sizes)?;
        let each = if predictor.chooses { 8 * PREDICTED.min(vocab) } else { 4 * vocab };
        predicted.done = false;
        predicted.read(&**device, predictor.results, each * rows.len())?;
        for ((_, place), row) in wanted().zip(predicted.bytes.chunks_exact(each)) {
            let best = if predictor.chooses {
                let mut chosen = Candidates::new(row, vocab).tokens();
                [chosen.next(), chosen.next()]
            } else {
                best_two(Row::new(row).logits())
            };
            predictions[place.at] = match best {
                [Some((token, best)), next] if best.is_finite() && (token as usize) < vocab => {
                    Some(Prediction { token, margin: best - next.map_or(0.0, |(_, logit)| logit) })
                }
                _ => None,
            };
        }
        places.iter().for_each(|place| pages.predicted(all[place.at].seq, place.pos));
        Ok(())
    }
}

/// The likeliest token and the next best, with their logits. Among equals, the lowest token comes first.
fn best_two(logits: &[[u8; 4]]) -> [Option<(u32, f32)>; 2] {
    let mut best = [None; 2];
    for (token, logit) in (0..).zip(logits) {
        let logit = logit.value();
        let beats = |known: Option<(u32, f32)>| known.is_none_or(|(_, known)| logit > known);
        if beats(best[0]) {
            best = [Some((token, logit)), best[0]];
        } else if beats(best[1]) {
            best[1] = Some((token, logit));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_two_of_a_row() {
        let two = |logits: &[f32]| {
            let bytes: Vec<[u8; 4]> = logits.iter().map(|logit| logit.to_le_bytes()).collect();
            best_two(&bytes)
        };
        assert_eq!(two(&[1.0, 3.0, 2.0, 3.0]), [Some((1, 3.0)), Some((3, 3.0))]);
        assert_eq!(two(&[5.0, -3.0]), [Some((0, 5.0)), Some((1, -3.0))]);
        assert_eq!(two(&[5.0]), [Some((0, 5.0)), None]);
        assert_eq!(two(&[]), [None, None]);
    }
}

//! Predicting one token more than the model has computed, with its layer for that (MTP), which is a program of its own.

use weft_ir::Sizes;

use super::{Runtime, class, write};
use crate::error::Error;
use crate::inputs::StepInputs;
use crate::plans::PREDICTED;
use crate::runtime::logits::{Candidates, Logit as _, Row};

/// The likeliest token after some others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    /// The token.
    pub token: u32,
    /// By how much its logit exceeds that of the next best.
    pub margin: f32,
}

impl Runtime {
    /// Returns whether the model has a layer that predicts one token more, and it was compiled.
    pub fn predicts(&self) -> bool {
        self.variants.used().classes.iter().any(|class| class.predictor.is_some())
    }

    /// Computes rows of the layer that predicts one token more. Returns a prediction for each wanted row, if its logits are numbers:
    /// for none if there is no such layer.
    ///
    /// # Errors
    /// If the device fails.
    pub fn predict_rows(&mut self, inputs: &StepInputs) -> Result<Vec<Option<Prediction>>, Error> {
        let rows = inputs.wanted.len();
        let sizes =
            Sizes::of(inputs.tokens.len()).rows(rows).slots(self.room.max.slots).pages(inputs.pages.len());
        let vocab = self.model.graph().config.vocab;
        let Runtime { device, shared, variants, bytes, predicted, .. } = self;
        write(&mut **device, shared, &inputs.named(&inputs.wanted), bytes)?;
        variants.begin(inputs.has_no_adapter());
        let Some(predictor) = &class(variants, &sizes)?.predictor else { return Ok(Vec::new()) };
        device.replay(predictor.id, &sizes)?;
        let each = if predictor.chooses { 8 * PREDICTED.min(vocab) } else { 4 * vocab };
        predicted.done = false;
        predicted.read(&**device, predictor.results, each * rows)?;
        let prediction = |row: &[u8]| {
            let best = if predictor.chooses {
                let mut chosen = Candidates::new(row, vocab).tokens();
                [chosen.next(), chosen.next()]
            } else {
                best_two(Row::new(row).logits())
            };
            let [Some((token, best)), next] = best else { return None };
            let margin = best - next.map_or(0.0, |(_, logit)| logit);
            (best.is_finite() && (token as usize) < vocab).then_some(Prediction { token, margin })
        };
        Ok(predicted.bytes.chunks_exact(each).map(prediction).collect())
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

//! The index inputs of a step.

use weft_ir::{SCAN_LISTS, Sizes};

use crate::layout::STEP_INPUTS;

/// The factor of rows without an adapter. What is added to them is −0, which changes no bit.
pub const NO_ADAPTER: f32 = -0.0;

/// The index inputs of a step: its tokens, and where their sequences are in the states. See `weft_ir::Op::Attend`.
#[derive(Debug, Default)]
pub struct StepInputs {
    /// The tokens.
    pub tokens: Vec<i32>,
    /// The position of each token in its sequence.
    pub pos: Vec<i32>,
    /// The row of each token in states with a row for every token.
    pub slots: Vec<i32>,
    /// For each token, where the pages of its sequence begin in `pages`.
    pub first: Vec<i32>,
    /// The pages of the sequences, those of each in order.
    pub pages: Vec<i32>,
    /// The rows of the tokens in layers with a sliding window, if these have pages of their own.
    pub window_slots: Vec<i32>,
    /// The pages of such layers: one for each of `pages`.
    pub window_pages: Vec<i32>,
    /// For each sequence of the step, the row after its last. Empty for models without states of whole sequences. See `weft_ir::Op::Scan`.
    pub ends: Vec<i32>,
    /// For each sequence, the slot with its state before the step; negative if it has none.
    pub from: Vec<i32>,
    /// For each sequence, the slot for its state after its certain rows.
    pub to: Vec<i32>,
    /// For each sequence, the number of rows that are certain. The rows after them are guesses; the operands of the first
    /// [`KEPT`](weft_ir::KEPT) guesses are kept with the state.
    pub certain: Vec<i32>,
    /// For each sequence, the number of kept rows that are applied to its state first.
    pub kept: Vec<i32>,
    /// The adapter of each token, if requests choose adapters: its number in their list from 1 on, or 0 for none.
    pub adapters: Vec<i32>,
    /// The bits of the factor of each token's adapter, or of [`NO_ADAPTER`].
    pub adapter_scales: Vec<i32>,
    /// For each row whose logits are wanted, where the layer that predicts one token more stores its hidden state. Empty in steps of the
    /// model.
    pub next_slots: Vec<i32>,
    /// The rows of the step whose logits are wanted.
    pub wanted: Vec<i32>,
}

impl StepInputs {
    /// Whether no token has an adapter.
    pub(crate) fn has_no_adapter(&self) -> bool {
        self.adapters.iter().all(|adapter| *adapter == 0)
    }

    /// Allocates memory for steps of up to this size, so that no step allocates.
    pub(crate) fn with_capacity(max: &Sizes) -> StepInputs {
        let room = || Vec::with_capacity(max.tokens);
        let of_sequences = || Vec::with_capacity(max.sequences);
        StepInputs {
            tokens: room(),
            pos: room(),
            slots: room(),
            first: room(),
            pages: Vec::with_capacity(max.pages),
            window_slots: room(),
            window_pages: Vec::with_capacity(max.pages),
            ends: of_sequences(),
            from: of_sequences(),
            to: of_sequences(),
            certain: of_sequences(),
            kept: of_sequences(),
            adapters: room(),
            adapter_scales: room(),
            next_slots: Vec::new(),
            wanted: room(),
        }
    }

    /// Removes all.
    pub fn clear(&mut self) {
        let StepInputs { tokens, pos, slots, first, pages, window_slots, window_pages, .. } = self;
        [tokens, pos, slots, first, pages, window_slots, window_pages].into_iter().for_each(Vec::clear);
        let StepInputs { ends, from, to, certain, kept, next_slots, wanted, .. } = self;
        [ends, from, to, certain, kept, next_slots, wanted].into_iter().for_each(Vec::clear);
        [&mut self.adapters, &mut self.adapter_scales].into_iter().for_each(Vec::clear);
    }

    /// The inputs of a step by name, with the rows of hidden states whose logits are computed: some of those wanted. A model may
    /// lack those of layers with a sliding window, of states of whole sequences and of adapters.
    pub(crate) fn named<'a>(&'a self, out_rows: &'a [i32]) -> [(&'static str, &'a [i32]); 16] {
        let [
            tokens,
            pos,
            slots,
            first,
            pages,
            rows,
            window_slots,
            window_pages,
            next_slots,
            adapters,
            scales,
        ] = STEP_INPUTS;
        let [ends, from, to, certain, kept] = SCAN_LISTS;
        [
            (tokens, &self.tokens),
            (pos, &self.pos),
            (slots, &self.slots),
            (first, &self.first),
            (pages, &self.pages),
            (rows, out_rows),
            (window_slots, &self.window_slots),
            (window_pages, &self.window_pages),
            (ends, &self.ends),
            (from, &self.from),
            (to, &self.to),
            (certain, &self.certain),
            (kept, &self.kept),
            (next_slots, &self.next_slots),
            (adapters, &self.adapters),
            (scales, &self.adapter_scales),
        ]
    }
}

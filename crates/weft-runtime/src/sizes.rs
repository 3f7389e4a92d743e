//! The sizes that a model is compiled for.

use std::ops::RangeInclusive;

use weft_device::Hardware;
use weft_fuse::CostModel;
use weft_ir::Sizes;
use weft_models::{Head, ModelGraph};

use crate::error::Error;
use crate::layout::{HELD_SLOTS, PAGE, Window};
use crate::options::RuntimeOptions;
use crate::plans::sequence_states;

/// The least and the most rows of logits that the head computes at once. More rows take several replays of the head, each
/// of which reads its weights; each row that is allocated costs the size of the vocabulary, often 600 kB.
const LOGIT_ROWS: RangeInclusive<usize> = 8..=64;

/// The default context: enough for a conversation, with a KV cache that fits on any machine.
const DEFAULT_CONTEXT: usize = 4096;

/// How many times a page can be listed in a step, on average, if sequences share pages: every sequence lists the pages
/// that it reads. Also how many short sequences are expected to run in the room of one of full length.
const SHARED: usize = 4;

/// The share of the pages of a whole KV cache that layers with a sliding window have for prompts that may come again, at least.
const KEPT: usize = 8;

/// The capacity that a model is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// The most tokens of a sequence.
    pub context: usize,
    /// The pages of the KV cache.
    pub pages: usize,
    /// The pages of layers with a sliding window, if they have fewer.
    pub window: Option<Window>,
    /// The slots of states of whole sequences, if the model has any.
    pub states: Option<usize>,
    /// The sizes of the largest step.
    pub max: Sizes,
    /// The short steps that have programs of their own.
    pub(crate) steps: &'static [usize],
    /// The pages up to which steps of one token have programs of their own.
    pub(crate) short_contexts: [Option<usize>; 2],
    /// The part of a second device, if there is one.
    pub(crate) beside: Option<Beside>,
}

/// The part of a model that a second device computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Beside {
    /// The part.
    pub(crate) part: SecondPart,
    /// The cost model of the second device.
    pub(crate) costs: CostModel,
}

/// The experts that a second device computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OffloadedExperts {
    /// The layers that have any: the first ones with experts.
    pub(crate) layers: usize,
    /// The experts of such a layer that the first device computes: the first ones, or those that are chosen most.
    pub(crate) resident: usize,
    /// Whether those are in [slots](crate::plans::slots), and others may take their places.
    pub(crate) in_slots: bool,
    /// Whether it computes the others too in long steps, with weights that it [reads in turn](crate::plans::streamed).
    pub(crate) streamed: bool,
}

/// The part of a model that a second device computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SecondPart {
    /// The embedding and so many first layers.
    Layers(usize),
    /// Experts, at the same time as the first device computes others.
    Experts(OffloadedExperts),
}

impl Beside {
    /// Whether offloaded experts are streamed in long steps.
    pub(crate) fn streams(&self) -> bool {
        matches!(self.part, SecondPart::Experts(offloaded) if offloaded.streamed)
    }
}

impl Room {
    /// The room that options ask for with a model on this hardware.
    ///
    /// # Errors
    /// Those of [`new`](Room::new).
    pub(crate) fn of(
        options: &RuntimeOptions,
        model: &ModelGraph,
        hardware: &Hardware,
    ) -> Result<Room, Error> {
        Ok(Room::new(options, model.config.context, hardware)?.for_model(options, model))
    }

    /// The same room, with slots for states of whole sequences, rows for the model's results, and no more pages for layers with a sliding
    /// window than the window needs, if these are fewer.
    pub(crate) fn for_model(self, options: &RuntimeOptions, model: &ModelGraph) -> Room {
        let states = sequence_states::slots(model, options.sequences, self.pages);
        let windows = options.windows && !options.pieces;
        let positions = model.window().filter(|_| windows);
        let window = positions.and_then(|positions| self.window(positions, options.sequences));
        // All sequences that have slots may take part in a step.
        let sequences = states.map_or(0, |slots| (slots / HELD_SLOTS).min(self.max.tokens));
        // Rows of other results than logits are short, and all of them are wanted where embeddings are means.
        let rows = if model.config.head == Head::Logits { self.max.rows } else { self.max.tokens };
        Room { window, states, max: self.max.sequences(sequences).rows(rows), ..self }
    }

    /// The pages of layers that see `positions` positions. `None` if they would not be fewer than those of other layers.
    fn window(&self, positions: usize, sequences: usize) -> Option<Window> {
        let margin = self.max.tokens.div_ceil(PAGE).saturating_add(sequences);
        let window = Window { positions, pages: 0, margin };
        // The pages that sequences hold, and as many again for prompts that may come again.
        let held = window.of_one(PAGE).saturating_mul(sequences);
        let pages = held.saturating_add(margin).saturating_add(held.max(self.pages / KEPT));
        (pages < self.pages).then_some(Window { pages, ..window })
    }

    /// The room that options ask for, with a model that was trained for sequences of `trained` tokens, on this
    /// hardware.
    ///
    /// # Errors
    /// If an option is not valid for the model.
    pub(crate) fn new(options: &RuntimeOptions, trained: usize, hardware: &Hardware) -> Result<Room, Error> {
        let batch = options.batch.unwrap_or(hardware.batch);
        let context = match options.context {
            None => DEFAULT_CONTEXT.min(trained),
            Some(RuntimeOptions::WHOLE) => trained,
            Some(context) => context,
        };
        if context == 0 || context > trained {
            let why = format!(
                "the context is {context} tokens: expected 1 to {trained}, the length the model was trained for"
            );
            return Err(Error::Option(why));
        }
        let pages = context.div_ceil(PAGE).saturating_mul(options.sequences);
        if options.sequences == 0 || batch == 0 || i32::try_from(pages.saturating_mul(PAGE)).is_err() {
            let sequences = options.sequences;
            let why = format!(
                "{sequences} sequences of {context} tokens, in batches of {batch}: expected at least one of each, and \
                 less than 2^31 tokens in all"
            );
            return Err(Error::Option(why));
        }
        let tokens = batch.min(context.saturating_mul(options.sequences));
        // Sequences that share a page all list it. A single sequence shares with none.
        let all = context.div_ceil(PAGE).saturating_mul(tokens);
        let listed = if options.sequences == 1 { pages } else { all.min(SHARED * pages).max(pages) };
        let fewest = options.logits.clamp(*LOGIT_ROWS.start(), *LOGIT_ROWS.end());
        let rows = options.sequences.saturating_mul(SHARED).clamp(fewest, *LOGIT_ROWS.end());
        Ok(Room {
            context,
            pages,
            window: None,
            states: None,
            max: Sizes::of(tokens).rows(rows).slots(pages * PAGE).pages(listed),
            steps: hardware.steps,
            short_contexts: hardware.short_contexts.map(|context| context.map(|positions| positions / PAGE)),
            beside: None,
        })
    }

    /// The most tokens of each class of steps that is compiled. The largest is last, and comes twice if it has another class in which
    /// offloaded experts are streamed.
    pub(crate) fn classes(&self) -> Vec<usize> {
        let shorter = self.steps.iter().copied().filter(|tokens| *tokens < self.max.tokens);
        shorter.chain([self.max.tokens]).chain(self.streams().then_some(self.max.tokens)).collect()
    }

    /// Whether offloaded experts are streamed in long steps.
    pub(crate) fn streams(&self) -> bool {
        self.beside.is_some_and(|beside| beside.streams())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_with_a_window_have_fewer_pages_where_that_pays() {
        let pages = |positions, context, sequences| {
            let options = RuntimeOptions {
                context: Some(context),
                sequences,
                batch: Some(512),
                ..RuntimeOptions::default()
            };
            let room = Room::new(&options, context, &Hardware::common("any")).unwrap();
            (room.window(positions, sequences).map(|window| window.pages), room.pages)
        };
        // A window, a step of 16 pages, a page for each sequence, and an eighth of all.
        assert_eq!(pages(128, 8192, 1), (Some(5 + 16 + 1 + 32), 256));
        assert_eq!(pages(512, 8192, 1), (Some(17 + 16 + 1 + 32), 256));
        // Windows that are more than an eighth are there twice.
        assert_eq!(pages(1024, 8192, 4), (Some(4 * 33 + 16 + 4 + 4 * 33), 1024));
        assert_eq!(pages(4096, 8192, 1), (None, 256));
        assert_eq!(pages(128, 512, 1), (None, 16));
        assert_eq!(pages(1, 8192, 1), (Some(1 + 16 + 1 + 32), 256));
    }
}

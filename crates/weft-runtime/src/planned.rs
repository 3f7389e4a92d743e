//! The plans of a model for steps of all sizes.

use std::sync::Arc;

use weft_device::Side;
use weft_fuse::{CostModel, Fusion, Options};
use weft_ir::{Op, Sizes};
use weft_kern::Machine;
use weft_models::{ADAPTERS, ModelGraph, Mtp, Segment};

use crate::error::Error;
use crate::layout::{Optional, PAGE, Window};
use crate::model::Model;
use crate::plans::slots::SlotLayout;
use crate::plans::{self, Sections};
use crate::replacements::Plans;
use crate::sizes::{Beside, Room, SecondPart};
use crate::weights::sides;

/// A model's segments, and their plans for classes of steps.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) segments: Vec<Segment>,
    /// The division of the segments into body, head and the rest.
    pub(crate) sections: Sections,
    /// The side of each segment, if there are two devices: otherwise the first.
    pub(crate) sides: Vec<Side>,
    /// The pages of layers with a sliding window, if they have pages of their own.
    pub(crate) window: Option<Window>,
    /// The slots of states of whole sequences, if the model has any.
    pub(crate) states: Option<usize>,
    /// The pages up to which steps of one token have programs of their own.
    pub(crate) short_contexts: [Option<usize>; 2],
    /// The most tokens of each class.
    pub(crate) steps: Vec<usize>,
    /// For each class, a fusion for each segment.
    pub(crate) fusions: Vec<Vec<Arc<Fusion>>>,
    /// The second device's speed, if the first one computes all segments in the last class, with the weights of offloaded experts in turn.
    pub(crate) streamed: Option<Machine>,
    /// The layers whose experts are in slots.
    pub(crate) slots: Option<SlotLayout>,
    /// The plans for steps in which no token has an adapter, if requests choose adapters.
    pub(crate) plain: Option<Box<Planned>>,
}

impl Planned {
    /// Whether there is a layer that predicts one token more.
    pub(crate) fn predicts(&self) -> bool {
        self.segments.len() > self.sections.of_model()
    }

    /// What else the model has inputs for.
    pub(crate) fn optional(&self) -> Optional {
        let chooses = |op: &Op| matches!(op, Op::Input { name } if name == ADAPTERS);
        let adapters = self.segments.iter().any(|one| one.graph.nodes().iter().any(|node| chooses(&node.op)));
        Optional { predicts: self.predicts(), adapters }
    }

    /// Whether the first device computes all segments of a class, with the weights of offloaded experts in turn.
    pub(crate) fn streams(&self, class: usize) -> bool {
        self.streamed.is_some() && class + 1 == self.steps.len()
    }

    /// The plans, to look for kernels that users replace.
    pub(crate) fn plans(&self) -> Plans<'_> {
        let Planned { segments, sides, steps, fusions, .. } = self;
        Plans { segments, sides, steps, fusions }
    }

    /// The plans of a model for steps of all sizes, with and without adapters.
    pub(crate) fn of_model(
        model: &Model,
        mtp: Option<&Mtp>,
        options: &Options,
        room: &Room,
    ) -> Result<Planned, Error> {
        let of = |graph| Planned::of_all_steps(graph, mtp, options, room);
        let plain = model.plain().map(of).transpose()?.map(Box::new);
        Ok(Planned { plain, ..of(model.graph())? })
    }

    /// The plans of graphs for steps of all sizes.
    pub(crate) fn of_all_steps(
        model: &ModelGraph,
        mtp: Option<&Mtp>,
        options: &Options,
        room: &Room,
    ) -> Result<Planned, Error> {
        let sizes = (room.context, room.beside, (room.window, room.states));
        let planned = Planned::new(model, mtp, options, sizes, room.classes())?;
        Ok(Planned { short_contexts: room.short_contexts, ..planned })
    }

    /// The plans for classes of steps, given by their most tokens. The first is for one token: it decides what all must
    /// agree on.
    pub(crate) fn new(
        model: &ModelGraph,
        mtp: Option<&Mtp>,
        options: &Options,
        (context, beside, (window, states)): (usize, Option<Beside>, (Option<Window>, Option<usize>)),
        steps: Vec<usize>,
    ) -> Result<Planned, Error> {
        let distant = options.costs.distant;
        let offloaded = beside.and_then(|beside| match beside.part {
            SecondPart::Experts(offloaded) => Some(offloaded),
            SecondPart::Layers(_) => None,
        });
        let (segments, sections) =
            plans::segments(model, mtp, &options.switches, distant, (window.as_ref(), states, offloaded))?;
        let slots = offloaded.filter(|offloaded| offloaded.in_slots).and_then(|_| SlotLayout::of(&segments));
        let sides = sides::of_segments(beside.map(|beside| beside.part), &segments, sections);
        let mut fusions: Vec<Vec<Arc<Fusion>>> = Vec::with_capacity(steps.len());
        let streamed = beside.filter(Beside::streams).map(|beside| beside.costs.machine);
        for (class, &tokens) in steps.iter().enumerate() {
            let all_first = streamed.is_some() && class + 1 == steps.len();
            // Each token may be of another sequence.
            let one = context.div_ceil(PAGE);
            let pages = tokens.saturating_mul(one).min(options.max.pages);
            let (rows, sequences) = (options.max.rows.min(tokens), options.max.sequences.min(tokens));
            let max = Sizes { tokens, rows, pages, sequences, ..options.max };
            let with = |costs: CostModel| {
                // Kernels of the CPU are the same for any context.
                let most_pages = costs.distant.then_some(one);
                Options { max, most_pages, costs, ..options.clone() }
            };
            let both = [options.costs, beside.map_or(options.costs, |beside| beside.costs)].map(with);
            let of = |segment: usize| &both[if all_first { Side::First } else { sides[segment] } as usize];
            let planned = plans::plan(&segments, of, fusions.first().map(Vec::as_slice))?;
            fusions.push(planned);
        }
        let short_contexts = [None; 2];
        Ok(Planned {
            segments,
            sections,
            sides,
            window,
            states,
            short_contexts,
            steps,
            fusions,
            streamed,
            slots,
            plain: None,
        })
    }
}

//! The plans of a model: each distinct graph is compiled once for every class of steps.

pub(crate) mod offload;
pub(crate) mod rebuilt;
pub(crate) mod sequence_states;
pub(crate) mod slots;
pub(crate) mod streamed;
pub(crate) mod windowed;

use std::borrow::Cow;
use std::sync::Arc;

use weft_fuse::{Fusion, Options, fuse_with};
use weft_ir::rules::RULES;
use weft_ir::{Decision, Graph, Mode, STEPS, Switches, hoist};
use weft_models::{Head, ModelGraph, Mtp, Segment};

use crate::error::Error;
use crate::layout::{STEP_INPUTS, Window};
use crate::sizes::OffloadedExperts;

/// The most candidates for the next token that a device chooses: more than most requests keep.
pub(crate) const CANDIDATES: usize = 64;

/// The candidates that a device chooses from the predictions of the MTP layer: the likeliest token, and the next likeliest.
pub(crate) const PREDICTED: usize = 2;

/// The division of a model's segments, in order: the body, the head, and the rest, which predicts one more token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sections {
    /// The number of segments of the body: from the embedding to the last hidden state.
    pub(crate) body: usize,
    /// The number of segments after them, which compute logits and results that follow from logits.
    pub(crate) head: usize,
    /// The name of the first of those segments' result.
    pub(crate) result: &'static str,
}

impl Sections {
    /// The number of segments of a step of the model.
    pub(crate) fn of_model(self) -> usize {
        self.body + self.head
    }

    /// The number of segments before a layer: those of the body if there is no such layer.
    pub(crate) fn before_layer(self, segments: &[Segment], layer: usize) -> usize {
        let found = segments.iter().position(|segment| segment.layer.is_some_and(|own| own >= layer));
        found.map_or(self.body, |found| found.min(self.body))
    }
}

/// A model's segments: computation that all layers share is hoisted into a segment before them, and a distant device chooses candidates
/// in a segment after the head. If there is an MTP layer, its hidden states are stored at the end of the body, and its segments come
/// last. With `window`, layers with a sliding window keep no more than that. With `slots`, states of whole sequences have that many rows.
/// Experts that are `offloaded` are segments of their own.
pub(crate) fn segments(
    model: &ModelGraph,
    mtp: Option<&Mtp>,
    switches: &Switches,
    distant: bool,
    (window, slots, offloaded): (Option<&Window>, Option<usize>, Option<OffloadedExperts>),
) -> Result<(Vec<Segment>, Sections), Error> {
    let chooses = distant && model.config.head == Head::Logits && switches.on(&weft_fuse::CANDIDATES);
    let candidates =
        |most| chooses.then(|| weft_models::candidates(model.config.vocab, most)).into_iter().flatten();
    let mut hoisting = Hoisting::new(switches.on(&STEPS));
    let mut segments = Cow::Borrowed(&model.segments[..]);
    if let Some(slots) = slots {
        segments = Cow::Owned(sequence_states::segments(&segments, slots)?);
    }
    if let Some(window) = window {
        segments = Cow::Owned(windowed::segments(&segments, window)?);
    }
    if let Some(offloaded) = offloaded {
        segments = Cow::Owned(offload::segments(&segments, offloaded));
    }
    let mut all = hoisting.hoisted(&segments);
    let head = all.split_off(all.len().saturating_sub(1));
    all.extend(mtp.map(|mtp| mtp.hidden.clone()));
    let body = all.len();
    all.extend(head);
    all.extend(candidates(CANDIDATES));
    let sections = Sections { body, head: all.len() - body, result: model.config.head.result() };
    if let Some(mtp) = mtp {
        all.extend(hoisting.hoisted(&mtp.segments));
        all.extend(candidates(PREDICTED));
    }
    Ok((all, sections))
}

/// Hoists what all layers would compute alike.
struct Hoisting {
    on: bool,
    prelude: Option<Arc<Graph>>,
    /// Graphs, each with its rest if anything was hoisted from it.
    known: Vec<(Arc<Graph>, Option<Arc<Graph>>)>,
}

impl Hoisting {
    fn new(on: bool) -> Hoisting {
        Hoisting { on, prelude: None, known: Vec::new() }
    }

    /// The segments of a program, with hoisted segments before the first that reads them.
    fn hoisted(&mut self, segments: &[Segment]) -> Vec<Segment> {
        let mut all: Vec<Segment> = Vec::with_capacity(segments.len() + 2);
        let mut has_tables = false;
        for segment in segments {
            let Some(rest) = self.rest(&segment.graph) else {
                all.push(segment.clone());
                continue;
            };
            if !has_tables {
                all.extend(self.prelude.as_ref().map(tables));
                has_tables = true;
            }
            all.push(Segment { graph: rest, ..segment.clone() });
        }
        all
    }

    /// The rest of a graph, if anything is hoisted.
    fn rest(&mut self, graph: &Arc<Graph>) -> Option<Arc<Graph>> {
        if !self.on {
            return None;
        }
        if let Some((_, rest)) = self.known.iter().find(|(known, _)| Arc::ptr_eq(known, graph)) {
            return rest.clone();
        }
        // A graph that would hoist something else stays as it is.
        let found = hoist(graph, &STEP_INPUTS);
        let found = found.filter(|found| self.prelude.as_ref().is_none_or(|own| **own == found.prelude));
        let rest = found.map(|found| {
            self.prelude.get_or_insert_with(|| Arc::new(found.prelude));
            Arc::new(found.rest)
        });
        self.known.push((Arc::clone(graph), rest.clone()));
        rest
    }
}

fn tables(prelude: &Arc<Graph>) -> Segment {
    Segment {
        name: prelude.name().into(),
        layer: None,
        graph: Arc::clone(prelude),
        weights: Vec::new(),
        states: Vec::new(),
        columns: Vec::new(),
    }
}

/// Compiles each segment. Equal layers share one graph, and so one plan.
///
/// `options` are those of the device that computes a segment. With `like`, the plans of another class, rules are applied as they were
/// there: results must not depend on the size of the step.
pub(crate) fn plan<'o>(
    segments: &[Segment],
    options: impl Fn(usize) -> &'o Options,
    like: Option<&[Arc<Fusion>]>,
) -> Result<Vec<Arc<Fusion>>, Error> {
    let mut done: Vec<(&Arc<Graph>, &Options, Arc<Fusion>)> = Vec::new();
    let mut fusions = Vec::with_capacity(segments.len());
    for (i, Segment { graph, .. }) in segments.iter().enumerate() {
        let options = options(i);
        let same = |(known, with, _): &&(&Arc<Graph>, &Options, Arc<Fusion>)| {
            Arc::ptr_eq(known, graph) && std::ptr::eq(*with, options)
        };
        let fusion = match done.iter().find(same) {
            Some((.., fusion)) => Arc::clone(fusion),
            None => {
                let own = options;
                let mut options = options.clone();
                if let Some(like) = like {
                    follow(&mut options.switches, &like[i]);
                }
                let fusion = Arc::new(fuse_with(graph, &options)?);
                done.push((graph, own, Arc::clone(&fusion)));
                fusion
            }
        };
        fusions.push(fusion);
    }
    Ok(fusions)
}

/// Switches the rules as in `chosen`: on some devices they change bits, and computed parameters are identified by their place
/// in the rewritten graph.
fn follow(switches: &mut Switches, chosen: &Fusion) {
    for choice in chosen.choices.iter().filter(|c| is_rule(c.decision)) {
        switches.set(choice.decision, if choice.pays() { Mode::On } else { Mode::Off });
    }
}

/// Returns whether a decision switches a rewrite rule.
pub(crate) fn is_rule(decision: &Decision) -> bool {
    RULES.into_iter().any(|rule| rule.decision == *decision)
}

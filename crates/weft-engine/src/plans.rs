//! The plans of a model: each distinct graph is compiled once for every class of steps.

use std::sync::Arc;

use weft_fuse::{Fusion, Options, fuse_with};
use weft_ir::rules::RULES;
use weft_ir::{Decision, Graph, Mode, STEPS, Switches, hoist};
use weft_models::{ModelGraph, Segment};

use crate::error::Error;

/// The inputs that all segments of a step share.
pub(crate) const STEP_INPUTS: [&str; 6] = ["tokens", "pos", "slots", "first", "pages", "out_rows"];

/// The most tokens of steps with their own plans: one, to decode one sequence, and a few, to decode several together. One
/// more set of plans is for larger steps. How many workgroups a kernel has follows from the most tokens, not from a step's.
const SMALL_STEPS: [usize; 3] = [1, 16, 64];

/// The classes of steps that are compiled, by their most tokens. The largest, `batch`, is last.
pub(crate) fn step_classes(batch: usize) -> Vec<usize> {
    SMALL_STEPS.into_iter().filter(|tokens| *tokens < batch).chain([batch]).collect()
}

/// The most candidates for the next token that a device chooses: more than most requests keep.
pub(crate) const CANDIDATES: usize = 64;

/// A model's segments: what all layers would compute alike is hoisted into a segment before them, and a distant device
/// chooses candidates in a segment after the head.
pub(crate) fn segments(model: &ModelGraph, switches: &Switches, distant: bool) -> Vec<Segment> {
    let mut segments = hoisted(model, switches);
    if distant && switches.on(&weft_fuse::CANDIDATES) {
        segments.extend(weft_models::candidates(model.config.vocab, CANDIDATES));
    }
    segments
}

/// The number of last segments that compute logits and what follows from them.
pub(crate) fn heads(segments: &[Segment]) -> usize {
    let candidates = segments.last().is_some_and(|last| last.name == "candidates");
    if candidates { 2 } else { 1 }
}

fn hoisted(model: &ModelGraph, switches: &Switches) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::with_capacity(model.segments.len() + 2);
    if !switches.on(&STEPS) {
        return model.segments.clone();
    }
    let mut prelude: Option<Graph> = None;
    let mut known: Vec<(&Arc<Graph>, Arc<Graph>)> = Vec::new();
    for segment in &model.segments {
        if let Some((_, rest)) = known.iter().find(|(graph, _)| Arc::ptr_eq(graph, &segment.graph)) {
            segments.push(Segment { graph: Arc::clone(rest), ..segment.clone() });
            continue;
        }
        let rest = match hoist(&segment.graph, &STEP_INPUTS) {
            // A graph that would hoist something else stays as it is.
            Some(found) if prelude.as_ref().is_none_or(|p| *p == found.prelude) => {
                if prelude.is_none() {
                    segments.push(tables(&found.prelude));
                    prelude = Some(found.prelude);
                }
                Arc::new(found.rest)
            }
            _ => Arc::clone(&segment.graph),
        };
        known.push((&segment.graph, Arc::clone(&rest)));
        segments.push(Segment { graph: rest, ..segment.clone() });
    }
    segments
}

fn tables(prelude: &Graph) -> Segment {
    Segment {
        name: prelude.name().into(),
        layer: None,
        graph: Arc::new(prelude.clone()),
        weights: Vec::new(),
        states: Vec::new(),
    }
}

/// Compiles each segment. Equal layers share one graph, and so one plan.
///
/// With `like`, the plans of another class, rules are applied as they were there: results must not depend on the size
/// of the step.
pub(crate) fn plan(
    segments: &[Segment],
    options: &Options,
    like: Option<&[Arc<Fusion>]>,
) -> Result<Vec<Arc<Fusion>>, Error> {
    let mut done: Vec<(&Arc<Graph>, Arc<Fusion>)> = Vec::new();
    let mut fusions = Vec::with_capacity(segments.len());
    for (i, Segment { graph, .. }) in segments.iter().enumerate() {
        let known = done.iter().find(|(g, _)| Arc::ptr_eq(g, graph)).map(|(_, fusion)| Arc::clone(fusion));
        let fusion = match known {
            Some(fusion) => fusion,
            None => {
                let mut options = options.clone();
                if let Some(like) = like {
                    follow(&mut options.switches, &like[i]);
                }
                let fusion = Arc::new(fuse_with(graph, &options)?);
                done.push((graph, Arc::clone(&fusion)));
                fusion
            }
        };
        fusions.push(fusion);
    }
    Ok(fusions)
}

/// Switches the rules as in `chosen`: some of them change bits, and products of weights are identified by their place
/// in the rewritten graph.
fn follow(switches: &mut Switches, chosen: &Fusion) {
    for choice in chosen.choices.iter().filter(|c| c.decides && is_rule(c.decision)) {
        switches.set(choice.decision, if choice.taken() { Mode::On } else { Mode::Off });
    }
}

/// Returns whether a decision switches a rewrite rule.
pub(crate) fn is_rule(decision: &Decision) -> bool {
    RULES.into_iter().any(|rule| rule.decision == *decision)
}

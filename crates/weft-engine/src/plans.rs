//! The plans of a model: rules over all its graphs, then each distinct graph compiled once for every size of step.

use std::sync::Arc;

use weft_fuse::{Fusion, Options, fuse_with};
use weft_ir::rules::RULES;
use weft_ir::{Decision, Graph, Mode, STEPS, Switches, hoist};
use weft_models::{ModelGraph, Segment};

use crate::error::Error;

/// Inputs that are the same for all segments of a step.
pub(crate) const STEP_INPUTS: [&str; 6] = ["tokens", "pos", "slots", "first", "pages", "out_rows"];

/// Most tokens of a step that has plans of its own: one, as when text is generated, and a few, as when sequences are decoded together.
/// Larger steps have a third set of plans.
const SMALL_STEPS: [usize; 2] = [1, 16];

/// The sizes of step that are compiled for, the largest last: `batch` tokens.
pub(crate) fn step_classes(batch: usize) -> Vec<usize> {
    SMALL_STEPS.into_iter().filter(|tokens| *tokens < batch).chain([batch]).collect()
}

/// A model's segments, with what every layer would compute alike in one of its own before the first that reads it.
pub(crate) fn segments(model: &ModelGraph, switches: &Switches) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::with_capacity(model.segments.len() + 1);
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
            // One that hoists something else keeps it.
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

/// What each segment becomes. Equal layers share one graph, and so one plan.
///
/// Rules are applied as they were in `like`, the plans for another size of step: how a token comes out does not depend on
/// those beside it.
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

/// Sets the rules to what was chosen before: some change bits, and products of weights are known by their place in the graph they leave.
fn follow(switches: &mut Switches, chosen: &Fusion) {
    for choice in chosen.choices.iter().filter(|c| c.decides && is_rule(c.decision)) {
        switches.set(choice.decision, if choice.taken() { Mode::On } else { Mode::Off });
    }
}

/// Whether a decision is about a rule of the graph.
pub(crate) fn is_rule(decision: &Decision) -> bool {
    RULES.into_iter().any(|rule| rule.decision == *decision)
}

//! Explaining what a model is compiled to, and why.

use std::sync::Arc;

use weft_device::{Hardware, RowsOf16, Target};
use weft_fuse::{Choice, Cost, CostModel, Fusion, Options, estimate};
use weft_ir::rules::RULES;
use weft_ir::{Graph, NodeId, Rule, Sizes, Switches, WhyNot};
use weft_kern::{Amounts, Plan, Replacement, Seen};
use weft_models::{ModelGraph, Segment};

use crate::error::Error;
use crate::fit::dry::Dry;
use crate::layout::PAGE;
use crate::options::RuntimeOptions;
use crate::planned::Planned;
use crate::plans;
use crate::sizes::Room;

/// The options of [`explain`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplainOptions {
    /// Decisions set by hand.
    pub switches: Switches,
    /// The number of tokens of the step.
    pub tokens: usize,
    /// The number of tokens in its sequence before it; only estimates depend on it.
    pub depth: usize,
    /// The cost model for decisions by cost.
    pub costs: CostModel,
    /// Kernels that replace the compiler's. Nothing is checked, because nothing is run.
    pub kernels: Vec<Arc<Replacement>>,
}

/// A plan, explained.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The names of the segments that share the plan: `layer 1`, `layer 2`, …
    pub segments: Vec<String>,
    /// The graph as the model builds it.
    pub before: Arc<Graph>,
    /// The graph after the rewrite rules.
    pub graph: Arc<Graph>,
    /// The result of each rule.
    pub rules: Vec<RuleResult>,
    /// The decisions that were made by cost.
    pub choices: Vec<Choice>,
    /// The estimated cost.
    pub cost: Cost,
    /// The kernel calls, in order.
    pub calls: Vec<KernelCall>,
    /// The plan.
    pub plan: Arc<Plan>,
    /// The programs of the step.
    linked: Arc<Dry>,
    /// Where its segments are in them.
    places: Vec<Place>,
}

/// The launches of a segment in a linked model.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// 0 is the body, 1 the head.
    program: usize,
    /// The first launch.
    first: usize,
}

impl Explained {
    /// The texts that each kernel call runs on a device, or why it cannot run; `None` if the device runs no text.
    ///
    /// There are several where segments that share the plan follow different ones, and so find other arguments stable.
    pub fn sources(&self, target: &Target) -> Option<Vec<Result<Vec<String>, String>>> {
        let text = target.text.as_deref()?;
        // The default context is short, so one token has one body.
        let programs = &self.linked.classes.last()?.programs;
        let weights = |id| self.linked.weights.get(&id).copied();
        let of_call = |call: usize| {
            let mut texts: Vec<String> = Vec::new();
            for Place { program, first } in &self.places {
                let text = text.render(&programs[*program], first + call, &weights)?;
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            Ok(texts)
        };
        Some((0..self.calls.len()).map(of_call).collect())
    }
}

/// The result of applying a rule to a graph.
#[derive(Clone, Debug)]
pub struct RuleResult {
    /// The rule.
    pub rule: &'static Rule,
    /// The nodes that it replaced: `slice %12`.
    pub replaced: Vec<String>,
    /// Why it replaced none, if it did not.
    pub why_not: Option<WhyNot>,
}

/// One kernel call of a plan.
#[derive(Clone, Debug)]
pub struct KernelCall {
    /// The name of the kernel.
    pub kernel: String,
    /// The parts that run side by side.
    pub parts: Vec<KernelPart>,
    /// The amounts that it reads, writes and computes in the step.
    pub amounts: Amounts,
    /// The estimated time, in nanoseconds.
    pub ns: u64,
    /// The nodes that read its results from memory, and why they are not fused into it.
    pub cuts: Vec<(String, String)>,
    /// The name of the compiler's kernel, if a user gave this one in its place.
    pub replaces: Option<String>,
}

/// A part of a kernel.
#[derive(Clone, Debug)]
pub struct KernelPart {
    /// Its rows and columns: `[T, 20] x 256`.
    pub space: String,
    /// The nodes that it computes, of the graph after the rules. Empty if it only moves or rounds values.
    pub nodes: Vec<NodeId>,
}

/// Compiles a model without running it, and explains each distinct plan.
///
/// # Errors
/// If a graph cannot be compiled.
pub fn explain(model: &ModelGraph, options: &ExplainOptions) -> Result<Vec<Explained>, Error> {
    let ExplainOptions { switches, tokens, depth, costs, kernels } = options;
    // As a program that runs the model with default options compiles it, if its context has room for the step.
    let (defaults, any) = (RuntimeOptions::default(), Hardware::common("any"));
    let room = Room::new(&defaults, model.config.context.max(*tokens), &any)?.for_model(&defaults, model);
    let options = Options {
        max: room.max,
        switches: switches.clone(),
        costs: *costs,
        replacements: kernels.clone(),
        ..Options::default()
    };
    let steps = if *tokens == 1 { vec![1] } else { vec![1, *tokens] };
    let planned =
        Planned::new(model, None, &options, (room.context, None, (room.window, room.states)), steps)?;
    // Every device that runs text packs weights like this.
    let linked = Arc::new(Dry::new(&planned, &options.max, Some(&RowsOf16))?);
    let (Some(first), Some(fusions)) = (planned.fusions.first(), planned.fusions.last()) else {
        return Ok(Vec::new());
    };
    let mut plans: Vec<Explained> = Vec::new();
    let mut launches = 0;
    // The last segments are the head.
    let heads = planned.sections.body;
    for (i, ((segment, fusion), first)) in planned.segments.iter().zip(fusions).zip(first).enumerate() {
        let head = i >= heads;
        if i == heads {
            launches = 0;
        }
        let place = Place { program: usize::from(head), first: launches };
        launches += fusion.plan.calls.len();
        match plans.iter_mut().find(|p| Arc::ptr_eq(&p.before, &segment.graph)) {
            Some(known) => {
                known.segments.push(segment.name.clone());
                known.places.push(place);
            }
            None => {
                let plan = one_plan(segment, fusion, (costs, *depth), (&linked, place));
                // Rules are decided for steps of one token; steps of other sizes follow.
                let followed = |c: &&Choice| plans::is_rule(c.decision);
                let own =
                    |c: &&Choice| !first.choices.iter().filter(followed).any(|f| f.decision == c.decision);
                let choices = first.choices.iter().filter(followed).chain(fusion.choices.iter().filter(own));
                let choices = choices.cloned().collect();
                plans.push(Explained { choices, ..plan });
            }
        }
    }
    Ok(plans)
}

fn one_plan(
    segment: &Segment,
    fusion: &Fusion,
    (costs, depth): (&CostModel, usize),
    (linked, place): (&Arc<Dry>, Place),
) -> Explained {
    let Fusion { graph, fired, missed, plan, cost, calls, replaced, .. } = fusion;
    let rules = RULES.into_iter().map(|rule| {
        let own = fired.iter().filter(|f| f.rule == rule);
        RuleResult {
            rule,
            replaced: own.map(|f| format!("{} {}", f.op, f.node)).collect(),
            why_not: missed.iter().find(|m| m.rule == rule).map(|m| m.why),
        }
    });
    let tokens = plan.max.tokens;
    let sizes = Sizes::of(tokens).rows(1).slots(plan.max.slots).pages((depth + tokens).div_ceil(PAGE));
    let sizes = sizes.sequences(plan.max.sequences.min(1));
    let seen = Seen::causal(depth as u64, tokens as u64);
    let counted = plan.traffic(&sizes, &seen).into_iter().zip(estimate(plan, &sizes, &seen, &costs.machine));
    let calls = plan.calls.iter().zip(calls).zip(counted).map(|((call, computed), (operations, ns))| {
        let kernel = &plan.kernels[call.kernel];
        let parts = kernel.parts.iter().zip(&computed.parts).map(|(part, nodes)| {
            let rows: Vec<String> = part.rows.iter().map(ToString::to_string).collect();
            KernelPart { space: format!("[{}] x {}", rows.join(", "), part.cols), nodes: nodes.clone() }
        });
        KernelCall {
            kernel: kernel.name.clone(),
            parts: parts.collect(),
            amounts: operations.iter().map(|counted| counted.alone).sum(),
            ns,
            replaces: replaced.iter().find(|one| one.kernel == call.kernel).map(|one| one.before.clone()),
            cuts: computed.cuts.iter().map(|cut| (named(graph, cut.node), cut.why.to_string())).collect(),
        }
    });
    Explained {
        segments: vec![segment.name.clone()],
        before: Arc::clone(&segment.graph),
        graph: Arc::clone(graph),
        rules: rules.collect(),
        choices: Vec::new(),
        cost: *cost,
        calls: calls.collect(),
        plan: Arc::clone(plan),
        linked: Arc::clone(linked),
        places: vec![place],
    }
}

/// A node's name for display: `dot %12`.
pub fn named(graph: &Graph, id: NodeId) -> String {
    format!("{} {id}", graph.node(id).op.name())
}

//! Puts facts into words, for both text and HTML.

use weft_engine::inspect::{Choice, Cost, CostModel, RuleResult};
use weft_ir::{Graph, NodeId};
use weft_lab::RecordedProfile;

use super::facts::{Facts, Plan, Reuse, Total};
use super::flows::{Reader, Written};
use super::label::{self, BEFORE, PartLabel};
use crate::commands::measure::machine_speed;
use crate::terminal::units::{self, count};

/// The total cost of several kernels.
pub(super) fn total(total: &Total) -> String {
    let Total { kernels, weight_bytes, multiplications, ns, measured_ns } = *total;
    let work = match multiplications {
        0 => String::new(),
        _ => format!(", {} of weights, {} mul", units::bytes(weight_bytes), count(multiplications)),
    };
    let measured = measured_ns.map_or(String::new(), |ns| format!(", measured {}", time(ns)));
    format!("{}{work}, about {}{measured}", counted(kernels, "kernel"), time(ns))
}

/// The step and its total cost.
pub(super) fn step(facts: &Facts<'_>) -> String {
    let tokens = counted(facts.step.tokens as u64, "token");
    let depth = if facts.depth == 0 { String::new() } else { format!(" at depth {}", facts.depth) };
    format!("a step of {tokens}{depth} ({}): {}", facts.step.name, total(&facts.total))
}

/// The share of compiled plans and kernels that is used more than once.
pub(super) fn reuse(reuse: &Reuse) -> String {
    let Reuse { plans: [plans, parts], kernels: [kernels, launches] } = *reuse;
    let share = |made: u64, used: u64| 100.0 * (1.0 - made as f64 / used.max(1) as f64);
    format!(
        "compiled: {} for {parts} parts of the model ({:.0} % reused), {} for {launches} launches ({:.0} % reused)",
        counted(plans, "plan"),
        share(plans, parts),
        counted(kernels, "kernel"),
        share(kernels, launches)
    )
}

/// The number of kernels of each distinct layer; `None` if the model has no layers.
pub(super) fn layers(facts: &Facts<'_>) -> Option<String> {
    let layer = |(name, kernels): &(&str, usize)| format!("{} ({name})", counted(*kernels as u64, "kernel"));
    let layers: Vec<String> = facts.layers.iter().map(layer).collect();
    (!layers.is_empty()).then(|| format!("a layer: {}", layers.join(", ")))
}

/// The speeds that times are estimated with.
pub(super) fn speed(costs: &CostModel) -> String {
    let how = if costs.is_measured() { "measured" } else { "assumed; `weft roofline` measures it" };
    format!("times are estimated for {} ({how})", machine_speed::words(&costs.machine))
}

/// The profile with measured times.
pub(super) fn profile(profile: &RecordedProfile) -> String {
    format!("measured times are from run {} in the journal, {}", profile.run, profile.time)
}

/// The replacements of a rule, or why it replaced nothing.
pub(super) fn outcome(plan: &Plan<'_>, result: &RuleResult) -> String {
    let name = result.rule.decision.name;
    match plan.why_not(result) {
        Some(why) => format!("{name}: replaced nothing: {why}"),
        None => {
            let nodes = counted(result.replaced.len() as u64, "node");
            format!("{name}: replaced {nodes}: {}", result.replaced.join(", "))
        }
    }
}

/// The cost of a model with and without a decision, and the outcome.
pub(super) fn arithmetic(facts: &Facts<'_>, plan: &Plan<'_>, choice: &Choice) -> String {
    let Choice { decision, with, without } = choice;
    let with = match with {
        Err(error) => return format!("{}: not taken, since it does not compile: {error}", decision.name),
        Ok(_) if !choice.differs() => return format!("{}: makes no difference", decision.name),
        Ok(with) => with,
    };
    let outcome = if choice.pays() { "taken" } else { "not taken" };
    let followed = if facts.follows(plan, choice) { ", as in steps of 1 token" } else { "" };
    format!("{}: with {}; without {} → {outcome}{followed}", decision.name, cost(with), cost(without))
}

fn cost(cost: &Cost) -> String {
    let Cost { kernels, weight_bytes, ns } = *cost;
    // Always in microseconds, so that one more kernel shows.
    format!("{}, {}, {:.1} µs", counted(kernels, "kernel"), units::bytes(weight_bytes), ns as f64 / 1e3)
}

/// The nodes of a part: `mul %2 x, mul %10 attn_norm → dot %12 attn_q_a`.
pub(super) fn part(graph: &Graph, part: &PartLabel) -> String {
    let (before, rest) = (nodes(graph, &part.prologue), nodes(graph, &part.nodes));
    if before.is_empty() { rest } else { format!("{before}{BEFORE}{rest}") }
}

/// A value that a kernel writes: `dot %12 attn_q_a, stored in kv`.
fn written(graph: &Graph, value: &Written) -> String {
    let states = value.states.iter().map(|state| format!(", stored in {state}"));
    let outputs = value.outputs.iter().map(|output| format!(", output {output}"));
    label::node(graph, value.node) + &states.chain(outputs).collect::<String>()
}

/// A reader of a value, and why it is not computed in the same kernel.
fn reader(graph: &Graph, reader: &Reader) -> String {
    let Reader { kernel, nodes, why } = reader;
    let colon = if why.is_empty() { "" } else { ": " };
    format!("read by kernel {kernel}, {}{colon}{why}", self::nodes(graph, nodes))
}

/// A value that a kernel writes, and its readers, one line each.
pub(super) fn with_readers(graph: &Graph, value: &Written) -> Vec<String> {
    let readers = value.readers.iter().map(|one| reader(graph, one));
    std::iter::once(written(graph, value)).chain(readers).collect()
}

fn nodes(graph: &Graph, nodes: &[NodeId]) -> String {
    nodes.iter().map(|node| label::node(graph, *node)).collect::<Vec<_>>().join(", ")
}

/// `1 kernel`, `9 kernels`.
pub(super) fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

pub(super) fn time(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{:.1} µs", ns as f64 / 1e3),
        _ => format!("{:.2} ms", ns as f64 / 1e6),
    }
}

//! How facts are put into words, for the terminal and for the page alike.

use weft_engine::{Choice, Cost, CostModel, RuleResult};
use weft_ir::{Graph, NodeId};
use weft_lab::RecordedProfile;

use super::facts::{Facts, Plan, Sum};
use super::flows::{Handed, Reader};
use super::label::{self, BEFORE, PartLabel};
use crate::machine;
use crate::units::{self, count};

/// What several kernels cost together.
pub(super) fn sum(sum: &Sum) -> String {
    let Sum { kernels, weight_bytes, multiplications, ns, measured_ns } = *sum;
    let work = match multiplications {
        0 => String::new(),
        _ => format!(", {} of weights, {} mul", units::bytes(weight_bytes), count(multiplications)),
    };
    let measured = measured_ns.map_or(String::new(), |ns| format!(", measured {}", time(ns)));
    format!("{}{work}, about {}{measured}", counted(kernels, "kernel"), time(ns))
}

/// The step, and what it costs.
pub(super) fn step(facts: &Facts<'_>) -> String {
    let tokens = counted(facts.step.tokens as u64, "token");
    let depth = if facts.depth == 0 { String::new() } else { format!(" after {} others", facts.depth) };
    format!("a step of {tokens}{depth} ({}): {}", facts.step.name, sum(&facts.total))
}

/// Kernels of each distinct layer; nothing if the model has no layers.
pub(super) fn layers(facts: &Facts<'_>) -> Option<String> {
    let layer = |(name, kernels): &(&str, usize)| format!("{} ({name})", counted(*kernels as u64, "kernel"));
    let layers: Vec<String> = facts.layers.iter().map(layer).collect();
    (!layers.is_empty()).then(|| format!("a layer: {}", layers.join(", ")))
}

/// The numbers that times are estimated by.
pub(super) fn speed(costs: &CostModel) -> String {
    let how = if costs.is_measured() { "measured" } else { "assumed; `weft roofline` measures it" };
    format!("times are estimated for {} ({how})", machine::words(&costs.machine))
}

/// Where measured times are from.
pub(super) fn profile(profile: &RecordedProfile) -> String {
    format!("measured times are from run {} of the journal, of {}", profile.run, profile.time)
}

/// What a rule did, or why it did nothing.
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

/// What a decision costs either way, and what came of it.
pub(super) fn arithmetic(facts: &Facts<'_>, plan: &Plan<'_>, choice: &Choice) -> String {
    let Choice { decision, decides, with, without } = choice;
    let with = match with {
        Err(error) => return format!("{}: does not compile, so it is not taken: {error}", decision.name),
        Ok(_) if !choice.differs() => return format!("{}: makes no difference", decision.name),
        Ok(with) => with,
    };
    let outcome = match (decides, choice.pays()) {
        (true, true) => "taken",
        (true, false) => "not taken",
        (false, true) => "off, though it would pay",
        (false, false) => "off, and it would not pay",
    };
    let followed = if facts.follows(plan, choice) { ", as in steps of 1 token" } else { "" };
    format!("{}: with {}; without {} → {outcome}{followed}", decision.name, cost(with), cost(without))
}

fn cost(cost: &Cost) -> String {
    let Cost { kernels, weight_bytes, ns } = *cost;
    // In microseconds all, so that a kernel more can be seen.
    format!("{}, {}, {:.1} µs", counted(kernels, "kernel"), units::bytes(weight_bytes), ns as f64 / 1e3)
}

/// The nodes of a part: `mul %2 x, mul %10 attn_norm → dot %12 attn_q_a`.
pub(super) fn part(graph: &Graph, part: &PartLabel) -> String {
    let (before, rest) = (nodes(graph, &part.prologue), nodes(graph, &part.nodes));
    if before.is_empty() { rest } else { format!("{before}{BEFORE}{rest}") }
}

/// A value that leaves its kernel: `dot %12 attn_q_a, stored in kv`.
fn handed(graph: &Graph, handed: &Handed) -> String {
    let states = handed.states.iter().map(|state| format!(", stored in {state}"));
    let outputs = handed.outputs.iter().map(|output| format!(", output {output}"));
    label::node(graph, handed.node) + &states.chain(outputs).collect::<String>()
}

/// Who reads a value, and why it is not computed where the value is.
fn reader(graph: &Graph, reader: &Reader) -> String {
    let Reader { kernel, nodes, why } = reader;
    let colon = if why.is_empty() { "" } else { ": " };
    format!("to kernel {kernel}, {}{colon}{why}", self::nodes(graph, nodes))
}

/// A value that leaves its kernel, and everyone who reads it, a line each.
pub(super) fn whole_way(graph: &Graph, value: &Handed) -> Vec<String> {
    let readers = value.readers.iter().map(|one| reader(graph, one));
    std::iter::once(handed(graph, value)).chain(readers).collect()
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

//! Writes the facts as JSON.

use serde_json::{Value, json};
use weft_engine::inspect::Cost;
use weft_ir::{Graph, NodeId};

use super::facts::{Facts, Kernel, Plan, Total};
use super::flows::Written;
use super::label;
use crate::commands::measure::machine_speed;

/// All facts; with `plans`, also the graphs and plans in their text form.
pub(super) fn report(facts: &Facts<'_>, plans: bool) -> Value {
    let layer = |(name, kernels): &(&str, usize)| json!({ "graph": name, "kernels": kernels });
    json!({
        "model": facts.model,
        "step": { "name": facts.step.name, "tokens": facts.step.tokens, "depth": facts.depth },
        "machine": machine_speed::json(&facts.costs),
        "profile": facts.profile.as_ref().map(|profile| json!({ "run": profile.run, "time": profile.time })),
        "plans": facts.plans.iter().map(|p| plan(facts, p, plans)).collect::<Vec<_>>(),
        "layers": facts.layers.iter().map(layer).collect::<Vec<_>>(),
        "reuse": {
            "plans": facts.reuse.plans[0],
            "parts": facts.reuse.plans[1],
            "kernels": facts.reuse.kernels[0],
            "launches": facts.reuse.kernels[1],
        },
        "total": total(&facts.total),
        "decisions": facts.decisions.iter().map(|stand| json!({
            "name": stand.decision.name,
            "about": stand.decision.about,
            "default": stand.decision.default.name(),
            "mode": stand.mode.name(),
            "plans": stand.plans,
            "pays": stand.pays,
            "kept": stand.kept,
        })).collect::<Vec<_>>(),
    })
}

fn plan(facts: &Facts<'_>, plan: &Plan<'_>, texts: bool) -> Value {
    let explained = plan.explained;
    let mut value = json!({
        "graph": plan.name(),
        "segments": explained.segments,
        "total": total(&plan.total),
        "kernels": plan.kernels.iter().enumerate().map(|(at, k)| kernel(&explained.graph, at + 1, k))
            .collect::<Vec<_>>(),
        "rules": explained.rules.iter().map(|result| json!({
            "name": result.rule.decision.name,
            "replaced": result.replaced,
            "why_not": plan.why_not(result),
        })).collect::<Vec<_>>(),
        "choices": explained.choices.iter().map(|choice| json!({
            "name": choice.decision.name,
            "with": choice.with.as_ref().ok().map(cost),
            "error": choice.with.as_ref().err().map(ToString::to_string),
            "without": cost(&choice.without),
            "pays": choice.pays(),
            "tokens": if facts.follows(plan, choice) { 1 } else { facts.step.tokens },
        })).collect::<Vec<_>>(),
    });
    if texts {
        value["before"] = explained.before.to_string().into();
        value["after"] = explained.graph.to_string().into();
        value["plan"] = explained.plan.to_string().into();
    }
    value
}

fn kernel(graph: &Graph, number: usize, kernel: &Kernel<'_>) -> Value {
    let parts = kernel.call.parts.iter().zip(&kernel.parts).map(|(part, label)| {
        json!({ "space": part.space, "label": label.to_string(), "nodes": nodes(graph, &part.nodes) })
    });
    let mut value = json!({
        "number": number,
        "kernel": kernel.call.kernel,
        "replaces": kernel.call.replaces,
        "label": kernel.label(),
        "parts": parts.collect::<Vec<_>>(),
        "weight_bytes": kernel.call.amounts.weight_bytes,
        "multiplications": kernel.call.amounts.multiplications(),
        "estimated_ns": kernel.call.ns,
        "measured_ns": kernel.measured_ns,
        "hands_on": kernel.written.iter().map(|value| written(graph, value)).collect::<Vec<_>>(),
    });
    match &kernel.source {
        None => {}
        Some(Ok(source)) => value["source"] = source.as_str().into(),
        Some(Err(why)) => value["refused"] = why.as_str().into(),
    }
    value
}

fn written(graph: &Graph, value: &Written) -> Value {
    let reader = value.readers.iter().map(
        |reader| json!({ "kernel": reader.kernel, "nodes": nodes(graph, &reader.nodes), "why": reader.why }),
    );
    json!({
        "node": label::node(graph, value.node),
        "outputs": value.outputs,
        "states": value.states,
        "readers": reader.collect::<Vec<_>>(),
    })
}

fn nodes(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().map(|node| label::node(graph, *node)).collect()
}

fn total(total: &Total) -> Value {
    json!({
        "kernels": total.kernels,
        "weight_bytes": total.weight_bytes,
        "multiplications": total.multiplications,
        "estimated_ns": total.ns,
        "measured_ns": total.measured_ns,
    })
}

fn cost(cost: &Cost) -> Value {
    json!({ "kernels": cost.kernels, "weight_bytes": cost.weight_bytes, "estimated_ns": cost.ns })
}
